#pragma once

#include <functional>

#include "verify/inputs/free_dims.h"

namespace relayout {

/// Sizes for the free dims of each sample, found by trial: the attempt that the first runnable sample takes counts for all that follow.
class SizeSearch {
 public:
  /// Whether the model runs with these sizes.
  using Trial = std::function<bool(const FreeDims::Assignment& sizes)>;

  /// `samples`: how many sizes are to be told apart, see FreeDims::Place.
  explicit SizeSearch(int samples) : samples_(samples) {}
  /// The sizes that were tried last for a sample with these dims: the ones that the model takes, if there are any.
  [[nodiscard]] FreeDims::Assignment find(const FreeDims& dims, int sample, const Trial& runs);

 private:
  int samples_;
  int attempt_ = 0;
  bool has_found_ = false;
  bool takes_uneven_ = true;  ///< spatial sizes that halve unevenly; false once they were refused
};

}  // namespace relayout
