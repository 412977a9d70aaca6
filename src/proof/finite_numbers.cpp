// Finds what a proof about real numbers leaves open: guards that a fold rounds away, and numbers that leave their type.
#include "proof/finite_numbers.h"

#include <cmath>
#include <set>

#include "base/numbers.h"
#include "base/positions.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/bounds.h"
#include "ops/constants.h"
#include "ops/element_types.h"
#include "ops/op.h"
#include "proof/chain.h"
#include "proof/linear.h"
#include "proof/side.h"
#include "proof/tensors.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout::proof {

// Guards that a fold rounds away.
namespace {

/// A number that is added in an output channel, as it stands in the result.
struct Addend {
  double value = 0;
  double later = 0;            ///< the largest one that is added after it
  const Step* step = nullptr;  ///< nullptr: the operator's bias
};

bool is_sum(const Step& step) {
  const Arithmetic arithmetic = arithmetic_of(*step.node);
  return arithmetic == Arithmetic::add || arithmetic == Arithmetic::subtract;
}

/// The addends of each output channel, from the last to the first; of a bias that has several rows, the last row's.
std::vector<std::vector<Addend>> addends_of(const Steps& steps, const Linear& linear) {
  const std::vector<double> biases = linear.bias ? to_doubles(linear.bias->load()) : std::vector<double>();
  std::vector<std::vector<Addend>> out(as_size(linear.outputs));
  for (std::size_t c = 0; c < out.size(); ++c) {
    long double factor = 1;
    double later = 0;
    const auto add = [&](long double value, const Step* step) {
      const auto addend = static_cast<double>(value);
      if (addend == 0 || !std::isfinite(addend)) return;
      out[c].push_back({addend, later, step});
      later = std::max(later, std::abs(addend));
    };
    for (const Step& step : steps) {
      const Lane& lane = step.lanes[step.lanes.size() == 1 ? 0 : c];
      add(factor * lane.shift, &step);
      factor *= lane.factor;
    }
    const std::size_t rows = biases.size() / out.size();
    const double bias = biases.empty() ? 0 : rows == 0 ? biases.back() : biases[(rows - 1) * out.size() + c];
    add(factor * static_cast<long double>(linear.beta) * static_cast<long double>(bias), nullptr);
  }
  return out;
}

/// Whether fewer than half of the bits of `part` are left in `sum`.
bool is_lost(double part, double sum, DataType type) {
  return sum != 0 && std::abs(part) < std::ldexp(ulp(sum, type), (fraction_bits(type) + 1) / 2);
}

/// Whether none of the other model's sums in a channel keeps a part.
bool is_lost(double part, const std::vector<Addend>& others, DataType type) {
  bool is_rounded = false;
  for (const Addend& other : others) {
    const bool loses = is_lost(part, other.value, type) || is_lost(part, other.later, type);
    if (!loses && std::abs(other.value) >= std::abs(part) / 2) return false;
    is_rounded = is_rounded || loses;
  }
  return is_rounded;
}

/// How often the other model loses the addends of one step.
struct Losses {
  double guard = 0;  ///< one of them
  bool is_somewhere = false, is_everywhere_small = true;
};

Losses losses_of(const Step& step, const std::vector<std::vector<Addend>>& own, const std::vector<std::vector<Addend>>& others,
                 DataType type) {
  double largest = 0;
  for (const auto& of_channel : others) {
    for (const Addend& addend : of_channel) largest = std::max(largest, std::abs(addend.value));
  }
  Losses out;
  for (std::size_t c = 0; c < own.size(); ++c) {
    for (const Addend& addend : own[c]) {
      if (addend.step != &step) continue;
      out.is_everywhere_small = out.is_everywhere_small && is_lost(addend.value, largest, type);
      if (!is_lost(addend.value, others[c], type) || is_lost(addend.value, addend.later, type)) continue;
      out.is_somewhere = true;
      out.guard = addend.value;
    }
  }
  return out;
}

/// The same for the guards of one model.
std::string rounded_in(Side& side, const Steps& steps, const Linear& linear, const Steps& other_steps, const Linear& other) {
  if (std::ranges::none_of(steps, is_sum)) return {};
  const auto own = addends_of(steps, linear), others = addends_of(other_steps, other);
  for (const Step& step : steps) {
    if (!is_sum(step)) continue;
    const Losses losses = losses_of(step, own, others, linear.weight.type);
    if (!losses.is_somewhere) continue;
    const EdgeDownstream edge = side.edge_downstream(*step.node->output(0));
    if (edge.way == EdgeWay::none || (edge.way == EdgeWay::through_products && !losses.is_everywhere_small)) continue;
    const std::string guarded = edge.node != nullptr ? edge.node->label() : "a caller";
    return "the fold rounds the " + significant(losses.guard, 3) + " of " + step.node->label() + " away, which keeps the operand of " +
           guarded + " off 0";
  }
  return {};
}

}  // namespace

