#pragma once

#include <unordered_map>
#include <vector>

#include "proof/linear.h"
#include "proof/recompute.h"
#include "proof/side.h"

namespace relayout::proof {

/// Results of recompute() by the operators and the affines around them. Several readings of what stands in front of an operator come to
/// the same affines, and looks at what an operator rests on come back to it: each reads the weights of both files only once.
class KnownFolds {
 public:
  /// As recompute(). `a` and `b` are as read_linear() reads their outputs.
  [[nodiscard]] Recomputed recompute(const Linear& a, const Around& around_a, const Linear& b, const Around& around_b, bool thorough);

 private:
  struct Known {
    Around around_a, around_b;
    bool thorough = false;
    Recomputed found;
  };
  std::unordered_map<RefPair, std::vector<Known>, RefPairHash> known_;  ///< by the outputs of the operators
};

}  // namespace relayout::proof
