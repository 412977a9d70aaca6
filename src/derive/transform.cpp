// Adds inputs for tangents or cotangents to a model, and the derivatives of its outputs as outputs.
#include "derive/transform.h"

#include <ranges>

#include "base/text.h"
#include "derive/linearizer.h"
#include "derive/sizes.h"
#include "derive/writer.h"
#include "model/node.h"
#include "model/walk.h"
#include "relayout/derive.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout::derive {
namespace {

/// The values of these names; Error{usage} for one that is not there.
std::vector<const Value*> values_of(const Model& model, std::string_view option, const std::vector<std::string>& names) {
  std::vector<const Value*> out;
  for (const std::string& name : names) {
    const Value* const value = model.graph().find(name);
    if (value == nullptr) {
      std::vector<std::string> known;
      model.graph().visit_names([&](std::string_view one) { known.emplace_back(one); });
      fail(ErrorKind::usage, std::string(option) + " " + quote(name) + ": no value has this name" + did_you_mean(name, known, "; "));
    }
    if (std::ranges::find(out, value) == out.end()) out.push_back(value);
  }
  return out;
}

}  // namespace

Value& add_graph_input(Model& model, const std::string& name, const onnx::TypeProto& type) {
  Graph& graph = model.graph();
  // A value of this name without a source: that of a node which is gone again.
  Node& node = graph.insert_before(graph.nodes().begin(), node_message("Constant", {}, {name}));
  Value& made = *node.output(0);
  (void)graph.detach(made, model.unique_name(name + ".source"));
  graph.erase(node);
  graph.add_input(made, type);
  return made;
}

Transform::Transform(Model& model, bool by_weights, const DeriveOptions& options, DeriveResult& result)
    : model_(model), graph_(model.graph()), result_(result) {
  look_again();
  wrt_ = values_of(model, "--wrt", options.wrt);
  of_ = values_of(model, "--of", options.of);
  if (by_weights && wrt_.empty()) {
    for (const Initializer& one : graph_.initializers()) {
      if (is_float(sizes_->type(*one.value)) && !one.value->uses().empty()) wrt_.push_back(one.value);
    }
  }
  if (!by_weights && wrt_.empty()) add_reals(graph_.inputs(), wrt_);
  if (of_.empty()) add_reals(graph_.outputs(), of_);
  if (wrt_.empty()) fail(ErrorKind::unsupported, by_weights ? "no weight is of floating point" : "no input is of floating point");
  if (of_.empty()) fail(ErrorKind::unsupported, "no output is of floating point");
  check_types("--wrt", wrt_);
  check_types("--of", of_);
  open_nodes(graph_, wrt_, of_);
  look_again();
}

void Transform::look_again() {
  sizes_ = std::make_unique<Sizes>(graph_);
  for (const Value* input : graph_.inputs()) sizes_->offer(*input);
}

void Transform::jvp() {
  (void)forward(wrt_, ".tangent", true);
  for (const Value* value : of_) give(*value, linear_->tangent(*value), ".tangent");
}

void Transform::vjp() {
  std::vector<std::string> cotangents;
  for (const Value* value : of_) cotangents.push_back(add_input(*value, ".cotangent", true).name());
  for (auto& [value, gradient] : backward(cotangents)) give(*value, gradient, ".gradient");
}

std::vector<std::pair<const Value*, Name>> Transform::gradients_of_sum(const Value& value) {
  Writer w(graph_);
  w.name_after(value.name() + ".ones");
  return backward({w.make("Expand", {w.real(1, sizes_->type(value)), w.shape(value.name())})});
}

void Transform::hvp() {
  if (of_.size() != 1) fail(ErrorKind::usage, "a Hessian is of one output: --of names it");
  Values gradients;
  const auto made = gradients_of_sum(*of_.front());
  for (const auto& [value, gradient] : made) gradients.push_back(gradient.empty() ? nullptr : graph_.find(gradient));
  look_again();
  of_ = gradients;
  std::erase(of_, nullptr);
  (void)forward(wrt_, ".vector", true);
  for (std::size_t i = 0; i < made.size(); ++i) {
    give(*made[i].first, gradients[i] == nullptr ? Name() : linear_->tangent(*gradients[i]), ".hvp");
  }
}

void Transform::add_reals(const std::vector<Value*>& values, Values& out) {
  for (const Value* value : values) {
    const bool is_plain = value->initializer() == nullptr || !value->is_input();
    if (is_plain && is_float(sizes_->type(*value)) && std::ranges::find(out, value) == out.end()) out.push_back(value);
  }
}

void Transform::check_types(std::string_view option, const Values& values) {
  for (const Value* value : values) {
    const DataType type = sizes_->type(*value);
    if (is_float(type)) continue;
    fail(type == DataType::undefined ? ErrorKind::unsupported : ErrorKind::usage,
         std::string(option) + " " + quote(value->name()) + " is of type " + std::string(name_of(type)) + ", not of floating point");
  }
}

Transform::Shape Transform::shape_of(const Value& value, std::size_t begin) {
  const auto rank = sizes_->rank(value);
  if (!rank) fail(ErrorKind::unsupported, "the rank of '" + value.name() + "' is not known");
  Shape out;
  for (std::size_t i = begin; i < *rank; ++i) out.emplace_back(&value, i);
  return out;
}

std::vector<Dim> Transform::dims_of(const Shape& shape) {
  std::vector<Dim> out;
  for (const auto& [value, axis] : shape) {
    const int64_t size = sizes_->dim(*value, axis);
    out.push_back(size >= 0 ? Dim(size) : Dim(-1, value->name(), axis));
  }
  return out;
}