std::string rounded_guard(Side& a, const Steps& steps_a, const Linear& linear_a, Side& b, const Steps& steps_b, const Linear& linear_b) {
  std::string out = rounded_in(a, steps_a, linear_a, steps_b, linear_b);
  return out.empty() ? rounded_in(b, steps_b, linear_b, steps_a, linear_a) : out;
}

// Overflows in one model alone.
namespace {

/// The largest finite number of a type, as a power of two.
double end_of(DataType type) {
  if (type == DataType::float16) return 16;
  return type == DataType::float64 ? std::numeric_limits<double>::max_exponent : std::numeric_limits<float>::max_exponent;
}

/// The least number of a type that has all bits, as a power of two.
double low_end_of(DataType type) {
  if (type == DataType::float16) return -14;
  return type == DataType::float64 ? std::numeric_limits<double>::min_exponent - 1 : std::numeric_limits<float>::min_exponent - 1;
}

/// An element of a value is 2^factor · |x|^power, where x is an element of `base`.
struct Monomial {
  const Value* base = nullptr;
  double factor = 0, power = 1;
  const Node* beyond = nullptr;  ///< the first node on the way whose result leaves its type where x is an everyday number
  double from = 0;               ///< the least such |x|, as a power of two
  bool is_multiplied = false;    ///< by the weights of a linear operator
  bool is_summed = false;        ///< `beyond` needs a sum of numbers of one sign
  const Node* below = nullptr;   ///< the first node whose result has lost bits where |x| is 1

  [[nodiscard]] double at(double x) const { return factor + power * x; }
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
    auto next = is_real(type) ? result_of(node) : std::nullopt;
    if (!next) return read_product(node);
    // Numbers up to 1000 are usual; in float16, images of 255 · x leave the type earlier than that, and are usual too.
    const bool is_narrow = type == DataType::float16;
    const double usual = std::log2(!is_narrow ? 1000 : next->power > 1 ? 300 : 64);
    const double from = next->power > 0 ? (end_of(type) - next->factor) / next->power : std::numeric_limits<double>::infinity();
    if (next->beyond == nullptr && from <= usual) {
      next->beyond = &node;
      next->from = from;
      next->is_summed = is_sum_of_elements(node);
    } else if (next->beyond != nullptr && next->at(next->from) < end_of(type) - 2 && seen_.insert(next->beyond).second) {
      found_.push_back({next->beyond, next->base, next->from, false, next->is_multiplied, next->is_summed});
    }
    read_low_end(node, low_end_of(type), *next);
    monomials_[&made] = *next;
  }

  /// Of a product or quotient of two varying values: the other one may bring back what left its type.
  void read_product(const Node& node) {
    const Arithmetic arithmetic = arithmetic_of(node);
    if ((arithmetic != Arithmetic::multiply && arithmetic != Arithmetic::divide) || node.inputs().size() != 2) return;
    for (const Value* const operand : node.inputs()) {
      if (operand == nullptr || constants_.is_constant(*operand)) continue;
      const Monomial one = of(*operand);
      const bool is_divisor = arithmetic == Arithmetic::divide && operand == node.input(1);
      if (!is_divisor && one.beyond != nullptr && seen_.insert(one.beyond).second)
        found_.push_back({one.beyond, one.base, one.from, false, false, one.is_summed});
    }
  }

