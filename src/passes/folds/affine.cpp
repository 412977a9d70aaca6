// Reads a node as an affine per channel, y = scale · (x − center) + shift, or tells why it is none.
#include "passes/folds/affine.h"

#include "base/positions.h"
#include "base/text.h"
#include "model/float_elements.h"
#include "model/node.h"
#include "ops/bounds.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "ops/partial_dims.h"
#include "passes/pass.h"
#include "relayout/error.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

constexpr std::array<std::string_view, 5> kParameters = {"input", "scale", "shift", "mean", "variance"};

std::optional<Skip> non_finite_channel(const Affine& affine) {
  for (std::size_t c = 0; c < as_size(affine.length()); ++c) {
    if (!std::isfinite(affine.scale_at(c)) || !std::isfinite(affine.center_at(c)) || !std::isfinite(affine.shift_at(c)))
      return Skip{Reason::non_finite, "channel " + std::to_string(c)};
  }
  return std::nullopt;
}

Match<AffineNode> read_batch_norm(const Node& node, PassContext& context) {
  Obstacles obstacles;
  const Attributes attributes(node);
  if (attributes.has_reference()) return Skip{Reason::not_constant, "an attribute is given by the caller of the function"};
  if (auto skip = why_trains(node, attributes)) obstacles.note(std::move(*skip));
  if (node.opset() < 9 && attributes.integer("spatial", 1) == 0) obstacles.note(Reason::per_activation, "spatial is 0");

  std::array<std::vector<double>, 5> parameters;
  for (std::size_t i = 1; i < parameters.size(); ++i) {
    const Value* const operand = node.input(i);
    if (operand == nullptr) fail(ErrorKind::invalid, "input " + std::to_string(i) + " (" + std::string(kParameters[i]) + ") is missing");
    const auto found = context.constants.find(*operand);
    if (const auto* const reason = std::get_if<Reason>(&found)) {
      obstacles.note(*reason, std::string(kParameters[i]) + " " + quote(operand->name()));
      continue;
    }
    const Constant& constant = std::get<Constant>(found);
    if (!is_scalable(constant.type))
      fail(ErrorKind::invalid,
           std::string(kParameters[i]) + " " + quote(operand->name()) + " is of type " + std::string(name_of(constant.type)));
    if (constant.dims.size() != 1)
      obstacles.note(Reason::per_activation, std::string(kParameters[i]) + " has dims " + to_string(constant.dims));
    if (obstacles.any()) continue;
    parameters[i] = reals_of(constant.load());
    if (parameters[i].size() != parameters[1].size()) {
      fail(ErrorKind::invalid, std::string(kParameters[i]) + " " + quote(operand->name()) + " has " + std::to_string(parameters[i].size()) +
                                   " elements, scale has " + std::to_string(parameters[1].size()));
    }
  }
  if (obstacles.any()) return obstacles.first();

  // The default is a float in ONNX: 1e-5f is not 1e-5.
  const auto epsilon = static_cast<double>(attributes.real("epsilon", 1e-5F));
  Affine affine{std::move(parameters[1]), std::move(parameters[3]), std::move(parameters[2])};
  for (std::size_t c = 0; c < affine.scale.size(); ++c) {
    const double variance = parameters[4][c] + epsilon;
    affine.scale[c] /= std::sqrt(variance);
    if (variance <= 0 || !std::isfinite(variance)) return Skip{Reason::non_finite, "channel " + std::to_string(c)};
  }
  if (auto skip = non_finite_channel(affine)) return std::move(*skip);
  return AffineNode{&node, 0, std::make_shared<const Affine>(std::move(affine)), Axis{1, false}};
}

/// Axes of a constant operand within the data: for each of its dims that is not 1, the axis of the data that it is aligned with.
class Alignment {
 public:
  /// Before opset 7 only the second operand broadcasts, if `broadcast` is set, from `axis` on or as a suffix (ONNX Add-6).
  Alignment(const Node& node, std::size_t constant_at, const Dims& dims, const std::optional<Dims>& data) : data_(data) {
    const auto rank = static_cast<int64_t>(dims.size());
    int64_t first = -1;  // axis of the data that the constant's first dim is aligned with; −1: the last dims are aligned
    if (node.opset() < 7 && !node.is("Sum")) {
      const Attributes attributes(node);
      const bool broadcasts = attributes.integer("broadcast", 0) != 0;
      grows_ = broadcasts && constant_at == 0 && (!data || *data != dims);
      if (broadcasts) first = attributes.integer("axis", -1);
    }
    for (int64_t i = 0; i < rank; ++i) {
      if (dims[as_size(i)] == 1) continue;
      varying_.push_back(first >= 0 ? Axis{first + i, false} : Axis{rank - 1 - i, true});
      sizes_.push_back(dims[as_size(i)]);
    }
    if (data) {
      grows_ = grows_ || rank > static_cast<int64_t>(data->size());
    } else {
      needs_rank_ = rank > 1;
    }
    for (std::size_t i = 0; i < varying_.size(); ++i) {
      const int64_t size = data_size(varying_[i]);
      grows_ = grows_ || size == 1;
      may_grow_ = may_grow_ || size < 0;
    }
  }

