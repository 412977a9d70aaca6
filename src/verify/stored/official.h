#pragma once

#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "verify/run/spill.h"

namespace relayout {

/// Counts elements of a model's quantized tensors at a boundary between two steps: runs with moved values put them on a different step than
/// the unmoved run.
class Flips {
 public:
  /// Makes `options` keep the quantized tensors of the unmoved run. `this` must outlive the run.
  void keep(ExecuteOptions& options);
  /// Makes `options` compare a run with moved values with the kept one.
  void count(ExecuteOptions& options);

  /// Elements on a different step in the run that has most of them, and the first node of that run that computes one.
  [[nodiscard]] int64_t most() const noexcept { return most_; }
  [[nodiscard]] const std::string& node() const noexcept { return node_; }

 private:
  void see(const Node& node, const Datum& output, std::size_t time);

  Spill spill_;
  std::unordered_map<const Node*, std::vector<Spill::Stored>> kept_;  ///< first outputs; a node of a loop runs several times
  std::unordered_map<const Node*, std::size_t> times_;                ///< in the current run
  int64_t elements_ = 0;                                              ///< of the current run
  std::string first_;                                                 ///< node of the current run
  int64_t most_ = 0;
  std::string node_;
};

/// |d| ≤ atol + rtol · |reference|.
struct Tolerance {
  double rtol = 1e-3, atol = 1e-7;
  bool alone = false;  ///< given by the user: no other bound lets a difference pass
};

/// The rule of the ONNX backend test runner (onnx 1.17, onnx/backend/test/runner): looser than it looks. Bool and string references are
/// compared by value only, scalars broadcast, integers have a tolerance, and a sequence may be shorter than its reference.
[[nodiscard]] bool official_rule_passes(const Datum& result, const Datum& reference, const Tolerance& tolerance);

/// relayout's rule for one stored output without its floor: floating-point elements within the tolerance; type, shape and all other
/// elements exact.
struct StoredComparison {
  bool same_structure = true;
  bool exact_part = true;        ///< structure, exact types and non-finite elements agree
  int64_t neighbours = 0;        ///< if only integers of at most 16 bits differ, each by one: their number
  bool within_tolerance = true;  ///< all floating-point elements are within the tolerance
  bool tolerance_alone = false;  ///< only the tolerance counts, not `bound`
  double error = 0, range = 1;   ///< largest error over the range of the reference, and that range
  double bound = 0;              ///< error that passes whatever the tolerance is: 1e-5 in f32, 0 in 8-bit floats, else the type's minimum
  std::string message;           ///< the fault; empty: none
  [[nodiscard]] bool passed() const { return exact_part && (within_tolerance || (!tolerance_alone && error <= bound)); }
};
[[nodiscard]] StoredComparison compare_stored(const Datum& result, const Datum& reference, const Tolerance& tolerance);

}  // namespace relayout
