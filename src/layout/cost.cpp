// Predicts how long operators and copies take in either layout, for the layout plan.

#include "layout/cost.h"

#include "base/machine.h"
#include "base/positions.h"
#include "layout/axis_order.h"
#include "layout/layout_graph.h"
#include "layout/ports.h"
#include "layout/rates.h"
#include "model/node.h"
#include "ops/op.h"
#include "relayout/types.h"

namespace relayout::layout {
namespace {

constexpr double kMostNanoseconds = 1e12;  ///< so that sums stay far from overflow

int64_t whole(double nanoseconds) {
  return static_cast<int64_t>(std::clamp(nanoseconds, 0.0, kMostNanoseconds));
}

rates::Kind kind_of(const LayoutGraph& graph, const LayoutNode& node) {
  using enum rates::Kind;
  const Dims& x = graph.value(node.input(0))->dims;
  const LayoutValue* const weight = graph.value(node.input(*node.op->traits.convolution_weight()));
  const int64_t groups = Attributes(*node.node).integer("group", 1);
  if (weight == nullptr || weight->dims.size() != x.size()) return line;
  if (groups > 1) return groups == x[1] ? depthwise : grouped;
  if (node.op->traits.has(Trait::transposed)) return transposed;
  if (x.size() > 3 && x[1] <= rates::kFewChannels) return first;
  if (x.size() > 4) return volume;
  if (std::all_of(weight->dims.begin() + 2, weight->dims.end(), [](int64_t dim) { return dim == 1; })) return point;
  return x.size() == 3 ? line : other;
}

class DefaultCosts : public CostModel {
 public:
  explicit DefaultCosts(InstructionSet set) : speeds_(rates::speeds_of(set)) {}

  [[nodiscard]] int64_t copy_nanoseconds(const LayoutValue& value) const override {
    return whole(rates::kCopyStart + turn_nanoseconds(value));
  }

  [[nodiscard]] Times times(const LayoutGraph& graph, const LayoutNode& node, const Ports& ports) const override {
    const LayoutValue* const x = graph.value(node.input(0));
    if (node.op == nullptr || x == nullptr || !x->is_known()) return {};
    if (node.op->layout == LayoutRule::wants) {
      const rates::Convolution& rate = speeds_.convolutions[static_cast<std::size_t>(kind_of(graph, node))];
      const double time = 2.0 * static_cast<double>(convolution_macs(graph, node)) / rate.gigaflops;
      return {whole(rate.ratio == rates::kCopied ? time + copies_around(graph, node) : time * rate.ratio), whole(time)};
    }
    const double move = move_nanoseconds(*x);
    if (node.op->name == "Transpose") return {moves(graph, node) ? whole(turn_nanoseconds(*x)) : 0, 0};
    if (is_view(node)) return {part_copy(graph, node, {}), part_copy(graph, node, ports.inputs[0])};
    const auto* const entry = std::ranges::find(rates::kOperators, node.op->name, &rates::Operator::op_type);
    const double ratio = entry == rates::kOperators.end() ? 1 : entry->ratio;
    return {whole(move * ratio), whole(move)};
  }

 private:
  /// Whether the Transpose of a contiguous operand is not contiguous.
  static bool moves(const LayoutGraph& graph, const LayoutNode& node) {
    const Dims& dims = graph.value(node.input(0))->dims;
    const auto permutation = permutation_of(*node.node, dims.size());
    return permutation && !is_contiguous(transposed(order_of(contiguous_axes(dims.size()), dims), *permutation));
  }

  /// Time to read and write all elements once, run by run.
  [[nodiscard]] double move_nanoseconds(const LayoutValue& value) const { return nanoseconds_at(speeds_.near_bytes, value); }

  /// Time to read and write all elements once, each to a different place.
  static double turn_nanoseconds(const LayoutValue& value) { return nanoseconds_at(rates::kTurnedBytes, value); }

  /// Time to read and write all elements once, with `near_bytes` as the rate for tensors that fit the cache.
  static double nanoseconds_at(double near_bytes, const LayoutValue& value) {
    const auto bytes = static_cast<double>(value.bytes());
    return 2.0 * bytes / (bytes <= rates::kNearBytes ? near_bytes : rates::kFarBytesPerNanosecond);
  }

  /// Time to copy operand and result, where channels-last differs from contiguous.
  static double copies_around(const LayoutGraph& graph, const LayoutNode& node) {
    double out = 0;
    for (const LayoutValueId id : {node.input(0), node.output(0)}) {
      const LayoutValue* const value = graph.value(id);
      const bool has_order =
          value != nullptr && value->is_known() && !is_contiguous(order_of(channels_last_axes(value->dims.size()), value->dims));
      if (has_order) out += turn_nanoseconds(*value);
    }
    return out;
  }

  /// Time to make parts of an operand dense that have gaps, before a convolution reads them.
  [[nodiscard]] static int64_t part_copy(const LayoutGraph& graph, const LayoutNode& node, const AxisOrder& order) {
    if (node.op->name != "Split" && node.op->name != "Slice" && node.op->name != "SequenceAt") return 0;
    const Dims& whole_dims = graph.value(node.input(0))->dims;
    const AxisOrder axes = order.empty() ? order_of(contiguous_axes(whole_dims.size()), whole_dims) : order;
    double out = 0;
    for (const LayoutValueId output : node.outputs) {
      const LayoutValue* const part = graph.value(output);
      if (part == nullptr || !part->is_known() || part->dims.size() != whole_dims.size() || axes.empty()) continue;
      const auto outermost = as_size(axes.front());
      bool gaps = false;
      for (std::size_t i = 0; i < whole_dims.size(); ++i) gaps |= i != outermost && part->dims[i] != whole_dims[i];
      if (gaps) out += nanoseconds_at(rates::kPartBytes, *part);
    }
    return whole(out);
  }

  const rates::Speeds& speeds_;
};

}  // namespace

const CostModel& default_costs(InstructionSet set) {
  static const std::array kCosts{DefaultCosts(InstructionSet::sse41), DefaultCosts(InstructionSet::avx2),
                                 DefaultCosts(InstructionSet::avx512)};
  return kCosts.at(static_cast<std::size_t>(set));
}

const CostModel& default_costs() {
  return default_costs(instruction_set());
}

bool depends_on_layout(const Op& op) {
  return op.layout == LayoutRule::wants ||
         std::ranges::find(rates::kOperators, op.name, &rates::Operator::op_type) != rates::kOperators.end();
}

int64_t convolution_macs(const LayoutGraph& graph, const LayoutNode& node) {
  const auto index = node.op != nullptr && node.op->layout == LayoutRule::wants ? node.op->traits.convolution_weight() : std::nullopt;
  if (!index) return 0;
  const LayoutValue *const x = graph.value(node.input(0)), *const w = graph.value(node.input(*index)),
                           *const y = graph.value(node.output(0));
  if (x == nullptr || w == nullptr || y == nullptr || !w->is_known() || w->dims.empty() || w->dims[0] == 0) return 0;
  const int64_t elements = element_count(node.op->traits.has(Trait::transposed) ? x->dims : y->dims);
  return checked_mul(elements, element_count(w->dims) / w->dims[0]).value_or(0);
}

}  // namespace relayout::layout
