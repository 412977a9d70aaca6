// Lists functions of one number with their inverses, in double.

#include "ops/inverses.h"

#include <cmath>

#include "ops/op.h"
#include "relayout/graph.h"

namespace relayout {
namespace {

constexpr auto kInvertible = std::to_array<Invertible>({
    {"Neg", [](double x) { return -x; }, [](double y) { return -y; }},
    {"Abs", [](double x) { return std::fabs(x); }, [](double y) { return y; }, true},
    {"Floor", [](double x) { return rounded(Rounds::down, x); }, [](double y) { return y; }},
    {"Ceil", [](double x) { return rounded(Rounds::up, x); }, [](double y) { return y; }},
    {"Round", [](double x) { return rounded(Rounds::to_nearest, x); }, [](double y) { return y; }},
    {"Relu", [](double x) { return std::max(x, 0.0); }, [](double y) { return y; }},
    {"Sqrt", [](double x) { return std::sqrt(x); }, [](double y) { return y * y; }},
    {"Exp", [](double x) { return std::exp(x); }, [](double y) { return std::log(y); }},
    {"Log", [](double x) { return std::log(x); }, [](double y) { return std::exp(y); }},
    {"Reciprocal", [](double x) { return 1 / x; }, [](double y) { return 1 / y; }},
    {"Sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }, [](double y) { return std::log(y / (1 - y)); }},
    {"Softplus", [](double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); },
     [](double y) { return y + std::log(-std::expm1(-y)); }},
    {"Tanh", [](double x) { return std::tanh(x); }, [](double y) { return std::atanh(y); }},
});

}  // namespace

const Invertible* inverse_of(const Node& node) {
  const auto* const found = std::ranges::find_if(kInvertible, [&](const Invertible& entry) { return node.is(entry.op); });
  return found == kInvertible.end() ? nullptr : found;
}

}  // namespace relayout
