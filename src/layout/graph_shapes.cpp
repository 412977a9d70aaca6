// Infers types, dims and small contents of a graph's values before anything runs, for layout plans.
// Calls operators as the executor does (ops/call.h), so that both know the same constants.

#include "layout/graph_shapes.h"

#include "base/interrupt.h"
#include "base/positions.h"
#include "base/text.h"
#include "layout/layout_graph.h"
#include "layout/sizes.h"
#include "model/node.h"
#include "model/walk.h"
#include "ops/call.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::layout {
namespace {

bool all_small(const Node& node, const std::vector<DatumInfo>& outputs) {
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    if (node.output(i) == nullptr) continue;
    const DatumInfo& info = outputs.at(i);
    if (info.kind != Datum::Kind::tensor || info.type == DataType::string || element_count(info.dims) > kSmallElements) return false;
  }
  return true;
}

}  // namespace

Shapes::Shapes(const Graph& graph, const ShapeOptions& options, Shapes* outer, Inside inside, const std::vector<Given>& given)
    : graph_(&graph), outer_(outer), inside_(std::move(inside)), image_sizes_(image_sizes(graph)) {
  for (const Value* input : graph.inputs()) {
    const auto entry = std::ranges::find(given, input, &Given::input);
    if (entry == given.end()) {
      if (input->initializer() == nullptr) add_input(*input, options);
    } else if (entry->is_absent) {
      absent_.insert(input);
    } else if (entry->known) {
      adopt(*input, *entry->known);
    }
  }
  for (const Node& node : graph.nodes()) {
    check_interrupt();
    try {
      infer(node);
    } catch (const Error& error) {
      // Operands that do not fit are reported when the model is run.
      if (is_interruption(error.kind())) throw;
      if (misfit_node_ != nullptr) continue;
      misfit_ = error.what();
      misfit_node_ = &node;
    }
  }
}

void Shapes::add_input(const Value& value, const ShapeOptions& options) {
  const auto declared = value.declared();
  const auto given = options.shapes.find(value.name());
  if (!declared || (!declared->has_shape && given == options.shapes.end())) return;
  Known& known = known_[&value];
  known.info.type = declared->type;
  known.info.dims = given != options.shapes.end() ? given->second : declared->dims;
  for (std::size_t i = 0; i < known.info.dims.size(); ++i) {
    int64_t& dim = known.info.dims[i];
    if (dim >= 0) continue;
    if (const auto size = options.dims.find(declared->symbols[i]); size != options.dims.end()) {
      dim = size->second;
      continue;
    }
    const std::string name = free_dim_name(value, *declared, i);
    const auto size = image_sizes_.find(name);
    dim = size != image_sizes_.end() ? size->second : 1;
    const std::string text = escape(name) + " = " + std::to_string(dim);
    if (std::ranges::find(assumed_, text) == assumed_.end()) assumed_.push_back(text);
  }
}

void Shapes::Known::keep(const Tensor& contents) {
  datum = contents;
  info = info_of(datum);
  has_contents = true;
}

/// Takes over the facts of another Shapes.
void Shapes::adopt(const Value& value, const Known& known) {
  Known& kept = known_[&value];
  kept = known;
  if (kept.has_contents) kept.info = info_of(kept.datum);
}

/// Known facts about an operand; nullptr for none. Initializers and Constants are looked up when they are read.
Shapes::Known* Shapes::look_up(const Value& value) {
  if (const auto known = known_.find(&value); known != known_.end()) return &known->second;
  if (&value.graph() != graph_) return outer_ != nullptr ? outer_->look_up(value) : nullptr;
  if (value.initializer() == nullptr && (value.producer() == nullptr || !value.producer()->is("Constant"))) return nullptr;
  const auto found = constants_.find(value);
  const Constant* constant = std::get_if<Constant>(&found);
  if (constant == nullptr) return nullptr;
  Known& known = known_[&value];
  known.info.type = constant->type;
  known.info.dims = constant->dims;
  known.is_constant = true;
  if (element_count(constant->dims) <= kSmallElements) known.keep(constant->load());
  return &known;
}

