// Replaces nodes over constants by what they compute, as long as the model does not grow.
//
//     c = Constant ()
//     d = CastLike (c, x)      →       y = Clip (x, d)          d is an initializer now, c is gone
//     y = Clip (x, d)
//
// A chain is replaced as a whole: only values with other readers are stored. A Constant alone becomes an initializer. The evaluator decides
// which values are constant: no random or quantized ones, and none that a caller or the training may replace. So that a model does not
// grow, a result is stored only if it is no larger than the node and the constants that are removed with it, or than the nodes that
// passes have removed from the model so far.

#include "base/positions.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout::passes {
namespace {

constexpr int64_t kOfNode = 64;  ///< least bytes of a node in a file, with its names

struct Replacement {
  const Node* node = nullptr;
  std::vector<std::pair<Value*, TensorData>> contents;  ///< of the outputs that are read
  std::vector<const Node*> taken;
  std::vector<const Node*> anchors;
  std::string detail;
  int64_t growth = 0;  ///< bytes beyond those of constants that go
};

bool is_stored(const Value* value) {
  return value != nullptr && (value->initializer() != nullptr || (value->producer() != nullptr && value->producer()->is("Constant")));
}

/// Whether a convolution, or a quantizer, reads a value, also through Casts.
bool is_read_as_weight(const Value& value) {
  return std::ranges::any_of(value.uses(), [](const Use& use) {
    const Node& reader = *use.node;
    const auto index = as_size(use.index);
    if (traits_of(reader).convolution_weight() == index || (has_trait(reader, Trait::quantizes) && index == 0)) return true;
    return index == 0 && keeps_elements(reader) && reader.output(0) != nullptr && is_read_as_weight(*reader.output(0));
  });
}

/// Whether a convolution reads a weight, quantized or not, through this Transpose: its stored order is intended.
bool is_stored_order(const Node& node) {
  return node.is("Transpose") && is_stored(node.input(0)) && node.output(0) != nullptr && is_read_as_weight(*node.output(0));
}

/// Whether the graph can hold initializers that are not part of the interface: in IR 3 each is a graph input.
bool takes_initializers(const Graph& graph) {
  return !graph.is_function() && graph.model().ir_version() >= 4;
}

class ConstantFolding {
 public:
  ConstantFolding() = default;
  /// `granted`: nodes whose results are stored although they are larger.
  explicit ConstantFolding(const std::unordered_set<const Node*>& granted) : granted_(&granted) {}

  /// Whether all results of the node are constants, of any size.
  bool is_candidate(const Node& node) {
    const auto* const reason = std::get_if<Reason>(&decide(node));
    return reason == nullptr || *reason == Reason::too_large;
  }

  /// Nodes whose results would enlarge the model by no more than `budget` bytes together, and that nodes of other kinds read; smallest
  /// first.
  [[nodiscard]] std::unordered_set<const Node*> within(int64_t budget) {
    struct Growth {
      const Node* node;
      int64_t bytes;
    };
    std::unordered_set<const Node*> inner, out;  // inner: those that others compute with, which are not stored
    for (const Large& large : large_) inner.insert(large.node);
    std::vector<Growth> ends;
    for (const Large& large : large_) {
      if (large.node->erased()) continue;
      const auto computes = [&](const Use& use) { return inner.contains(use.node) || std::holds_alternative<Yes>(decide(*use.node)); };
      const auto is_inner = [&](const Value* output) { return output == nullptr || std::ranges::all_of(output->uses(), computes); };
      if (!std::ranges::all_of(large.node->outputs(), is_inner))
        ends.push_back({large.node, large.bytes - owned_by_several_ways(*large.node)});
    }
    std::ranges::stable_sort(ends, std::less(), &Growth::bytes);
    for (const Growth& end : ends) {
      budget -= end.bytes;
      if (budget < 0) break;
      out.insert(end.node);
    }
    return out;
  }

  /// Those that are too large, with their names in reports.
  [[nodiscard]] std::vector<std::pair<const Node*, std::string>> refused() const {
    std::vector<std::pair<const Node*, std::string>> out;
    for (const Large& large : large_) out.emplace_back(large.node, large.node->erased() ? std::string() : reported_name(*large.node));
    return out;
  }

