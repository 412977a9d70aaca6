// Finds nodes that one model has alone and that decide something which no sample decides otherwise: by its sizes, or by equal numbers.
#include "verify/untold.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "layout/graph_shapes.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/adaption.h"
#include "verify/inputs/port.h"
#include "verify/nodes/compare_nodes.h"
#include "verify/pair.h"
#include "verify/reference.h"
#include "verify/rules.h"

namespace relayout {
namespace {

/// Sizes of a model's inputs, and what they are but those of a sample.
struct Sizes {
  ShapeOptions options;
  std::string text;  ///< "sequence = 1024"; of a sample's, empty
};

/// The sizes of the samples first, then those with one of the dims that are free for the caller of both models at another size.
std::vector<Sizes> all_sizes(const Pair& pair, const Reference& reference) {
  std::vector<Sizes> out;
  for (const Sample& sample : reference.samples()) {
    const auto has_its = [&](const Sizes& sizes) { return sizes.options.shapes == sample.assignment.shapes; };
    if (std::ranges::none_of(out, has_its)) out.push_back({{{}, sample.assignment.shapes}, ""});
  }
  if (out.empty()) return out;
  const VerifyOptions& options = *pair.options;
  const auto bound = bound_dims(pair.a.model->graph(), pair.b.model->graph(), options);
  std::map<std::string, std::vector<std::pair<std::string, std::size_t>>> places;
  for (const Port& port : required_inputs(pair.a.model->graph())) {
    if (options.shapes.contains(port.name) || options.inputs.contains(port.name)) continue;
    for (std::size_t axis = 0; axis < port.dims.size(); ++axis) {
      const std::string& symbol = port.symbols[axis];
      const std::string key = symbol.empty() ? port.name + "[" + std::to_string(axis) + "]" : symbol;
      if (port.dims[axis] < 0 && !bound.contains(key) && !options.dims.contains(key)) places[key].emplace_back(port.name, axis);
    }
  }
  for (const auto& [key, of_inputs] : places) {
    for (const int64_t size : rules::kOtherSizes) {
      Sizes other{out.front().options, escape(key) + " = " + std::to_string(size)};
      for (const auto& [input, axis] : of_inputs) {
        const auto found = other.options.shapes.find(input);
        if (found != other.options.shapes.end() && axis < found->second.size()) found->second[axis] = size;
      }
      out.push_back(std::move(other));
    }
  }
  return out;
}

/// What a node decides at some sizes: whether a Slice leaves something out, the condition of an If.
enum class Decision : uint8_t { unknown, no, yes };

Decision decision_of(const Node& node, layout::Shapes& shapes) {
  if (!shapes.misfit().empty()) return Decision::unknown;
  if (node.is("If")) {
    const auto condition = node.input(0) == nullptr ? std::nullopt : shapes.known(*node.input(0));
    const auto truth = condition ? condition->truth() : std::nullopt;
    return !truth ? Decision::unknown : *truth ? Decision::yes : Decision::no;
  }
  const Dims *const from = shapes.dims_of(node.input(0)), *const to = shapes.dims_of(node.output(0));
  if (from == nullptr || to == nullptr) return Decision::unknown;
  return *from != *to ? Decision::yes : Decision::no;
}

/// A node that decides at some sizes, or by data, what it decides for no sample.
struct Decider {
  const Node* node = nullptr;
  std::string where;  ///< the sizes; empty: data
};

/// One model and its deciders.
class Deciding {
 public:
  Deciding(const Pair& pair, const Side& side, const Reference& reference, const std::vector<Sizes>& sizes)
      : pair_(pair), side_(side), reference_(reference), graph_(side.model->graph()), sizes_(sizes) {}

  [[nodiscard]] std::vector<Decider> find() {
    std::vector<Decider> out;
    for (const Node& node : graph_.nodes()) {
      if (!node.is("If") && !node.is("Slice")) continue;
      const auto where = differs_at(node);
      const bool by_data = !where && node.is("If") && has_unentered_graph(pair_, side_, reference_, node);
      if (by_data || (where && !where->empty())) out.push_back({&node, where.value_or("")});
    }
    return out;
  }

