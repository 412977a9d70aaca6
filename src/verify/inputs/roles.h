#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "relayout/graph.h"
#include "verify/inputs/range.h"

namespace relayout {

/// Purpose of an input, as its first readers that compute with it show (looked for through ops that only move or cast elements).
/// Of several, the first in this order counts.
enum class InputRole {
  shape,      ///< sizes, axes, counts of elements: no value can be guessed
  zero,       ///< an axis or position for which 0 always does
  count,      ///< a small positive number: trip count, boxes to keep
  condition,  ///< of If and Loop
  ids,        ///< indices into a dim of `limit` elements
  length,     ///< lengths of sequences, at most `limit`
  mask,       ///< 0 and 1, or false and true
  ratio,      ///< a threshold or probability of a whole node
  boxes,      ///< rows of two corners
  unit,       ///< probabilities: (0, 1)
  symmetric,  ///< (-1, 1)
  above_one,  ///< [1, ∞)
  positive,   ///< (0, ∞)
  nonzero,    ///< divisors
  scale,      ///< small positive factors: quantization
  bytes,      ///< 0 … 255
  image,      ///< features of convolutions, poolings, normalizations
  number,     ///< anything else
};

/// How large a dim is that other values must respect: known, or the dim of a graph input.
struct Extent {
  std::optional<int64_t> size;
  std::string input;  ///< when size is not known: dim `axis` of this input, empty when nothing is known
  int64_t axis = 0;
};

struct InputUse {
  InputRole role = InputRole::number;
  Extent limit;
  bool direct = true;                ///< no arithmetic between the input and the reader
  bool padding = false;              ///< a mask as tokenizers make it: in every row ones, then zeros where the text has ended
  bool narrow = false;               ///< a model computes with it in 16 bits or fewer: nothing that overflows those
  std::optional<Range> range;        ///< all that a model takes of it: a quantizer makes its ends of what lies beyond
  bool negative_ids = false;         ///< the reader counts negative ids from the end
  std::string consumer;              ///< label of the reader, for messages
  std::map<int64_t, int64_t> dims;   ///< dims that the reader's weights ask for: axis → size
  std::vector<const Value*> tables;  ///< constants whose rows the ids choose
  std::vector<int64_t> preferred;    ///< ids that must come, as far as samples reach
};

/// How the graph uses its input `input`. Linear in the nodes that it reaches without computing.
[[nodiscard]] InputUse use_of(const Value& input);

}  // namespace relayout