  Match<Replacement> match(const Node& node) {
    if (std::holds_alternative<Reason>(decide(node))) return Skip{Reason::too_large, {}};
    if (!is_read_by_others(node)) return NotApplicable{};
    Replacement out{&node, {}, {&node}, {}, {}};
    for (Value* output : node.outputs()) {
      if (output == nullptr || output->uses().empty()) continue;
      out.contents.emplace_back(output, std::get<Constant>(constants_.find(*output)).data);
      out.growth += out.contents.back().second.byte_size();
    }
    out.growth = node.is("Constant") ? 0 : std::max<int64_t>(out.growth - owned_by_several_ways(node), 0);
    return out;
  }

 private:
  struct Yes {};
  using Answer = std::variant<Yes, Reason>;

  /// Whether all results of a node can be stored. Cached, because the producers of all its operands ask.
  const Answer& decide(const Node& node) {
    const auto known = answers_.find(&node);
    return known != answers_.end() ? known->second : answers_.emplace(&node, look_at(node)).first->second;
  }

  Answer look_at(const Node& node) {
    const bool is_given = node.is("Constant");
    if ((is_given && !takes_initializers(node.graph())) || is_stored_order(node)) return Reason::not_constant;
    int64_t bytes = 0;
    bool has_output = false;
    for (const Value* output : node.outputs()) {
      if (output == nullptr) continue;
      // A graph output keeps its producer.
      if (output->is_output()) return Reason::not_constant;
      if (made_ > kAllStoredBytes) return Reason::not_constant;
      const auto found = constants_.find(*output);
      if (const auto* const reason = std::get_if<Reason>(&found)) return *reason;
      const auto& constant = std::get<Constant>(found);
      if (constant.strings) return Reason::not_constant;
      bytes += constant.data.byte_size();
      has_output = true;
    }
    if (!has_output) return Reason::not_constant;
    const bool is_evaluated = !is_given && !node.is("Transpose") && !node.is("Identity");
    if (is_evaluated) made_ += bytes;
    // owns() walks upstream, which is not worth it for results no larger than the node itself.
    const int64_t beyond_node = bytes - kOfNode;
    const bool is_granted = granted_ != nullptr && granted_->contains(&node);
    if (!is_given && !is_granted && beyond_node > 0 && !owns(node, beyond_node)) {
      large_.push_back({&node, bytes});
      return Reason::too_large;
    }
    return Yes{};
  }

  bool is_read_by_others(const Node& node) {
    for (const Value* output : node.outputs()) {
      if (output == nullptr) continue;
      for (const Use& use : output->uses()) {
        if (!std::holds_alternative<Yes>(decide(*use.node))) return true;
      }
    }
    return false;
  }

  /// Whether only this node needs stored constants of so many bytes, directly or through other nodes.
  bool owns(const Node& node, int64_t wanted) {
    int64_t& bytes = owned_bytes(node);
    if (bytes < wanted) bytes = std::max(bytes, owned_by_several_ways(node));
    return bytes >= wanted;
  }

  /// Of values with one reader each.
  int64_t& owned_bytes(const Node& node) {
    std::vector<const Node*> open = {&node};
    while (!open.empty()) {
      const Node& top = *open.back();
      if (owned_.contains(&top)) {
        open.pop_back();
        continue;
      }
      const std::size_t before = open.size();
      int64_t bytes = 0;
      for (const Value* input : top.inputs()) {
        if (input == nullptr || input->sole_use() == nullptr) continue;
        if (const Node* const producer = input->producer(); producer != nullptr && !producer->is("Constant")) {
          const auto known = owned_.find(producer);
          if (known == owned_.end()) {
            open.push_back(producer);
          } else {
            bytes += known->second;
          }
        } else {
          bytes += stored_bytes(*input);
        }
      }
      if (open.size() == before) owned_.emplace(&top, bytes);
    }
    return owned_.at(&node);
  }

  /// Also of values that several nodes read, all of which only this node needs: parts of a weight that are put together in another order.
  int64_t owned_by_several_ways(const Node& node) {
    constexpr std::size_t kMostOwned = 256;             // nodes; those beyond are taken for needed elsewhere
    std::unordered_map<const Value*, std::size_t> met;  // uses by owned nodes
    const auto is_owned = [&](const Value* value) {
      if (value == nullptr) return true;
      const auto uses = met.find(value);
      return !value->is_output() && value->uses().size() == (uses == met.end() ? 0 : uses->second);
    };
    std::vector<const Node*> owned = {&node};
    int64_t bytes = 0;
    for (std::size_t next = 0; next < owned.size() && next < kMostOwned; ++next) {
      for (const Value* const input : owned[next]->inputs()) {
        if (input == nullptr) continue;
        ++met[input];
        if (!is_owned(input)) continue;
        const Node* const producer = input->producer();
        if (producer == nullptr || producer->is("Constant")) {
          bytes += stored_bytes(*input);
        } else if (std::ranges::all_of(producer->outputs(), is_owned)) {
          owned.push_back(producer);
        }
      }
    }
    return bytes;
  }

