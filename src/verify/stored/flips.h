#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

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

}  // namespace relayout
