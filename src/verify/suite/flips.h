#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "verify/spill.h"

namespace relayout {

/// Elements of a model's quantized tensors that lie at a boundary between two steps: runs with moved values put them on another step than
/// the run as it stands.
class Flips {
 public:
  /// Makes `options` keep the quantized tensors of the run as it stands. `this` must outlive the run.
  void keep(ExecuteOptions& options);
  /// Makes `options` compare a run with moved values with the one kept.
  void count(ExecuteOptions& options);

  /// Elements on another step in the run that has most of them, and the first node of that run to make one.
  [[nodiscard]] int64_t most() const noexcept { return most_; }
  [[nodiscard]] const std::string& node() const noexcept { return node_; }

 private:
  void see(const Node& node, const Datum& output, std::size_t time);

  Spill spill_;
  std::unordered_map<const Node*, std::vector<Spill::Stored>> kept_;  ///< first outputs; a node of a loop runs several times
  std::unordered_map<const Node*, std::size_t> times_;                ///< in the run at hand
  int64_t elements_ = 0;                                              ///< of the run at hand
  std::string first_;                                                 ///< node of the run at hand
  int64_t most_ = 0;
  std::string node_;
};

}  // namespace relayout
