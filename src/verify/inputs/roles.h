#pragma once

#include "ops/bounds.h"
#include "ops/operand_roles.h"
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

/// Size of a dim that bounds other values: known, or the dim of a graph input.
struct Extent {
  std::optional<int64_t> size;
  std::string input;  ///< if size is not known: dim `axis` of this input; empty: nothing is known
  int64_t axis = 0;
};

struct InputUse {
  InputRole role = InputRole::number;  ///< from the first readers that compute with it, over those that only move or cast elements
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
  std::vector<double> words;         ///< numbers at which a model decides, which have to occur (vocabulary_of())
  Tensor keys;                       ///< of a map
  bool shifts_words = false;         ///< single elements hold words in other samples than those of other inputs
};

/// Use of `input` by its graph. Linear in the nodes that it reaches without computation. `other`: the same input of the other model, if
/// any: it is a mask only if neither model's readers say otherwise.
[[nodiscard]] InputUse use_of(const Value& input, const Value* other = nullptr);

/// What the readers of an input say about masks: 1 for elements that count, 0 for others.
enum class MaskUse : uint8_t {
  none,      ///< nothing
  possible,  ///< readers that fit a mask, but other numbers as well
  factor,    ///< products with features, which fit a map of labels as well
  certain,   ///< readers that only make sense for a mask: 1 − m, choices, terms that hide scores
  refuted,   ///< a reader of which a mask makes no sense: a function, scaling, comparison with other numbers
};

/// Judges all uses of an input, through casts, nodes that move elements, branches, loops and functions.
[[nodiscard]] MaskUse mask_use_of(const Value& input);

/// Numbers of an input at which its model decides: the constants that it is compared with, and numbers on both sides of them; those that
/// become 0 or 1 as conditions; first and last position of what it indexes; the divisors of its remainders. Each is carried back through
/// arithmetic with constants, through branches, loops and functions. Constants that nodes are equal to come first.
[[nodiscard]] std::vector<double> vocabulary_of(const Value& input);

}  // namespace relayout
