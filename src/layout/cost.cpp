#include "layout/cost.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/checked.h"
#include "layout/axis_order.h"
#include "layout/layout_graph.h"
#include "layout/permutation.h"
#include "layout/ports.h"
#include "model/attributes.h"
#include "ops/op.h"
#include "relayout/types.h"

namespace relayout {
namespace {

constexpr double kBytesPerNanosecond = 40;     ///< read and written, while both fit the cache
constexpr double kFarBytesPerNanosecond = 13;  ///< from memory
constexpr int64_t kNearBytes = int64_t{16} << 20;
constexpr double kOddChannels = 0.4;       ///< of that rate, with few channels or a number that is no multiple of 8
constexpr int64_t kCopyStart = 2000;       ///< nanoseconds that every copy costs
constexpr double kMostNanoseconds = 1e12;  ///< so that sums stay far from the end of the type

int64_t whole(double nanoseconds) {
  return static_cast<int64_t>(std::clamp(nanoseconds, 0.0, kMostNanoseconds));
}

/// Reading and writing all elements once, run by run.
double move_nanoseconds(const LayoutValue& value) {
  const int64_t bytes = value.bytes();
  return 2.0 * static_cast<double>(bytes) / (bytes <= kNearBytes ? kBytesPerNanosecond : kFarBytesPerNanosecond);
}

/// The same where each element goes to another place.
double turn_nanoseconds(const LayoutValue& value) {
  const int64_t channels = value.dims.size() > 1 ? value.dims[1] : 8;
  return move_nanoseconds(value) / (channels < 8 || channels % 8 != 0 ? kOddChannels : 1);
}

/// A convolution's kind: GFLOP/s of a core in channels-last, and how much longer it takes contiguous.
struct Rate {
  double gigaflops, ratio;
};

Rate convolution_rate(const LayoutGraph& graph, const LayoutNode& node) {
  constexpr Rate kFirst{110, 1.3}, kDepthwise{40, 1.8}, kGrouped{70, 1.1}, kVolume{110, 1.1}, kTransposed{110, 1.1}, kLine{110, 1.0},
      kPoint{110, 1.0}, kOther{118, 1.03};
  constexpr int64_t kFewChannels = 4;
  const Dims& x = graph.value(node.input(0))->dims;
  const LayoutValue* const weight = graph.value(node.input(*weight_input(*node.node)));
  const int64_t groups = Attributes(*node.node).integer("group", 1);
  if (x.size() == 3 || weight == nullptr || weight->dims.size() != x.size()) return kLine;
  if (groups > 1) return groups == x[1] ? kDepthwise : kGrouped;
  if (node.node->is("ConvTranspose")) return kTransposed;
  if (x[1] <= kFewChannels) return kFirst;
  if (x.size() > 4) return kVolume;
  return std::all_of(weight->dims.begin() + 2, weight->dims.end(), [](int64_t dim) { return dim == 1; }) ? kPoint : kOther;
}

/// Other operators: time contiguous over time channels-last.
struct Ratio {
  std::string_view op_type;
  double ratio;
};
constexpr auto kRatios = std::to_array<Ratio>({
    {"AveragePool", 3.1},
    {"Concat", 0.8},
    {"GlobalAveragePool", 5.4},
    {"GlobalMaxPool", 5.4},
    {"LRN", 0.5},
    {"LpPool", 3.1},
    {"MaxPool", 3.1},
    {"Resize", 6},
    {"Upsample", 6},
});

class DefaultCosts : public CostModel {
 public:
  [[nodiscard]] int64_t copy_nanoseconds(const LayoutValue& value) const override { return kCopyStart + whole(turn_nanoseconds(value)); }

  [[nodiscard]] Times times(const LayoutGraph& graph, const LayoutNode& node, const Ports& ports) const override {
    const LayoutValue* const x = graph.value(node.input(0));
    if (node.op == nullptr || x == nullptr || !x->is_known()) return {};
    if (node.op->layout == LayoutRule::wants) {
      const Rate rate = convolution_rate(graph, node);
      const double time = 2.0 * static_cast<double>(convolution_macs(graph, node)) / rate.gigaflops;
      return {whole(time * rate.ratio), whole(time)};
    }
    const double move = move_nanoseconds(*x);
    if (node.op->name == "Transpose") return {moves(graph, node) ? whole(turn_nanoseconds(*x)) : 0, 0};
    if (is_view(node)) return {part_copy(graph, node, {}), part_copy(graph, node, ports.inputs[0])};
    const auto* const entry = std::ranges::find(kRatios, node.op->name, &Ratio::op_type);
    const double ratio = entry == kRatios.end() ? 1 : entry->ratio;
    return {whole(move * ratio), whole(move)};
  }

 private:
  /// Whether a Transpose of a contiguous tensor is not contiguous.
  static bool moves(const LayoutGraph& graph, const LayoutNode& node) {
    const Dims& dims = graph.value(node.input(0))->dims;
    const auto permutation = permutation_of(*node.node, dims.size());
    return permutation && !is_contiguous(transposed(order_of(contiguous_axes(dims.size()), dims), *permutation));
  }

  /// A part of each run of the operand has gaps, and is made dense again before a convolution reads it.
  static int64_t part_copy(const LayoutGraph& graph, const LayoutNode& node, const AxisOrder& order) {
    if (node.op->name != "Split" && node.op->name != "Slice" && node.op->name != "SequenceAt") return 0;
    const Dims& whole_dims = graph.value(node.input(0))->dims;
    const AxisOrder axes = order.empty() ? order_of(contiguous_axes(whole_dims.size()), whole_dims) : order;
    double out = 0;
    for (const int output : node.outputs) {
      const LayoutValue* const part = graph.value(output);
      if (part == nullptr || !part->is_known() || part->dims.size() != whole_dims.size() || axes.empty()) continue;
      const auto outermost = static_cast<std::size_t>(axes.front());
      bool gaps = false;
      for (std::size_t i = 0; i < whole_dims.size(); ++i) gaps |= i != outermost && part->dims[i] != whole_dims[i];
      if (gaps) out += move_nanoseconds(*part);
    }
    return whole(out);
  }
};

}  // namespace

const CostModel& default_costs() {
  static const DefaultCosts kCosts;
  return kCosts;
}

int64_t convolution_macs(const LayoutGraph& graph, const LayoutNode& node) {
  const auto index = node.op != nullptr && node.op->layout == LayoutRule::wants ? weight_input(*node.node) : std::nullopt;
  if (!index) return 0;
  const LayoutValue *const x = graph.value(node.input(0)), *const w = graph.value(node.input(*index)),
                           *const y = graph.value(node.output(0));
  if (x == nullptr || w == nullptr || y == nullptr || !w->is_known() || w->dims.empty() || w->dims[0] == 0) return 0;
  const int64_t elements = element_count(node.node->is("ConvTranspose") ? x->dims : y->dims);
  return checked_mul(elements, element_count(w->dims) / w->dims[0]).value_or(0);
}

}  // namespace relayout
