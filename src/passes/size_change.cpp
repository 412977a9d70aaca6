// Follows a size from the inputs of a graph to the constants that hold it, and to the node that fixes it.
#include "passes/size_change.h"

#include "model/node.h"
#include "passes/size_walk.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

/// The target of a Reshape whose result has these dims for two sizes: those that vary are copied (0) or inferred (−1).
std::optional<std::vector<int64_t>> free_target(const Node& node, std::vector<int64_t> target, const Dims& data, const Dims& result,
                                                const std::vector<std::size_t>& varying) {
  const bool copies = Attributes(node).integer("allowzero", 0) == 0;
  for (const std::size_t axis : varying) {
    if (target[axis] <= 0) continue;
    const bool is_copy = copies && axis < data.size() && data[axis] == result[axis];
    if (!is_copy && std::ranges::count(target, -1) > 0) return std::nullopt;
    target[axis] = is_copy ? 0 : -1;
  }
  return target;
}

/// The dims that a target gives to data.
Dims reshaped(const Node& node, const std::vector<int64_t>& target, const Dims& data) {
  Dims out = target;
  const bool copies = Attributes(node).integer("allowzero", 0) == 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] == 0 && copies && i < data.size()) out[i] = data[i];
  }
  const auto inferred = std::ranges::find(out, -1);
  if (inferred == out.end()) return out;
  *inferred = 1;
  const int64_t others = element_count(out);
  *inferred = others > 0 ? element_count(data) / others : 0;
  return out;
}

class Follower {
 public:
  Follower(const Graph& graph, const NewSize& change) : graph_(graph), change_(change) {}

  static constexpr int64_t kMore = 3, kFar = 997;

  SizeChange run(Parts parts) {
    SizeChange out;
    const int64_t first = change_.size.value_or(2 * change_.old_size);
    const SizeWalk walk = walk_size(graph_, change_, parts, first);
    // Other sizes show that nothing depends on the first by coincidence.
    const int64_t base = change_.size ? change_.old_size + *change_.size : change_.old_size, more = kMore * base;
    std::optional<SizeWalk> second;
    if (parts == Parts::apart || !change_.size) {
      second = walk_size(graph_, change_, parts, more);
      (void)walk_size(graph_, change_, parts, kFar * base);
    }
    for (const auto& [node, operand] : walk.operands) add_operand(*node, operand, walk, out);
    for (const auto& [value, dims] : walk.dims)
      declare(*value, dims, walk, second && second->dims.contains(value) ? second->dims.at(value) : dims, first, more, out);
    return out;
  }

 private:
  void add_operand(const Node& node, SizedOperand operand, const SizeWalk& walk, SizeChange& out) const {
    if (!operand.scales.empty()) {
      if (change_.size) operand = {&node, 3, operand.contents, {}};
      return out.operands.push_back(std::move(operand));
    }
    if (!node.is("Reshape")) return out.operands.push_back(std::move(operand));
    const auto target = walk.old->integers(*node.input(1));
    const Dims& result = walk.old->dims_of(node.output(0)) != nullptr ? *walk.old->dims_of(node.output(0)) : operand.contents;
    const std::vector<std::size_t> varying = moving_axes(result, operand.contents);
    std::vector<int64_t> contents = *target;
    const auto data = walk.dims.find(node.input(0));
    const Dims dims = data != walk.dims.end() ? data->second : input_dims(*node.input(0), walk);
    if (change_.size) {
      for (const std::size_t axis : varying) contents[axis] = contents[axis] > 0 ? operand.contents[axis] : contents[axis];
    } else {
      const auto free = free_target(node, contents, dims, operand.contents, varying);
      if (!free) throw Refused{&node, "its target shape would have two free dims"};
      contents = *free;
    }
    if (reshaped(node, contents, dims) != operand.contents) throw Refused{&node, "its target shape infers another dim"};
    if (contents != *target) out.operands.push_back({&node, 1, std::move(contents), {}});
  }

  [[nodiscard]] Dims input_dims(const Value& value, const SizeWalk& walk) const {
    Dims dims = *walk.old->dims_of(&value);
    for (const auto& [input, axis] : change_.axes) {
      if (input == &value) dims[axis] = change_.size.value_or(2 * change_.old_size);
    }
    return dims;
  }

  void declare(const Value& value, const Dims& dims, const SizeWalk& walk, const Dims& others, int64_t first, int64_t more,
               SizeChange& out) const {
    const Dims& old = *walk.old->dims_of(&value);
    SizeChange::Declared declared{dims, std::vector<bool>(dims.size(), false)};
    for (const std::size_t axis : moving_axes(old, dims)) {
      declared.follows[axis] = old[axis] == change_.old_size && dims[axis] == first && others[axis] == more;
      if (!change_.size) declared.dims[axis] = -1;
    }
    out.declared.emplace(&value, std::move(declared));
  }

  const Graph& graph_;
  const NewSize& change_;
};

}  // namespace

SizeChange follow_size(const Graph& graph, const NewSize& change) {
  SizeChange refused;
  const auto attempt = [&](Parts parts) -> std::optional<SizeChange> {
    try {
      return Follower(graph, change).run(parts);
    } catch (const Refused& why) {
      if (refused.obstacle != nullptr && change.axes.front().second == 0) return std::nullopt;
      refused.obstacle = why.node;
      refused.why = why.why;
      return std::nullopt;
    }
  };
  if (auto apart = attempt(Parts::apart)) return *apart;
  // One element along an axis may stand for anything.
  if (change.old_size > 1) {
    if (auto mixed = attempt(Parts::mixed)) return *mixed;
  }
  return refused;
}

}  // namespace relayout::passes