  void read_low_end(const Node& node, double end, Monomial& next) {
    constexpr double kBits = 2;  // more than rounding, and far enough again
    if (next.power <= 0) return;
    if (next.below == nullptr && next.factor < end - kBits) {
      next.below = &node;
    } else if (next.below != nullptr && next.factor > end + kBits && seen_.insert(next.below).second) {
      found_.push_back({next.below, next.base, 0, true});
    }
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
    const Arithmetic arithmetic = traits.arithmetic();
    const bool keeps_size = arithmetic == Arithmetic::negate || node.is("Abs");
    if (keeps_size || traits.has(Trait::casts) || traits.has(Trait::identity) || traits.moves_input(0)) return of(*first);
    if (is_sum_of_elements(node)) return sum(node, of(*first));
    if (keeps_scale(node)) return of(*first).power == 1 ? std::optional(of(*first)) : std::nullopt;
    if (auto largest = largest_among(node)) return largest;
    if (node.is("Sqrt")) return raised(of(*first), 0.5);
    if (arithmetic == Arithmetic::multiply && first == node.input(1)) return raised(of(*first), 2);
    if (traits.has(Trait::multiplies)) return multiplied(node);
    if (node.inputs().size() != 2 || node.input(1) == nullptr) return std::nullopt;
    if (arithmetic == Arithmetic::multiply && of(*first).base == of(*node.input(1)).base) return product(of(*first), of(*node.input(1)));
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

  static bool is_sum_of_elements(const Node& node) {
    const Reduces reduced = reduces(node);
    return reduced == Reduces::sum || reduced == Reduces::l1 || reduced == Reduces::sum_square;
  }

  /// The result of a sum, of as many numbers as are certain.
  [[nodiscard]] Monomial sum(const Node& node, Monomial operand) {
    if (reduces(node) == Reduces::sum_square) operand = *raised(operand, 2);
    operand.factor += log2_of_certain_dims(*node.input(0)) - log2_of_certain_dims(*node.output(0));
    return operand;
  }
  [[nodiscard]] double log2_of_certain_dims(const Value& value) {
    double out = 0;
    for (const int64_t dim : shapes_.of(value, constants_).value_or(Dims())) out += dim > 0 ? std::log2(static_cast<double>(dim)) : 0;
    return out;
  }

  /// Whether a result of one operand is of its size, as maxima and means are.
  static bool keeps_scale(const Node& node) {
    constexpr auto kReductions = std::to_array({Reduces::l2, Reduces::maximum, Reduces::mean, Reduces::minimum});
    constexpr auto kTraits = std::to_array({Trait::averages, Trait::homogeneous, Trait::pools});
    return std::ranges::find(kReductions, reduces(node)) != kReductions.end() ||
           std::ranges::any_of(kTraits, [&](Trait trait) { return has_trait(node, trait); });
  }

  /// The result of a sum or choice all of whose varying operands have left their type upstream, or of a choice between one and constants.
  [[nodiscard]] std::optional<Monomial> largest_among(const Node& node) {
    const Arithmetic arithmetic = arithmetic_of(node);
    const bool chooses = arithmetic == Arithmetic::maximum || arithmetic == Arithmetic::minimum || node.is("Where");
    if (!chooses && arithmetic != Arithmetic::add && arithmetic != Arithmetic::subtract) return std::nullopt;
    std::optional<Monomial> out;
    int varying = 0;
    for (std::size_t i = node.is("Where") ? 1 : 0; i < node.inputs().size(); ++i) {
      if (node.input(i) == nullptr || constants_.is_constant(*node.input(i))) continue;
      const Monomial one = of(*node.input(i));
      if (one.power != 1 || one.beyond == nullptr) return std::nullopt;
      if (!out || one.factor > out->factor) out = one;
      ++varying;
    }
    return chooses || varying > 1 ? out : std::nullopt;
  }

  /// The result of a linear operator whose small weights undo a factor upstream.
  [[nodiscard]] std::optional<Monomial> multiplied(const Node& node) {
    Monomial out = of(*node.input(0));
    const auto largest = node.input(1) == nullptr ? std::nullopt : largest_of(*node.input(1));
    if (!largest || out.beyond == nullptr || out.power != 1) return std::nullopt;
    out.factor += std::log2(std::fabs(*largest));
    out.is_multiplied = true;
    return out;
  }

  static Monomial product(Monomial one, const Monomial& other) {
    one.factor += other.factor;
    one.power += other.power;
    if (one.below == nullptr) one.below = other.below;
    if (one.beyond != nullptr || other.beyond == nullptr) return one;
    one.beyond = other.beyond;
    one.from = other.from;
    one.is_multiplied = other.is_multiplied;
    one.is_summed = other.is_summed;
    return one;
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
    if (!known || !is_real(known->type()) || known->element_count() == 0) return std::nullopt;
    const double largest = std::ranges::max(to_doubles(*known), {}, [](double number) { return std::fabs(number); });
    return largest != 0 && std::isfinite(largest) ? std::optional(largest) : std::nullopt;
  }

  OpSignatures signatures_;
  ElementTypes types_;
  Constants constants_;
  CertainShapes shapes_;
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
  const auto key = [](const Overflow& overflow) { return std::pair(overflow.is_low, std::lround(2 * overflow.from)); };
  std::map<std::pair<bool, long>, std::ptrdiff_t> left;
  for (const Overflow& other : others) ++left[key(other)];
  std::vector<Overflow> out;
  for (const Overflow& overflow : overflows) {
    if (left[key(overflow)]-- <= 0 && !is_absorbed(overflow)) out.push_back(overflow);
  }
  return out;
}

}  // namespace

std::string text_of(const Overflow& overflow) {
  const std::string from = exact_number(std::round(std::exp2(overflow.from)));
  return overflow.is_low ? "has fewer bits than its type up to about " + from : "overflows from about " + from + " on";
}

Overflows overflows_alone(const Model& a, const Model& b) {
  const std::vector<Overflow> of_a = OverflowReader(a).found(), of_b = OverflowReader(b).found();
  return {alone(of_a, of_b), alone(of_b, of_a)};
}

}  // namespace relayout::proof
