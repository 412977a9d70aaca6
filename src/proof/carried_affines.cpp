// Carries affines upstream until a linear operator absorbs them, decides where both models meet, and words wrong folds.

#include "base/positions.h"
#include "base/text.h"
#include "ops/partial_dims.h"
#include "proof/attributes.h"
#include "proof/chain.h"
#include "proof/claim.h"
#include "proof/finite_numbers.h"
#include "proof/linear.h"
#include "proof/recompute.h"
#include "proof/rules.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "proof/tensors.h"
#include "relayout/graph.h"
#include "relayout/proof.h"

namespace relayout::proof {
namespace {

/// Limit of affines that are collected between two other nodes.
constexpr std::size_t kMostSteps = 256;
/// Limit of tried meeting points with the same name on both sides.
constexpr std::size_t kMostMeetings = 8;

std::size_t lanes_of(const Steps& steps) {
  std::size_t out = 0;
  for (const Step& step : steps) out += step.lanes.size();
  return out;
}

std::string labels_of(const Steps& steps) {
  return some_of(steps, 3, [](const Step& step) { return step.node->label(); });
}

/// Number of links of either side's chain upstream that are assumed to be folded.
struct Candidate {
  std::size_t of_a = 0, of_b = 0;
  bool operator==(const Candidate&) const = default;
};

/// Two linear operators with the affines around them.
struct Pair {
  Linear a, b;
  Chain upstream_a, upstream_b;
  Composed downstream_a, downstream_b;
  bool is_product = false;  ///< spelled by different operators, see read_product()
};

/// Whether an operator that the affines of both models pass is the same, with the same constants.
bool is_one_passage(Sides& sides, const Link& of_a, const Link& of_b) {
  if (!same_operator(*of_a.node, *of_b.node)) return false;
  if (!same_semantics(*of_a.node, of_a.output.call, *of_b.node, of_b.output.call)) return false;
  if (!different_attributes(sides.a, of_a.output, sides.b, of_b.output).empty()) return false;
  for (std::size_t i = 1; i < std::max(of_a.node->inputs().size(), of_b.node->inputs().size()); ++i) {
    const Ref operand_a = sides.a.operand(of_a.output, i);
    const Ref operand_b = sides.b.operand(of_b.output, i);
    if (!operand_a && !operand_b) continue;
    if (!operand_a || !operand_b) return false;
    // Computed operands are claims of the fold.
    const bool is_constant = sides.a.constant(operand_a).has_value();
    if (is_constant != sides.b.constant(operand_b).has_value()) return false;
    const auto found = is_constant ? sides.tensor_difference(operand_a, operand_b) : std::nullopt;
    if (is_constant && (!found || found->values > 0)) return false;
  }
  return true;
}

/// Whether both sides pass the same operators on the way upstream.
bool pass_alike(Sides& sides, const Pair& pair, const Candidate& candidate) {
  const auto passed = [](const Chain& chain, std::size_t count) {
    std::vector<const Link*> links;
    for (std::size_t i = 0; i < count; ++i) {
      if (!chain.links[i].step && !chain.links[i].is_identity) links.push_back(&chain.links[i]);
    }
    return links;
  };
  return std::ranges::equal(passed(pair.upstream_a, candidate.of_a), passed(pair.upstream_b, candidate.of_b),
                            [&](const Link* of_a, const Link* of_b) { return is_one_passage(sides, *of_a, *of_b); });
}

/// Candidate meeting points of two chains: equal names, the operators themselves, upstream of all differences, both ends.
std::vector<Candidate> candidates(Sides& sides, const Pair& pair) {
  const Chain& a = pair.upstream_a;
  const Chain& b = pair.upstream_b;
  std::vector<Candidate> out;
  const auto add = [&](Candidate candidate) {
    if (std::ranges::find(out, candidate) == out.end()) out.push_back(candidate);
  };
  if (a.steps() + b.steps() > 0) {
    for (std::size_t i = 0; i < a.values.size() && out.size() < kMostMeetings; ++i) {
      for (std::size_t j = 0; j < b.values.size() && out.size() < kMostMeetings; ++j) {
        if (a.values[i].value->name() == b.values[j].value->name()) add({i, j});
      }
    }
    add({0, 0});
    std::size_t same = 0;
    while (same < std::min(a.links.size(), b.links.size())) {
      const Link& of_a = a.links[a.links.size() - 1 - same];
      const Link& of_b = b.links[b.links.size() - 1 - same];
      const bool are_same = same_operator(*of_a.node, *of_b.node) && of_a.step.has_value() == of_b.step.has_value() &&
                            (!of_a.step || same_lanes(*of_a.step, *of_b.step));
      if (!are_same) break;
      ++same;
    }
    add({a.links.size() - same, b.links.size() - same});
    add({a.links.size(), b.links.size()});
  } else {
    add({0, 0});
  }
  std::erase_if(out, [&](const Candidate& candidate) { return !pass_alike(sides, pair, candidate); });
  return out;
}

/// Whether a claim, and those that it depends on for some levels upstream, show no issue. The search ends at ambiguous operators.
bool finds_no_issue(Sides& sides, Claim first) {
  constexpr int kMostLevels = 8;
  constexpr std::size_t kMostClaims = 8;  // per level
  std::vector<Claim> level = {std::move(first)};
  for (int depth = 0; depth < kMostLevels && !level.empty() && level.size() <= kMostClaims; ++depth) {
    std::vector<Claim> next;
    for (const Claim& claim : level) {
      const Look look = examine(sides, claim);
      if (!look.issues.empty()) return false;
      if (!look.is_ambiguous) next.insert(next.end(), look.claims.begin(), look.claims.end());
    }
    level = std::move(next);
  }
  return true;
}

/// Chooses among several candidates that hold, as factors of 0 allow. For the right one, a look at the claim upstream should find no issue.
/// Equal numbers of affines on both sides are preferred.
Candidate most_likely(Sides& sides, const Pair& pair, std::vector<Candidate> holding) {
  std::ranges::stable_partition(
      holding, [&](const Candidate& candidate) { return pair.upstream_a.steps(candidate.of_a) == pair.upstream_b.steps(candidate.of_b); });
  if (holding.size() == 1 || sides.is_probing) return holding.front();
  sides.is_probing = true;
  const auto found = std::ranges::find_if(holding, [&](const Candidate& candidate) {
    return finds_no_issue(sides,
                          {pair.upstream_a.values[candidate.of_a], pair.upstream_b.values[candidate.of_b], {}, {}, {}, {}, pair.b.node});
  });
  sides.is_probing = false;
  return found != holding.end() ? *found : holding.front();
}

/// Whether there are affines upstream and none has an effect: factors of 1, shifts of 0.
bool changes_nothing(Sides& sides, const Pair& pair, const Candidate& candidate) {
  const auto upstream_a = compose_upstream(sides.a, sides.shapes_a, pair.upstream_a, candidate.of_a, pair.a);
  const auto upstream_b = compose_upstream(sides.b, sides.shapes_b, pair.upstream_b, candidate.of_b, pair.b);
  const auto is_nothing = [](const Composed& composed) {
    return std::ranges::all_of(composed.lanes, [](const Lane& lane) { return lane.factor == 1 && lane.shift == 0; });
  };
  return upstream_a && upstream_b && upstream_a->steps + upstream_b->steps > 0 && is_nothing(*upstream_a) && is_nothing(*upstream_b);
}

Recomputed try_candidate(Sides& sides, const Claim& claim, const Pair& pair, const Candidate& candidate, bool thorough) {
  const auto upstream_a = compose_upstream(sides.a, sides.shapes_a, pair.upstream_a, candidate.of_a, pair.a);
  const auto upstream_b = compose_upstream(sides.b, sides.shapes_b, pair.upstream_b, candidate.of_b, pair.b);
  if (!upstream_a || !upstream_b) {
    Recomputed out;
    out.obstacle = "the affine upstream does not run along the channels";
    return out;
  }
  const Around around_a{pair.downstream_a, *upstream_a};
  const Around around_b{pair.downstream_b, *upstream_b};
  // Without affines around either operator, rounding cannot explain a difference.
  const bool is_bare = around_a.steps() + around_b.steps() == 0;
  if (is_bare && !thorough && !pair.is_product) {
    const auto found = sides.tensor_difference(pair.a.weight_value, pair.b.weight_value);
    if (!found || found->values > 0) {
      Recomputed out;
      out.obstacle = "the weights differ";
      return out;
    }
  }
  Recomputed out = pair.is_product ? recompute(pair.a, around_a, pair.b, around_b, thorough)
                                   : sides.folds.recompute(pair.a, around_a, pair.b, around_b, thorough);
  if (out.holds()) out.rounded_away = rounded_guard(sides.a, claim.downstream_a, pair.a, sides.b, claim.downstream_b, pair.b);
  return out;
}

/// Compares the two operators except for their operands. read_product() has checked the operators of products.
void compare_operators(Sides& sides, const Claim& claim, const Pair& pair, Look& look) {
  if (!pair.is_product) return compare_heads(sides, claim, pair.a.kind == Linear::Kind::gemm ? "beta" : "", look);
  look.nodes_a.push_back(pair.a.node);
  look.nodes_b.push_back(pair.b.node);
}

Look accept_fold(Sides& sides, const Claim& claim, const Pair& pair, const Candidate& candidate, double near) {
  Look look;
  compare_operators(sides, claim, pair, look);
  bool is_fold = !claim.downstream_a.empty() || !claim.downstream_b.empty();
  std::vector<std::pair<const Node*, Ref>> passed_a, passed_b;
  const auto account = [&](Side& side, const Step& step, bool is_first) {
    (is_first ? look.folded : look.nodes_b).push_back(step.node);
    for (std::size_t i = 0; i < step.node->inputs().size(); ++i) {
      const Ref operand = side.resolve({step.node->input(i), step.call});
      if (operand && operand != step.input) (is_first ? look.constants_a : look.constants_b).push_back(operand);
    }
  };
  const auto account_chain = [&](Side& side, const Chain& chain, std::size_t count, bool is_first) {
    for (std::size_t i = 0; i < count; ++i) {
      const Link& link = chain.links[i];
      is_fold = is_fold || link.step.has_value();
      if (link.step) {
        account(side, *link.step, is_first);
      } else if (link.is_identity) {
        std::vector<const Node*>& passed = !is_first ? look.nodes_b : link.is_call ? look.nodes_a : look.bypassed;
        passed.push_back(link.node);
        passed.insert(passed.end(), link.others.begin(), link.others.end());
        for (std::size_t k = 1; k < link.node->inputs().size() && !link.is_call; ++k) {
          if (const Ref other = side.operand(link.output, k)) (is_first ? look.constants_a : look.constants_b).push_back(other);
        }
      } else {
        (is_first ? passed_a : passed_b).emplace_back(link.node, link.output);
      }
    }
  };
  for (const Step& step : claim.downstream_a) account(sides.a, step, true);
  for (const Step& step : claim.downstream_b) account(sides.b, step, false);
  account_chain(sides.a, pair.upstream_a, candidate.of_a, true);
  account_chain(sides.b, pair.upstream_b, candidate.of_b, false);
  for (std::size_t i = 0; i < passed_a.size(); ++i) {
    look.equal_nodes.emplace_back(passed_a[i].first, passed_b[i].first);
    for (std::size_t k = 1; k < passed_a[i].first->inputs().size(); ++k) {
      const Ref of_a = sides.a.operand(passed_a[i].second, k), of_b = sides.b.operand(passed_b[i].second, k);
      if (of_a && !sides.a.constant(of_a)) {
        look.claims.push_back({of_a, of_b, {}, {}, {}, {}, passed_b[i].first});
        continue;
      }
      look.constants_a.push_back(of_a);
      look.constants_b.push_back(of_b);
    }
  }
  look.constants_a.insert(look.constants_a.end(), {pair.a.weight_value, pair.a.bias_value});
  look.constants_b.insert(look.constants_b.end(), {pair.b.weight_value, pair.b.bias_value});
  if (is_fold) look.fold = pair.b.node;
  look.near = near;
  if (pair.a.weight.data.permutation() != pair.b.weight.data.permutation()) {
    const Value* const leaf = sides.b.stored(pair.b.weight_value);
    if (leaf != nullptr) look.tensors.emplace_back(leaf, true);
  }
  Claim upstream{pair.upstream_a.values[candidate.of_a], pair.upstream_b.values[candidate.of_b], {}, {}, {}, {}, pair.b.node};
  upstream.is_flat = claim.is_flat;
  if (upstream.is_flat) upstream.origin_a = upstream.a, upstream.origin_b = upstream.b;
  look.claims.push_back(std::move(upstream));
  return look;
}

/// Whether weight and bias of the two operators are the same bytes, or absent in both.
bool keeps_constants(Sides& sides, const Pair& pair) {
  const auto same = [&](Ref a, Ref b) {
    if (!a && !b) return true;
    const auto found = a && b ? sides.tensor_difference(a, b) : std::nullopt;
    return found && found->values == 0;
  };
  return same(pair.a.weight_value, pair.b.weight_value) && same(pair.a.bias_value, pair.b.bias_value);
}

/// Notes the error of the fold into the operator of b.
void note_wrong_fold(const Sides& sides, const Pair& pair, const std::vector<Step>& absorbed, const Recomputed& found, Look& look) {
  const std::string fold = absorbed.empty() ? "A's" : "the fold of " + labels_of(absorbed) + " recomputed";
  const Node& node = sides.b.in_file(*pair.b.node);
  const int64_t order = sides.b.order_of(node);
  const auto note = [&](Unexplained::Kind kind, const std::string& name, const std::string& text, const Difference& difference) {
    look.issues.push_back({{kind, name, text, difference.values, difference.largest, false}, order});
    look.issues.back().what.beyond_half = difference.beyond_half;
  };
  const std::string& weight = pair.b.weight_value.value->name();
  if (!found.rounded_away.empty()) {
    const Value* const bias = pair.b.bias_value.value;
    note(Unexplained::Kind::bias, bias != nullptr ? bias->name() : node.name(), node.label() + ": " + found.rounded_away, {});
  }
  if (!found.obstacle.empty()) {
    const std::string gone = absorbed.empty() ? node.label() : labels_of(absorbed);
    note(Unexplained::Kind::weight, weight, gone + " cannot be part of " + quote(weight) + ": " + found.obstacle, {});
    name_types(pair.a.weight, pair.b.weight, look.issues.back().what);
  }
  if (found.weight.values > 0) {
    note(Unexplained::Kind::weight, weight, "weight " + quote(weight) + " is not " + fold + " " + found.weight.text(), found.weight);
  }
  if (found.bias.values > 0) {
    const Value* const bias = pair.b.bias_value.value;
    const std::string name = bias != nullptr ? bias->name() : node.name();
    const std::string gives = absorbed.empty() ? " that of A is not what the nodes around it add " : " " + fold + " gives one ";
    const std::string what = bias != nullptr ? "bias " + quote(name) + " is not " + fold + " " : node.label() + " has no bias:" + gives;
    note(Unexplained::Kind::bias, name, what + found.bias.text(), found.bias);
  }
}

/// Pairs the affines around the operators one by one if both models have the same ones; else empty.
std::vector<std::pair<const Step*, const Step*>> counterparts(const Claim& claim, const Pair& pair, const Candidate& candidate) {
  const auto steps_of = [](const Steps& downstream, const Chain& upstream, std::size_t count) {
    std::vector<const Step*> out;
    for (const Step& step : downstream) out.push_back(&step);
    for (std::size_t i = 0; i < count; ++i) {
      if (upstream.links[i].step) out.push_back(&*upstream.links[i].step);
    }
    return out;
  };
  const auto of_a = steps_of(claim.downstream_a, pair.upstream_a, candidate.of_a),
             of_b = steps_of(claim.downstream_b, pair.upstream_b, candidate.of_b);
  const auto is_same = [](const Step* a, const Step* b) { return same_operator(*a->node, *b->node); };
  std::vector<std::pair<const Step*, const Step*>> out;
  if (claim.downstream_a.size() != claim.downstream_b.size() || !std::ranges::equal(of_a, of_b, is_same)) return out;
  for (std::size_t i = 0; i < of_a.size(); ++i) out.emplace_back(of_a[i], of_b[i]);
  return out;
}

/// Notes differences of constants and attributes if nothing was folded: both models have the same affines.
void note_changed_constants(Sides& sides, const Pair& pair, const std::vector<std::pair<const Step*, const Step*>>& steps, Look& look) {
  const auto compare = [&](Ref a, Ref b, const Node& reader) {
    if (a && b) compare_tensors(sides, {a, b, {}, {}, {}, {}, &reader}, look, sides.b.stored(b));
  };
  for (const auto& [a, b] : steps) {
    const Claim nodes{{a->node->output(0), a->call}, {b->node->output(0), b->call}, {}, {}, {}, {}, b->node};
    compare_heads(sides, nodes, {}, look);
    for (std::size_t i = 0; i < std::min(a->node->inputs().size(), b->node->inputs().size()); ++i) {
      const Ref of_a = sides.a.operand(nodes.a, i), of_b = sides.b.operand(nodes.b, i);
      if (of_a && of_b && sides.a.contents(of_a) && sides.b.contents(of_b)) compare(of_a, of_b, *b->node);
    }
  }
  compare(pair.a.weight_value, pair.b.weight_value, *pair.b.node);
  compare(pair.a.bias_value, pair.b.bias_value, *pair.b.node);
}

Look reject_fold(Sides& sides, const Claim& claim, const Pair& pair, const Candidate& candidate) {
  Look look;
  compare_operators(sides, claim, pair, look);
  const Recomputed found = try_candidate(sides, claim, pair, candidate, true);
  Steps absorbed = claim.downstream_a;
  for (std::size_t i = 0; i < candidate.of_a; ++i) {
    if (pair.upstream_a.links[i].step) absorbed.push_back(*pair.upstream_a.links[i].step);
  }
  const auto unfolded = counterparts(claim, pair, candidate);
  const bool has_bias_alike = static_cast<bool>(pair.a.bias_value) == static_cast<bool>(pair.b.bias_value);
  const std::size_t reported = look.issues.size();
  if (found.rounded_away.empty() && !unfolded.empty() && has_bias_alike) note_changed_constants(sides, pair, unfolded, look);
  if (look.issues.size() > reported) {
    // Each different constant has been named.
  } else if (found.rounded_away.empty() && !absorbed.empty() && keeps_constants(sides, pair)) {
    const std::string what = "is gone, and weight " + quote(pair.b.weight_value.value->name()) + " is as it was";
    for (const Step& step : absorbed) look.issues.push_back(issue_of_node(sides, Unexplained::Kind::node_removed, *step.node, true, what));
  } else {
    note_wrong_fold(sides, pair, absorbed, found, look);
  }
  // The issues are recorded; from here on the fold counts as right.
  std::vector<Issue> issues = std::move(look.issues);
  look.add(accept_fold(sides, claim, pair, candidate, 0));
  look.issues = std::move(issues);
  look.fold = nullptr;
  look.folded.clear();
  for (const Step& step : absorbed) look.nodes_a.push_back(step.node);
  std::erase_if(look.equal_nodes, [&](const auto& nodes) { return nodes.second == pair.b.node; });
  return look;
}

/// Reads the chains upstream of both operators.
void read_chains(Sides& sides, const Claim& claim, Transposes transposes, Pair& pair) {
  pair.upstream_a = pair.upstream_b = {};
  if (claim.is_flat) {
    pair.upstream_a.values.push_back(pair.a.data);
    pair.upstream_b.values.push_back(pair.b.data);
  } else {
    pair.upstream_a = chain_upstream(sides.a, sides.shapes_a, pair.a.data, false, transposes);
    pair.upstream_b = chain_upstream(sides.b, sides.shapes_b, pair.b.data, true, transposes);
  }
  for (const Chain* chain : {&pair.upstream_a, &pair.upstream_b}) {
    // Only counts here; an excess is noticed at the next claim.
    for (const Link& link : chain->links) (void)sides.spend(link.step ? link.step->lanes.size() : 0);
  }
}

bool has_paired_transposes(const Pair& pair) {
  const auto has_others = [](const Link& link) { return !link.others.empty(); };
  return std::ranges::any_of(pair.upstream_a.links, has_others) || std::ranges::any_of(pair.upstream_b.links, has_others);
}

/// Tries the points where the two chains may meet, and accepts the fold that the weights show.
Found accept_any(Sides& sides, const Claim& claim, const Pair& pair, const std::vector<Candidate>& tried, bool is_same_operator) {
  std::vector<Candidate> exact, near;
  std::vector<double> distances;  // of the near candidates
  for (const Candidate& candidate : tried) {
    if (is_same_operator && !changes_nothing(sides, pair, candidate)) continue;
    const Recomputed found = try_candidate(sides, claim, pair, candidate, false);
    if (!found.holds()) continue;
    if (found.near > 0) distances.push_back(found.near);
    (found.near > 0 ? near : exact).push_back(candidate);
  }
  const std::vector<Candidate>& holding = exact.empty() ? near : exact;
  if (holding.empty()) return std::nullopt;
  const Candidate best = most_likely(sides, pair, holding);
  Look look = accept_fold(sides, claim, pair, best, exact.empty() ? distances[as_size(std::ranges::find(near, best) - near.begin())] : 0);
  look.is_ambiguous = holding.size() > 1;
  return look;
}

Found examine_pair(Sides& sides, const Claim& claim, Pair pair) {
  bool is_same_operator = false;
  if (claim.is_plain() && !pair.is_product) {
    is_same_operator = keeps_constants(sides, pair);  // the usual case
  }
  if (!sides.spend(lanes_of(claim.downstream_a)) || !sides.spend(lanes_of(claim.downstream_b))) return std::nullopt;
  read_chains(sides, claim, Transposes::paired, pair);
  // A removed node may have had no effect: factors of 1.
  if (is_same_operator && pair.upstream_a.steps() == pair.upstream_b.steps()) return std::nullopt;
  const auto downstream_a = compose(claim.downstream_a, pair.a.output_axis, pair.a.outputs, pair.a.rank, pair.a.weight.type);
  const auto downstream_b = compose(claim.downstream_b, pair.b.output_axis, pair.b.outputs, pair.b.rank, pair.b.weight.type);
  if (!downstream_a || !downstream_b) return std::nullopt;
  pair.downstream_a = *downstream_a;
  pair.downstream_b = *downstream_b;
  const std::vector<Candidate> tried = candidates(sides, pair);
  if (Found found = accept_any(sides, claim, pair, tried, is_same_operator)) return found;
  if (has_paired_transposes(pair)) {
    // The removal of an affine leaves the two Transposes around it adjacent.
    Pair apart = pair;
    read_chains(sides, claim, Transposes::single, apart);
    if (Found found = accept_any(sides, claim, apart, candidates(sides, apart), is_same_operator)) return found;
  }
  if (claim.is_plain()) return std::nullopt;
  return reject_fold(sides, claim, pair, tried.empty() ? Candidate() : tried.front());
}

/// Carries the affines past one operator.
Found pass(Sides& sides, const Claim& claim) {
  if (!sides.spend(lanes_of(claim.downstream_a)) || !sides.spend(lanes_of(claim.downstream_b))) return std::nullopt;
  const Node& node = *claim.a.value->producer();
  std::vector<Steps> upstream_a, upstream_b;
  if (node.is("Concat")) {
    upstream_a = cut(sides.a, sides.shapes_a, claim.a, claim.downstream_a);
    upstream_b = cut(sides.b, sides.shapes_b, claim.b, claim.downstream_b);
    if (upstream_a.empty() || upstream_a.size() != upstream_b.size()) return std::nullopt;
  } else {
    if (!is_passable(node)) return std::nullopt;
    upstream_a = {claim.downstream_a};
    upstream_b = {claim.downstream_b};
    for (Step& step : upstream_a[0]) {
      if (!pull(sides.a, sides.shapes_a, claim.a, step)) return std::nullopt;
    }
    for (Step& step : upstream_b[0]) {
      if (!pull(sides.b, sides.shapes_b, claim.b, step)) return std::nullopt;
    }
  }
  Look look;
  compare_heads(sides, claim, {}, look);
  examine_operands(sides, claim, upstream_a.size(), look);
  for (std::size_t i = 0; i < upstream_a.size(); ++i) {
    look.claims.push_back({sides.a.operand(claim.a, i), sides.b.operand(claim.b, i), std::move(upstream_a[i]), std::move(upstream_b[i]),
                           claim.origin_a, claim.origin_b, claim.b.value->producer(), true});
  }
  return look;
}

/// Reports affines that no linear operator absorbed, after a look at the nodes that were passed.
Look give_up(Sides& sides, const Claim& claim, Look look) {
  if (!claim.has_passed) {
    // No part of the claim is settled: the nodes at the top simply differ.
    const Claim top{claim.origin_a, claim.origin_b, {}, {}, {}, {}, claim.reader};
    const Node* const a = top.a.value->producer();
    const Node* const b = top.b.value->producer();
    const bool same = a != nullptr && b != nullptr && same_operator(*a, *b);
    look = same ? examine_nodes(sides, top) : resynchronize(sides, top);
    look.starts_anew = true;
    return look;
  }
  Steps of_a = claim.downstream_a;
  Steps of_b = claim.downstream_b;
  while (!of_a.empty() && !of_b.empty() && same_operator(*of_a.back().node, *of_b.back().node) && same_lanes(of_a.back(), of_b.back())) {
    look.equal_nodes.emplace_back(of_a.back().node, of_b.back().node);
    of_a.pop_back();
    of_b.pop_back();
  }
  const bool same_nodes = std::ranges::equal(of_a, of_b, [](const Step& a, const Step& b) { return same_operator(*a.node, *b.node); });
  const std::string upstream = claim.a ? quote(claim.a.value->name()) : "nothing";
  for (std::size_t i = 0; same_nodes && i < of_a.size(); ++i) {
    look.issues.push_back(
        issue_of_node(sides, Unexplained::Kind::tensor, *of_b[i].node, false, "has other constants; no fold explains it"));
  }
  for (std::size_t i = 0; !same_nodes && i < of_a.size(); ++i) {
    Issue issue = issue_of_node(sides, Unexplained::Kind::node_removed, *of_a[i].node, true,
                                "is gone, and the operator of " + upstream + " does not absorb it");
    issue.order = order_of(sides, claim);
    look.issues.push_back(std::move(issue));
  }
  for (std::size_t i = 0; !same_nodes && i < of_b.size(); ++i) {
    look.issues.push_back(issue_of_node(sides, Unexplained::Kind::node_added, *of_b[i].node, false, "was not there; no fold explains it"));
  }
  for (const Step& step : claim.downstream_a) look.nodes_a.push_back(step.node);
  for (const Step& step : claim.downstream_b) look.nodes_b.push_back(step.node);
  if (claim.a && claim.b) look.claims.push_back({claim.a, claim.b, {}, {}, {}, {}, claim.reader});
  return look;
}

/// Whether the constants that both nodes read are the same.
bool read_same_constants(Sides& sides, const Claim& claim) {
  const std::size_t inputs = claim.a.value->producer()->inputs().size();
  if (inputs != claim.b.value->producer()->inputs().size()) return false;
  for (std::size_t i = 0; i < inputs; ++i) {
    const Ref of_a = sides.a.operand(claim.a, i), of_b = sides.b.operand(claim.b, i);
    const bool is_constant = sides.a.contents(of_a).has_value();
    if (is_constant != sides.b.contents(of_b).has_value()) return false;
    const auto found = is_constant ? sides.tensor_difference(of_a, of_b) : std::nullopt;
    if (is_constant && (!found || found->values > 0)) return false;
  }
  return true;
}

/// The claim with its values as origins of affines.
Claim from_here(Claim claim) {
  claim.origin_a = claim.a;
  claim.origin_b = claim.b;
  return claim;
}

}  // namespace

Found examine_linear(Sides& sides, const Claim& claim) {
  auto linear_a = read_linear(sides.a, sides.shapes_a, claim.a);
  auto linear_b = linear_a ? read_linear(sides.b, sides.shapes_b, claim.b) : std::nullopt;
  if (!linear_a || !linear_b || linear_a->kind != linear_b->kind) return std::nullopt;
  if (linear_a->transposed != linear_b->transposed) return examine_product(sides, claim);
  return examine_pair(sides, claim, {std::move(*linear_a), std::move(*linear_b), {}, {}, {}, {}});
}

Found examine_product(Sides& sides, const Claim& claim) {
  const Node* const node_a = claim.a.value->producer();
  const Node* const node_b = claim.b.value->producer();
  if (node_a == nullptr || node_b == nullptr || !is_linear(*node_a) || !is_linear(*node_b)) return std::nullopt;
  auto linear_a = read_product(sides.a, sides.shapes_a, claim.a);
  auto linear_b = linear_a ? read_product(sides.b, sides.shapes_b, claim.b) : std::nullopt;
  if (!linear_a || !linear_b) return std::nullopt;
  // Gemm takes matrices. MatMul must, too, unless only elements in row-major order are compared: then the elements of the results are equal
  // if those of the data are, whatever their dims, because the last axis is as long as the weight's.
  const auto fits = [](Shapes& shapes, const Linear& product) {
    const auto dims = shapes.of(product.data);
    return dims && !dims->empty() && dims->back() == product.inputs && (dims->size() == 2 || !product.node->is("Gemm"));
  };
  const bool are_matrices = linear_a->rank == 2 && linear_b->rank == 2;
  if (claim.is_flat ? !fits(sides.shapes_a, *linear_a) || !fits(sides.shapes_b, *linear_b) : !are_matrices) return std::nullopt;
  return examine_pair(sides, claim, {std::move(*linear_a), std::move(*linear_b), {}, {}, {}, {}, true});
}

Found examine_affine(Sides& sides, const Claim& claim) {
  const bool any = read_step(sides.a, claim.a, false) || read_step(sides.b, claim.b, true);
  return any ? std::optional(carry(sides, from_here(claim))) : std::nullopt;
}

Found examine_changed_affine(Sides& sides, const Claim& claim) {
  const auto step_a = read_step(sides.a, claim.a, false);
  const auto step_b = read_step(sides.b, claim.b, true);
  // No fold changes attributes alone.
  const bool are_same = step_a && step_b && (same_lanes(*step_a, *step_b) || read_same_constants(sides, claim));
  return (step_a || step_b) && !are_same ? std::optional(carry(sides, from_here(claim))) : std::nullopt;
}

Look carry(Sides& sides, Claim claim) {
  Look look;
  for (;;) {
    claim.a = sides.a.resolve(claim.a);
    claim.b = sides.b.resolve(claim.b);
    if (!claim.a || !claim.b) return give_up(sides, claim, std::move(look));
    bool collected = false;
    const auto collect = [&](Side& side, Ref& at, Steps& steps, bool rounded) {
      auto step = steps.size() < kMostSteps && lanes_of(steps) < kMostLanes ? read_step(side, at, rounded) : std::nullopt;
      if (!step) return;
      at = step->input;
      steps.push_back(std::move(*step));
      collected = true;
    };
    collect(sides.a, claim.a, claim.downstream_a, false);
    collect(sides.b, claim.b, claim.downstream_b, true);
    if (collected) continue;
    const Node* const a = claim.a.value->producer();
    const Node* const b = claim.b.value->producer();
    const bool same = a != nullptr && b != nullptr && same_operator(*a, *b);
    Found found = same ? examine_linear(sides, claim) : examine_product(sides, claim);
    if (!found && same) found = pass(sides, claim);
    if (!found) found = step_down(sides, claim);
    if (!found) return give_up(sides, claim, std::move(look));
    std::optional<Claim> next = std::move(found->next);
    look.add(std::move(*found));
    if (!next) return look;
    claim = std::move(*next);
  }
}

}  // namespace relayout::proof
