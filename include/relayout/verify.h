#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "relayout/execute.h"
#include "relayout/model.h"

namespace relayout {

enum class Outcome { same, different, inconclusive };
[[nodiscard]] std::string_view to_string(Outcome outcome) noexcept;

struct VerifyOptions {
  LoadOptions load;
  int samples = 4;
  uint64_t seed = 1;
  std::optional<double> rtol, atol;                     ///< added, never loosen
  std::map<std::string, int64_t> dims;                  ///< --dim N=2
  std::map<std::string, Dims> shapes;                   ///< --shape x=1,3,224,224
  std::map<std::string, std::filesystem::path> inputs;  ///< --input NAME=FILE
  std::optional<Mode> mode;                             ///< --data: only this mode
  bool allow_inconclusive = false;
  int threads = 0;
  std::function<void(std::string_view what, int64_t done, int64_t total)> progress;
};

/// A difference in what can be seen without running: names, order, types, ranks, dims.
struct InterfaceDifference {
  std::string side;  ///< "input" or "output"
  std::string name, field, a, b;
  bool remark = false;  ///< does not make the verdict `different`
};

/// Numbers of one output over one sample.
struct SampleMetrics {
  double max_abs = 0, max_error = 0, rms_error = 0;  ///< max_error: max_abs / range over all samples; rms_error: RMS / σ
  double floor_max = 0, floor_rms = 0, bound_max = 0, bound_rms = 0, ratio = 0;  ///< ratio: max_error / floor_max
  double cosine = 1, psnr = 0;
  std::vector<int64_t> ulp_histogram;  ///< log2 bins
  int64_t nan_a = 0, nan_b = 0, nan_both = 0;
  Dims at;  ///< worst element
  double value_a = 0, value_b = 0;
  std::optional<bool> top1, top5;
  Outcome outcome = Outcome::same;
  std::string reason;
};

struct OutputComparison {
  std::string name;
  DataType type = DataType::undefined;
  Dims dims;
  Outcome outcome = Outcome::same;
  std::string reason;
  double max_error = 0, rms_error = 0, floor = 0, ratio = 0;  ///< worst sample
  std::vector<SampleMetrics> samples;
};

struct VerifyResult {
  std::string a, b;
  std::vector<InterfaceDifference> interface;
  std::vector<OutputComparison> outputs;
  Outcome outcome = Outcome::same;
  std::string defect;          ///< right as written, wrong optimized; or not deterministic: exit 70
  bool reference_run = false;  ///< whether the double-precision reference joined the floor
  int samples = 0;
  uint64_t seed = 0;
  int threads = 0;
  std::string onednn, isa;
  double seconds = 0, seconds_a = 0, seconds_b = 0, seconds_floor = 0;
};

/// Do two files compute the same function, as far as arithmetic of this precision can tell? Never two models in memory at once.
[[nodiscard]] VerifyResult verify(const std::filesystem::path& a, const std::filesystem::path& b, const VerifyOptions& options);

/// One stored case of a model against its expected outputs.
struct DataCase {
  std::string name;    ///< "test_data_set_0 (as-written)"
  std::string status;  ///< passed, failed, pass-loose, unsupported
  std::string message;
  double seconds = 0, error = 0, bound = 0;  ///< worst error/range over its float outputs, and what it may be
};
struct DataResult {
  std::string model;
  std::vector<DataCase> cases;
  [[nodiscard]] bool passed() const;
};

/// Runs a model on the stored inputs of `directory` (holds test_data_set_N, or is one) and compares with the stored outputs.
[[nodiscard]] DataResult verify_data(const std::filesystem::path& model, const std::filesystem::path& directory,
                                     const VerifyOptions& options);

}  // namespace relayout
