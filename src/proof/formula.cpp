// Reads a value as a formula, composed operators by their definitions.
// The form is the same for all spellings, so that an operator and the nodes that it stands for can be compared.

#include "proof/formula.h"

#include <cmath>
#include <numbers>

#include "base/positions.h"
#include "model/node.h"
#include "ops/op.h"
#include "ops/op_attributes.h"
#include "proof/side.h"
#include "proof/sums.h"
#include "proof/tensors.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

/// Limits of the depth and the number of atoms of a formula. Values further upstream are leaves.
constexpr int kDeepest = 48;
constexpr std::size_t kMostAtoms = 128;
/// Limit of the elements of a constant that is tested for equal elements.
constexpr int64_t kMostUniform = 1 << 16;

/// Functions of one operand without attributes.
constexpr auto kFunctions = std::to_array<std::string_view>({"Erf", "Exp", "Log", "Sigmoid", "Softplus", "Tanh"});

/// Whether a permutation exchanges the last two axes and keeps the others.
bool is_matrix_transposition(const std::vector<int64_t>& permutation) {
  const auto rank = std::ssize(permutation);
  for (std::ptrdiff_t i = 0; i < rank; ++i) {
    const std::ptrdiff_t wanted = i == rank - 1 ? rank - 2 : i == rank - 2 ? rank - 1 : i;
    if (permutation[as_size(i)] != wanted) return false;
  }
  return rank >= 2;
}

bool is_arithmetic(const Node& node) {
  // Before opset 7, operands were broadcast by attributes.
  return node.domain().empty() && node.opset() >= 7;
}

/// Axes counted from the last, as text; empty if they are not certain.
std::string axes_text(Shapes& shapes, std::vector<int64_t> axes, Ref of) {
  const auto dims = shapes.of(of);
  for (int64_t& axis : axes) {
    if (axis >= 0 && !dims) return {};
    if (axis >= 0) axis -= std::ssize(*dims);
  }
  std::ranges::sort(axes);
  std::string out;
  for (const int64_t axis : axes) out += " " + std::to_string(axis);
  return out;
}

/// "ReduceMean" and its axes; empty when those are not certain.
std::string mean_name(Side& side, Shapes& shapes, Ref ref, const AttributeReader& attributes) {
  std::vector<int64_t> axes = attributes.integers("axes");
  if (const Ref given = side.operand(ref, 1)) axes = integers_of(side, given).value_or(std::vector<int64_t>());
  const std::string text = axes_text(shapes, std::move(axes), side.operand(ref, 0));
  return text.empty() || attributes.integer("keepdims", 1) != 1 ? std::string() : "ReduceMean" + text;
}

/// The name of a function of the first operand, with all that it depends on besides; empty where the node is none.
std::string function_name(Side& side, Shapes& shapes, Ref ref) {
  const Node& node = *ref.value->producer();
  const AttributeReader attributes(node, ref.call);
  std::string name;
  if (std::ranges::find(kFunctions, std::string_view(node.op_type())) != kFunctions.end()) {
    name = node.op_type();
  } else if (node.is("HardSigmoid")) {
    name = "HardSigmoid " + number_text(attributes.real("alpha", 0.2F)) + " " + number_text(attributes.real("beta", 0.5F));
  } else if (reduces(node) == Reduces::mean) {
    name = mean_name(side, shapes, ref, attributes);
  }
  return attributes.is_open() ? std::string() : name;
}

/// Whether a constant of these dims does not enlarge the other operand.
bool fits_into(Shapes& shapes, const Dims& constant, Ref other) {
  if (constant.empty()) return true;
  const auto dims = other ? shapes.of(other) : std::nullopt;
  if (!dims || dims->size() < constant.size()) return false;
  return std::equal(constant.rbegin(), constant.rend(), dims->rbegin(), [](int64_t own, int64_t met) { return own == 1 || own == met; });
}

}  // namespace

std::optional<Formula> FormulaReader::read(Ref ref) {
  top_ = side_.resolve(ref);
  sums_.set_fraction_bits(fraction_bits(side_.type_of(top_)));
  formula_.value = value_of(top_);
  if (sums_.has_failed()) return std::nullopt;
  return std::move(formula_);
}

