// Writes nodes of standard operators into a graph, each distinct one once.
#include "derive/writer.h"

#include "model/node.h"
#include "ops/body.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::derive {

/// Constants go to the front of the graph, so that every later node may read them.
Names Writer::insert(onnx::NodeProto message, std::size_t outputs, bool at_front) {
  while (message.input_size() > 0 && message.input(message.input_size() - 1).empty()) message.mutable_input()->RemoveLast();
  const auto [known, is_new] = made_.try_emplace(message.SerializeAsString());
  if (!is_new && known->second.size() >= outputs) return known->second;
  const std::string base = at_front ? "constant" : prefix_ + "/" + message.op_type();
  message.set_name(graph_.model().unique_name(base));
  Names& names = known->second;
  names.clear();
  for (std::size_t i = 0; i < outputs; ++i) {
    names.push_back(i == 0 ? message.name() : graph_.model().unique_name(message.name() + "." + std::to_string(i)));
    message.add_output(names.back());
  }
  graph_.insert_before(at_front ? graph_.nodes().begin() : position_, message);
  return names;
}

Names Writer::make(onnx::NodeProto message, std::size_t outputs) {
  return insert(std::move(message), outputs);
}

Names Writer::make(std::string_view op, const Names& inputs, std::size_t outputs, const NamedAttributes& attributes) {
  onnx::NodeProto message;
  message.set_op_type(std::string(op));
  for (const Name& input : inputs) message.add_input(input);
  for (const auto& [name, value] : attributes) {
    onnx::AttributeProto& attribute = *message.add_attribute();
    attribute.set_name(name);
    set_value(attribute, value);
  }
  return insert(std::move(message), outputs, inputs.empty() && op == "Constant");
}

Name Writer::make(std::string_view op, const Names& inputs, const NamedAttributes& attributes) {
  return make(op, inputs, 1, attributes).front();
}

Names Writer::make_all_like(const Node& node, const Names& inputs, const NamedAttributes& changes) {
  onnx::NodeProto message;
  message.set_op_type(node.op_type());
  message.set_domain(std::string(node.domain()));
  for (const Name& input : inputs) message.add_input(input);
  *message.mutable_attribute() = node.message().attribute();
  // The marker of a payload in the file would stand for the bytes there.
  for (onnx::AttributeProto& attribute : *message.mutable_attribute()) attribute.mutable_unknown_fields()->Clear();
  for (const auto& [name, value] : changes) {
    auto& all = *message.mutable_attribute();
    const auto known = std::ranges::find(all, name, [](const onnx::AttributeProto& one) -> const std::string& { return one.name(); });
    onnx::AttributeProto& attribute = known == all.end() ? *all.Add() : *known;
    attribute.Clear();
    attribute.set_name(name);
    set_value(attribute, value);
  }
  return insert(std::move(message), node.outputs().size());
}

Name Writer::make_like(const Node& node, const Names& inputs, std::size_t index, const NamedAttributes& changes) {
  return make_all_like(node, inputs, changes).at(index);
}

Name Writer::integers(const std::vector<int64_t>& values) {
  return make("Constant", {}, {{"value_ints", values}});
}

Name Writer::integer(int64_t value) {
  return make("Constant", {}, {{"value_int", value}});
}

Name Writer::real(double value, DataType type) {
  onnx::TensorProto tensor;
  tensor.set_data_type(static_cast<int>(type == DataType::float64 ? type : DataType::float32));
  if (type == DataType::float64) {
    tensor.add_double_data(value);
  } else {
    tensor.add_float_data(static_cast<float>(value));
  }
  const Name made = make("Constant", {}, {{"value", tensor}});
  return type == DataType::float64 || type == DataType::float32 ? made : cast(made, type);
}

Name Writer::product(const Name& tangent, const Name& factor, const char* op) {
  if (tangent.empty() || factor.empty()) return {};
  Product made{tangent, factor, op == std::string_view("Div")};
  if (const auto known = products_.find(tangent); known != products_.end()) {
    const auto& [first, other, divides] = known->second;
    made = {first,
            !divides       ? make(op, {other, factor})
            : made.divides ? make("Mul", {other, factor})
                           : make("Div", {factor, other}),
            divides && made.divides};
  }
  Name out = make(made.divides ? "Div" : "Mul", {made.tangent, made.factor});
  products_.try_emplace(out, std::move(made));
  return out;
}

bool Writer::is_product_of(const Name& product, const Name& tangent) const {
  const auto known = products_.find(product);
  return !tangent.empty() && known != products_.end() && known->second.tangent == tangent;
}

Name Writer::sum(const Name& a, const Name& b, const char* op) {
  const auto left = products_.find(a), right = products_.find(b);
  if (left != products_.end() && right != products_.end()) {
    const Product &one = left->second, &other = right->second;
    if (one.tangent == other.tangent && !one.divides && !other.divides) return scale(one.tangent, make(op, {one.factor, other.factor}));
  }
  return make(op, {a, b});
}

Name Writer::add(const Name& a, const Name& b) {
  return a.empty() ? b : b.empty() ? a : sum(a, b, "Add");
}

Name Writer::subtract(const Name& a, const Name& b) {
  return b.empty() ? a : a.empty() ? negative(b) : sum(a, b, "Sub");
}

Name Writer::before_expand(const Name& value) const {
  const Value* const found = graph_.find(value);
  const Node* const maker = found == nullptr ? nullptr : found->producer();
  return maker != nullptr && maker->is("Expand") ? maker->input(0)->name() : value;
}

Name Writer::reduce(std::string_view op, const Name& value, const std::vector<int64_t>& axes, bool keep) {
  const int64_t keepdims = keep ? 1 : 0;
  if (op != "ReduceSum" && graph_.opset("") < 18) return make(op, {value}, {{"axes", axes}, {"keepdims", keepdims}});
  return make(op, {value, integers(axes)}, {{"keepdims", keepdims}});
}

void Writer::make_named(const Name& value, const std::string& name) {
  graph_.insert_before(position_, node_message("Identity", {value}, {name}, graph_.model().unique_name(name + "/Identity")));
}

Name Writer::shape(const std::vector<Dim>& dims) {
  Names parts;
  std::vector<int64_t> known;
  const auto flush = [&] {
    if (!known.empty()) parts.push_back(integers(known));
    known.clear();
  };
  for (const Dim& dim : dims) {
    if (dim.size >= 0 || dim.of.empty()) {
      known.push_back(dim.size);
      continue;
    }
    flush();
    parts.push_back(make("Gather", {shape(dim.of), integers({static_cast<int64_t>(dim.axis)})}));
  }
  if (parts.empty()) return integers(known);
  flush();
  return parts.size() == 1 ? parts.front() : make("Concat", parts, {{"axis", int64_t{0}}});
}

}  // namespace relayout::derive