/// Infers the outputs of a node that follow from its operands.
void Shapes::infer(const Node& node) {
  if (const auto made = inside_ ? inside_(node, *this) : std::nullopt) {
    for (std::size_t i = 0; i < std::min(made->size(), node.outputs().size()); ++i) {
      if (node.output(i) != nullptr && (*made)[i]) adopt(*node.output(i), *(*made)[i]);
    }
    return;
  }
  const Op* const op = find_kernel(node);
  if (op == nullptr || node.is("Constant")) return;
  std::vector<const Known*> operands;
  KnownInfos infos(node.inputs().size());
  for (const Value* input : node.inputs()) {
    const bool is_absent = input == nullptr || absent_.contains(input);
    operands.push_back(is_absent ? nullptr : look_up(*input));
    if (is_absent) continue;
    if (operands.back() == nullptr) return;
    infos.set(operands.size() - 1, operands.back()->info);
  }
  const OpCall call(node, node.opset());
  const auto outputs = op->infer(call, infos.get());
  if (!outputs) return;
  const auto is_wanted = [&](std::size_t i) { return node.output(i) != nullptr; };
  const bool is_computable = follows_from(*op, node, [&](std::size_t i) { return operands[i] == nullptr || operands[i]->has_contents; });
  if (is_computable && all_small(node, *outputs)) return compute(*op, call, operands, *outputs);
  const bool is_constant = is_computed_early(*outputs, is_wanted) &&
                           follows_from(*op, node, [&](std::size_t i) { return operands[i] == nullptr || operands[i]->is_constant; });
  for (std::size_t i = 0; i < node.outputs().size(); ++i) {
    if (!is_wanted(i)) continue;
    Known& known = known_[node.output(i)];
    known.info = outputs->at(i);
    known.info.value = nullptr;
    known.is_constant = is_constant;
  }
}

void Shapes::compute(const Op& op, const OpCall& call, const std::vector<const Known*>& operands, const std::vector<DatumInfo>& outputs) {
  std::vector<Datum> inputs(operands.size());
  std::vector<const Datum*> pointers(operands.size(), nullptr);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == nullptr) continue;
    const DatumInfo& info = operands[i]->info;
    const bool is_read = op.traits.reads(i) == Reads::elements;
    if (!is_read && info.kind != Datum::Kind::tensor) return;
    inputs[i] = is_read ? operands[i]->datum : Datum(without_elements(info.type, info.dims));
    pointers[i] = &inputs[i];
  }
  const auto is_wanted = [&](std::size_t i) { return call.node.output(i) != nullptr; };
  const std::vector<Datum> results = relayout::compute(op, call, pointers, outputs, is_wanted);
  for (std::size_t i = 0; i < call.node.outputs().size(); ++i) {
    if (!is_wanted(i)) continue;
    Known& known = known_[call.node.output(i)];
    known.keep(results[i].tensor);
    known.is_constant = true;
  }
}

const DatumInfo* Shapes::find(const Value& value) {
  const Known* const known = look_up(value);
  return known == nullptr ? nullptr : &known->info;
}

const Dims* Shapes::dims_of(const Value* value) {
  const DatumInfo* const info = value == nullptr ? nullptr : find(*value);
  return info == nullptr || info->kind != Datum::Kind::tensor ? nullptr : &info->dims;
}

bool Shapes::is_constant(const Value& value) {
  const Known* const known = look_up(value);
  return known != nullptr && known->is_constant;
}

std::optional<std::vector<int64_t>> Shapes::integers(const Value& value) {
  const Known* const known = look_up(value);
  if (known == nullptr || !known->has_contents) return std::nullopt;
  return small_integers(known->datum.tensor);
}

std::optional<bool> Shapes::Known::truth() const {
  if (!has_contents || info.type != DataType::boolean || datum.tensor.element_count() != 1) return std::nullopt;
  return *contiguous(datum.tensor).data<uint8_t>() != 0;
}

std::optional<Shapes::Known> Shapes::known(const Value& value) {
  const Known* const known = look_up(value);
  return known != nullptr ? std::optional(*known) : std::nullopt;
}

