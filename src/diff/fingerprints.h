#pragma once

#include <cstdint>
#include <vector>

#include "model/tensor_data.h"
#include "proof/side.h"
#include "relayout/graph.h"

namespace relayout {

/// The computation of a node and the use of its results, as numbers: equal ones are a hint that two nodes stand for each other.
struct Fingerprint {
  uint64_t own = 0;   ///< operator, attributes, constants
  uint64_t up = 0;    ///< the same, and what its operands are made of, up to the inputs
  uint64_t down = 0;  ///< the same, and what reads its results, down to the outputs
};

/// Fingerprints of every node of a model, in the order of Side::nodes().
struct Fingerprints {
  std::vector<Fingerprint> exact;  ///< with samples of the constants' bytes
  /// Constants by their dims alone; BatchNormalization, affines with a constant, casts and nodes that hand on what they read are not there,
  /// nor biases and Transposes of constants: folds and moved weights change nothing of these.
  std::vector<Fingerprint> canonical;
};
[[nodiscard]] Fingerprints fingerprints_of(const proof::Side& side);
/// Of a tensor: dims, type, and the bytes of its beginning and end.
[[nodiscard]] uint64_t fingerprint_of(const TensorData& data);

/// Whether a value depends on no input of the graph: an initializer that no caller sets, or made of such alone.
[[nodiscard]] bool is_constant_node(const Node& node) noexcept;
/// The operand that a node which canonical fingerprints leave out goes on with; nullptr of all other nodes.
[[nodiscard]] const Value* transparent_operand(const Node& node) noexcept;

}  // namespace relayout
