// Counts the multiply-accumulates of a model, lists its convolutions, and words what the counts assume or leave out.
#include "inspect/model_macs.h"

#include "base/positions.h"
#include "exec/program.h"
#include "layout/axis_order.h"
#include "layout/graph_shapes.h"
#include "model/functions.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "ops/body.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/inspect.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

// Functions are followed into each call, with the shapes of that call; nested graphs as often as they run.
namespace {

using Known = layout::Shapes::Known;
using Results = std::vector<std::optional<Known>>;

/// Limits of the search, because calls within calls multiply: the MACs of a node beyond them are unknown.
constexpr int64_t kMostNodes = 1'000'000;
constexpr int kMostLevels = 64;

/// Whether the node, or a graph or function that it runs, adds up products.
bool adds_up_products(const Node& node, const Functions& functions) {
  return any_node_run(node, functions, [](const Node& run) { return has_trait(run, Trait::multiplies); });
}

/// The type and dims of a tensor whose contents may differ the next time.
std::optional<Known> without_contents(const std::optional<Known>& known) {
  if (!known || known->info.kind != Datum::Kind::tensor) return std::nullopt;
  Known out;
  out.info.type = known->info.type;
  out.info.dims = known->info.dims;
  return out;
}

Known scalar_of(DataType type) {
  Known out;
  out.info.type = type;
  return out;
}

Known always_true() {
  Known out = scalar_of(DataType::boolean);
  Tensor value(DataType::boolean, {});
  *value.data<uint8_t>() = 1;
  out.datum = value;
  out.has_contents = true;
  return out;
}

bool same_form(const std::optional<Known>& a, const std::optional<Known>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->info.kind == b->info.kind && a->info.type == b->info.type && a->info.dims == b->info.dims;
}

/// Parts of all iterations, stacked along a new axis.
std::optional<Known> stacked(const std::optional<Known>& part, int64_t axis, int64_t count) {
  std::optional<Known> out = without_contents(part);
  if (!out) return out;
  Dims& dims = out->info.dims;
  const auto place = checked_axis(axis, dims.size() + 1);
  if (!place) return std::nullopt;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(*place), count);
  return out;
}

/// One slice along an axis, and how many there are.
struct Slices {
  std::optional<Known> each;
  std::optional<int64_t> count;
};

Slices sliced(const std::optional<Known>& whole, int64_t axis) {
  Slices out{without_contents(whole), std::nullopt};
  if (!out.each) return out;
  Dims& dims = out.each->info.dims;
  const auto place = checked_axis(axis, dims.size());
  if (!place) return {};
  out.count = dims[*place];
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(*place));
  return out;
}

/// Assumptions about the branches and iterations of a run.
struct Choices {
  bool branch = false, once = false, most = false;
  void add(const Choices& other) {
    branch = branch || other.branch;
    once = once || other.once;
    most = most || other.most;
  }
};

/// The total of one run of a graph; without `macs` it is unknown.
struct Sum {
  std::optional<int64_t> macs = 0;
  std::map<std::string, int64_t> left_out = {};
  Choices choices = {};

  void add(const Sum& other) {
    macs = macs && other.macs ? checked_add(*macs, *other.macs) : std::nullopt;
    for (const auto& [name, count] : other.left_out) left_out[name] += count;
    choices.add(other.choices);
  }
  void repeat(int64_t times) {
    if (macs) macs = checked_mul(*macs, times);
  }
  [[nodiscard]] bool is_nothing() const { return macs == 0 && left_out.empty(); }
};

/// Increments a level for its lifetime, also when an error ends it.
class Level {
 public:
  explicit Level(int& level) : level_(level) { ++level_; }
  ~Level() { --level_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  int& level_;
};

/// One run of a graph by a node, for given inputs.
struct Run {
  Sum sum;
  Results outputs;
};

class Counter {
 public:
  explicit Counter(const Model& model) : model_(model), functions_(model) {}

  ModelMacs run(const ShapeOptions& sizes) {
    layout::Shapes shapes(model_.graph(), sizes, nullptr, inside());
    ModelMacs out;
    Sum sum = sum_of(model_.graph(), shapes, &out.nodes);
    out.misfit = shapes.misfit();
    out.assumed = shapes.assumed();
    if (out.misfit.empty()) out.macs = sum.macs;
    if (out.macs && sum.choices.branch) out.assumed.emplace_back("the larger branch of each If");
    if (out.macs && sum.choices.most) out.assumed.emplace_back("all iterations of each Loop");
    if (out.macs && sum.choices.once) out.assumed.emplace_back("one iteration of each Loop without a known number");
    out.is_least = out.macs && !sum.left_out.empty();
    out.left_out = std::move(sum.left_out);
    return out;
  }