 private:
  /// At which other sizes a node decides what it decides for no sample; empty where it does so nowhere. Nothing where sizes do not tell.
  [[nodiscard]] std::optional<std::string> differs_at(const Node& node) {
    Decision usual = Decision::unknown;
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
      const bool is_sample = sizes_[i].text.empty();
      const Decision decision = decision_of(node, at(i));
      if (i == 0) usual = decision;
      if (is_sample && decision == Decision::unknown) return std::nullopt;
      // A Slice that cuts what samples have is felt by them.
      const bool is_told = (is_sample && decision != usual) || (node.is("Slice") && usual == Decision::yes);
      if (is_told) return std::string();
      if (decision != Decision::unknown && decision != usual) return sizes_[i].text;
    }
    return std::string();
  }

  [[nodiscard]] layout::Shapes& at(std::size_t i) { return shapes_.try_emplace(i, graph_, sizes_[i].options).first->second; }

  const Pair& pair_;
  const Side& side_;
  const Reference& reference_;
  const Graph& graph_;
  const std::vector<Sizes>& sizes_;
  std::map<std::size_t, layout::Shapes> shapes_;
};

/// The first decider to which none of the others corresponds: of the same operator, at the same sizes.
const Decider* first_alone(const std::vector<Decider>& deciders, std::vector<Decider> others) {
  for (const Decider& decider : deciders) {
    const auto is_it = [&](const Decider& other) {
      return other.node->op_type() == decider.node->op_type() && other.where == decider.where;
    };
    const auto found = std::ranges::find_if(others, is_it);
    if (found == others.end()) return &decider;
    others.erase(found);
  }
  return nullptr;
}

std::string told_of(const Decider& decider, const std::string& model) {
  return "node " + decider.node->label() + " is in " + escape(model) + " alone, " +
         (decider.where.empty() ? "and no sample enters one of its graphs (--samples N makes more, --input gives your own)"
                                : "and no size of the samples shows what it does, " + decider.where + " does (--dim, --shape)");
}

/// Slices and conditions that one model has alone and no sample tells.
std::string untold_decider(const Pair& pair, const Reference& reference) {
  const std::vector<Sizes> sizes = all_sizes(pair, reference);
  const std::vector<Decider> of_a = Deciding(pair, pair.a, reference, sizes).find();
  const std::vector<Decider> of_b = Deciding(pair, pair.b, reference, sizes).find();
  if (const Decider* const found = first_alone(of_a, of_b)) return told_of(*found, pair.a.name);
  if (const Decider* const found = first_alone(of_b, of_a)) return told_of(*found, pair.b.name);
  return {};
}

const Node* node_called(const Graph& graph, const std::string& name) {
  const auto is_it = [&](const Node& node) { return node.name() == name || (node.output(0) != nullptr && node.output(0)->name() == name); };
  const auto found = std::ranges::find_if(graph.nodes(), is_it);
  return found == graph.nodes().end() ? nullptr : &*found;
}

/// Another comparison, or another one of conditions, under the name of the first model's.
bool is_other_comparison(const Pair& pair, const Unexplained& entry) {
  if (entry.kind != Unexplained::Kind::node_changed) return false;
  const Node *const a = node_called(pair.a.model->graph(), entry.name), *const b = node_called(pair.b.model->graph(), entry.name);
  return a != nullptr && b != nullptr && a->op_type() != b->op_type() && has_trait(*a, Trait::makes_boolean) &&
         has_trait(*b, Trait::makes_boolean);
}

/// Comparisons that would part at numbers that no sample compares.
std::string untold_comparison(const Pair& pair, const VerifyResult& result) {
  const ProofResult& proof = *result.proof;
  for (std::size_t i = 0; i < proof.unexplained.size(); ++i) {
    if (!is_other_comparison(pair, proof.unexplained[i])) continue;
    const auto check = std::ranges::find(result.checks, i, &UnexplainedCheck::entry);
    if (check != result.checks.end() && (check->felt || check->acquitted)) continue;
    return proof.unexplained[i].text + ", and no sample reaches that (--samples N makes more, --input gives your own)";
  }
  return {};
}

}  // namespace

std::string find_untold(const Pair& pair, const Reference& reference, const VerifyResult& result) {
  const std::string comparison = untold_comparison(pair, result);
  return comparison.empty() ? untold_decider(pair, reference) : comparison;
}

}  // namespace relayout