Sum FormulaReader::value_of(Ref ref) {
  ref = side_.resolve(ref);
  if (!ref) {
    sums_.fail();
    return {};
  }
  const auto known = values_.find(ref);
  if (known != values_.end()) return known->second;
  ++depth_;
  Sum out = is_leaf(ref) ? sums_.leaf(ref) : value_of_node(ref);
  --depth_;
  out.origin = ref;
  if (out.constant.value == 0 && out.terms.size() == 1 && out.terms[0].coefficient.value == 1 && out.terms[0].factors.size() == 1) {
    Atom& atom = formula_.atoms[out.terms[0].factors[0].atom];
    if (out.terms[0].factors[0].halves == 2 && !atom.origin) atom.origin = ref;
  }
  values_.emplace(ref, out);
  return out;
}

bool FormulaReader::is_leaf(Ref ref) {
  const Node* const node = ref.value->producer();
  if (sums_.has_failed() || node == nullptr || depth_ > kDeepest || formula_.atoms.size() > kMostAtoms) return true;
  const bool is_call = side_.entered(ref).has_value();
  if (ref.value->output_index() != 0 && !is_call) return true;
  const DataType type = side_.type_of(ref);
  if (type == DataType::undefined ? ref.call == nullptr && !is_call : !is_real(type)) return true;
  if (side_.constant(ref)) return true;
  if (other_ == nullptr || ref == top_ || ref.call != nullptr) return false;
  const Value* const namesake = other_->find(ref.value->name());
  return namesake != nullptr && namesake->producer() != nullptr;
}

Sum FormulaReader::value_of_node(Ref ref) {
  const Node& node = *ref.value->producer();
  const std::size_t nodes = formula_.nodes.size();
  formula_.nodes.push_back(&node);
  if (is_identity(side_, ref)) return value_of(side_.operand(ref, 0));
  if (Terms found = matrix_product(ref)) return std::move(*found);
  if (is_arithmetic(node) && ref.value->output_index() == 0) {
    for (const auto read : {&FormulaReader::arithmetic, &FormulaReader::power_of, &FormulaReader::function_of, &FormulaReader::composition,
                            &FormulaReader::normalization}) {
      if (Terms found = (this->*read)(ref)) return std::move(*found);
    }
  }
  if (const auto inside = side_.entered(ref)) {
    Sum found = value_of(*inside);
    const bool is_one = found.constant.value == 0 && found.terms.size() == 1 && found.terms[0].factors.size() == 1;
    const Atom* const atom = is_one ? &formula_.atoms[found.terms[0].factors[0].atom] : nullptr;
    // The call has no arithmetic, only another operator inside. The comparison of the two calls decides on it.
    const bool is_inner = atom != nullptr && atom->kind == Atom::Kind::leaf && atom->origin.call != ref.call && atom->origin == *inside;
    if (!is_inner) return found;
  }
  formula_.nodes.resize(nodes);
  return sums_.leaf(ref);
}

FormulaReader::Terms FormulaReader::arithmetic(Ref ref) {
  const Node& node = *ref.value->producer();
  const double exponent = traits_of(node).exponent();
  if (exponent != 1) return sums_.power(value_of(side_.operand(ref, 0)), static_cast<int>(2 * exponent));
  const Arithmetic arithmetic = arithmetic_of(node);
  if (arithmetic == Arithmetic::negate) return sums_.scaled(value_of(side_.operand(ref, 0)), {-1});
  if (arithmetic == Arithmetic::add) {
    Sum out;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) out = sums_.plus(std::move(out), operand(ref, i, i == 0 ? 1 : 0));
    return out;
  }
  const bool is_subtraction = arithmetic == Arithmetic::subtract, is_product = arithmetic == Arithmetic::multiply;
  if (!is_subtraction && !is_product && arithmetic != Arithmetic::divide) return std::nullopt;
  const Sum a = operand(ref, 0, 1), b = operand(ref, 1, 0);
  if (is_subtraction) return sums_.plus(a, b, -1);
  return is_product ? sums_.times(a, b) : sums_.times(a, sums_.power(b, -2));
}

