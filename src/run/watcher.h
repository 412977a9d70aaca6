#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ops/constants.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/run.h"
#include "run/array_files.h"

namespace relayout {

/// Facts about the numbers of a value; nothing where it holds texts or nothing.
[[nodiscard]] std::optional<TensorStatistics> statistics_of(const Datum& datum);

/// What is chosen and asked of the values of one run, as they are made.
class Watcher {
 public:
  /// `files`: where chosen values go; null: nowhere.
  Watcher(const Graph& graph, const RunOptions& options, ArrayFiles* files);

  void look_at_inputs(const Inputs& inputs);
  void look_at(const Computed& computed);
  /// The model's outputs that no node makes.
  void look_at_outputs(const Outputs& outputs);
  /// Moves tensors, number of values and the first one that is not finite into the result. Error{usage} for a glob that no value matches.
  void report(RunResult& result);
  [[nodiscard]] bool has_found() const noexcept { return not_finite_.has_value(); }

  /// Rounds floating-point numbers to this 16-bit type, in place.
  static void round(const Datum& datum, DataType type);

 private:
  struct Place {
    const Node* node = nullptr;          ///< that makes the value; null for inputs
    std::vector<std::string> callers;    ///< names of the nodes around it
    std::string iteration;               ///< "#2"; empty outside of nested graphs
    std::vector<const Value*> operands;  ///< of the node
  };
  void look_at(const Value& value, const Value* identity, const Datum& datum, const Place& place);
  [[nodiscard]] bool is_chosen(const Value& value, const Place& place, const std::string& name);
  [[nodiscard]] std::string unique(std::string name);
  [[nodiscard]] bool is_faulty(const Value& value, const TensorStatistics& statistics) const;
  void note_fault(RunTensor tensor, const Place& place);
  [[nodiscard]] std::optional<TensorStatistics> statistics_of_operand(const Value& operand);

  const Graph* graph_;
  const RunOptions* options_;
  ArrayFiles* files_;
  Constants constants_;
  std::unordered_map<const Graph*, int64_t> iterations_;      ///< of nested graphs, so far
  std::unordered_map<const Value*, TensorStatistics> known_;  ///< latest, if finite numbers are required
  std::unordered_set<std::string> names_;
  std::unordered_set<const Value*> seen_;  ///< of the main graph
  std::set<std::string> matched_;          ///< globs
  std::vector<RunTensor> tensors_;
  int64_t values_ = 0;
  std::optional<NotFinite> not_finite_;
};

}  // namespace relayout
