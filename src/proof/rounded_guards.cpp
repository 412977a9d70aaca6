// Finds constants that guard the end of a domain in one model and that a fold rounds away in the other.

#include "proof/rounded_guards.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "ops/bounds.h"
#include "ops/op.h"
#include "proof/affine_steps.h"
#include "proof/float_types.h"
#include "proof/linear.h"
#include "proof/side.h"
#include "relayout/types.h"

namespace relayout::proof {
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

}  // namespace relayout::proof
