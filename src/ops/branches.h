#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ops/constants.h"
#include "relayout/graph.h"

namespace relayout {

/// Ranks as bits: bit n stands for n dims.
using Ranks = uint32_t;

/// Which graph each If of a model takes whenever the model runs to its end: its condition is constant, or the other graph gives a value of
/// a rank that a node which always runs does not accept. Answers are remembered, and void when a graph changes.
class Branches {
 public:
  explicit Branches(Constants& constants) : constants_(constants) {}
  /// The condition; nothing where it is not certain, or for other nodes.
  [[nodiscard]] std::optional<bool> condition(const Node& holder);

 private:
  [[nodiscard]] std::optional<bool> constant_condition(const Node& holder);
  [[nodiscard]] std::optional<bool> condition_by_ranks(const Node& holder);
  [[nodiscard]] const Value* passed_on_by(const Node& node);
  [[nodiscard]] std::vector<const Node*> holders_of(const Value& condition);
  [[nodiscard]] bool can_run(const Node& holder, const Graph& branch);
  [[nodiscard]] bool runs_with(const Graph& inner, const Graph& outer);
  [[nodiscard]] Ranks possible(const Value& value, int depth);
  [[nodiscard]] Ranks accepted(const Value& value, int depth);
  [[nodiscard]] Ranks accepted_by(const Node& node, std::size_t index, int depth);
  [[nodiscard]] std::optional<int64_t> count_of_axes(const Node& node);

  Constants& constants_;
  std::unordered_map<const Node*, std::optional<bool>> known_;
  int steps_ = 0, nesting_ = 0;  ///< of the decision under way, and how many it is within: ways through Ifs multiply
};

/// How many outputs the graphs of a node have in front of those that become its results: of a Loop, the condition.
[[nodiscard]] std::size_t outputs_before_results(const Node& holder);

/// How often a Loop runs its body: 0 or 1 where constants decide that; nothing for more, where it is not certain, and for other nodes.
[[nodiscard]] std::optional<int64_t> runs_of_loop(const Node& node, Constants& constants);

}  // namespace relayout
