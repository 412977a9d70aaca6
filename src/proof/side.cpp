// Reads one model for the proof: its constants, types, dims and nodes without effect, within functions and the bodies of operators.
#include "proof/side.h"

#include <ranges>

#include "base/positions.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/body.h"
#include "ops/branches.h"
#include "ops/call.h"
#include "ops/constants.h"
#include "ops/dim_origins.h"
#include "ops/element_types.h"
#include "ops/op.h"
#include "ops/op_attributes.h"
#include "ops/partial_dims.h"
#include "proof/tensors.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::proof {
namespace {

constexpr int kDeepestCall = 64;
constexpr std::size_t kCarried = 2;  ///< operands of a Loop before the values that it carries

/// Operands of a node of the model, for the body of its operator.
class BodyOperands : public PartialOperands {
 public:
  BodyOperands(Constants& constants, const Node& node) : constants_(constants), node_(node) {}
  [[nodiscard]] bool has(std::size_t input) override { return node_.input(input) != nullptr; }
  [[nodiscard]] PartialDims dims(std::size_t input) override { return constants_.dims(*node_.input(input)); }
  [[nodiscard]] DataType type(std::size_t input) override { return constants_.type_of(*node_.input(input)); }
  [[nodiscard]] std::optional<PartialContents> contents(std::size_t input) override { return constants_.contents(*node_.input(input)); }

 private:
  Constants& constants_;
  const Node& node_;
};

std::optional<Constant> stored_contents(const Side& side, Ref ref) {
  const Initializer* const initializer = ref ? ref.value->initializer() : nullptr;
  if (initializer == nullptr || !initializer->data) return std::nullopt;
  Constant out;
  out.data = *initializer->data;
  out.type = out.data.type();
  out.dims = out.data.dims();
  return side.as_read(std::move(out));
}

}  // namespace

Calls::Calls(const Model& model, Constants& constants) : constants_(constants), functions_(model) {
  for (const auto& function : model.functions()) index_inputs(*function);
}

void Calls::index_inputs(const Graph& function) {
  for (std::size_t i = 0; i < function.inputs().size(); ++i) parameters_.emplace(function.inputs()[i], i);
}

const Node& Calls::in_file(const Node& node) const {
  const auto owner = body_owners_.find(&node.graph());
  return owner == body_owners_.end() ? node : *owner->second;
}

Ref Calls::resolve(Ref ref) const {
  while (ref.value != nullptr && ref.value->is_input()) {
    if (const auto carried = carried_.find(ref.value); carried != carried_.end()) {
      ref.value = carried->second;
    } else if (ref.call != nullptr && ref.value->graph().is_function()) {
      ref = {ref.call->node->input(parameters_.at(ref.value)), ref.call->outer};
    } else {
      break;
    }
  }
  return ref;
}

void Calls::carry_once(const Node& loop) {
  const auto& inputs = loop.subgraph("body")->inputs();
  for (std::size_t i = kCarried; i < inputs.size(); ++i) {
    if (loop.input(i) != nullptr) carried_.emplace(inputs[i], loop.input(i));
  }
}

std::optional<Ref> Calls::entered(Ref output) {
  const Node* const node = output.value->producer();
  const Graph* function = node != nullptr ? function_of(*node) : nullptr;
  if (node != nullptr && function == nullptr) function = body_of(*node);
  const auto index = as_size(output.value->output_index());
  const int depth = output.call != nullptr ? output.call->depth + 1 : 1;
  if (function == nullptr || depth > kDeepestCall || index >= function->outputs().size()) return std::nullopt;
  const Call& call = calls_.try_emplace({node, output.call}, Call{node, function, output.call, depth}).first->second;
  return resolve({function->outputs()[index], &call});
}

