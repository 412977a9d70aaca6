// Finds differences within branches and loops that change values there, where the results of the graph hide them.
#include <cmath>

#include "base/numbers.h"
#include "base/positions.h"
#include "model/node.h"
#include "model/walk.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "verify/compare/compare_nodes.h"
#include "verify/compare/datum_pair.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/pair.h"
#include "verify/run/distance.h"
#include "verify/run/reference.h"
#include "verify/run/session.h"
#include "verify/thresholds.h"

namespace relayout {
namespace {

/// A nested graph, alike in both models: the node that holds it, and its number there.
using Nest = std::pair<std::string, std::size_t>;
/// A value in a nested graph, by name.
using NestedValue = std::pair<Nest, std::string>;

std::optional<Nest> nest_of(const Graph& graph) {
  const Node* const holder = graph.owner();
  if (holder == nullptr) return std::nullopt;
  const auto& graphs = holder->subgraphs();
  return Nest{reported_name(*holder), as_size(std::ranges::find(graphs, &graph, &std::unique_ptr<Graph>::get) - graphs.begin())};
}

/// The open entries about one of two models, by what they are about.
class EntriesOf {
 public:
  EntriesOf(const std::vector<Unexplained>& entries, bool is_first) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].in_first == is_first) (is_stored(entries[i]) ? constants_ : nodes_)[entries[i].name].push_back(i);
    }
  }
  /// Those about a node, or about a constant that it reads.
  [[nodiscard]] std::set<std::size_t> about(const Node& node) const {
    std::set<std::size_t> out;
    const auto add = [&](const Names& names, const std::string& name) {
      if (const auto found = names.find(name); found != names.end()) out.insert(found->second.begin(), found->second.end());
    };
    add(nodes_, node.name());
    if (const Value* const output = first_output(node)) add(nodes_, output->name());
    for (const Value* const input : node.inputs()) {
      if (input != nullptr) add(constants_, input->name());
    }
    return out;
  }

 private:
  using Names = std::unordered_map<std::string, std::vector<std::size_t>>;
  Names constants_, nodes_;
};

/// The results in nested graphs that an open entry alone may change: no other is about the same graph, where it could be made up for.
std::map<NestedValue, std::size_t> find_alone(Evidence& evidence) {
  std::map<Nest, std::set<std::size_t>> entries;
  std::map<NestedValue, std::size_t> of_b;
  for (const Side* const side : {&evidence.pair().a, &evidence.pair().b}) {
    const bool is_first = side == &evidence.pair().a;
    const EntriesOf of_side(evidence.unexplained(), is_first);
    for_each_node(*side->model, [&](const Node& node) {
      const auto nest = nest_of(node.graph());
      if (!nest) return;
      const std::set<std::size_t> about = of_side.about(node);
      entries[*nest].insert(about.begin(), about.end());
      const bool has_result = !is_first && !about.empty() && first_output(node) != nullptr;
      if (has_result) of_b.emplace(NestedValue{*nest, first_output(node)->name()}, *about.begin());
    });
  }
  std::erase_if(of_b, [&](const auto& found) {
    const Unexplained& entry = evidence.unexplained()[found.second];
    const bool is_rounding = is_constant(entry) && entry.largest <= thresholds::kRoundedConstantDifference;
    const bool is_mask = is_constant(entry) && is_nested_mask(entry.name, *evidence.pair().a.model, *evidence.pair().b.model);
    return is_rounding || is_mask || evidence.is_acquitted(found.second) || entries[found.first.first].size() > 1;
  });
  return of_b;
}

/// The numbers of each wanted value over one run, one list for each time it was computed.
using NumbersOfRun = std::map<NestedValue, std::vector<std::vector<double>>>;

NumbersOfRun numbers_in(const Side& side, const Evidence& evidence, const Inputs& inputs,
                        const std::map<NestedValue, std::size_t>& wanted) {
  NumbersOfRun out;
  ExecuteOptions options = evidence.pair().execute_options(Mode::as_written);
  options.observe = [&](const Node& node, const std::vector<Datum>& outputs) {
    const auto nest = nest_of(node.graph());
    if (!nest || first_output(node) == nullptr || outputs.empty()) return;
    const NestedValue place{*nest, first_output(node)->name()};
    if (!wanted.contains(place)) return;
    std::vector<double>& numbers = out[place].emplace_back();
    for_each_real(outputs.front(), [&](double number) { numbers.push_back(number); });
  };
  (void)evidence.pair().open(side, std::move(options))->run(inputs);
  return out;
}

/// The largest distance of two models' numbers relative to their range; 0 where they are not comparable.
double distance_of(const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b) {
  double distance = 0, range = 0;
  if (a.size() != b.size()) return 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size()) return 0;
    for (std::size_t k = 0; k < a[i].size(); ++k) {
      if (!std::isfinite(a[i][k]) || !std::isfinite(b[i][k])) continue;
      distance = std::max(distance, std::abs(a[i][k] - b[i][k]));
      range = std::max(range, std::abs(a[i][k]));
    }
  }
  return range > 0 ? distance / range : 0;
}

}  // namespace

VerifyFindings find_constants_hidden_in_graphs(Evidence& evidence) {
  /// Beyond what the rounding of everything upstream may add up to in f32.
  constexpr double kBeyondRounding = 1e-4;
  const Pair& pair = evidence.pair();
  VerifyFindings out;
  if (pair.narrow != DataType::undefined || pair.quantized) return out;
  std::map<NestedValue, std::size_t> open = find_alone(evidence);
  const Reference& reference = evidence.reference();
  for (std::size_t s = 0; s < reference.samples().size() && !open.empty(); ++s) {
    if (s > 0 && !pair.steps->affords("values in nested graphs", 2)) break;
    pair.steps->next("values in nested graphs");
    const Inputs& inputs = reference.inputs_of(s);
    const NumbersOfRun a = numbers_in(pair.a, evidence, inputs, open), b = numbers_in(pair.b, evidence, inputs, open);
    std::erase_if(open, [&](const auto& wanted) {
      const auto in_a = a.find(wanted.first), in_b = b.find(wanted.first);
      const double distance = in_a == a.end() || in_b == b.end() ? 0 : distance_of(in_a->second, in_b->second);
      if (!(distance > kBeyondRounding)) return false;
      out.push_back({.text = evidence.unexplained()[wanted.second].text + ", which moves a value of node " + wanted.first.first.first +
                             " by " + scientific(distance) + " of its range, and its results hide that",
                     .node = wanted.first.first.first});
      return true;
    });
  }
  return out;
}

}  // namespace relayout