  /// Puts the axis into `out`, or says why the constant is not per channel.
  [[nodiscard]] std::optional<Skip> place(AffineNode& out, const std::string& name) const {
    if (grows_) return Skip{Reason::broadcast_grows, name};
    if (needs_rank_) return Skip{Reason::rank_unknown, name};
    out.misplaced = may_grow_ ? Reason::broadcast_grows : Reason::not_per_channel;
    if (varying_.size() > 1) return Skip{out.misplaced, name};
    if (varying_.empty()) return std::nullopt;
    out.axis = varying_[0];
    out.is_sized = data_size(varying_[0]) == sizes_[0];
    return std::nullopt;
  }

 private:
  [[nodiscard]] int64_t data_size(Axis axis) const {
    if (!data_) return -1;
    const int64_t at = from_front(axis, static_cast<int64_t>(data_->size()));
    return at < 0 ? 1 : (*data_)[as_size(at)];
  }

  const std::optional<Dims>& data_;
  std::vector<Axis> varying_;
  std::vector<int64_t> sizes_;
  bool grows_ = false, may_grow_ = false, needs_rank_ = false;
};

Affine affine_of(Arithmetic arithmetic, std::size_t constant_at, std::vector<double> values) {
  Affine out;
  switch (arithmetic) {
    case Arithmetic::multiply:
      out.scale = std::move(values);
      break;
    case Arithmetic::divide:
      for (double& value : values) value = 1 / value;
      out.scale = std::move(values);
      break;
    case Arithmetic::subtract:
      if (constant_at == 0) out.scale = {-1};
      (constant_at == 0 ? out.shift : out.center) = std::move(values);
      break;
    default:
      out.shift = std::move(values);
  }
  return out;
}

/// Sums, differences, products and quotients: one operand constant, the other not.
Match<AffineNode> read_binary(const Node& node, PassContext& context) {
  if (node.inputs().size() != 2 || node.input(0) == nullptr || node.input(1) == nullptr) return NotApplicable{};
  std::array found = {context.constants.find(*node.input(0)), context.constants.find(*node.input(1))};
  const bool is_left = std::holds_alternative<Constant>(found[0]);
  const std::size_t at = is_left ? 0 : 1;
  if (const auto* const reason = std::get_if<Reason>(&found[at])) {
    // An initializer that is not constant (a caller may replace it, say) is reported as the obstacle.
    const bool is_stored = node.input(0)->initializer() != nullptr || node.input(1)->initializer() != nullptr;
    if (!is_stored) return NotApplicable{};
    const std::size_t stored = node.input(0)->initializer() != nullptr ? 0 : 1;
    const auto* const why = std::get_if<Reason>(&found[stored]);
    return Skip{why != nullptr ? *why : *reason, quote(node.input(stored)->name())};
  }
  if (is_left && std::holds_alternative<Constant>(found[1])) return NotApplicable{};
  const std::string name = quote(node.input(at)->name());
  const Constant& constant = std::get<Constant>(found[at]);
  if (!is_scalable(constant.type)) return NotApplicable{};
  const Attributes attributes(node);
  if (attributes.has_reference()) return Skip{Reason::not_constant, "an attribute is given by the caller of the function"};
  const Arithmetic arithmetic = arithmetic_of(node);
  if (is_left && arithmetic == Arithmetic::divide) return Skip{Reason::not_affine, "divides " + name};

  AffineNode out{&node, 1 - at, {}, {}};
  const auto data = context.constants.dims(*node.input(1 - at));
  if (auto skip = Alignment(node, at, constant.dims, data).place(out, name)) return std::move(*skip);
  if (element_count(constant.dims) == 0) return Skip{out.misplaced, name};
  Affine affine = affine_of(arithmetic, at, reals_of(constant.load()));
  if (auto skip = non_finite_channel(affine)) return std::move(*skip);
  out.affine = std::make_shared<const Affine>(std::move(affine));
  return out;
}

Match<AffineNode> read(const Node& node, PassContext& context) {
  if (!is_affine_operator(node) || node.output(0) == nullptr) return NotApplicable{};
  if (node.is("BatchNormalization")) return node.input(0) != nullptr ? read_batch_norm(node, context) : NotApplicable{};
  if (arithmetic_of(node) != Arithmetic::negate) return read_binary(node, context);
  if (node.input(0) == nullptr || context.constants.is_constant(*node.input(0))) return NotApplicable{};
  Affine affine;
  affine.scale = {-1};
  return AffineNode{&node, 0, std::make_shared<const Affine>(std::move(affine)), {}};
}

}  // namespace

int64_t Affine::length() const {
  return static_cast<int64_t>(std::max({scale.size(), center.size(), shift.size()}));
}

bool Affine::shifts() const {
  for (std::size_t c = 0; c < as_size(length()); ++c) {
    if (apply(c, 0) != 0) return true;
  }
  return false;
}

bool is_affine_operator(const Node& node) {
  return has_trait(node, Trait::affine);
}