FormulaReader::Terms FormulaReader::power_of(Ref ref) {
  if (!ref.value->producer()->is("Pow")) return std::nullopt;
  const auto given = number(side_.operand(ref, 1), side_.operand(ref, 0));
  const double exponent = given ? given->value : 0;
  constexpr double kLargest = 8;
  if (std::abs(exponent) > kLargest || exponent == 0 || 2 * exponent != std::round(2 * exponent)) return std::nullopt;
  return sums_.power(value_of(side_.operand(ref, 0)), static_cast<int>(2 * exponent));
}

FormulaReader::Terms FormulaReader::function_of(Ref ref) {
  std::string name = function_name(side_, shapes_, ref);
  if (name.empty()) return std::nullopt;
  return sums_.function(std::move(name), {value_of(side_.operand(ref, 0))});
}

/// Composed operators by the definitions of the ONNX specification.
FormulaReader::Terms FormulaReader::composition(Ref ref) {
  const Node& node = *ref.value->producer();
  const bool is_known = node.is("Gelu") || node.is("HardSwish") || node.is("Mish") || node.is("Swish");
  if (!is_known) return std::nullopt;
  const AttributeReader attributes(node, ref.call);
  const bool is_tanh = attributes.text("approximate", "none") == "tanh";
  const double alpha = attributes.real("alpha", 1);
  if (attributes.is_open()) return std::nullopt;
  const Sum x = value_of(side_.operand(ref, 0));
  if (node.is("HardSwish")) {
    return sums_.times(x, sums_.function("HardSigmoid " + number_text(static_cast<double>(1.0F / 6)) + " " + number_text(0.5), {x}));
  }
  if (node.is("Mish")) return sums_.times(x, sums_.function("Tanh", {sums_.function("Softplus", {x})}));
  if (node.is("Swish")) return sums_.times(x, sums_.function("Sigmoid", {sums_.scaled(x, {alpha, kMostRoundings})}));
  const double root = std::sqrt(is_tanh ? 2 * std::numbers::inv_pi : 0.5);
  constexpr double kCubic = 0.044715;
  const Sum inner =
      sums_.scaled(is_tanh ? sums_.plus(x, sums_.scaled(sums_.power(x, 6), {kCubic, kMostRoundings})) : x, {root, kMostRoundings});
  return sums_.scaled(sums_.times(x, sums_.plus({{1}, {}, {}}, sums_.function(is_tanh ? "Tanh" : "Erf", {inner}))), {0.5});
}

FormulaReader::Terms FormulaReader::normalization(Ref ref) {
  const Node& node = *ref.value->producer();
  const bool is_centered = node.is("LayerNormalization");
  if ((!is_centered && !node.is("RMSNormalization")) || inner_type(node) != DataType::undefined) return std::nullopt;
  const AttributeReader attributes(node, ref.call);
  const Ref data = side_.operand(ref, 0);
  int64_t axis = attributes.integer("axis", -1);
  const auto dims = data && axis >= 0 ? shapes_.of(data) : std::nullopt;
  if (dims) axis -= std::ssize(*dims);
  constexpr int64_t kMostDims = 64;
  if (attributes.is_open() || axis >= 0 || axis < -kMostDims) return std::nullopt;
  std::string axes;
  for (; axis < 0; ++axis) axes += " " + std::to_string(axis);
  Sum x = value_of(data);
  if (is_centered) x = sums_.plus(x, sums_.function("ReduceMean" + axes, {x}), -1);
  Sum out = sums_.times(sums_.times(x, sums_.inverse_root_mean_square(x, axes, {attributes.real("epsilon", 1e-5F), kMostRoundings})),
                        operand(ref, 1));
  return side_.operand(ref, 2) ? sums_.plus(std::move(out), operand(ref, 2)) : out;
}

