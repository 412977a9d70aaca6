// Converts a model to a 16-bit type by the plan: inserts, shares and removes Casts, and converts weights.
//
//     <float[5, 7, 3, 2] W>                          <float16[5, 7, 3, 2] W>
//     y = Conv (x, W)                                x.f16 = Cast <to = FLOAT16> (x)
//                                                    y.f16 = Conv (x.f16, W)
//                                                    y = Cast <to = FLOAT> (y.f16)
//
// Graph inputs and outputs keep their types (except with --io-precision). A value is cast once for all its readers. Readers of a Cast from
// the type that they want read its operand instead. A Cast to the type of its operand is removed.

#include <ranges>
#include <set>

#include "base/numbers.h"
#include "base/positions.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "passes/pass.h"
#include "passes/precision/magnitudes.h"
#include "passes/precision/precision_plan.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

/// "of 512 values 3 become 0, 7 are subnormal in f16"; empty when there are none.
std::string rounding_text(const Rounding& rounding, DataType type) {
  std::string out;
  const auto add = [&](int64_t count, std::string_view what) {
    if (count > 0) out += (out.empty() ? "" : ", ") + format_count(count) + " " + std::string(what);
  };
  add(rounding.zero, "become 0");
  add(rounding.subnormal, "are subnormal in " + std::string(name_of(type)));
  return out.empty() ? out : "of " + format_count(rounding.count) + " values " + out;
}

/// Sets the type of a Cast's result.
void set_target(onnx::NodeProto& message, DataType type) {
  set_integer(message, "to", static_cast<int64_t>(type));
}

class PrecisionPass {
 public:
  PrecisionPass(Graph& graph, PassContext& context) : main_(graph), context_(context), plan_(graph, context) {}

  void run() {
    report();
    collect();
    report_types();
    for (Value* const value : retyped_) retype(*value);
    for (Value* const value : values_) connect(*value);
    for (Value* const value : values_) finish_output(*value);
    for (Node* const cast : std::views::reverse(casts_)) remove_if_idle(*cast);
    for (auto& [graph, types] : declared_) graph->declare_types(types);
    context_.constants.clear();
  }

 private:
  void say(std::string_view what, const std::string& name, std::string detail = {}) {
    Finding finding{std::string(context_.pass), std::string(what), name};
    finding.detail = std::move(detail);
    context_.findings.push_back(std::move(finding));
  }

  void report() {
    for (const auto& [node, skip] : plan_.nodes()) {
      Finding finding{std::string(context_.pass), node->op_type(), reported_name(*node)};
      if (skip) {
        finding.verdict = skip->verdict;
        finding.reason = skip->reason;
        finding.detail = skip->detail;
      }
      context_.findings.push_back(std::move(finding));
    }
    const auto report_node = [&](const Node& node) {
      if (node.is("Constant") && node.output(0) != nullptr) report_constant(*node.output(0));
    };
    for_each_node(main_, report_node, [&](const Graph& graph) {
      for (const Initializer& initializer : graph.initializers()) report_constant(*initializer.value);
    });
  }

  void report_constant(const Value& value) {
    if (!plan_.is_retyped(value)) return;
    const Rounding* const rounding = plan_.rounding(value);
    say("weight", value.name(), rounding != nullptr ? rounding_text(*rounding, plan_.target()) : std::string());
  }

