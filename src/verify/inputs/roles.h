#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ops/bounds.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"

namespace relayout {

/// Whether rows of this constant can be compared: numbers of 8 bits or more, of rank 1 and up, in an initializer or the output of a
/// Constant.
[[nodiscard]] bool is_table(const Value* value);

/// Rows (of dim 0) of two tables that are not byte-equal. Empty if types or dims differ, more than `most` rows do, or a row exceeds 1 MiB.
/// Errors: io, when a payload cannot be read.
[[nodiscard]] std::vector<int64_t> differing_rows(const Value& a, const Value& b, std::size_t most);
/// The first rows of an embedding table that are all zeros; none where the table is large.
[[nodiscard]] std::vector<int64_t> rows_of_zeros(const Value& table, std::size_t most);

/// Purpose of an input, from the first readers that compute with it (found through operators that only move or cast elements). Of several,
/// the first in this order counts.
enum class InputRole {
  shape,      ///< sizes, axes, counts of elements: no value can be guessed
  zero,       ///< an axis or position for which 0 is always valid
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

/// Size of a dim that bounds other values: known, or the dim of a graph input.
struct Extent {
  std::optional<int64_t> size;
  std::string input;  ///< if size is not known: dim `axis` of this input; empty: nothing is known
  int64_t axis = 0;
};

struct InputUse {
  InputRole role = InputRole::number;
  Extent limit;
  bool direct = true;                ///< no arithmetic between the input and the reader
  std::optional<int64_t> rows;       ///< the fewest from which a reader chooses by ids without arithmetic in front, as in the other model
  bool padding = false;              ///< a mask as tokenizers write it: in every row ones, then zeros after the end of the text
  bool fits_labels = false;          ///< a mask of integers whose readers fit a map of labels as well
  bool narrow = false;               ///< a model computes with it in 16 bits or fewer, which its values must not overflow
  std::optional<Bounds> range;       ///< the numbers that a model's quantizer of it represents: others become its ends
  bool negative_ids = false;         ///< the reader counts negative ids from the end
  std::string consumer;              ///< label of the reader, for messages
  std::map<int64_t, int64_t> dims;   ///< dims that the reader's weights require: axis → size
  std::vector<const Value*> tables;  ///< constants from which the ids choose rows
  std::vector<int64_t> preferred;    ///< ids that have to occur, as many as samples can hold
  std::vector<double> words;         ///< numbers at which a model decides, which have to occur (vocabulary.h)
  Tensor keys;                       ///< of a map
  bool shifts_words = false;         ///< single elements hold words in other samples than those of other inputs
};

/// Use of `input` by its graph. Linear in the nodes that it reaches without computation. `other`: the same input of the other model, if
/// any: it is a mask only if neither model's readers say otherwise.
[[nodiscard]] InputUse use_of(const Value& input, const Value* other = nullptr);

}  // namespace relayout