/// Reads products of two computed matrices. Transpositions and factors upstream of either are parts of the product.
FormulaReader::Terms FormulaReader::matrix_product(Ref ref) {
  const Node& node = *ref.value->producer();
  const bool is_fused = node.op_type() == "FusedMatMul" && node.domain() == kMicrosoftDomain;
  if (!is_fused && !node.is("MatMul")) return std::nullopt;
  const AttributeReader attributes(node, ref.call);
  const bool moves_batch = attributes.integer("transBatchA", 0) != 0 || attributes.integer("transBatchB", 0) != 0;
  const std::array<bool, 2> transposes = {attributes.integer("transA", 0) != 0, attributes.integer("transB", 0) != 0};
  const double alpha = is_fused ? attributes.real("alpha", 1) : 1;
  const Ref a = side_.operand(ref, 0), b = side_.operand(ref, 1);
  if (!a || !b || moves_batch || attributes.is_open() || side_.constant(a) || side_.constant(b)) return std::nullopt;
  const Matrix left = matrix(a), right = matrix(b);
  const auto letter = [](bool is_transposed) { return is_transposed ? 'T' : 'N'; };
  const std::string name =
      std::string("MatMul ") + letter(left.is_transposed != transposes[0]) + letter(right.is_transposed != transposes[1]);
  const Sum product = sums_.scaled(sums_.function(name, {left.value, right.value}), {alpha, is_fused ? kMostRoundings : 0});
  return sums_.times(product, sums_.times(left.factor, right.factor));
}

FormulaReader::Matrix FormulaReader::matrix(Ref ref) {
  Matrix out;
  for (int passed = 0; passed < kDeepest && !is_leaf(ref); ++passed) {
    const Node& node = *ref.value->producer();
    const Arithmetic arithmetic = is_arithmetic(node) ? arithmetic_of(node) : Arithmetic::none;
    const bool is_product = arithmetic == Arithmetic::multiply, is_scaled = is_product || arithmetic == Arithmetic::divide;
    std::size_t data = 0;
    if (is_scaled) {
      auto factor = number(side_.operand(ref, 1), side_.operand(ref, 0));
      if (!factor && is_product) {
        factor = number(side_.operand(ref, 0), side_.operand(ref, 1));
        data = 1;
      }
      if (!factor || factor->value == 0) break;
      const Sum given = {*factor, {}, {}};
      out.factor = sums_.times(out.factor, is_product ? given : sums_.power(given, -2));
    } else if (is_matrix_transposition(written_permutation(node, ref.call))) {
      out.is_transposed = !out.is_transposed;
    } else if (!is_identity(side_, ref)) {
      break;
    }
    formula_.nodes.push_back(&node);
    ref = side_.operand(ref, data);
  }
  out.value = sums_.leaf(ref);
  return out;
}

Sum FormulaReader::operand(Ref ref, std::size_t index, std::size_t other) {
  const Ref at = side_.operand(ref, index);
  if (const auto found = number(at, side_.operand(ref, other))) return {*found, {}, {}};
  return value_of(at);
}

std::optional<Number> FormulaReader::number(Ref ref, Ref other) {
  const Ref given = ref;
  constexpr int kMostCasts = 8;
  for (int passed = 0; ref && passed < kMostCasts && !side_.constant(ref); ++passed) {
    const Node* const node = ref.value->producer();
    if (node == nullptr || !(has_trait(*node, Trait::casts) || node->is("Identity"))) return std::nullopt;
    if (!is_real(side_.type_of(ref))) return std::nullopt;
    ref = side_.operand(ref, 0);
  }
  const auto constant = ref ? side_.constant(ref) : std::nullopt;
  const auto values = constant ? reals_of(side_, ref, takes_uniform_ ? kMostUniform : 1) : std::nullopt;
  if (!values || values->empty() || !fits_into(shapes_, constant->dims, other)) return std::nullopt;
  if (std::ranges::any_of(*values, [&](double value) { return value != values->front(); })) return std::nullopt;
  formula_.constants.push_back(given);
  return Number{values->front(), side_.stored(given) != nullptr ? 0 : kMostRoundings};
}

}  // namespace relayout::proof
