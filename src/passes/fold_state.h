// Facts that one fold leaves for later ones: computed weights, so that equal ones stay shared, biases before rounding, and affines as read.

#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "model/tensor_data.h"
#include "passes/match.h"
#include "relayout/graph.h"

namespace relayout::passes {

struct AffineNode;

/// A weight that a fold has computed, to be shared by equal ones: the same stored bytes, in the same order, with the same factors.
struct WeightCopy {
  TensorData original;
  Scale scale;
  Value* copy;
  std::vector<std::shared_ptr<const Scale>> stored;  ///< scales of the copy's data at that time: the copy has changed when they differ
};

/// A bias that folds have computed, before rounding, so that a chain of folds rounds once.
struct ExactBias {
  const Value* value = nullptr;  ///< stores it; the numbers are void when the operator reads another value
  std::vector<double> values;
};

/// Facts that folds leave for later folds, of the same pass and of the next one.
struct FoldState {
  std::unordered_multimap<uint64_t, WeightCopy> weight_copies;                        ///< by a hash of original and factors
  std::unordered_map<const Node*, ExactBias> exact_biases;                            ///< by linear operator
  std::unordered_map<const Node*, std::shared_ptr<const Match<AffineNode>>> affines;  ///< as read, while no other pass runs
};

}  // namespace relayout::passes
