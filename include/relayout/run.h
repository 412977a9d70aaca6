#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/execute.h"
#include "relayout/inputs.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout {

struct RunOptions : InputOptions {
  LoadOptions load;
  Mode mode = Mode::as_written;
  int threads = 0;  ///< 0: available_cpus()
  /// Globs that choose tensors by name, with or without the nodes around it and the number of the iteration; empty: the model's outputs.
  std::vector<std::string> tensors;
  std::filesystem::path save;  ///< .npz, or else a new folder with a file per tensor; empty: nothing is saved
  bool statistics = false;     ///< of the chosen tensors
  bool require_finite = false;
  DataType as = DataType::undefined;  ///< float16 or bfloat16: every floating-point number is rounded to this type where it is made
  std::function<void(std::string_view what, int64_t done, int64_t total)> progress;  ///< numbers of nodes
};

/// Facts about the numbers of a value: of all tensors of a sequence, and of the parts of complex numbers. Texts have none.
struct TensorStatistics {
  int64_t elements = 0;
  int64_t zeros = 0, nans = 0, above = 0, below = 0;        ///< above and below: ∞ and −∞
  int64_t beyond_f16 = 0;                                   ///< finite numbers that are infinite in f16: from 65,520 on
  double least = 0, greatest = 0, mean = 0, deviation = 0;  ///< of the finite numbers, if there are any
  [[nodiscard]] int64_t infinities() const noexcept { return above + below; }
  [[nodiscard]] int64_t finite() const noexcept { return elements - nans - infinities(); }
};

/// A value that a run has made, or that it was given.
struct RunTensor {
  std::string name;           ///< "loop › y#2" for value y of the third run of the graph in node 'loop'; "call › y" in a function
  std::string node, op_type;  ///< that made it; empty for an input of the model or of a nested graph
  std::string type;           ///< "f32[1, 3]", "seq(f32)"
  Dims dims;                  ///< of a tensor
  std::optional<TensorStatistics> statistics;
  std::optional<TensorStatistics> faults;  ///< of an output of the model that is not finite, where no statistics were asked for
  std::vector<std::string> saved;          ///< names of its arrays in the .npz, or of its files
};

/// The first value with NaN or infinities, and what its node has read.
struct NotFinite {
  RunTensor value;
  std::vector<RunTensor> operands;  ///< those that hold numbers
};

struct RunResult {
  std::string model;
  Mode mode = Mode::as_written;
  DataType as = DataType::undefined;
  std::vector<std::string> assumed;  ///< assumed sizes of free dims: "N = 1"
  std::vector<RunTensor> tensors;    ///< the chosen ones, in the order in which they were made
  int64_t values = 0;                ///< all that were made
  std::optional<NotFinite> not_finite;
  double seconds = 0;  ///< of the run, with what was asked about its values
  int64_t saved_bytes = 0;
};
[[nodiscard]] int exit_code(const RunResult& result) noexcept;

/// Runs a model once. Texts of Error: usage for inputs that cannot be guessed and for globs that no value matches, and those of
/// Model::load() and Executor. An infinity below all numbers that only Softmaxes and maxima read, perhaps moved or added to their operand,
/// is a mask and counts as finite.
[[nodiscard]] RunResult run_model(const std::filesystem::path& model, const RunOptions& options = {});

}  // namespace relayout