 private:
  layout::Shapes::Inside inside() {
    return [this](const Node& node, layout::Shapes& shapes) { return follow(node, shapes); };
  }

  /// Sums the nodes of a graph by the shapes that were found.
  Sum sum_of(const Graph& graph, layout::Shapes& shapes, std::vector<NodeWork>* nodes = nullptr) {
    const DimsOf dims_of = [&](const Value* value) { return shapes.dims_of(value); };
    Sum out;
    for (const Node& node : graph.nodes()) {
      if (nodes != nullptr) nodes->push_back(results_of(node, shapes));
      if (auto inner = inner_.extract(&node)) {
        if (nodes != nullptr) nodes->back().macs = inner.mapped().macs;
        if (inner.mapped().macs) {
          out.add(inner.mapped());
        } else if (adds_up_products(node, functions_)) {
          leave_out(node, out);
        }
        continue;
      }
      const auto macs = macs_of(node, dims_of);
      if (nodes != nullptr) nodes->back().macs = macs;
      out.add({.macs = macs});
      const Dims* const result = node.outputs().empty() ? nullptr : dims_of(node.output(0));
      const bool is_empty = result != nullptr && std::ranges::find(*result, 0) != result->end();
      if (macs == 0 && !is_empty && adds_up_products(node, functions_)) leave_out(node, out);
    }
    return out;
  }

  static NodeWork results_of(const Node& node, layout::Shapes& shapes) {
    NodeWork out{&node, std::nullopt, {}, {}};
    for (const Value* const output : node.outputs()) {
      if (output == nullptr) continue;
      const auto known = shapes.known(*output);
      const bool is_tensor = known && known->info.kind == Datum::Kind::tensor;
      out.results.push_back(is_tensor ? std::optional(known->info.dims) : std::nullopt);
      out.types.push_back(is_tensor ? known->info.type : DataType::undefined);
    }
    return out;
  }

  static void leave_out(const Node& node, Sum& sum) {
    ++sum.left_out[node.domain().empty() ? node.op_type() : std::string(node.domain()) + ":" + node.op_type()];
  }

  std::optional<Results> follow(const Node& node, layout::Shapes& shapes) {
    auto function = exec::find_function(functions_, node);
    if (!function && node.subgraphs().empty()) {
      // Operators that ONNX defines by a body, as the executor runs them.
      if (find_kernel(node) == nullptr) function = exec::find_operator_body(node);
      if (!function) return std::nullopt;
    }
    Sum& sum = inner_.insert_or_assign(&node, Sum{.macs = std::nullopt}).first->second;
    ++nodes_;
    if (nodes_ > kMostNodes || level_ == kMostLevels) return Results();
    const Level level(level_);
    Run run = function                               ? run_call(node, *function, shapes)
              : node.is("If")                        ? run_if(node, shapes)
              : node.is("Loop")                      ? run_loop(node, shapes)
              : node.is("Scan") && node.opset() >= 9 ? run_scan(node, shapes)
                                                     : Run{{.macs = std::nullopt}, {}};
    sum = std::move(run.sum);
    return std::move(run.outputs);
  }

  Run run_graph(const Graph& graph, layout::Shapes& outer, const std::vector<layout::Shapes::Given>& given) {
    nodes_ += static_cast<int64_t>(graph.nodes().size());
    layout::Shapes shapes(graph, {}, &outer, inside(), given);
    Run out{sum_of(graph, shapes), {}};
    if (!shapes.misfit().empty()) out.sum.macs = std::nullopt;
    for (const Value* output : graph.outputs()) out.outputs.push_back(output != nullptr ? shapes.known(*output) : std::nullopt);
    return out;
  }

  Run run_call(const Node& call, const exec::FunctionDefinition& function, layout::Shapes& shapes) {
    const FunctionInstance body = exec::instantiate(function, call);
    std::vector<layout::Shapes::Given> given;
    for (std::size_t i = 0; i < body.graph->inputs().size(); ++i) {
      const Value* const operand = call.input(i);
      given.push_back({body.graph->inputs()[i], operand != nullptr ? shapes.known(*operand) : std::nullopt, operand == nullptr});
    }
    return run_graph(*body.graph, shapes, given);
  }