namespace {

/// The known sizes inside a graph nested in `node`.
ShapeOptions sizes_inside(const Node& node, const Graph& nested, Shapes& shapes, const ShapeOptions& given) {
  ShapeOptions out{given.dims, {}};
  const bool is_loop = node.is("Loop"), is_scan = node.is("Scan") && node.opset() >= 9;
  if (!is_loop && !is_scan) return out;
  const Attributes attributes(node);
  const std::size_t scanned = is_scan ? as_size(std::max<int64_t>(attributes.integer("num_scan_inputs", 0), 0)) : 0;
  const std::size_t states = node.inputs().size() - std::min(scanned, node.inputs().size());
  const std::vector<int64_t> axes = is_scan ? attributes.integers("scan_input_axes") : std::vector<int64_t>{};
  for (std::size_t i = is_loop ? 2 : 0; i < std::min(node.inputs().size(), nested.inputs().size()); ++i) {
    const Dims* const dims = shapes.dims_of(node.input(i));
    if (dims == nullptr) continue;
    Dims inside = *dims;
    if (is_scan && i >= states) {
      // The body reads one slice at a time.
      const auto axis = checked_axis(i - states < axes.size() ? axes[i - states] : 0, inside.size());
      if (!axis) continue;
      inside.erase(inside.begin() + static_cast<std::ptrdiff_t>(*axis));
    }
    out.shapes.emplace(nested.inputs()[i]->name(), std::move(inside));
  }
  return out;
}

}  // namespace

void for_each_nested_shapes(const Node& node, Shapes& shapes, const ShapeOptions& given,
                            const std::function<void(Graph& nested, Shapes& inside)>& visit) {
  for (const auto& nested : node.subgraphs()) {
    Shapes inside(*nested, sizes_inside(node, *nested, shapes, given), &shapes);
    visit(*nested, inside);
  }
}

namespace {

std::vector<const Value*> operands_of(const Node& node) {
  std::vector<const Value*> out(node.inputs().begin(), node.inputs().end());
  for_each_capture(node, [&](const Value& value) {
    if (&value.graph() == &node.graph()) out.push_back(&value);
  });
  return out;
}

class Builder {
 public:
  Builder(const Graph& graph, Shapes& shapes) : graph_(graph), shapes_(shapes) {}

  LayoutGraph run() {
    std::unordered_set<const Value*> needed(graph_.outputs().begin(), graph_.outputs().end());
    std::vector<std::pair<const Node*, std::vector<const Value*>>> nodes;
    for (auto node = graph_.nodes().rbegin(); node != graph_.nodes().rend(); ++node) {
      const auto is_needed = [&](const Value* value) { return value != nullptr && needed.contains(value) && !shapes_.is_constant(*value); };
      if (!std::ranges::any_of(node->outputs(), is_needed)) continue;
      nodes.emplace_back(&*node, operands_of(*node));
      needed.insert(nodes.back().second.begin(), nodes.back().second.end());
    }
    for (auto entry = nodes.rbegin(); entry != nodes.rend(); ++entry) {
      const auto& [node, operands] = *entry;
      LayoutNode made{node, find_kernel(*node), {}, {}};
      for (const Value* input : operands) made.inputs.push_back(id_of(input));
      for (const Value* output : node->outputs())
        made.outputs.push_back(output != nullptr && needed.contains(output) ? id_of(output) : LayoutValueId::none);
      out_.nodes.add(std::move(made));
    }
    for (const Value* output : graph_.outputs()) {
      const LayoutValueId id = id_of(output);
      if (id != LayoutValueId::none) out_.values[id].is_output = true;
    }
    (void)see_through_sequences(out_);
    return std::move(out_);
  }

 private:
  LayoutValueId id_of(const Value* value) {
    if (value == nullptr) return LayoutValueId::none;
    const auto [entry, is_new] = ids_.try_emplace(value, out_.values.end_id());
    if (!is_new) return entry->second;
    LayoutValue& made = out_.values[out_.values.add()];
    made.value = value;
    if (const DatumInfo* const info = shapes_.find(*value);
        info != nullptr && info->kind == Datum::Kind::tensor && is_plannable(info->type, info->dims)) {
      made.type = info->type;
      made.dims = info->dims;
    }
    made.is_constant = shapes_.is_constant(*value);
    if (made.is_constant) made.integers = shapes_.integers(*value);
    return entry->second;
  }

  const Graph& graph_;
  Shapes& shapes_;
  LayoutGraph out_;
  std::unordered_map<const Value*, LayoutValueId> ids_;
};

}  // namespace

LayoutGraph layout_graph(const Graph& graph, Shapes& shapes) {
  return Builder(graph, shapes).run();
}

}  // namespace relayout::layout
