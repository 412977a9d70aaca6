#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout {

/// What an input of a node, or of a model, is for. Of several readers of one value, the first in this order counts.
enum class InputRole {
  shape,      ///< sizes, axes, counts of elements: no value can be guessed
  zero,       ///< an axis or position for which 0 is always valid
  count,      ///< a small positive number: trip count, boxes to keep
  condition,  ///< of If and Loop
  ids,        ///< indices into a dim of `limit` elements
  length,     ///< lengths of sequences, at most `limit`
  mask,       ///< 0 and 1, or false and true; no operator alone says so
  ratio,      ///< a threshold or probability of a whole node
  boxes,      ///< rows of two corners
  unit,       ///< probabilities: (0, 1)
  symmetric,  ///< (-1, 1)
  above_one,  ///< [1, ∞)
  positive,   ///< (0, ∞)
  nonzero,    ///< divisors
  scale,      ///< small positive factors: quantization
  bytes,      ///< 0 … 255; no operator alone says so
  image,      ///< features of convolutions, poolings, normalizations
  number,     ///< anything else
};

/// What ONNX's specification says of input `index` of a node; nullopt if it takes any number.
[[nodiscard]] std::optional<InputRole> role_of(const Node& node, std::size_t index);

/// Below what the ids that a node reads are.
struct IdLimit {
  enum class By : uint8_t {
    dim,      ///< dim `number` of input `input`
    any_dim,  ///< each dim of input `input`
    element,  ///< the only element of input `input`
    number    ///< `number`
  };
  By by = By::dim;
  std::size_t input = 0;
  int64_t number = 0;
};
[[nodiscard]] IdLimit id_limit_of(const Node& node);

/// The axis of input 0 that the lengths that a node reads count along.
[[nodiscard]] int64_t length_axis(const Node& node);

/// The inputs of a RotaryEmbedding, also of com.microsoft, that are its positions, and the cache whose rows they choose.
struct Rotation {
  std::size_t positions, cache;
};
[[nodiscard]] std::optional<Rotation> rotation_of(const Node& node);

/// Sizes of the dims, by axis, of input 0 of rank `rank` that the node's weight (input 1) of dims `weight` requires.
[[nodiscard]] std::map<int64_t, int64_t> demanded_dims(const Node& node, const Dims& weight, std::size_t rank);

}  // namespace relayout
