// Declares what reads the encoding of a model file, with protobuf's limits.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace relayout {

/// Bytes of the largest message, and so of the largest model file: protobuf refuses larger ones.
inline constexpr int64_t kLargestMessage = std::numeric_limits<int32_t>::max();
inline constexpr int kMaxSubgraphLevels = 200;
inline constexpr int kMaxGroupLevels = 100;  ///< of unknown groups
/// Three messages per subgraph level, and the messages below the last level.
inline constexpr int kMessageLevels = 3 * kMaxSubgraphLevels + 20;
/// The recursion limit for protobuf.
inline constexpr int kRecursionLimit = kMessageLevels + kMaxGroupLevels;

/// Error{unsupported} for a model file of too many bytes, or for a model in standard output.
void refuse_large_file(int64_t bytes);
void refuse_large_stream(int64_t bytes);
/// Error{unsupported} for a model that is too large without its large tensors, or as a text.
[[noreturn]] void fail_large_skeleton();
[[noreturn]] void fail_large_text();
/// Error{unsupported} "WHAT nested deeper than MOST levels".
[[noreturn]] void fail_nesting(std::string_view what, int most);

/// A NodeProto decoded from protobuf's encoding into name, operands, and the bytes of all other fields. Nodes that agree in these bytes are
/// of one kind (operator, attributes, annotations), and large models have few kinds.
struct PlainNode {
  std::string_view name;  ///< empty: absent, or present but empty and then also among the rest
  std::vector<std::string_view> inputs, outputs;
  std::string rest;

  /// Decodes `bytes`; the views point into these. False if only protobuf's parser can decide: unknown groups, malformed bytes.
  [[nodiscard]] bool read(std::string_view bytes);
};

}  // namespace relayout

namespace relayout::wire {

/// ONNX files at the level of protobuf's encoding: fields with tags and lengths. The walk finds every large payload and every field that
/// saving may copy, with a small buffer and without protobuf's parser.

enum class WireType : uint8_t { varint = 0, fixed64 = 1, bytes = 2, group_begin = 3, group_end = 4, fixed32 = 5 };

/// One field of a message in the file, header included: [start, end). Adjacent scalars of one field (unpacked elements) are one item.
struct Item {
  uint32_t field = 0;
  uint8_t header = 0;  ///< bytes of the tag and, if any, the length
  WireType type = WireType::varint;
  int64_t start = 0, end = 0;
  [[nodiscard]] int64_t payload() const noexcept { return start + header; }
  /// Whether it is this field in length-delimited form: a string or message. In a different form it is unknown to protobuf.
  [[nodiscard]] bool is(int number) const noexcept { return field == static_cast<uint32_t>(number) && type == WireType::bytes; }
  [[nodiscard]] bool is_scalar() const noexcept { return type != WireType::bytes && type != WireType::group_begin; }
};

/// The kind of an ONNX message, so that the walk knows which fields to descend into.
enum class Kind : uint8_t { model, graph, node, attribute, tensor, sparse_tensor, function, training_info, other };

/// The items, in file order, of a message that saving may write item by item: the model, graphs, functions, tensors with an elided or
/// external payload in attributes, and the nodes and attributes that hold these tensors or graphs. A graph given in several pieces, which
/// protobuf merges, has the items of all pieces.
struct Message {
  Kind kind = Kind::other;
  int pieces = 1;
  std::size_t first_item = 0, item_count = 0;
};

/// A payload left out of the skeleton.
struct Elided {
  uint32_t field = 0;  ///< of TensorProto: raw_data, float_data, double_data
  int64_t offset = 0, length = 0;
};

/// A node of the main graph in Walk::nodes.
struct MainNode {
  std::size_t end = 0;  ///< end of its bytes, which begin at the end of the previous node
  bool is_recorded = false;
};

/// Result of the walk. The skeleton is the file without the elided payloads and the main graph's initializers and nodes, and can be parsed
/// by protobuf. Each recorded message carries its number in `messages` as an unknown field `kMarkerField` (varint), and each tensor with an
/// elided payload its number in `elided` as an unknown field `kElidedField`. An elided raw_data is present and empty. Occurrences of these
/// two fields in the file itself are left out.
struct Walk {
  std::string skeleton;
  /// The bytes of the main graph's initializers as in a skeleton, one after the other without tags and lengths. They are separate because
  /// there may be many, and few are needed as messages.
  std::string initializers;
  std::vector<std::size_t> initializer_ends;
  /// The bytes of the main graph's nodes, likewise. A recorded node is in the skeleton instead and has no bytes here.
  std::string nodes;
  std::vector<MainNode> main_nodes;
  std::vector<Message> messages;
  std::vector<Item> items;
  std::vector<Elided> elided;
  bool has_external = false;         ///< a tensor has its payload in a data file
  bool has_hidden_external = false;  ///< so has a tensor that saving only copies, in training_info or a sparse tensor
  [[nodiscard]] std::span<const Item> items_of(const Message& message) const {
    return std::span(items).subspan(message.first_item, message.item_count);
  }
};

inline constexpr int kMarkerField = 536870910;
inline constexpr int kElidedField = 536870911;

class Reader;

/// Walks a binary ONNX model with a small pread buffer. Throws Error{invalid} with the offset for bytes that are not protobuf or not an
/// ONNX model, Error{io} when the file cannot be read, Error{unsupported} beyond a limit.
[[nodiscard]] Walk walk(const File& file);
/// The items of a tensor whose message is bytes [begin, end) of a walked file. The walk does not record the items of initializers, as there
/// are many, and few are rewritten.
[[nodiscard]] std::vector<Item> items_of_tensor(Reader& in, int64_t begin, int64_t end);

struct Tag {
  uint32_t field = 0;
  WireType type = WireType::varint;
};

/// Reads protobuf's encoding from a file with a buffer of one page. Every read is limited by `end` of the enclosing message; exceeding it
/// is Error{invalid} naming the offset.
class Reader {
 public:
  explicit Reader(const File& file) : file_(&file) {}

  [[nodiscard]] int64_t position() const noexcept { return position_; }
  void seek(int64_t position) noexcept { position_ = position; }
  /// Reads a tag. Field number 0 and wire types 6 and 7 are malformed.
  [[nodiscard]] Tag tag(int64_t end);
  /// Reads a varint of at most ten bytes.
  [[nodiscard]] uint64_t varint(int64_t end);
  /// Reads a length. Returns the end of the bytes that follow, which is not beyond `end`.
  [[nodiscard]] int64_t length_end(int64_t end);
  /// Skips `count` bytes, which must not extend beyond `end`.
  void skip(int64_t count, int64_t end);
  /// Appends the bytes from `begin` to the position to `out`.
  void copy_since(int64_t begin, std::string& out);
  /// Reads bytes [begin, end) and moves the position to `end`.
  [[nodiscard]] std::string bytes(int64_t begin, int64_t end);

  [[noreturn]] void malformed(int64_t offset, const std::string& what) const;

 private:
  [[nodiscard]] uint8_t byte(int64_t end);
  void fill();

  const File* file_;
  std::array<std::byte, 4096> buffer_{};
  int64_t buffer_start_ = 0, buffer_end_ = 0;  ///< range of the file in the buffer
  int64_t position_ = 0;
};

}  // namespace relayout::wire
