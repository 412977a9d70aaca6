#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/file.h"
#include "model/bytes.h"

namespace relayout::wire {

/// One field of a message as it stands in the file, header included: [start, end); the payload begins at `payload`
/// (for length-delimited fields; the value otherwise).
struct Item {
  uint32_t field = 0;
  int64_t start = 0, payload = 0, end = 0;
};

/// What an ONNX message is, so that the walk knows which fields to descend into.
enum class Kind : uint8_t { model, graph, node, attribute, tensor, sparse_tensor, function, training_info, other };

/// The items of one message that may be written again piece by piece (ModelProto, GraphProto, FunctionProto, NodeProto with
/// nested graphs, TensorProto), in file order. A message that the file gives in several pieces (protobuf merges them) has
/// the items of all pieces.
struct Message {
  Kind kind = Kind::other;
  int64_t header_start = 0;    ///< of the field that holds it, -1 for the model itself
  int64_t start = 0, end = 0;  ///< of the first piece's payload
  int pieces = 1;
  std::vector<Item> items;
};

/// A payload left out of the skeleton.
struct Elided {
  uint32_t field = 0;  ///< of TensorProto: raw_data, float_data, double_data
  int64_t offset = 0, length = 0;
};

/// Result of the walk. The skeleton is the file without the elided payloads: parseable protobuf in which each message of
/// interest carries its number in `messages` as an unknown field `kMarkerField` (varint), and each tensor with an elided payload
/// its number in `elided` as an unknown field `kElidedField`. Bytes of those two fields in the file itself are left out.
struct Walk {
  std::string skeleton;
  std::vector<Message> messages;
  std::vector<Elided> elided;
};

inline constexpr int kMarkerField = 536870910;
inline constexpr int kElidedField = 536870911;
inline constexpr int kElideThreshold = 256;     ///< bytes
inline constexpr int kMaxSubgraphLevels = 200;  ///< named in the error

/// Walks a binary ONNX model through a small pread buffer. Throws Error{invalid} with the offset for bytes that are not
/// protobuf or not an ONNX model, Error{io} when the file cannot be read, Error{unsupported} beyond a limit.
[[nodiscard]] Walk walk(const File& file);

}  // namespace relayout::wire
