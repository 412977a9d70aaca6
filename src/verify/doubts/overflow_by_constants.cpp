// Finds intermediate numbers that constant factors and powers bring beyond their type from everyday numbers, in one model alone.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/numbers.h"
#include "model/needed.h"
#include "model/node_name.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/op_signature.h"
#include "ops/traits.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/doubts/doubts.h"
#include "verify/doubts/extreme_runs.h"
#include "verify/elements.h"
#include "verify/pair.h"
#include "verify/reference.h"

namespace relayout {
namespace {

/// The largest finite number of a type, as a power of two.
double end_of(DataType type) {
  if (type == DataType::float16) return 16;
  return type == DataType::float64 ? std::numeric_limits<double>::max_exponent : std::numeric_limits<float>::max_exponent;
}

/// An element of a value is 2^factor · |x|^power, where x is an element of `base`.
struct Monomial {
  const Value* base = nullptr;
  double factor = 0, power = 1;
  const Node* beyond = nullptr;  ///< the first node on the way whose result leaves its type where x is an everyday number
  double from = 0;               ///< the least such |x|, as a power of two

  [[nodiscard]] double at(double x) const { return factor + power * x; }
};

/// A node whose result leaves its type, while a result downstream, of the same x, is far from the end of its own.
struct Overflow {
  const Node* node = nullptr;
  const Value* base = nullptr;
  double from = 0;
};

/// Finds the overflows of a model.
class OverflowReader {
 public:
  explicit OverflowReader(const Model& model) : types_(model.graph(), signatures_) {
    const auto needed = needed_nodes(model.graph());
    for_each_node(model, [&](const Node& node) {
      if (needed.contains(&node) && node.output(0) != nullptr) read(node);
    });
  }
  [[nodiscard]] const std::vector<Overflow>& found() const noexcept { return found_; }

 private:
  void read(const Node& node) {
    const Value& made = *node.output(0);
    const DataType type = types_.of(made);
    auto next = kRealTypes.has(type) ? result_of(node) : std::nullopt;
    if (!next) return;
    // Numbers up to 1000 are usual; in float16, images of 255 · x leave the type earlier than that, and are usual too.
    const bool is_narrow = type == DataType::float16;
    const double usual = std::log2(!is_narrow ? 1000 : next->power > 1 ? 300 : 64);
    const double from = next->power > 0 ? (end_of(type) - next->factor) / next->power : std::numeric_limits<double>::infinity();
    if (next->beyond == nullptr && from <= usual) {
      next->beyond = &node;
      next->from = from;
    } else if (next->beyond != nullptr && next->at(next->from) < end_of(type) - 2 && seen_.insert(next->beyond).second) {
      found_.push_back({next->beyond, next->base, next->from});
    }
    monomials_[&made] = *next;
  }

  [[nodiscard]] Monomial of(const Value& value) const {
    const auto found = monomials_.find(&value);
    return found != monomials_.end() ? found->second : Monomial{&value};
  }

  /// The result of a node that scales its only varying operand, raises it to a power or passes it on.
  [[nodiscard]] std::optional<Monomial> result_of(const Node& node) {
    const Traits traits = traits_of(node);
    const Value* const first = node.input(0);
    if (first == nullptr) return std::nullopt;
    const bool passes_on =
        traits.has(Trait::casts) || traits.has(Trait::identity) || traits.moves_input(0) || node.is("Abs") || node.is("Neg");
    if (passes_on) return of(*first);
    if (node.is("Sqrt")) return raised(of(*first), 0.5);
    const Arithmetic arithmetic = traits.arithmetic();
    if (arithmetic == Arithmetic::multiply && first == node.input(1)) return raised(of(*first), 2);
    if (traits.has(Trait::multiplies)) return multiplied(node);
    if (node.inputs().size() != 2 || node.input(1) == nullptr) return std::nullopt;
    const bool is_first = constants_.is_constant(*first);
    const auto number = largest_of(*node.input(is_first ? 0 : 1));
    if (!number) return std::nullopt;
    Monomial out = of(*node.input(is_first ? 1 : 0));
    if (arithmetic == Arithmetic::add || arithmetic == Arithmetic::subtract) return out;
    if (node.is("Pow") && !is_first) return raised(out, *number);
    if (arithmetic != Arithmetic::multiply && (arithmetic != Arithmetic::divide || is_first)) return std::nullopt;
    const double power = std::log2(std::fabs(*number));
    out.factor += arithmetic == Arithmetic::multiply ? power : -power;
    return out;
  }

