// Carries a number back through arithmetic with constants, casts and functions that have an inverse, to the numbers of an input that give
// it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <ranges>
#include <string_view>
#include <vector>

#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "verify/inputs/vocabulary.h"

namespace relayout {
namespace {

/// A function of one number, and its inverse.
struct Invertible {
  std::string_view op;
  double (*result)(double);
  double (*operand)(double);
};
constexpr auto kInvertible = std::to_array<Invertible>({
    {"Neg", [](double x) { return -x; }, [](double y) { return -y; }},
    {"Abs", [](double x) { return std::fabs(x); }, [](double y) { return y; }},
    {"Floor", [](double x) { return std::floor(x); }, [](double y) { return y; }},
    {"Ceil", [](double x) { return std::ceil(x); }, [](double y) { return y; }},
    {"Round", [](double x) { return std::nearbyint(x); }, [](double y) { return y; }},
    {"Relu", [](double x) { return std::max(x, 0.0); }, [](double y) { return y; }},
    {"Sqrt", [](double x) { return std::sqrt(x); }, [](double y) { return y * y; }},
    {"Exp", [](double x) { return std::exp(x); }, [](double y) { return std::log(y); }},
    {"Log", [](double x) { return std::log(x); }, [](double y) { return std::exp(y); }},
    {"Reciprocal", [](double x) { return 1 / x; }, [](double y) { return 1 / y; }},
    {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, [](double y) { return std::log(y / (1 - y)); }},
    {"Tanh", [](double x) { return std::tanh(x); }, [](double y) { return std::atanh(y); }},
});

const Invertible* inverse_of(const Node& node) {
  const auto found = std::ranges::find_if(kInvertible, [&](const Invertible& entry) { return node.is(entry.op); });
  return found == kInvertible.end() ? nullptr : &*found;
}

/// Whether each element of the result is an element of the operand, perhaps within limits, of another type, or the largest of several.
bool passes_on(const Node& node, std::size_t operand) {
  const Traits traits = traits_of(node);
  if (traits.moves_input(operand) || (operand == 0 && (traits.has(Trait::casts) || traits.has(Trait::identity)))) return true;
  return operand == 0 && (node.is("Clip") || node.is("ReduceMax") || node.is("ReduceMin"));
}

bool has_arithmetic(const Node& node) {
  using enum Arithmetic;
  constexpr std::array kCarried{add, subtract, multiply, divide, minimum, maximum};
  return node.inputs().size() == 2 && std::ranges::find(kCarried, arithmetic_of(node)) != kCarried.end();
}

/// The result of a step with this constant.
double result_of(const NumberStep& step, double constant, double number) {
  const double a = step.operand == 0 ? number : constant, b = step.operand == 0 ? constant : number;
  switch (arithmetic_of(*step.node)) {
    case Arithmetic::add:
      return a + b;
    case Arithmetic::subtract:
      return a - b;
    case Arithmetic::multiply:
      return a * b;
    case Arithmetic::divide:
      return a / b;
    case Arithmetic::minimum:
      return std::min(a, b);
    case Arithmetic::maximum:
      return std::max(a, b);
    default:
      break;
  }
  if (step.node->is("Pow")) return std::pow(a, b);
  if (step.node->is("Mod")) return kIntegerTypes.has(step.type) ? a - b * std::floor(a / b) : std::fmod(a, b);
  return number;
}

double apply(const NumberStep& step, double number) {
  const Invertible* const function = inverse_of(*step.node);
  const double constant = step.constants.empty() ? 0 : step.constants.front();
  return as_stored(step.type, function != nullptr ? function->result(number) : result_of(step, constant, number));
}

/// Numbers of the operand for which the step with this constant may give `result`.
void add_operands(const NumberStep& step, double constant, double result, std::vector<double>& out) {
  const bool is_first = step.operand == 0;
  switch (arithmetic_of(*step.node)) {
    case Arithmetic::add:
      return out.push_back(result - constant);
    case Arithmetic::subtract:
      return out.push_back(is_first ? result + constant : constant - result);
    case Arithmetic::multiply:
      return out.push_back(result / constant);
    case Arithmetic::divide:
      return out.push_back(is_first ? result * constant : constant / result);
    default:
      break;
  }
  if (step.node->is("Pow") && is_first) {
    out.push_back(std::pow(result, 1 / constant));
    out.push_back(-out.back());
    return;
  }
  out.push_back(result);
  if (step.node->is("Mod") && is_first) out.push_back(result + constant);
}

/// The number among these and their neighbours for which the steps give exactly `result`, if there is one; else the first.
double exact_among(const std::vector<const NumberStep*>& steps, DataType type, const std::vector<double>& near, double result) {
  const auto gives_it = [&](double number) {
    for (const NumberStep* const step : steps) number = apply(*step, number);
    return number == result;
  };
  const auto found = std::ranges::find_if(near, gives_it);
  return found == near.end() ? as_stored(type, near.front()) : *found;
}

/// A number of the input's type and its neighbours.
std::vector<double> neighbours_of(DataType type, double number) {
  if (kIntegerTypes.has(type)) return {std::floor(number), std::ceil(number)};
  std::vector<double> out{as_stored(type, number)};
  constexpr int kUlps = 2;
  float above = static_cast<float>(number), below = above;
  for (int i = 0; i < kUlps && type == DataType::float32; ++i) {
    above = std::nextafter(above, INFINITY), below = std::nextafter(below, -INFINITY);
    out.push_back(above), out.push_back(below);
  }
  return out;
}

}  // namespace

double as_stored(DataType type, double number) {
  if (type == DataType::float32) return static_cast<float>(number);
  if (kHalfTypes.has(type)) return decode_small_float(type, encode_small_float(type, number, false));
  return kIntegerTypes.has(type) ? std::trunc(number) : number;
}

bool carries_numbers(const Node& node, std::size_t operand) {
  if (!node.domain().empty()) return false;
  return passes_on(node, operand) || changes_numbers(node);
}

bool changes_numbers(const Node& node) {
  return inverse_of(node) != nullptr || has_arithmetic(node) || node.is("Pow") || node.is("Mod");
}

std::vector<double> operands_for(const NumberStep& step, double result) {
  std::vector<double> out;
  if (const Invertible* const function = inverse_of(*step.node)) {
    out.push_back(function->operand(result));
    if (step.node->is("Abs")) out.push_back(-result);
  } else if (step.constants.empty() || passes_on(*step.node, step.operand)) {
    out.push_back(result);
  } else {
    for (const double constant : step.constants) add_operands(step, constant, result, out);
  }
  std::erase_if(out, [](double number) { return !std::isfinite(number); });
  return out;
}

std::vector<double> carry_back(const std::vector<const NumberStep*>& steps, DataType type, double result) {
  constexpr std::size_t kMost = 16;
  std::vector<double> numbers{result};
  for (const NumberStep* const step : std::views::reverse(steps)) {
    std::vector<double> before;
    for (const double number : numbers) {
      for (const double operand : operands_for(*step, number)) {
        if (before.size() < kMost) before.push_back(operand);
      }
    }
    numbers = std::move(before);
  }
  std::vector<double> out;
  for (const double number : numbers) {
    const std::vector<double> near = neighbours_of(type, number);
    if (kIntegerTypes.has(type)) {
      out.insert(out.end(), near.begin(), near.end());
    } else {
      out.push_back(exact_among(steps, type, near, result));
    }
  }
  return out;
}

}  // namespace relayout
