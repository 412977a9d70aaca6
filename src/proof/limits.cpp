// Compares chains of operators with constant limits: they are the same if they clip one value to the same range.
#include <cmath>

#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "proof/claim.h"
#include "proof/rules.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostLimits = 8;
/// Opsets since which the limits of a Clip are operands, and since which Max and Min broadcast.
constexpr int kClipWithOperands = 11, kBroadcasting = 8;

/// max(lowest, min(highest, operand)), by whichever nodes; lowest ≤ highest.
struct Limits {
  Ref operand;
  double lowest = -kInfinity, highest = kInfinity;
  std::vector<const Node*> nodes;  ///< from the result upstream
  std::vector<Ref> constants;
};

/// Reads a chain of Relu, Clip, Max and Min with constant limits.
class LimitReader {
 public:
  explicit LimitReader(Side& side) : side_(side) {}

  [[nodiscard]] Limits read(Ref ref) {
    Limits out;
    for (out.operand = side_.resolve(ref); out.nodes.size() < kMostLimits;) {
      const Ref upstream = step(out);
      if (!upstream) break;
      out.operand = side_.resolve(upstream);
    }
    return out;
  }

 private:
  /// Adds the limits of the node that produces the operand, and returns the value that it limits; empty for any other node.
  [[nodiscard]] Ref step(Limits& out) {
    const Node* const node = out.operand ? out.operand.value->producer() : nullptr;
    if (node == nullptr || !node->domain().empty() || out.operand.value->output_index() != 0) return {};
    constants_.clear();
    std::optional<std::pair<double, double>> ends;
    std::size_t limited = 0;
    if (node->is("Relu")) ends = {0, kInfinity};
    if (node->is("Clip")) ends = ends_of_clip(out.operand, *node);
    if (arithmetic_of(*node) == Arithmetic::maximum || arithmetic_of(*node) == Arithmetic::minimum)
      ends = ends_of_choice(out.operand, *node, limited);
    if (!ends || !(ends->first <= ends->second)) return {};
    // The nodes downstream limit the result of this one.
    out.lowest = std::clamp(ends->first, out.lowest, out.highest);
    out.highest = std::clamp(ends->second, out.lowest, out.highest);
    out.nodes.push_back(node);
    out.constants.insert(out.constants.end(), constants_.begin(), constants_.end());
    return side_.operand(out.operand, limited);
  }

  [[nodiscard]] std::optional<std::pair<double, double>> ends_of_clip(Ref made, const Node& node) {
    if (node.opset() < kClipWithOperands) return std::nullopt;
    std::pair<double, double> ends{-kInfinity, kInfinity};
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
      const Ref limit = i < node.inputs().size() ? side_.operand(made, i) : Ref();
      if (!limit) continue;
      const auto known = number(limit);
      if (!known) return std::nullopt;
      (i == 1 ? ends.first : ends.second) = *known;
    }
    return ends;
  }

  [[nodiscard]] std::optional<std::pair<double, double>> ends_of_choice(Ref made, const Node& node, std::size_t& limited) {
    if (node.opset() < kBroadcasting || node.inputs().size() != 2) return std::nullopt;
    for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
      // A constant with dims could enlarge the result.
      const auto known = number(side_.operand(made, i));
      if (!known) continue;
      limited = 1 - i;
      return arithmetic_of(node) == Arithmetic::maximum ? std::pair{*known, kInfinity} : std::pair{-kInfinity, *known};
    }
    return std::nullopt;
  }

  /// A constant number without dims.
  [[nodiscard]] std::optional<double> number(Ref ref) {
    const auto found = ref ? side_.constant(ref) : std::nullopt;
    if (!found || !found->dims.empty() || !kNumericTypes.has(found->type)) return std::nullopt;
    const Tensor value = found->load();
    const auto number = value.element_count() == 1 ? load_one<double>(value.type(), value.bytes()) : std::nan("");
    // Doubles do not distinguish larger integers.
    constexpr double kExact = 0x1p53;
    if (std::isnan(number) || (kIntegerTypes.has(found->type) && std::fabs(number) >= kExact)) return std::nullopt;
    constants_.push_back(ref);
    return number;
  }

  Side& side_;
  std::vector<Ref> constants_;  ///< of the current node
};

}  // namespace

Found examine_limits(Sides& sides, const Claim& claim) {
  const Limits a = LimitReader(sides.a).read(claim.a), b = LimitReader(sides.b).read(claim.b);
  if (a.nodes.empty() || b.nodes.empty() || !a.operand || !b.operand || a.lowest != b.lowest || a.highest != b.highest) return std::nullopt;
  if (!sides.have_one_type(a.operand, b.operand)) return std::nullopt;
  Look look;
  look.account(a, b);
  look.rewritten.push_back(b.nodes.front());
  look.claims.push_back({a.operand, b.operand, {}, {}, {}, {}, b.nodes.back()});
  return look;
}

}  // namespace relayout::proof
