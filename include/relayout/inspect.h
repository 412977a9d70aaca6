#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "relayout/findings.h"
#include "relayout/layout.h"
#include "relayout/model.h"

namespace relayout {

struct PortSummary {
  std::string name, type;                 ///< type as printed: "f32", "seq(f32)"
  std::string shape;                      ///< "[N, 3, 224, 224]"; empty when none is declared
  Dims dims = {};                         ///< of a declared shape; -1 where free
  std::vector<std::string> symbols = {};  ///< one per dim, "" where fixed or nameless
};

struct ConvolutionSummary {
  std::string node, op_type;
  Dims weight_dims;  ///< logical [O, I/g, k…]; empty when not known
  int64_t groups = 1;
  std::string layout;      ///< of the weight: contiguous, channels-last, both, other, computed
  std::string batch_norm;  ///< that reads its result: "folds", or the reason's code; empty without one
};

struct InspectResult {
  std::string path, producer;
  int64_t ir_version = 0, opset = 0, file_bytes = 0, parameters = 0, parameter_bytes = 0;
  std::map<std::string, int64_t> domains;  ///< other opset imports
  int64_t nodes = 0, functions = 0;
  /// Multiply-accumulates of convolutions, matrix products and recurrent operators, quantized ones included, where shapes can be told
  /// without running. Those of functions and nested graphs count each time they run.
  std::optional<int64_t> macs;
  bool macs_are_least = false;                      ///< operators that add up products are left out
  std::map<std::string, int64_t> ops_without_macs;  ///< operators that add up products, too, and are not in `macs`
  std::vector<std::string> assumed;                 ///< what `macs` is for: sizes of free dims ("N = 1"), which branch, how many iterations
  std::optional<std::string> misfit;                ///< dims that do not fit, at the first node where that is so
  std::map<std::string, int64_t> op_counts;         ///< subgraphs and functions included
  std::vector<PortSummary> inputs, outputs;
  std::vector<ConvolutionSummary> convolutions;
  Findings findings;                     ///< what convert would do, by its own matchers
  std::vector<std::string> unknown_ops;  ///< "domain:Op" that pass through untouched, sorted
  std::optional<LayoutReport> layout;    ///< of the main graph, where it was asked for
};

struct InspectOptions {
  LoadOptions load = {};
  ShapeOptions sizes = {};  ///< of free dims; see ShapeOptions for what is not given
  std::optional<LayoutRequest> layout = {};
  bool measure = false;  ///< the plan goes by times of kernels on this machine instead of default rates
  int threads = 0;       ///< of those kernels; 0: available_cpus()
};

/// A description of a model, with the verdicts that convert would act on.
[[nodiscard]] InspectResult inspect(const std::filesystem::path& path, const InspectOptions& options = {});

}  // namespace relayout