  /// Reports values that the request does not concern: 16-bit values of the other type, or all values.
  void report_types() {
    std::set<DataType> kept;
    bool has_source = false;
    for (const Value* const value : values_) {
      const DataType type = states_.at(value).before;
      has_source = has_source || is_convertible(type);
      if (kHalfTypes.has(type)) kept.insert(type);
    }
    const bool narrows = plan_.target() != DataType::float32;
    const bool is_there = kept.erase(plan_.target()) > 0;
    if (has_source && (!narrows || kept.empty())) return;
    std::string detail = has_source ? "" : narrows ? "nothing is in f32" : "nothing is in f16 or bf16";
    const auto add = [&](const std::string& part) { detail += (detail.empty() ? "" : "; ") + part; };
    if (!has_source && is_there) add("the model is in " + std::string(name_of(plan_.target())) + " already");
    for (const DataType type : kept) add("tensors in " + std::string(name_of(type)) + " keep their type (--precision fp32 first)");
    const bool is_in_another = !has_source && narrows && !is_there && !kept.empty();
    const Verdict verdict = is_in_another ? Verdict::skipped : Verdict::not_applicable;
    Finding finding{std::string(context_.pass), "model", main_.message()->name(), verdict, Reason::no_source_type};
    finding.detail = std::move(detail);
    context_.findings.push_back(std::move(finding));
  }

  /// Collects all values with their plan before anything changes.
  void collect() {
    const auto note_sources = [&](Graph& graph) {
      for (Value* const input : graph.inputs()) note(*input);
      for (Initializer& initializer : graph.initializers()) {
        if (!initializer.value->is_input()) note(*initializer.value);
      }
    };
    const auto note_outputs = [&](Node& node) {
      if (node.is("Cast") && node.input(0) != nullptr && node.output(0) != nullptr) casts_.push_back(&node);
      for (Value* const output : node.outputs()) {
        if (output != nullptr) note(*output);
      }
    };
    for_each_node<Nested::before>(main_, note_outputs, note_sources);
  }

  void note(Value& value) {
    const State state{plan_.before(value), plan_.after(value), {}};
    if (state.before == DataType::undefined) return;
    values_.push_back(&value);
    if (plan_.is_retyped(value)) retyped_.push_back(&value);
    State& known = states_.emplace(&value, state).first->second;
    for (const Use& use : value.uses()) known.wanted.emplace_back(use, plan_.wanted(use));
    if (state.before != state.after) declared_[&value.graph()].emplace(value.name(), state.after);
  }

  /// Changes the type of an initializer or of the result of a Constant or a Cast.
  void retype(Value& value) {
    if (Initializer* const initializer = value.initializer()) {
      value.graph().set_data(*initializer, initializer->data->converted(plan_.target()));
      return;
    }
    Node& node = *value.producer();
    if (node.is("Cast")) return set_target(node.graph().edit(node), plan_.target());
    const auto found = context_.constants.find(value);
    value.graph().set_constant(node, std::get<Constant>(found).data.converted(plan_.target()));
  }

  /// Connects the readers that want another type to the value in that type.
  void connect(Value& value) {
    const State& state = states_.at(&value);
    for (const auto& [use, type] : state.wanted) {
      if (type == DataType::undefined || type == state.after) continue;
      use.node->graph().set_input(*use.node, as_size(use.index), &in_type(value, type));
    }
  }

  /// The value in another type.
  Value& in_type(Value& value, DataType type) {
    Node* const producer = value.producer();
    if (producer != nullptr && producer->is("Cast") && producer->input(0) != nullptr) {
      const auto from = states_.find(producer->input(0));
      // The value was widened from this type: the operand of the Cast loses nothing.
      if (from != states_.end() && from->second.before == type && from->second.after == type) return *producer->input(0);
    }
    Value*& known = cast_[{&value, type}];
    if (known == nullptr) {
      Graph& graph = value.graph();
      const auto place = producer != nullptr ? std::next(graph.position_of(*producer)) : graph.nodes().begin();
      known = insert_cast(graph, place, value, graph.model().unique_name(value.name() + "." + std::string(name_of(type))), type).output(0);
    }
    return *known;
  }

  Node& insert_cast(Graph& graph, std::list<Node>::iterator place, Value& from, const std::string& to, DataType type) {
    onnx::NodeProto message = node_message("Cast", {from.name()}, {to}, graph.model().unique_name(to + "/Cast"));
    set_target(message, type);
    say("Cast", to);
    return graph.insert_before(place, message);
  }