  Run run_if(const Node& node, layout::Shapes& shapes) {
    const Graph* const then_graph = node.subgraph("then_branch");
    const Graph* const else_graph = node.subgraph("else_branch");
    if (then_graph == nullptr || else_graph == nullptr || node.input(0) == nullptr) return {{.macs = std::nullopt}, {}};
    if (const auto is_true = truth(shapes, *node.input(0))) return run_graph(*is_true ? *then_graph : *else_graph, shapes, {});
    Run larger = run_graph(*then_graph, shapes, {}), other = run_graph(*else_graph, shapes, {});
    if (!larger.sum.macs || !other.sum.macs) return {{.macs = std::nullopt}, {}};
    if (*other.sum.macs > *larger.sum.macs) std::swap(larger, other);
    larger.sum.choices.add(other.sum.choices);
    const bool is_alike = larger.sum.macs == other.sum.macs && std::ranges::equal(larger.outputs, other.outputs, same_form);
    larger.sum.choices.branch = larger.sum.choices.branch || !is_alike;
    for (std::optional<Known>& output : larger.outputs) output = without_contents(output);
    return larger;
  }

  /// Runs a body whose `states`, at these places of its inputs and outputs, come from the previous iteration. A state that changes its form
  /// from one iteration to the next is unknown in all of them.
  Run run_body(const Graph& body, layout::Shapes& shapes, std::vector<layout::Shapes::Given>& given, std::size_t first_input,
               std::size_t first_output, std::size_t states) {
    for (;;) {
      Run out = run_graph(body, shapes, given);
      bool is_stable = true;
      for (std::size_t i = 0; i < states; ++i) {
        std::optional<Known>& before = given[first_input + i].known;
        const std::size_t place = first_output + i;
        if (!before || (place < out.outputs.size() && same_form(before, out.outputs[place]))) continue;
        before.reset();
        is_stable = false;
      }
      if (is_stable) return out;
    }
  }

  Run run_loop(const Node& node, layout::Shapes& shapes) {
    const Graph* const body = node.subgraph("body");
    const std::size_t states = node.inputs().size() - std::min<std::size_t>(node.inputs().size(), 2);
    if (body == nullptr || body->inputs().size() != states + 2) return {{.macs = std::nullopt}, {}};
    const auto trips = node.input(0) != nullptr ? shapes.integers(*node.input(0)) : std::nullopt;
    const auto starts = node.input(1) != nullptr ? truth(shapes, *node.input(1)) : std::optional(true);
    std::vector<layout::Shapes::Given> given = {{body->inputs()[0], scalar_of(DataType::int64)},
                                                {body->inputs()[1], starts == true ? always_true() : scalar_of(DataType::boolean)}};
    for (std::size_t i = 0; i < states; ++i) {
      const Value* const state = node.input(i + 2);
      given.push_back({body->inputs()[i + 2], state != nullptr ? without_contents(shapes.known(*state)) : std::nullopt});
    }
    Run out = run_body(*body, shapes, given, 2, 1, states);
    if (out.outputs.empty()) return {{.macs = std::nullopt}, {}};
    const bool continues = starts == true && out.outputs.front() && out.outputs.front()->truth() == true;
    const bool is_known = trips && trips->size() == 1;
    const int64_t count = starts == false ? 0 : is_known ? std::max<int64_t>(trips->front(), 0) : 1;
    // No remark for a body without products whose results have no dim that depends on the count.
    const bool is_remarked = starts != false && count > 0 && (!out.sum.is_nothing() || out.outputs.size() > states + 1);
    out.sum.choices.once = out.sum.choices.once || (is_remarked && !is_known);
    out.sum.choices.most = out.sum.choices.most || (is_remarked && is_known && !continues);
    out.sum.repeat(count);
    out.outputs.erase(out.outputs.begin());
    for (std::size_t i = 0; i < out.outputs.size(); ++i) {
      out.outputs[i] = i < states ? given[i + 2].known : stacked(out.outputs[i], 0, count);
    }
    return out;
  }