const Graph* Calls::body_of(const Node& node) {
  const Op* const op = find_op(node);
  // What its attribute lets a node compute in a coarser type is no composition of standard operators.
  if (op == nullptr || op->body == nullptr || inner_type(node) != DataType::undefined) return nullptr;
  const auto [known, is_new] = bodies_.try_emplace(&node);
  if (!is_new) return known->second.graph.get();
  BodyOperands operands(constants_, node);
  try {
    known->second = compose(*op, node, operands);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported && error.kind() != ErrorKind::invalid) throw;
    return nullptr;
  }
  const Graph& body = *known->second.graph;
  index_inputs(body);
  body_owners_.emplace(&body, &node);
  return &body;
}

Side::Side(const Model& model, bool widens) : model_(model), widens_(widens), calls_(model, constants_) {
  index(model.graph());
  for (const auto& function : model.functions()) index(*function);
  index_loops();
}

/// From the last node, so that loops come before those within them, which may count on their iteration numbers.
void Side::index_loops() {
  for (const Node* const node : std::views::reverse(nodes_)) {
    const std::optional<int64_t> runs = runs_of_loop(*node, constants_);
    const Graph* const body = runs ? node->subgraph("body") : nullptr;
    if (!runs || body->inputs().size() < kCarried || body->outputs().size() + 1 < body->inputs().size()) continue;
    runs_.emplace(node, *runs);
    if (*runs == 0) continue;
    Tensor first(DataType::int64, {}), holds(DataType::boolean, {});
    *first.data<int64_t>() = 0;
    *holds.data<uint8_t>() = 1;
    constants_.assume(*body->inputs()[0], first);
    constants_.assume(*body->inputs()[1], holds);
    calls_.carry_once(*node);
  }
}

std::optional<int64_t> Side::runs(const Node& loop) const {
  const auto found = runs_.find(&loop);
  return found != runs_.end() ? std::optional(found->second) : std::nullopt;
}

Ref Side::carried_out(Ref output) const {
  const Node* const loop = output.value->producer();
  const auto runs = loop != nullptr ? this->runs(*loop) : std::nullopt;
  const auto at = as_size(output.value->output_index());
  if (!runs || at + kCarried >= loop->subgraph("body")->inputs().size()) return {};
  return *runs == 0 ? operand(output, kCarried + at) : resolve({loop->subgraph("body")->outputs()[at + 1], output.call});
}

Ref Side::stacked_once(Ref output) const {
  const Node* const loop = output.value->producer();
  if (loop == nullptr || runs(*loop) != std::optional<int64_t>(1)) return {};
  const Graph& body = *loop->subgraph("body");
  const auto at = as_size(output.value->output_index());
  if (at + kCarried < body.inputs().size() || at + 1 >= body.outputs().size()) return {};
  return resolve({body.outputs()[at + 1], output.call});
}

void Side::index(const Graph& graph) {
  for_each_node<Nested::before>(graph, [&](const Node& node) {
    order_.emplace(&node, std::ssize(nodes_));
    nodes_.push_back(&node);
  });
}

std::optional<bool> Side::condition(Ref output) {
  const Ref given = operand(output, 0);
  const auto decided = given ? constant(given) : std::nullopt;
  if (decided && decided->type == DataType::boolean && element_count(decided->dims) == 1) return decided->load().data<bool>()[0];
  return branches_.condition(*output.value->producer());
}

DataType Side::type_of(Ref ref) {
  std::vector<Ref> path;
  DataType type = DataType::undefined;
  while ((ref = resolve(ref))) {
    const auto known = types_.find(ref);
    if (known != types_.end()) {
      type = known->second;
      break;
    }
    path.push_back(ref);
    const Node* const node = ref.value->producer();
    const auto rule =
        node != nullptr ? type_rule(*node, ref.value->output_index()) : std::variant<std::monostate, DataType, const Value*>();
    if (const auto* const like = std::get_if<const Value*>(&rule)) {
      ref.value = *like;
    } else if (const auto inside = node != nullptr ? entered(ref) : std::nullopt) {
      ref = *inside;
    } else {
      const auto* const own = std::get_if<DataType>(&rule);
      type = as_read(own != nullptr ? *own : constants_.type_of(*ref.value));
      break;
    }
  }
  for (const Ref passed : path) types_.emplace(passed, type);
  return type;
}

