// Finds differences that only equal numbers, numbers of one sign, NaN or infinities show, where no sample has such numbers.

#include "base/text.h"
#include "model/node.h"
#include "model/walk.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/verify.h"
#include "verify/compare/changes.h"
#include "verify/compare/compare_nodes.h"
#include "verify/compare/fed_values.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/pair.h"

namespace relayout {
namespace {

/// A kind of numbers, the feeding that contains them, and the nodes that they concern.
struct Edge {
  Feeding feeding;
  bool (*concerns)(const Node&);
  const char* numbers;
};
constexpr auto kEdges = std::to_array<Edge>({{Feeding::tied, is_search, "equal numbers"},
                                             {Feeding::not_a_number, may_treat_apart, "NaN"},
                                             {Feeding::infinite, may_treat_apart, "an infinity"},
                                             {Feeding::minus_infinite, may_treat_apart, "minus infinity"}});

constexpr auto kSigns = std::to_array<Edge>(
    {{Feeding::negative, depends_on_sign, "negative numbers only"}, {Feeding::positive, depends_on_sign, "positive numbers only"}});

/// Attributes that select which of equal numbers, or which infinity, counts.
constexpr auto kEdgeAttributes = std::to_array<std::string_view>({"select_last_index", "detect_negative", "detect_positive"});

std::string not_held(const Edge& edge) {
  const std::string allow = is_of_one_sign(edge.feeding) ? "one-sign" : "edge-values";
  return std::string(", and no sample holds ") + edge.numbers +
         " there (--input NAME=FILE gives one that does; where your data never do, --allow " + allow + " is right)";
}

/// The open entries of the proof about nodes that numbers on an edge concern.
class OpenEdges {
 public:
  explicit OpenEdges(Evidence& evidence)
      : evidence_(evidence), of_a_(evidence.named(evidence.pair().a)), of_b_(evidence.named(evidence.pair().b)) {}

  /// Whether an open entry, output or change is about a node that an edge concerns.
  [[nodiscard]] bool any(const Edge& edge) const {
    for (std::size_t i = 0; i < evidence_.unexplained().size(); ++i) {
      if (is_open(i, edge)) return true;
    }
    const auto is_concerned = [&](const std::string& output) { return is_unreached(output, edge); };
    if (std::ranges::any_of(evidence_.proof()->unreached, is_concerned)) return true;
    return std::ranges::any_of(evidence_.changes().all(), [&](const Change& change) { return find_apart(change, edge) != nullptr; });
  }

  /// The open entry that a node shows by differing when fed an edge's numbers; empty: none.
  [[nodiscard]] std::string shown_by(const LayerResult& layer, const Edge& edge) const {
    const std::vector<Unexplained>& entries = evidence_.unexplained();
    const std::string node = "node " + quote(layer.node) + " (" + escape(layer.op_type) + ")";
    const std::vector<std::size_t> of_layer = entries_of(layer);
    for (const std::size_t entry : of_layer) {
      if (is_open(entry, edge)) return prefix_of(layer.node, layer.op_type, entries[entry]) + entries[entry].text + not_held(edge);
    }
    const Change* const change = evidence_.changes().of_b(layer.tensor);
    const Node* const changed = change == nullptr ? nullptr : find_apart(*change, edge);
    const auto is_left_open = [&](std::size_t entry) { return !evidence_.is_acquitted(entry); };
    const auto entry = std::ranges::find_if(of_layer, is_left_open);
    if (changed != nullptr && entry != of_layer.end()) {
      return prefix_of(layer.node, layer.op_type, entries[*entry]) + entries[*entry].text + ", node " + changed->label() + " tells" +
             not_held(edge);
    }
    if (!layer.proof.unreached || (changed == nullptr && !is_unreached(layer.tensor, edge))) return {};
    return node + ": fed " + edge.numbers + ", it gives a different result" + not_held(edge);
  }