  /// A graph output keeps the type that its caller knows.
  void finish_output(Value& value) {
    const State& state = states_.at(&value);
    if (!value.is_own_output()) return;
    const bool changes = value.graph().outer() == nullptr && context_.options.io_precision && is_convertible(state.before);
    const DataType interface = changes ? plan_.target() : state.before;
    if (interface != state.before) {
      declared_[&value.graph()].insert_or_assign(value.name(), interface);
    } else {
      declared_[&value.graph()].erase(value.name());
    }
    if (interface == state.after) return;
    Graph& graph = value.graph();
    const std::string name = value.name();
    Value& inner = graph.detach(value, graph.model().unique_name(name + "." + std::string(name_of(state.after))));
    Node* const producer = inner.producer();
    const auto place = producer != nullptr ? std::next(graph.position_of(*producer)) : graph.nodes().begin();
    Node& cast = insert_cast(graph, place, inner, name, interface);
    // Readers in the producer's type need no Cast. An earlier Cast for readers in the interface's type is replaced by this one.
    const std::vector<Use> uses(value.uses().begin(), value.uses().end());
    for (const Use& use : uses) {
      const auto index = as_size(use.index);
      if (use.node == &cast) continue;
      Node& reader = *use.node;
      const bool is_made = reader.is("Cast") && cast_.contains({&value, interface}) && reader.output(0) == cast_.at({&value, interface});
      if (is_made) {
        graph.replace_uses(*reader.output(0), value);
        graph.erase(reader);
      } else {
        reader.graph().set_input(reader, index, &inner);
      }
    }
  }

  [[nodiscard]] bool is_convertible(DataType type) const {
    return plan_.target() == DataType::float32 ? kHalfTypes.has(type) : type == DataType::float32;
  }

  /// Removes a Cast of the model whose readers now read its operand, or whose operand now has the type of its result.
  void remove_if_idle(Node& cast) {
    Value& from = *cast.input(0);
    Value& to = *cast.output(0);
    if (to.uses().empty() && !to.is_output()) {
      const auto state = states_.find(&to);
      const bool was_read = state != states_.end() && !state->second.wanted.empty();
      if (was_read) remove(cast, reported_name(cast));
      return;
    }
    const auto from_state = states_.find(&from), to_state = states_.find(&to);
    if (from_state == states_.end() || to_state == states_.end()) return;
    const bool was_idle = from_state->second.before == to_state->second.before;
    if (was_idle || from_state->second.after != to_state->second.after) return;
    Graph& graph = cast.graph();
    const std::string name = reported_name(cast);
    if (to.is_output()) {
      const bool can_take_name = from.producer() != nullptr && &from.graph() == &graph && !from.is_output() && !from.is_captured();
      if (!can_take_name) return;
      Node& producer = *from.producer();
      const auto index = as_size(from.output_index());
      graph.set_input(cast, 0, nullptr);
      graph.replace_uses(from, to);
      graph.take_output(producer, index, to);
    } else {
      graph.replace_uses(to, from);
    }
    remove(cast, name);
  }

  void remove(Node& cast, const std::string& name) {
    say("Cast removed", name);
    cast.graph().erase(cast);
  }

  struct State {
    DataType before, after;
    std::vector<std::pair<Use, DataType>> wanted;
  };

  Graph& main_;
  PassContext& context_;
  PrecisionPlan plan_;
  std::vector<Value*> values_, retyped_;
  std::vector<Node*> casts_;
  std::unordered_map<const Value*, State> states_;
  std::map<std::pair<const Value*, DataType>, Value*> cast_;  ///< a value in another type
  std::unordered_map<Graph*, std::unordered_map<std::string, DataType>> declared_;
};

}  // namespace

void precision(Graph& graph, PassContext& context) {
  if (graph.outer() != nullptr || graph.is_function() || context.options.precision == DataType::undefined) return;
  PrecisionPass(graph, context).run();
}

}  // namespace relayout::passes