const Match<AffineNode>& read_affine(const Node& node, PassContext& context) {
  const auto known = context.folds.affines.find(&node);
  if (known != context.folds.affines.end()) return *known->second;
  // Not cached: most Adds of a large model are of this kind, and are quickly recognised again.
  static const Match<AffineNode> kNotApplicable = NotApplicable{};
  Match<AffineNode> found = read(node, context);
  if (std::holds_alternative<NotApplicable>(found)) return kNotApplicable;
  return *context.folds.affines.emplace(&node, std::make_shared<const Match<AffineNode>>(std::move(found))).first->second;
}

// Nodes that train.
namespace {

bool has_extra_outputs(const Node& node) {
  return node.outputs().size() > 1 && std::ranges::any_of(node.outputs().subspan(1), [](const Value* output) { return output != nullptr; });
}

bool uses_extra_outputs(const Node& node) {
  for (std::size_t i = 1; i < node.outputs().size(); ++i) {
    const Value* const output = node.outputs()[i];
    if (output != nullptr && (!output->uses().empty() || output->is_output())) return true;
  }
  return false;
}

}  // namespace

std::optional<Skip> why_trains(const Node& norm, const Attributes& attributes) {
  const int64_t opset = norm.opset();
  if (opset < 7) {
    if (attributes.integer("is_test", 0) == 0) return Skip{Reason::training_mode, "is_test is 0"};
    if (uses_extra_outputs(norm)) return Skip{Reason::training_mode, "its statistics are read"};
  } else if (opset >= 14 && attributes.integer("training_mode", 0) != 0) {
    return Skip{Reason::training_mode, "training_mode is 1"};
  } else if (has_extra_outputs(norm)) {
    return Skip{Reason::training_mode, "it has " + std::to_string(norm.outputs().size()) + " outputs"};
  }
  return std::nullopt;
}

bool trains_in_call(const Node& norm, const Node& call) {
  const auto lookup = [&](std::string_view name) {
    const onnx::AttributeProto* attribute = norm.attribute(name);
    if (attribute != nullptr && !attribute->ref_attr_name().empty()) attribute = call.attribute(attribute->ref_attr_name());
    // A call of another type, or one whose own caller gives the attribute, counts as one without it.
    const bool is_given = attribute != nullptr && attribute->type() == onnx::AttributeProto::INT && attribute->ref_attr_name().empty();
    return is_given ? attribute : nullptr;
  };
  return why_trains(norm, Attributes(norm, lookup)).has_value();
}

bool keeps_all(const Node& dropout, Constants& constants) {
  const Attributes attributes(dropout);
  if (attributes.has_reference()) return false;
  const int64_t opset = dropout.opset();
  if (opset < 7) return attributes.integer("is_test", 0) != 0;
  if (opset < 12 || dropout.input(2) == nullptr) return true;
  const auto training = constants.value(*dropout.input(2));
  return training && training->type() == DataType::boolean && training->element_count() == 1 && !*training->data<bool>();
}

// Constants that guard the domain of a later operator.
namespace {

/// What an affine adds in a channel.
double addend(const Affine& affine, std::size_t channel) {
  return affine.apply(channel, 0);
}

/// Whether fewer than half of the bits of `part` are left in `sum`.
bool is_lost(double part, double sum, DataType type) {
  return part != 0 && std::fabs(part) < std::ldexp(spacing_at(type, std::fabs(sum)), (traits(type).fraction_bits + 1) / 2);
}

}  // namespace

const AffineNode* lost_guard(const std::vector<AffineNode>& affines, const std::vector<double>& bias, std::size_t channels, DataType type,
                             PassContext& context) {
  if (channels == 0) return nullptr;
  // The largest shift of later affines, and the product of their factors, by channel.
  std::vector<double> later(channels, 0.0), factor(channels, 1.0);
  for (std::size_t k = affines.size(); k-- > 0;) {
    const AffineNode& affine = affines[k];
    bool is_somewhere_lost = false, is_everywhere_small = true;
    double largest = 0;
    for (const double sum : bias) largest = std::max(largest, std::fabs(sum));
    for (std::size_t i = 0; i < bias.size(); ++i) {
      const std::size_t c = i % channels;
      const double part = addend(*affine.affine, c) * factor[c];
      is_somewhere_lost = is_somewhere_lost || (is_lost(part, bias[i], type) && !is_lost(part, later[c], type));
      is_everywhere_small = is_everywhere_small && (part == 0 || is_lost(part, largest, type));
    }
    if (is_somewhere_lost && !affine.node->is("BatchNormalization")) {
      const EdgeWay way = edge_downstream(*affine.node->output(0), context.constants).way;
      if (way == EdgeWay::elementwise || (way == EdgeWay::through_products && is_everywhere_small)) return &affine;
    }
    for (std::size_t c = 0; c < channels; ++c) {
      later[c] = std::max(later[c], std::fabs(addend(*affine.affine, c) * factor[c]));
      factor[c] *= affine.affine->scale_at(c);
    }
  }
  return nullptr;
}

}  // namespace relayout::passes