  int64_t stored_bytes(const Value& value) {
    const auto found = constants_.find(value);
    const auto* const constant = std::get_if<Constant>(&found);
    return constant != nullptr && !constant->strings ? constant->data.byte_size() : 0;
  }

  struct Large {
    const Node* node;
    int64_t bytes;
  };
  const std::unordered_set<const Node*>* granted_ = nullptr;
  std::vector<Large> large_;  ///< in the order of questions
  Constants constants_{Constants::Options{.budget = kStoredBytes}};
  int64_t made_ = 0;  ///< bytes of results so far
  std::unordered_map<const Node*, Answer> answers_;
  std::unordered_map<const Node*, int64_t> owned_;
};

/// Replaces a value by a constant of its graph under the same name; its producer is left with an unused result.
void store(Value& value, TensorData data) {
  Graph& graph = value.graph();
  Model& model = graph.model();
  Node& node = *value.producer();
  const std::string name = value.name();
  graph.detach(value, model.unique_name(name + ".computed"));
  if (graph.is_function() || (graph.outer() != nullptr && model.ir_version() < 4)) {
    (void)add_constant(graph, node, name, std::move(data), nullptr);
    return;
  }
  // An initializer comes with a value of its own, which takes over name and readers from an Identity.
  Value& stored = add_constant(graph, node, model.unique_name(name + ".stored"), std::move(data), nullptr);
  graph.attach(stored, graph.insert_before(graph.position_of(node), node_message("Identity", {stored.name()}, {name})));
}

void replace_node(Replacement& replacement, PassContext& context) {
  context.bytes_stored_instead += replacement.growth;
  for (auto& [value, data] : replacement.contents) {
    store(*value, std::move(data));
    context.constants.forget(*value);
  }
  std::vector<Value*> freed;
  erase_node(writable(*replacement.node), freed);
  for (Value* value : freed) release(*value, context);
}

void fold(Graph& graph, PassContext& context, ConstantFolding& folding, const std::function<bool(const Node&)>& is_candidate) {
  rewrite_each(graph, context, is_candidate, [&](const Node& node, PassContext&) { return folding.match(node); }, replace_node);
}

}  // namespace

int64_t bytes_of_nodes(const Model& model) {
  constexpr int64_t kOfField = 2;
  int64_t out = 0;
  const auto add = [&](const std::string& name) { out += std::ssize(name) + kOfField; };
  for_each_node(model, [&](const Node& node) {
    if (node.is("Constant")) return;
    out += kOfField;
    add(node.op_type());
    if (!node.name().empty()) add(node.name());
    for (const auto values : {node.inputs(), node.outputs()}) {
      for (const Value* const value : values) out += kOfField + (value != nullptr ? std::ssize(value->name()) : 0);
    }
    for (const onnx::AttributeProto& attribute : node.message().attribute()) {
      if (!attribute.has_g() && attribute.graphs_size() == 0) out += static_cast<int64_t>(attribute.ByteSizeLong()) + kOfField;
    }
  });
  return out;
}

void fold_constants(Graph& graph, PassContext& context) {
  ConstantFolding folding;
  fold(graph, context, folding, [&](const Node& node) { return folding.is_candidate(node); });
  const int64_t budget = context.bytes_of_given_nodes - bytes_of_nodes(graph.model()) - context.bytes_stored_instead;
  const std::unordered_set<const Node*> granted = budget > 0 ? folding.within(budget) : std::unordered_set<const Node*>();
  if (granted.empty()) return;
  const auto named = folding.refused();
  ConstantFolding again(granted);
  fold(graph, context, again, [&](const Node& node) { return granted.contains(&node); });
  std::unordered_set<std::string> gone;
  for (const auto& [node, name] : named) {
    if (node->erased()) gone.insert(name);
  }
  std::erase_if(context.findings, [&](const Finding& finding) {
    return finding.pass == context.pass && finding.reason == Reason::too_large && gone.contains(finding.node);
  });
}

}  // namespace relayout::passes