onnx::ValueInfoProto Transform::entry_of(DataType element, const Shape& shape, const std::string& name) {
  onnx::ValueInfoProto out;
  out.set_name(name);
  auto& type = *out.mutable_type()->mutable_tensor_type();
  type.set_elem_type(static_cast<int>(element));
  type.mutable_shape();
  for (const auto& [value, axis] : shape) {
    auto& dim = *type.mutable_shape()->add_dim();
    const int64_t size = sizes_->dim(*value, axis);
    const auto twin = sizes_->twin(*value, axis);
    if (size >= 0) {
      dim.set_dim_value(size);
    } else if (twin && twin->first->declared()) {
      dim.set_dim_param(twin->first->declared()->symbols.at(twin->second));
    }
  }
  return out;
}

onnx::ValueInfoProto Transform::entry_of(const Value& value, const std::string& name) {
  const bool is_declared = value.info() != nullptr && (value.is_model_input() || value.is_own_output());
  if (!is_declared && sizes_->rank(value)) return entry_of(sizes_->type(value), shape_of(value), name);
  onnx::ValueInfoProto out;
  out.set_name(name);
  if (is_declared) {
    *out.mutable_type() = value.info()->type();
    // Exporters name dims of outputs whose sizes follow.
    auto& tensor = *out.mutable_type()->mutable_tensor_type();
    for (int i = 0; i < tensor.shape().dim_size(); ++i) {
      const int64_t size = sizes_->dim(value, static_cast<std::size_t>(i));
      if (size >= 0) tensor.mutable_shape()->mutable_dim(i)->set_dim_value(size);
    }
  } else {
    out.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(sizes_->type(value)));
  }
  return out;
}

const Value& Transform::add_input(const Value& like, std::string_view suffix, bool is_shown) {
  const onnx::ValueInfoProto entry = entry_of(like, model_.unique_name(like.name() + std::string(suffix)));
  const Value& made = add_graph_input(model_, entry.name(), entry.type());
  if (is_shown) result_.inputs.push_back(made.name());
  return made;
}

void Transform::erase_input(const Value& input) {
  std::unordered_set<const Value*> behind{&input};
  std::vector<Node*> nodes;
  for (Node& node : graph_.nodes()) {
    if (!any_read(node, [&](const Value& value) { return behind.contains(&value); })) continue;
    nodes.push_back(&node);
    for (const Value* output : node.outputs()) behind.insert(output);
    behind.erase(nullptr);
  }
  for (Node* node : nodes | std::views::reverse) graph_.erase(*node);
  graph_.erase_input(const_cast<Value&>(input));
}

std::vector<const Value*> Transform::forward(const Values& wrt, std::string_view suffix, bool is_shown) {
  linear_.emplace(graph_, *sizes_, is_shown);
  Values out;
  for (const Value* value : wrt) {
    out.push_back(&add_input(*value, suffix, is_shown));
    linear_->seed(*value, out.back()->name());
  }
  linear_->run(of_);
  return out;
}

std::vector<std::pair<const Value*, Name>> Transform::backward(const std::vector<std::string>& cotangents) {
  const Values tangents = forward(wrt_, ".tangent", false);
  Sizes::Like sources;
  for (std::size_t i = 0; i < wrt_.size(); ++i) sources.emplace_back(tangents[i], wrt_[i]);
  Transposer transposer(graph_, sources, linear_->origins(), *sizes_);
  for (std::size_t i = 0; i < of_.size(); ++i) {
    const Name tangent = linear_->tangent(*of_[i]);
    if (!tangent.empty()) transposer.seed(*graph_.find(tangent), cotangents[i]);
  }
  transposer.run();
  std::vector<std::pair<const Value*, Name>> out;
  for (std::size_t i = 0; i < wrt_.size(); ++i) out.emplace_back(wrt_[i], transposer.cotangent(*tangents[i]));
  transposer.erase_linear();
  for (const Value* tangent : tangents) graph_.erase_input(const_cast<Value&>(*tangent));
  return out;
}

void Transform::give(const Value& like, Name derivative, std::string_view suffix) {
  Writer w(graph_);
  const std::string name = model_.unique_name(like.name() + std::string(suffix));
  w.name_after(name);
  if (derivative.empty()) {
    derivative = w.make("Expand", {w.real(0, sizes_->type(like)), w.shape(like.name())});
    result_.zeros.push_back(name);
  }
  add_output(entry_of(like, name), derivative);
}

void Transform::give(DataType type, const Shape& shape, Name derivative, const std::string& base) {
  Writer w(graph_);
  const std::string name = model_.unique_name(base);
  w.name_after(name);
  if (derivative.empty()) {
    derivative = w.make("Expand", {w.real(0, type), w.shape(dims_of(shape))});
    result_.zeros.push_back(name);
  }
  add_output(entry_of(type, shape, name), derivative);
}

void Transform::add_output(const onnx::ValueInfoProto& entry, const Name& derivative) {
  Writer(graph_).make_named(derivative, entry.name());
  std::vector<std::pair<Value*, const onnx::TypeProto*>> outputs;
  for (Value* output : graph_.outputs()) outputs.emplace_back(output, nullptr);
  outputs.emplace_back(graph_.find(entry.name()), &entry.type());
  graph_.set_outputs(outputs);
  result_.outputs.push_back(entry.name());
}

}  // namespace relayout::derive
