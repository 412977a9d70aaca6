#pragma once

#include <span>

#include "model/origin.h"
#include "model/payload_places.h"
#include "model/segments.h"
#include "model/wire_reader.h"

namespace relayout {

/// A tensor to be written: its current message (name, dims, type) without payload, and its current contents.
struct TensorState {
  const onnx::TensorProto* message = nullptr;
  const TensorData* data = nullptr;  ///< null: contents in the message (strings; tensors of attributes)
  bool is_new = false;               ///< added by a pass
  bool in_attribute = false;         ///< in an attribute or a sparse tensor: not an initializer
};

/// Writes tensors of one model: those in the file by patching their items, others from their message.
class TensorSplicer {
 public:
  TensorSplicer(const ModelOrigin& origin, wire::Reader& window, PayloadPlaces& store) : origin_(origin), window_(window), store_(store) {}

  /// A tensor in the file: dims, name and payload are substituted in place, everything else is copied.
  [[nodiscard]] Segments patched(std::span<const wire::Item> items, const TensorState& tensor) const;
  /// The whole message, newly encoded.
  [[nodiscard]] Segments anew(const TensorState& tensor) const;
  /// The tensor of an attribute at `item`; `data`: its new contents, or null.
  [[nodiscard]] Segments in_attribute(const onnx::TensorProto& tensor, const wire::Item& item, const TensorData* data) const;
  /// A sparse tensor, newly encoded.
  [[nodiscard]] Segments sparse(const onnx::SparseTensorProto& tensor) const;

 private:
  class Patch;
  const ModelOrigin& origin_;
  wire::Reader& window_;
  PayloadPlaces& store_;
};

}  // namespace relayout
