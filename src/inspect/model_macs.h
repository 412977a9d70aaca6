#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ops/constants.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/inspect.h"
#include "relayout/layout.h"
#include "relayout/model.h"

namespace relayout {

/// What is known of one node of the main graph.
struct NodeWork {
  const Node* node = nullptr;
  std::optional<int64_t> macs;
  std::vector<std::optional<Dims>> results;
  std::vector<DataType> types;
};

/// Multiply-accumulates of one run of a model.
struct ModelMacs {
  /// Of convolutions, Gemms, MatMuls and recurrent operators, also in the graphs and functions that nodes run, each time they run. Nothing
  /// when a required shape depends on more than shape arithmetic, or the operands of some node do not fit.
  std::optional<int64_t> macs;
  /// Operators that add up products and are left out of `macs`, themselves or with all graphs that they run: their number, by "domain:Op".
  std::map<std::string, int64_t> left_out;
  /// Assumptions where a run may take several ways: sizes of free dims ("N = 1"), the larger branch of an If whose condition is computed,
  /// the iterations of a Loop whose number may differ.
  std::vector<std::string> assumed;
  bool is_least = false;        ///< operators are left out
  std::vector<NodeWork> nodes;  ///< of the main graph, in order
  std::string misfit;           ///< the mismatch at the first node of the main graph whose operands do not fit it; empty where all do
};

/// Counts without running anything. `sizes` are those of free dims.
[[nodiscard]] ModelMacs count_macs(const Model& model, const ShapeOptions& sizes = {});

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