DataType Side::as_read(DataType type) const noexcept {
  return widens_ && (type == DataType::float16 || type == DataType::bfloat16) ? DataType::float32 : type;
}

Constant Side::as_read(Constant constant) const {
  if (as_read(constant.type) == constant.type) return constant;
  constant.type = as_read(constant.type);
  constant.data = constant.data.converted(constant.type);
  return constant;
}

namespace {

/// The constant of a node of a function whose attribute the call gives; nothing for other nodes.
std::optional<Constant> constant_by_call(const Model& model, const Node& node, const Call* call) {
  if (!node.is("Constant") || call == nullptr || !Attributes(node).has_reference()) return std::nullopt;
  const AttributeReader reader(node, call);
  for (const onnx::AttributeProto& attribute : node.message().attribute()) {
    const onnx::AttributeProto* const given = reader.find(attribute.name());
    if (given == nullptr || !given->ref_attr_name().empty()) continue;
    if (auto constant = given_constant(model, attribute.name(), *given)) return constant;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Constant> Side::constant(Ref ref) {
  if (!ref) return std::nullopt;
  if (const Node* const node = ref.value->producer()) {
    if (auto given = constant_by_call(model_, *node, ref.call)) return as_read(std::move(*given));
  }
  auto answer = constants_.find(*ref.value);
  if (auto* const constant = std::get_if<Constant>(&answer)) return as_read(std::move(*constant));
  if (frozen_.empty()) return std::nullopt;
  while (ref && ref.value->producer() != nullptr && ref.value->producer()->is("Identity")) ref = operand(ref, 0);
  return ref && frozen_.contains(ref.value) ? stored_contents(*this, ref) : std::nullopt;
}

std::optional<Constant> Side::contents(Ref ref) {
  if (auto found = constant(ref)) return found;
  return stored_contents(*this, ref);
}

std::optional<std::vector<double>> reals_of(Side& side, Ref ref, int64_t limit) {
  const auto found = side.constant(ref);
  if (!found || !is_real(found->type) || element_count(found->dims) > limit) return std::nullopt;
  return to_doubles(found->load());
}

std::optional<std::vector<int64_t>> integers_of(Side& side, Ref ref) {
  const auto found = side.constant(ref);
  if (!found || element_count(found->dims) > 64) return std::nullopt;
  const Tensor tensor = found->load();
  const auto count = as_size(tensor.element_count());
  if (found->type == DataType::int64) return std::vector<int64_t>(tensor.data<int64_t>(), tensor.data<int64_t>() + count);
  if (found->type == DataType::int32) return std::vector<int64_t>(tensor.data<int32_t>(), tensor.data<int32_t>() + count);
  return std::nullopt;
}

const Value* Side::stored(Ref ref, std::vector<const Node*>* path) const {
  constexpr int kMostNodes = 64;
  ref = resolve(ref);
  for (int passed = 0; ref && passed < kMostNodes; ++passed) {
    if (ref.value->initializer() != nullptr) return ref.value->is_overridable() && !frozen_.contains(ref.value) ? nullptr : ref.value;
    const Node* const node = ref.value->producer();
    if (node == nullptr) return nullptr;
    if (path != nullptr) path->push_back(node);
    // What a function's callers give is not known where the function is read by itself.
    if (node->is("Constant")) return ref.call == nullptr && Attributes(*node).has_reference() ? nullptr : ref.value;
    if (!node->is("Identity") && !node->is("Transpose")) return nullptr;
    ref = operand(ref, 0);
  }
  return nullptr;
}

const onnx::AttributeProto* AttributeReader::find(std::string_view name) const {
  const onnx::AttributeProto* found = node_.attribute(name);
  const Call* call = call_;
  while (found != nullptr && !found->ref_attr_name().empty()) {
    if (call == nullptr) {
      open_ = true;
      return found;
    }
    const std::string& reference = found->ref_attr_name();
    found = call->node->attribute(reference);
    if (found == nullptr) {
      for (const auto& given : call->function->function()->attribute_proto()) {
        if (given.name() == reference) return &given;
      }
    }
    call = call->outer;
  }
  return found;
}

const onnx::AttributeProto* AttributeReader::find(std::string_view name, int type) const {
  const onnx::AttributeProto* const found = find(name);
  if (found != nullptr && !has_type(*found, type)) open_ = true;
  return found;
}

int64_t AttributeReader::integer(std::string_view name, int64_t otherwise) const {
  const auto* const found = find(name, onnx::AttributeProto::INT);
  return found != nullptr ? found->i() : otherwise;
}

double AttributeReader::real(std::string_view name, float otherwise) const {
  const auto* const found = find(name, onnx::AttributeProto::FLOAT);
  return static_cast<double>(found != nullptr ? found->f() : otherwise);
}

std::string AttributeReader::text(std::string_view name, std::string_view otherwise) const {
  const auto* const found = find(name, onnx::AttributeProto::STRING);
  return found != nullptr ? found->s() : std::string(otherwise);
}

std::vector<int64_t> AttributeReader::integers(std::string_view name) const {
  const auto* const found = find(name, onnx::AttributeProto::INTS);
  if (found == nullptr) return {};
  return {found->ints().begin(), found->ints().end()};
}

// Dims of values.
namespace {

/// The resolved operands of the node that produces `output`.
class Operands : public PartialOperands {
 public:
  Operands(Side& side, Ref output, const std::unordered_map<Ref, PartialDims, RefHash>& known)
      : side_(side), output_(output), known_(known) {}
  [[nodiscard]] bool has(std::size_t input) override { return static_cast<bool>(side_.operand(output_, input)); }
  [[nodiscard]] PartialDims dims(std::size_t input) override {
    const auto found = known_.find(side_.operand(output_, input));
    return found == known_.end() ? std::nullopt : found->second;
  }
  [[nodiscard]] DataType type(std::size_t input) override { return side_.type_of(side_.operand(output_, input)); }
  [[nodiscard]] std::optional<PartialContents> contents(std::size_t input) override {
    const Ref operand = side_.operand(output_, input);
    const auto constant = side_.constant(operand);
    return constant ? std::optional<PartialContents>(constant->load()) : side_.partial_contents(operand);
  }

 private:
  Side& side_;
  Ref output_;
  const std::unordered_map<Ref, PartialDims, RefHash>& known_;
};

}  // namespace

std::optional<Dims> Shapes::of(Ref ref) {
  struct Open {
    Ref ref;
    std::size_t next = 0;
  };
  std::vector<Open> open = {{side_.resolve(ref)}};
  while (!open.empty()) {
    Open& top = open.back();
    const Ref at = top.ref;
    if (!at || shapes_.contains(at)) {
      open.pop_back();
    } else if (const Node* const node = at.value->producer(); node == nullptr) {
      shapes_.emplace(at, of_source(at));
    } else if (const auto inside = side_.entered(at)) {
      const auto found = shapes_.find(*inside);
      if (found != shapes_.end() || !*inside || top.next++ > 0) {
        shapes_.emplace(at, found != shapes_.end() ? found->second : std::nullopt);
      } else {
        open.push_back({*inside});
      }
    } else if (top.next < node->inputs().size()) {
      const Ref input = side_.operand(at, top.next++);
      if (input) open.push_back({input});
    } else {
      shapes_.emplace(at, of_node(at));
    }
  }
  const auto found = shapes_.find(side_.resolve(ref));
  return found == shapes_.end() ? std::nullopt : found->second;
}

Shapes::Shape Shapes::of_source(Ref ref) {
  if (const auto constant = side_.constant(ref)) return constant->dims;
  const bool is_contract = ref.value->is_model_input();
  const auto declared = is_contract ? ref.value->declared() : std::nullopt;
  if (!declared || !declared->has_shape) return std::nullopt;
  return declared->dims;
}

namespace {

OpCall call_of(Ref output) {
  const Node& node = *output.value->producer();
  OpCall call(node, node.opset());
  call.attributes = Attributes(node, [reader = AttributeReader(node, output.call)](std::string_view name) { return reader.find(name); });
  return call;
}

}  // namespace

Shapes::Shape Shapes::of_node(Ref output) {
  if (const auto constant = side_.constant(output)) return constant->dims;
  Operands operands(side_, output, shapes_);
  return partial_dims(call_of(output), as_size(output.value->output_index()), operands);
}

Shapes::Origin Shapes::origin_of(Ref ref, int64_t axis) {
  constexpr int kMostNodes = 64;
  Origin out{side_.resolve(ref), axis};
  for (int passed = 0; passed < kMostNodes && out.value && out.value.value->producer() != nullptr; ++passed) {
    if (const auto inside = side_.entered(out.value)) {
      if (!*inside) return out;
      out.value = side_.resolve(*inside);
      continue;
    }
    (void)of(out.value);  // its operands too
    Operands operands(side_, out.value, shapes_);
    const auto from = origin_of_dim(call_of(out.value), as_size(out.value.value->output_index()), out.axis, operands);
    if (!from) return out;
    out = {side_.operand(out.value, from->input), from->axis};
    out.value = side_.resolve(out.value);
  }
  return out;
}

std::optional<Shapes::Origin> Shapes::dim_in(Ref list, int64_t place) {
  constexpr int kMostNodes = 16;
  Ref at = side_.resolve(list);
  for (int passed = 0; passed < kMostNodes && at && at.value->producer() != nullptr; ++passed) {
    const Node& node = *at.value->producer();
    const Ref data = side_.operand(at, 0);
    if (node.is("Shape") && node.domain().empty()) {
      const AttributeReader attributes(node, at.call);
      const int64_t start = attributes.integer("start", 0);
      const auto dims = start < 0 ? of(data) : std::nullopt;
      if (attributes.is_open() || (start < 0 && !dims)) return std::nullopt;
      return origin_of(data, start < 0 ? std::max<int64_t>(start + std::ssize(*dims), 0) + place : start + place);
    }
    (void)of(at);
    Operands operands(side_, at, shapes_);
    const auto from = origin_of_element(call_of(at), as_size(at.value->output_index()), place, operands);
    if (!from) return std::nullopt;
    at = side_.resolve(side_.operand(at, from->input));
    place = from->axis;
  }
  return std::nullopt;
}

bool is_reshaping(const Node& node) {
  return node.input(0) != nullptr && only_moves_axes(node) && has_trait(node, Trait::keeps_order);
}

std::optional<Dims> certain_dims(Shapes& shapes, Ref ref) {
  auto dims = shapes.of(ref);
  if (dims && std::ranges::any_of(*dims, [](int64_t dim) { return dim < 0; })) return std::nullopt;
  return dims;
}

std::optional<std::vector<int64_t>> paddings(Side& side, Ref output, const AttributeReader& attributes, const std::optional<Dims>& dims) {
  const Node& node = *output.value->producer();
  if (node.opset() < 2) return attributes.integers("paddings");
  if (node.opset() < 11) return attributes.integers("pads");
  auto pads = integers_of(side, side.operand(output, 1));
  if (!pads || !side.operand(output, 3)) return pads;
  const auto axes = integers_of(side, side.operand(output, 3));
  if (!axes || !dims || pads->size() != 2 * axes->size()) return std::nullopt;
  const auto rank = static_cast<int64_t>(dims->size());
  std::vector<int64_t> out(2 * dims->size(), 0);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const int64_t axis = (*axes)[i] < 0 ? (*axes)[i] + rank : (*axes)[i];
    if (axis < 0 || axis >= rank) return std::nullopt;
    out[as_size(axis)] = (*pads)[i];
    out[as_size(axis + rank)] = (*pads)[i + axes->size()];
  }
  return out;
}

}  // namespace relayout::proof
