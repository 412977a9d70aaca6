#pragma once

#include <unordered_map>
#include <vector>

#include "proof/linear.h"
#include "proof/recompute.h"
#include "proof/side.h"

namespace relayout::proof {

/// Cache of recompute() by the operators and the affines around them. Several readings of the nodes upstream of an operator may result in
/// the same affines, and probes of dependent claims come back to it. The weights of both files are read only once.
class KnownFolds {
 public:
  /// Same as recompute(). `a` and `b` are the results of read_linear() for their outputs.
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
