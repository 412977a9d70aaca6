// Makes two Slices in a row one.
//
//     a = Slice (x, [0], [129], [1])
//     y = Slice (a, [1], [9], [2])     →      y = Slice (x, [0, 1], [129, 9], [1, 2])

#include "model/tensor_data.h"
#include "ops/constants.h"
#include "ops/operands.h"
#include "ops/partial_dims.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

constexpr std::size_t kStarts = 1, kEnds = 2, kAxes = 3, kSteps = 4;
/// No axis is longer, so that an end beyond it is the last element's.
constexpr int64_t kBeyond = int64_t{1} << 48;

struct Part {
  int64_t axis, start, end, step;
};

struct MergedSlice {
  const Node *outer = nullptr, *inner = nullptr;
  std::vector<Part> parts;
  std::vector<const Node*> taken, anchors;
  std::string detail;
};

bool reads_lists(const Node& node) {
  constexpr int kListsAsOperands = 10;
  return node.is("Slice") && node.domain().empty() && node.opset() >= kListsAsOperands && node.input(0) != nullptr &&
         node.output(0) != nullptr;
}

/// The parts that a Slice takes, with axes counted from the front; nothing where these are not constant.
std::optional<std::vector<Part>> parts_of(const Node& node, PassContext& context) {
  std::array<std::vector<int64_t>, 5> lists;
  for (const std::size_t index : {kStarts, kEnds, kAxes, kSteps}) {
    if (node.input(index) == nullptr) continue;
    const auto value = context.constants.value(*node.input(index));
    if (!value || value->dims().size() != 1 || value->element_count() > kMostContents) return std::nullopt;
    lists[index] = truncated_integers_of(*value);
  }
  const std::size_t count = lists[kStarts].size();
  const auto fits = [&](std::size_t index) { return node.input(index) == nullptr || lists[index].size() == count; };
  if (lists[kEnds].size() != count || !fits(kAxes) || !fits(kSteps)) return std::nullopt;
  const PartialDims dims = context.constants.dims(*node.input(0));
  std::vector<Part> out;
  for (std::size_t i = 0; i < count; ++i) {
    int64_t axis = node.input(kAxes) == nullptr ? static_cast<int64_t>(i) : lists[kAxes][i];
    if (axis < 0 && dims) axis += std::ssize(*dims);
    if (axis < 0) return std::nullopt;
    out.push_back({axis, lists[kStarts][i], lists[kEnds][i], node.input(kSteps) == nullptr ? 1 : lists[kSteps][i]});
  }
  return out;
}

/// A part of a part of one axis; nothing unless both are counted from the first element, and where none is left.
std::optional<Part> part_of(const Part& inner, const Part& outer) {
  const bool is_counted = inner.step == 1 && outer.step == 1 && inner.start >= 0 && inner.end >= 0 && outer.start >= 0 && outer.end >= 0;
  if (!is_counted || inner.start >= kBeyond || outer.start >= kBeyond) return std::nullopt;
  const int64_t end = outer.end >= kBeyond ? inner.end : std::min(inner.end, inner.start + outer.end);
  const int64_t start = inner.start + outer.start;
  return start < end ? std::optional(Part{inner.axis, start, end, 1}) : std::nullopt;
}

std::optional<std::vector<Part>> merged(std::vector<Part> inner, const std::vector<Part>& outer) {
  for (const Part& part : outer) {
    const auto same = std::ranges::find(inner, part.axis, &Part::axis);
    if (same == inner.end()) {
      inner.push_back(part);
      continue;
    }
    const auto both = part_of(*same, part);
    if (!both) return std::nullopt;
    *same = *both;
  }
  return inner;
}

Match<MergedSlice> match_slices(const Node& node, PassContext& context) {
  const Node* const inner = node.input(0)->producer();
  if (inner == nullptr || !reads_lists(*inner) || &inner->graph() != &node.graph() || node.input(0)->sole_use() == nullptr)
    return NotApplicable{};
  // So that nothing grows, the lists of the inner one go with it.
  const auto is_own = [&](std::size_t index) { return inner->input(index) == nullptr || inner->input(index)->sole_use() != nullptr; };
  for (const std::size_t index : {kStarts, kEnds, kAxes, kSteps}) {
    if (!is_own(index)) return NotApplicable{};
  }
  const auto first = parts_of(*inner, context), second = parts_of(node, context);
  const auto parts = first && second ? merged(*first, *second) : std::nullopt;
  if (!parts) return NotApplicable{};
  if (is_excluded(*inner, context.options)) return Skip{Reason::excluded, {}};
  return MergedSlice{&node, inner, *parts, {&node}, {&node}, {}};
}

void merge_two(const MergedSlice& found, PassContext& context) {
  Node& node = writable(*found.outer);
  Graph& graph = node.graph();
  Value& between = *node.input(0);
  graph.set_input(node, 0, found.inner->input(0));
  const auto set = [&](std::size_t index, const std::string& name, int64_t Part::* field) {
    std::vector<int64_t> numbers;
    for (const Part& part : found.parts) numbers.push_back(part.*field);
    std::vector<std::byte> bytes(numbers.size() * sizeof(int64_t));
    std::memcpy(bytes.data(), numbers.data(), bytes.size());
    set_constant_input(node, index, TensorData(DataType::int64, {std::ssize(numbers)}, Bytes::owned(std::move(bytes))), name, context);
  };
  const std::string name = node.output(0)->name();
  release(between, context);
  set(kStarts, name + ".starts", &Part::start);
  set(kEnds, name + ".ends", &Part::end);
  set(kAxes, name + ".axes", &Part::axis);
  const bool has_steps = std::ranges::any_of(found.parts, [](const Part& part) { return part.step != 1; });
  Value* const steps = node.input(kSteps);
  if (has_steps) {
    set(kSteps, name + ".steps", &Part::step);
  } else if (steps != nullptr) {
    graph.set_input(node, kSteps, nullptr);
    release(*steps, context);
  }
  context.constants.forget(*node.output(0));
}

}  // namespace

void merge_slices(Graph& graph, PassContext& context) {
  rewrite_each(graph, context, reads_lists, match_slices, merge_two);
}

}  // namespace relayout::passes
