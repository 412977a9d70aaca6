#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ops/constants.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/inspect.h"

namespace relayout {

/// The convolutions of a model, in the order in which they are added.
class ConvolutionList {
 public:
  /// `weight_index`: the input that is the weight.
  void add(const Node& node, std::size_t weight_index);
  /// The convolutions, each with the finding about the BatchNormalization that reads its result.
  [[nodiscard]] std::vector<ConvolutionSummary> with_verdicts(const Findings& findings);

 private:
  Constants constants_;
  std::vector<ConvolutionSummary> convolutions_;
  std::vector<std::string> batch_norms_;  ///< the name of the BatchNormalization after each convolution; empty without one
};

}  // namespace relayout
