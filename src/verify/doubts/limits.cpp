// Finds guards, numbers that keep an operand off the edge of a domain, that one model lacks or its type does not hold.

#include "base/numbers.h"
#include "base/text.h"
#include "model/node.h"
#include "model/walk.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare/compare_nodes.h"
#include "verify/compare/extreme_runs.h"
#include "verify/compare/fed_values.h"
#include "verify/compare/guarded_ways.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/pair.h"
#include "verify/rules.h"
#include "verify/run/bounds.h"

namespace relayout {
namespace {

/// Whether 1 / guard exceeds the largest number of float16.
bool may_overflow_narrow(double guard) {
  constexpr double kMost = 65504;
  return guard * kMost < 1;
}

const char* words_of(Extreme extreme) {
  switch (extreme) {
    case Extreme::zeros:
      return "zeros";
    case Extreme::equal:
      return "equal numbers";
    case Extreme::apart:
      return "numbers far apart";
    case Extreme::alone:
      return "one number far above the others";
    case Extreme::low:
      return "numbers far below 0";
    case Extreme::close:
      return "numbers that hardly vary";
    case Extreme::usual:
    case Extreme::large:
    case Extreme::drawn:
      break;
  }
  return "numbers of usual size";
}

/// The nodes of the second model that the proof leaves open: with an unexplained part, upstream or downstream of one. A part without a name
/// may be that of any node without one.
class OpenNodes {
 public:
  OpenNodes(const Model& model, const ProofResult& proof) : names_(proof.unreached.begin(), proof.unreached.end()) {
    for (const Unexplained& part : proof.unexplained) {
      const bool has_place = !part.in_first && part.kind != Unexplained::Kind::interface && part.kind != Unexplained::Kind::graph;
      if (has_place) names_.insert(part.name);
      are_all_ = are_all_ || !has_place;
    }
    std::size_t found = 0;
    do {
      found = nodes_.size();
      for_each_node(model, [&](const Node& node) {
        if (is_touched(node)) add(node);
      });
    } while (nodes_.size() > found);
  }

  [[nodiscard]] bool contains(const Node& node) const { return are_all_ || nodes_.contains(&node); }

 private:
  [[nodiscard]] bool is_touched(const Node& node) const {
    const auto is_named = [&](const Value* value) { return value != nullptr && names_.contains(value->name()); };
    const auto is_made = [&](const Value* value) { return value != nullptr && nodes_.contains(value->producer()); };
    return node.graph().is_function() || names_.contains(node.name()) || std::ranges::any_of(node.outputs(), is_named) ||
           std::ranges::any_of(node.inputs(), is_named) || std::ranges::any_of(node.inputs(), is_made);
  }
  void add(const Node& node) {
    for (const Node* at = &node; at != nullptr; at = at->graph().owner()) nodes_.insert(at);
  }

  std::unordered_set<std::string> names_;
  std::unordered_set<const Node*> nodes_;
  bool are_all_ = false;
};

/// By how much rounding may change a guard: of stored constants, and of the numbers of a narrow type, the smallest of which have few bits.
double rounding_of_guard(double guard, DataType narrow) {
  constexpr double kSmallestHalf = 0x1p-24;
  const double least = narrow == DataType::float16 ? kSmallestHalf / guard : 0;
  return std::max({rules::kRoundedConstantDifference, 2 * unit_roundoff(narrow), least});
}

std::string describe(const EdgeMismatch& found, const Node* guard, const Pair& pair) {
  const std::string maker_side = found.is_of_a ? "A" : "B", other_side = found.is_of_a ? "B" : "A";
  const std::string by = guard == nullptr ? "" : " (by node " + guard->label() + ")";
  const std::string what = !found.other_peak ? "its results are infinite or NaN, those of " + other_side + " are not"
                                             : "its results are up to " + significant(found.peak, 2) + ", those of " + other_side +
                                                   " up to " + significant(*found.other_peak, 2);
  return "node " + found.maker->label() + " of " + maker_side + ": fed " + words_of(found.extreme) + ", " + what + by +
         ", and no sample holds such numbers" + (pair.proved ? "; the proof leaves this open" : "") + " (--input gives your own)";
}

}  // namespace

VerifyFindings find_lost_guards(Evidence& evidence) {
  const Pair& pair = evidence.pair();
  const GuardedWays &a = evidence.guarded_ways(pair.a), &b = evidence.guarded_ways(pair.b);
  const Node *const of_a = a.first_alone(b, rough_tolerance), *const of_b = b.first_alone(a, rough_tolerance);
  const bool is_other = of_a != nullptr || of_b != nullptr;
  const bool may_overflow = pair.grain == DataType::float16 && may_overflow_narrow(b.least_guard());
  const bool cancels = a.count_differences() != b.count_differences();
  if (!is_other && !may_overflow && !cancels) return {};
  const OpenNodes open(*pair.b.model, *evidence.proof());
  const Guarded guarded{&a, &b, [&](const Node& node) { return pair.proved || open.contains(node); }};
  // A small guard overflows next to numbers without spread; only one that differs counts next to others.
  std::vector<Extreme> extremes{Extreme::zeros, Extreme::equal};
  if (is_other) extremes.insert(extremes.end(), {Extreme::apart, Extreme::alone, Extreme::low});
  if (cancels) extremes.push_back(Extreme::close);
  const auto found = compare_edges({pair, evidence.reference(), evidence.layers(), evidence.entering_samples()}, extremes,
                                   is_other && !pair.proved, guarded);
  if (!found) return {};
  return {{.text = describe(*found, found->is_of_a ? of_b : of_a, pair), .node = reported_name(*found->maker)}};
}

/// Next to numbers of its own size, a guard counts by its size, not by that of the sum.
VerifyFindings find_changed_guards(Evidence& evidence) {
  const Pair& pair = evidence.pair();
  const GuardedWays &a = evidence.guarded_ways(pair.a), &b = evidence.guarded_ways(pair.b);
  const GuardTolerance tolerance = [&](double guard) { return rounding_of_guard(guard, pair.narrow); };
  if (!a.has_other_numbers(b, tolerance)) return {};
  for (const Feeding feeding : {Feeding::small, Feeding::tiny, Feeding::faint, Feeding::faintest}) {
    if (pair.narrow == DataType::float16 && feeding > Feeding::tiny) break;
    for (const LayerResult& layer : evidence.fed(feeding)) {
      if (!convicts(layer)) continue;
      const std::vector<std::size_t> entries = entries_of(layer);
      const std::string text = entries.empty() ? "node " + quote(layer.node) : evidence.unexplained()[entries.front()].text;
      return {{.text = text + ", next to small numbers that counts, and no sample holds such numbers" + kMoreSamples, .node = layer.node}};
    }
  }
  return {};
}

}  // namespace relayout
