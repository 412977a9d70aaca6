// Linearizes elementwise operators: by their derivatives as formulas, and where branches decide.
#include <cmath>
#include <numbers>

#include "derive/row.h"
#include "derive/writer.h"
#include "relayout/graph.h"

namespace relayout::derive {
namespace {

/// The derivative by each input. "1" and "-1" pass a tangent on; "0" is zero; "/ c" divides it. Conditions are numbers, 1 where they hold:
/// ONNX Runtime takes several times as long for a Where.
struct Derivatives {
  std::string_view op;
  std::array<std::string_view, 2> by;
};

// At ties and corners as PyTorch has them: the subgradient of Relu at 0 is 0, of Abs too; Max and Min share equally.
constexpr auto kDerivatives = std::to_array<Derivatives>({
    {"Abs", {"Sign(x)"}},
    {"Acos", {"-(1 / Sqrt(1 - x * x))"}},
    {"Acosh", {"1 / Sqrt(x * x - 1)"}},
    {"Add", {"1", "1"}},
    {"Asin", {"1 / Sqrt(1 - x * x)"}},
    {"Asinh", {"1 / Sqrt(x * x + 1)"}},
    {"Atan", {"1 / (x * x + 1)"}},
    {"Atanh", {"1 / (1 - x * x)"}},
    {"Ceil", {"0"}},
    {"Celu", {"Where(x > 0, 1, y / {alpha=1} + 1)"}},
    {"Cos", {"-Sin(x)"}},
    {"Cosh", {"Sinh(x)"}},
    {"Div", {"/ b", "-(y / b)"}},
    {"Elu", {"Where(x > 0, 1, y + {alpha=1})"}},
    {"Exp", {"y"}},
    {"Floor", {"0"}},
    {"HardSigmoid", {"{alpha=0.2} * Real(y * (1 - y))"}},
    {"HardSwish", {"Real(And(x > -3, x < 3)) * (Max(Min(x, 3), -3) / 3 + 0.5) + Real(x >= 3)"}},
    {"LeakyRelu", {"Real(x > 0) + Real(x <= 0) * {alpha=0.01}"}},
    {"Log", {"1 / x"}},
    {"Mish", {"Tanh(Softplus(x)) + x * Sigmoid(x) * (1 - Tanh(Softplus(x)) * Tanh(Softplus(x)))"}},
    {"Mul", {"b", "a"}},
    {"Neg", {"-1"}},
    {"PRelu", {"Real(a > 0) + Real(a <= 0) * b", "Where(a > 0, 0, a)"}},
    {"Reciprocal", {"-(y * y)"}},
    {"Relu", {"Real(y)"}},
    {"Round", {"0"}},
    {"Selu",
     {"Where(x > 0, {gamma=1.05070102214813232421875}, y + {gamma=1.05070102214813232421875} * {alpha=1.67326319217681884765625})"}},
    {"Shrink", {"Real(Abs(x) > {lambd=0.5})"}},
    {"Sigmoid", {"y * (1 - y)"}},
    {"Sign", {"0"}},
    {"Sin", {"Cos(x)"}},
    {"Sinh", {"Cosh(x)"}},
    {"Softplus", {"Sigmoid(x)"}},
    {"Softsign", {"1 / ((1 + Abs(x)) * (1 + Abs(x)))"}},
    {"Sqrt", {"0.5 / y"}},
    {"Sub", {"1", "-1"}},
    {"Swish", {"Sigmoid({alpha=1} * x) + {alpha=1} * x * Sigmoid({alpha=1} * x) * (1 - Sigmoid({alpha=1} * x))"}},
    {"Tan", {"1 + y * y"}},
    {"Tanh", {"1 - y * y"}},
    {"ThresholdedRelu", {"Real(x > {alpha=1})"}},
});

/// A tangent times a derivative.
Name product(const LinearizeRow& row, const Name& tangent, std::string_view derivative) {
  if (tangent.empty() || derivative == "0") return {};
  if (derivative == "1") return tangent;
  if (derivative == "-1") return row.w.negative(tangent);
  if (derivative.starts_with("/ ")) return row.w.divide(tangent, row.formula(derivative.substr(2)));
  return row.w.scale(tangent, row.formula(derivative));
}

void by_derivatives(LinearizeRow& row) {
  const auto& entry = *std::ranges::find(kDerivatives, row.node.op_type(), &Derivatives::op);
  Name sum;
  std::size_t terms = 0, last = 0;
  for (std::size_t i = 0; i < row.node.inputs().size() && i < entry.by.size(); ++i) {
    if (row.t(i).empty()) continue;
    ++terms;
    last = i;
    if (entry.by[i] == "-1" && terms == 2) {
      sum = row.w.subtract(sum, row.t(i));
    } else {
      sum = row.w.add(sum, product(row, row.t(i), entry.by[i]));
    }
  }
  if (terms == 1) return row.give_broadcast(sum, last);
  row.give(sum);
}

void gelu(LinearizeRow& row) {
  const bool is_tanh = row.attributes.text("approximate", "none") == "tanh";
  // 0.7978845608028654 = √(2 / π); d/dx of the tanh's argument: √(2 / π) (1 + 3 × 0.044715 x²).
  row.give(product(row, row.t(),
                   is_tanh ? "0.5 * (1 + Tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))) + 0.5 * x * (1 - "
                             "Tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)) * Tanh(0.7978845608028654 * (x + 0.044715 * x * x * "
                             "x))) * (0.7978845608028654 + 0.10703222440890037 * x * x)"
                           : "0.5 * (1 + Erf(x * 0.7071067811865476)) + x * (0.3989422804014327 * Exp(-(0.5 * x * x)))"));
}

/// 2 / √π · exp(−x²). Of a quotient, as a GELU that is written out has it, by the dividend: the quotient need not be stored.
void erf(LinearizeRow& row) {
  if (row.t().empty()) return;
  Writer& w = row.w;
  Name x = row.x(), t = row.t();
  double scale = 1;
  const Node* const maker = row.present(0).producer();
  const bool divides = maker != nullptr && maker->is("Div");
  if (const auto number = divides ? row.sizes.number(*maker->input(1)) : std::nullopt; number && *number != 0) {
    const Value& dividend = *maker->input(0);
    const Name tangent = row.tangent_of(dividend);
    // Another tangent than the dividend's may have been added.
    if (w.divide(tangent, maker->input(1)->name()) == t && row.sizes.have_same_dims(dividend, row.present(0))) {
      x = dividend.name(), t = tangent, scale = 1 / *number;
    }
  }
  const Name power = w.make("Exp", {w.make("Mul", {w.make("Mul", {x, x}), row.number(-scale * scale)})});
  row.give(w.scale(t, w.make("Mul", {power, row.number(scale * 2 * std::numbers::inv_sqrtpi)})));
}

void pow(LinearizeRow& row) {
  Writer& w = row.w;
  const Name b = row.type(0) == row.type(1) ? row.x(1) : w.cast(row.x(1), row.type(0));
  Name sum;
  const auto exponent = row.sizes.number(row.present(1));
  if (!row.t(0).empty() && exponent) {
    const Name base = *exponent == 2 ? row.x(0) : w.make("Pow", {row.x(0), row.number(*exponent - 1)});
    if (*exponent != 0) sum = w.make("Mul", {row.t(0), w.make("Mul", {row.number(*exponent), base})});
    return row.give_broadcast(sum, 0);
  }
  if (!row.t(0).empty()) {
    const Name factor = w.make("Mul", {b, w.make("Pow", {row.x(0), w.make("Sub", {b, row.number(1)})})});
    sum = w.make("Mul", {row.t(0), w.make("Where", {w.make("Equal", {b, row.number(0)}), row.number(0), factor})});
  }
  if (!row.t(1).empty()) {
    const Name factor =
        w.make("Where", {w.make("Equal", {row.x(0), row.number(0)}), row.number(0), w.make("Mul", {row.y(), w.make("Log", {row.x(0)})})});
    sum = w.add(sum, w.make("Mul", {w.cast(row.t(1), row.type(0)), factor}));
  }
  row.give(sum);
}

void where(LinearizeRow& row) {
  if (row.t(1).empty() && row.t(2).empty()) return;
  const auto part = [&](std::size_t i) { return row.t(i).empty() ? row.w.real(0, row.type(1)) : row.t(i); };
  const Name sum = row.w.make("Where", {row.x(0), part(1), part(2)});
  if (!row.t(1).empty() && !row.t(2).empty()) return row.give(sum);
  // The other branch may have had more dims.
  const Value& y = *row.node.output(0);
  const bool fits = row.sizes.have_same_dims(row.present(0), y) || row.sizes.have_same_dims(row.present(row.t(1).empty() ? 2 : 1), y);
  row.give(fits ? sum : row.expand_to(sum, row.y()));
}

/// The tangent of the larger or smaller of two; equal ones share it, as torch.maximum has it. "": zero.
Name tangent_of_extreme(const LinearizeRow& row, const std::string& op, const std::array<Name, 2>& of,
                        const std::array<Name, 2>& tangents) {
  Writer& w = row.w;
  const auto real = [&](const std::string& comparison) { return w.cast(w.make(comparison, {of[0], of[1]}), row.type()); };
  const std::string is_first = op == "Max" ? "Greater" : "Less";
  const Name share = w.make("Mul", {row.number(0.5), w.add(real(is_first), real(is_first + "OrEqual"))});
  const Name first = tangents[0].empty() ? Name() : w.make("Mul", {tangents[0], share});
  return w.add(first, tangents[1].empty() ? Name() : w.make("Mul", {tangents[1], w.make("Sub", {row.number(1), share})}));
}

/// torch.clamp: by constant limits a tangent passes between them; else the smaller of the upper limit and the larger of the others.
void clip(LinearizeRow& row) {
  const bool has_low = row.node.input(1) != nullptr, has_high = row.node.input(2) != nullptr;
  if (row.t(1).empty() && row.t(2).empty()) {
    if (!has_low && !has_high) return row.give(row.t());
    // By the result, of which a convolution in front makes no other form, where products cannot be 0 or infinite within the limits.
    const auto limit = [&](std::size_t i) {
      return row.node.input(i) == nullptr ? 0 : row.sizes.number(row.present(i)).value_or(HUGE_VAL);
    };
    constexpr double kLeast = 2, kMost = 1e4;
    const double low = limit(1), high = limit(2);
    if (std::abs(low) <= kMost && std::abs(high) <= kMost && (!has_low || !has_high || high - low >= kLeast)) {
      return row.give(product(row, row.t(),
                              !has_high  ? "Real(y - b)"
                              : !has_low ? "Real(c - y)"
                              : low == 0 ? "Real((c - y) * y)"
                                         : "Real((c - y) * (y - b))"));
    }
    return row.give(product(row, row.t(), !has_high ? "Real(a > b)" : !has_low ? "Real(a < c)" : "Real(And(a > b, a < c))"));
  }
  Name most = row.x(0), tangent = row.t(0);
  if (has_low) {
    tangent = tangent_of_extreme(row, "Max", {most, row.x(1)}, {tangent, row.t(1)});
    most = row.w.make("Max", {most, row.x(1)});
  }
  row.give(has_high ? tangent_of_extreme(row, "Min", {most, row.x(2)}, {tangent, row.t(2)}) : tangent);
}

/// Max and Min of any number of operands, pair by pair.
void extremum(LinearizeRow& row) {
  const std::string& op = row.node.op_type();
  const std::size_t count = row.node.inputs().size();
  Name most = row.x(0), tangent = row.t(0);
  for (std::size_t i = 1; i < count; ++i) {
    tangent = tangent_of_extreme(row, op, {most, row.x(i)}, {tangent, row.t(i)});
    most = i + 1 == count ? row.y() : row.w.make(op, {most, row.x(i)});
  }
  row.give(tangent);
}

/// Sum and Mean of any number of operands.
void sum(LinearizeRow& row) {
  Name tangent;
  bool is_whole = false;
  for (std::size_t i = 0; i < row.node.inputs().size(); ++i) {
    if (row.t(i).empty()) continue;
    tangent = row.w.add(tangent, row.t(i));
    is_whole = is_whole || row.sizes.have_same_dims(row.present(i), *row.node.output(0));
  }
  if (tangent.empty()) return;
  if (!is_whole) tangent = row.expand_to(tangent, row.y());
  const auto count = static_cast<double>(row.node.inputs().size());
  row.give(row.node.is("Mean") ? row.w.make("Div", {tangent, row.number(count)}) : tangent);
}

constexpr auto kOthers = std::to_array<Linearize>({
    {"Clip", clip},
    {"Erf", erf},
    {"Gelu", gelu},
    {"Max", extremum},
    {"Mean", sum},
    {"Min", extremum},
    {"Pow", pow},
    {"Sum", sum},
    {"Where", where},
});

constexpr auto kElementwise = [] {
  std::array<Linearize, kDerivatives.size() + kOthers.size()> out{};
  auto* const end =
      std::ranges::transform(kDerivatives, out.begin(), [](const Derivatives& one) { return Linearize{one.op, by_derivatives}; }).out;
  std::ranges::copy(kOthers, end);
  return out;
}();

}  // namespace

LinearizeRows elementwise_rows() {
  return kElementwise;
}

}  // namespace relayout::derive
