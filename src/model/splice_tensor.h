#pragma once

#include <span>

#include "model/origin.h"
#include "model/payload_places.h"
#include "model/segments.h"
#include "model/wire_reader.h"

namespace relayout {

/// A tensor to be written: its message as it is now (name, dims, type), without payload, and what its contents are now.
struct TensorState {
  const onnx::TensorProto* message = nullptr;
  const TensorData* data = nullptr;  ///< null: as in the message (strings; tensors of attributes)
  bool is_new = false;               ///< made by a pass
  bool in_attribute = false;         ///< of a node, or in a sparse tensor: not an initializer
};

/// Writes tensors of one model: those of the file by patching their own items, others from their message.
class TensorSplicer {
 public:
  TensorSplicer(const ModelOrigin& origin, wire::Reader& window, PayloadPlaces& store) : origin_(origin), window_(window), store_(store) {}

  /// A tensor that was in the file: dims, name and payload substituted at their places, everything else copied.
  [[nodiscard]] Segments patched(std::span<const wire::Item> items, const TensorState& tensor) const;
  /// The whole message from scratch.
  [[nodiscard]] Segments anew(const TensorState& tensor) const;
  /// The tensor of an attribute that stands at `item`; `data`: its new contents, or null.
  [[nodiscard]] Segments in_attribute(const onnx::TensorProto& tensor, const wire::Item& item, const TensorData* data) const;
  /// A sparse tensor from scratch.
  [[nodiscard]] Segments sparse(const onnx::SparseTensorProto& tensor) const;

 private:
  class Patch;
  const ModelOrigin& origin_;
  wire::Reader& window_;
  PayloadPlaces& store_;
};

}  // namespace relayout