  /// The result of a linear operator whose small weights undo a factor upstream.
  [[nodiscard]] std::optional<Monomial> multiplied(const Node& node) {
    Monomial out = of(*node.input(0));
    const auto largest = node.input(1) == nullptr ? std::nullopt : largest_of(*node.input(1));
    if (!largest || out.beyond == nullptr || out.power != 1) return std::nullopt;
    out.factor += std::log2(std::fabs(*largest));
    return out;
  }

  static std::optional<Monomial> raised(Monomial of, double exponent) {
    if (exponent <= 0) return std::nullopt;
    of.factor *= exponent;
    of.power *= exponent;
    return of;
  }

  /// The element of a constant with the largest magnitude; nothing where that is 0 or not finite.
  [[nodiscard]] std::optional<double> largest_of(const Value& value) {
    const auto known = constants_.value(value);
    if (!known || !kRealTypes.has(known->type()) || known->element_count() == 0) return std::nullopt;
    double largest = 0;
    for_each_chunk(contiguous(*known), [&](int64_t, std::span<const double> numbers) {
      const double found = std::ranges::max(numbers, {}, [](double number) { return std::fabs(number); });
      if (std::fabs(found) > std::fabs(largest)) largest = found;
    });
    return largest != 0 && std::isfinite(largest) ? std::optional(largest) : std::nullopt;
  }

  OpSignatures signatures_;
  ElementTypes types_;
  Constants constants_;
  std::unordered_map<const Value*, Monomial> monomials_;
  std::set<const Node*> seen_;
  std::vector<Overflow> found_;
};

/// Whether a linear operator computes a value: it may absorb factors downstream, which then overflow no more.
bool is_absorbed(const Overflow& overflow) {
  return overflow.base->producer() != nullptr && has_trait(*overflow.base->producer(), Trait::multiplies);
}

/// The overflows without one from the same number on among the others.
std::vector<Overflow> alone(const std::vector<Overflow>& overflows, const std::vector<Overflow>& others) {
  const auto key = [](const Overflow& overflow) { return std::lround(2 * overflow.from); };
  std::map<long, std::ptrdiff_t> left;
  for (const Overflow& other : others) ++left[key(other)];
  std::vector<Overflow> out;
  for (const Overflow& overflow : overflows) {
    if (left[key(overflow)]-- <= 0) out.push_back(overflow);
  }
  return out;
}

}  // namespace

std::optional<Doubt> find_overflow_by_constants(const Pair& pair, const Reference& reference, const VerifyResult&) {
  if (pair.grain != DataType::undefined) return std::nullopt;  // a coarser type has an earlier end, which is intended
  const std::vector<Overflow> all_of_a = OverflowReader(*pair.a.model).found(), all_of_b = OverflowReader(*pair.b.model).found();
  std::vector<Overflow> of_a = alone(all_of_a, all_of_b);
  std::vector<Overflow> of_b = alone(all_of_b, all_of_a);
  std::erase_if(of_a, is_absorbed);
  if (of_a.empty() && of_b.empty()) return std::nullopt;
  const auto find = [&](const Node& node) -> const Overflow* {
    for (const std::vector<Overflow>* const overflows : {&of_a, &of_b}) {
      const auto found = std::ranges::find(*overflows, &node, &Overflow::node);
      if (found != overflows->end()) return &*found;
    }
    return nullptr;
  };
  const auto found = compare_finite(pair, reference, Extreme::usual, [&](const Node& node) { return find(node) != nullptr; });
  if (!found) return std::nullopt;
  const std::string from = exact_number(std::round(std::exp2(find(*found->maker)->from)));
  return Doubt{reported_name(*found->maker), "node " + found->maker->label() + " of " + (found->is_of_a ? "A" : "B") +
                                                 " overflows from about " + from + " on, where the other model does not" +
                                                 (pair.proved ? "; the proof leaves this open" : "")};
}

}  // namespace relayout
