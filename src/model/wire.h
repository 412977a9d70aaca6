#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"

/// ONNX files at the level of protobuf's encoding: fields with tags and lengths. The walk finds every large payload and every field that
/// saving may copy, with a small buffer and without protobuf's parser.
namespace relayout::wire {

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

}  // namespace relayout::wire