  /// The first entry about different treatment of an edge by attributes, the effect of which no sample shows; nullptr: none.
  [[nodiscard]] const Unexplained* find_other_attribute() const {
    for (std::size_t i = 0; i < evidence_.unexplained().size(); ++i) {
      const Unexplained& entry = evidence_.unexplained()[i];
      if (entry.kind == Unexplained::Kind::attribute && !evidence_.is_shown(i) && differs_by_edge(entry.name)) return &entry;
    }
    return nullptr;
  }

 private:
  /// A node that differs over samples may do so by rounding: only an acquittal closes its entry.
  [[nodiscard]] bool is_open(std::size_t entry, const Edge& edge) const {
    return !evidence_.is_acquitted(entry) && is_about(evidence_.unexplained()[entry], edge);
  }
  /// Whether an entry is about a node that an edge concerns, in the model that it names or under its name in the other one.
  [[nodiscard]] bool is_about(const Unexplained& entry, const Edge& edge) const {
    using Kind = Unexplained::Kind;
    const auto kinds = {Kind::attribute, Kind::operand, Kind::node_added, Kind::node_removed, Kind::node_changed};
    if (std::ranges::find(kinds, entry.kind) == kinds.end()) return false;
    const auto has_it = [&](const Node* node) { return node != nullptr && edge.concerns(*node); };
    return has_it(of_a_.first(entry.name)) || has_it(of_b_.first(entry.name));
  }
  /// A node of a change that treats the numbers of an edge apart on purpose; nullptr: none.
  [[nodiscard]] static const Node* find_apart(const Change& change, const Edge& edge) {
    const bool is_special = edge.feeding != Feeding::tied && !is_of_one_sign(edge.feeding);
    const Node* const found = find_changed(change, is_special ? treats_apart : edge.concerns);
    return found != nullptr && edge.concerns(*found) ? found : nullptr;
  }
  [[nodiscard]] bool is_unreached(const std::string& output, const Edge& edge) const {
    const Node* const node = of_b_.first(output);
    return node != nullptr && edge.concerns(*node);
  }
  [[nodiscard]] bool differs_by_edge(const std::string& name) const {
    const Node *const a = of_a_.first(name), *const b = of_b_.first(name);
    if (a == nullptr || b == nullptr || a->op_type() != b->op_type() || (!is_search(*a) && !may_treat_apart(*a))) return false;
    const Attributes of_a(*a), of_b(*b);
    // ONNX's default for an absent attribute. Where the operator has none of this name, both nodes get the same.
    return std::ranges::any_of(kEdgeAttributes, [&](std::string_view attribute) {
      const int64_t absent = attribute == "select_last_index" ? 0 : 1;
      return of_a.integer(attribute, absent) != of_b.integer(attribute, absent);
    });
  }

  Evidence& evidence_;
  const NamedNodes &of_a_, &of_b_;
};

/// Differences that nodes show when fed the numbers of an edge, where an open entry is about such a node.
VerifyFindings find_at(std::span<const Edge> edges, Evidence& evidence, const OpenEdges& open) {
  VerifyFindings out;
  for (const Edge& edge : edges) {
    if (!open.any(edge)) continue;
    for (const LayerResult& layer : evidence.fed(edge.feeding)) {
      std::string shown = convicts(layer) ? open.shown_by(layer, edge) : "";
      if (!shown.empty()) out.push_back({.text = std::move(shown), .node = layer.node});
    }
  }
  return out;
}

}  // namespace

VerifyFindings find_edge_values(Evidence& evidence) {
  const OpenEdges open(evidence);
  VerifyFindings out = find_at(kEdges, evidence, open);
  if (const Unexplained* const entry = open.find_other_attribute()) {
    out.push_back({.text = entry->text + ", and no sample shows its effect (--input gives your own)", .node = entry->name});
  }
  return out;
}

VerifyFindings find_values_of_one_sign(Evidence& evidence) {
  return find_at(kSigns, evidence, OpenEdges(evidence));
}

}  // namespace relayout
