#pragma once

#include <cstdint>
#include <vector>

#include "model/tensor_data.h"
#include "proof/side.h"
#include "relayout/graph.h"

namespace relayout {

/// The computation of a node and the use of its results, as hashes. Equal hashes are a hint that two nodes correspond to each other.
struct Fingerprint {
  uint64_t own = 0;   ///< operator, attributes, constants
  uint64_t up = 0;    ///< `own` and the graph upstream, up to the inputs
  uint64_t down = 0;  ///< `own` and the graph downstream, down to the outputs
};

/// Fingerprints of every node of a model, in the order of Side::nodes().
struct Fingerprints {
  std::vector<Fingerprint> exact;  ///< with samples of the bytes of constants
  /// Constants count by their dims alone. BatchNormalization, affines with a constant, casts and identities are left out, as are biases and
  /// Transposes of constants, so that folds and moved weights do not change these fingerprints.
  std::vector<Fingerprint> canonical;
};
[[nodiscard]] Fingerprints fingerprints_of(const proof::Side& side);
/// Hashes a tensor: dims, type, and the bytes of its beginning and end.
[[nodiscard]] uint64_t fingerprint_of(const TensorData& data);

/// Whether a node depends on no input of the graph: a Constant, or a chain of views of a Constant or of an initializer that no caller sets.
[[nodiscard]] bool is_constant_node(const Node& node) noexcept;
/// The operand that a node passes on if canonical fingerprints leave the node out; nullptr for all other nodes.
[[nodiscard]] const Value* transparent_operand(const Node& node) noexcept;

}  // namespace relayout