  Run run_scan(const Node& node, layout::Shapes& shapes) {
    const Graph* const body = node.subgraph("body");
    const Attributes attributes(node);
    const std::size_t scanned = as_size(std::max<int64_t>(attributes.integer("num_scan_inputs", 0), 0));
    if (body == nullptr || scanned == 0 || scanned > node.inputs().size() || body->inputs().size() != node.inputs().size()) {
      return {{.macs = std::nullopt}, {}};
    }
    const std::size_t states = node.inputs().size() - scanned;
    const std::vector<int64_t> axes = attributes.integers("scan_input_axes"), out_axes = attributes.integers("scan_output_axes");
    const auto axis_at = [](const std::vector<int64_t>& list, std::size_t i) { return i < list.size() ? list[i] : 0; };
    std::optional<int64_t> count;
    std::vector<layout::Shapes::Given> given;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const auto operand = node.input(i) != nullptr ? shapes.known(*node.input(i)) : std::nullopt;
      const Slices slices = i < states ? Slices{without_contents(operand), std::nullopt} : sliced(operand, axis_at(axes, i - states));
      given.push_back({body->inputs()[i], slices.each});
      if (slices.count) count = slices.count;
    }
    Run out = run_body(*body, shapes, given, 0, 0, states);
    for (std::size_t i = 0; i < out.outputs.size(); ++i) {
      const auto whole = [&] { return count ? stacked(out.outputs[i], axis_at(out_axes, i - states), *count) : std::nullopt; };
      out.outputs[i] = i < states ? given[i].known : whole();
    }
    if (count) {
      out.sum.repeat(*count);
    } else if (!out.sum.is_nothing()) {
      out.sum.macs = std::nullopt;
    }
    return out;
  }

  static std::optional<bool> truth(layout::Shapes& shapes, const Value& value) {
    const auto known = shapes.known(value);
    return known ? known->truth() : std::nullopt;
  }

  const Model& model_;
  Functions functions_;
  std::unordered_map<const Node*, Sum> inner_;  ///< of nodes that run graphs, until the graph of the node is summed up
  int64_t nodes_ = 0;
  int level_ = 0;
};

}  // namespace

ModelMacs count_macs(const Model& model, const ShapeOptions& sizes) {
  return Counter(model).run(sizes);
}

// Lists the convolutions of a model with the layout of their weights, and what becomes of the BatchNormalization after each.
namespace {

/// The layout in which a constant weight is stored: the order of the stored dims that its logical dims are read from.
std::string stored_layout(const TensorData& data) {
  if (layout::is_both_layouts(data.dims())) return "both";
  const Dims& permutation = data.permutation();
  if (permutation.empty()) return "contiguous";
  return permutation == layout::from_channels_last(permutation.size()) ? "channels-last" : "other";
}

}  // namespace

void ConvolutionList::add(const Node& node, std::size_t weight_index) {
  ConvolutionSummary out;
  out.node = reported_name(node);
  out.op_type = node.op_type();
  out.groups = Attributes(node).integer("group", 1);
  out.layout = "computed";
  // A quantized weight has the layout of the operand that it is dequantized from.
  const Value* weight = node.input(weight_index);
  while (weight != nullptr && weight->producer() != nullptr && has_trait(*weight->producer(), Trait::quantizes)) {
    weight = weight->producer()->input(0);
  }
  if (weight != nullptr) {
    const auto found = constants_.find(*weight);
    if (const Constant* constant = std::get_if<Constant>(&found)) {
      out.weight_dims = constant->dims;
      out.layout = stored_layout(constant->data);
    }
  }
  std::string batch_norm;
  for (const Use& use : node.output(0) == nullptr ? std::span<const Use>{} : node.output(0)->uses()) {
    if (use.index == 0 && use.node->is("BatchNormalization")) batch_norm = reported_name(*use.node);
  }
  batch_norms_.push_back(std::move(batch_norm));
  convolutions_.push_back(std::move(out));
}

std::vector<ConvolutionSummary> ConvolutionList::with_verdicts(const Findings& findings) {
  std::unordered_map<std::string, std::string> verdicts;
  for (const Finding& finding : findings) {
    if (finding.op_type != "BatchNormalization" || finding.verdict == Verdict::not_applicable) continue;
    verdicts[finding.node] = finding.verdict == Verdict::done ? "folds" : std::string(to_string(finding.reason));
  }
  for (std::size_t i = 0; i < convolutions_.size(); ++i) {
    const auto verdict = verdicts.find(batch_norms_[i]);
    if (verdict != verdicts.end()) convolutions_[i].batch_norm = verdict->second;
  }
  return std::move(convolutions_);
}

}  // namespace relayout
