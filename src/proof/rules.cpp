// Tries the rules of the proof on a claim, in the order of one table.

#include "proof/rules.h"

#include <array>

#include "proof/attributes.h"
#include "proof/claim.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/proof.h"

namespace relayout::proof {
namespace {

Found examine_inputs(Sides& sides, const Claim& claim) {
  if (claim.a.value->producer() != nullptr || claim.b.value->producer() != nullptr) return std::nullopt;
  // The iteration number of a Loop that runs once is a constant.
  if (auto found = examine_evaluated(sides, claim)) return found;
  const bool is_stored = sides.a.stored(claim.a) != nullptr || sides.b.stored(claim.b) != nullptr;
  Look look;
  if (is_stored || !sides.same_input(*claim.a.value, *claim.b.value)) {
    look.issues.push_back(issue_of_other_value(sides, claim, *claim.a.value));
  }
  return look;
}

Found always_nodes(Sides& sides, const Claim& claim) {
  return examine_nodes(sides, claim);
}

Found always_resynchronize(Sides& sides, const Claim& claim) {
  return resynchronize(sides, claim);
}

/// The claims that a rule is for.
enum class For : uint8_t {
  all,
  same,       ///< one operator makes both values
  different,  ///< two operators do, or none makes one of them
  spelled,    ///< the rules before found an issue, but the elements may still be the same: counted or written differently
};

struct Rule {
  std::string_view name;
  For whom;
  Found (*look)(Sides& sides, const Claim& claim);
  bool is_told = true;  ///< named with -v
};

/// The rules, in the order in which they are tried. The first that applies decides; the last one for each kind of claim always applies.
constexpr auto kRules = std::to_array<Rule>({
    {"integers", For::all, examine_integers},
    {"constant", For::all, examine_stored, false},
    {"input", For::all, examine_inputs, false},
    {"order of operands", For::same, examine_reordered},
    {"factors", For::all, examine_merged_factors},
    {"fold", For::same, examine_linear},
    {"nodes in a row", For::all, examine_rows},
    {"integers again", For::all, examine_requantized},
    {"reshapes", For::all, examine_two_reshapes},
    {"matrix product", For::different, examine_product},
    {"request", For::same, examine_requests},
    {"slices", For::same, examine_slices},
    {"sizes", For::same, examine_sizes},
    {"evaluated constant", For::different, examine_evaluated},
    {"formula of a call", For::different, examine_call},
    {"reduction", For::different, examine_reduction},
    {"no effect", For::different, step_down},
    {"branches", For::different, examine_branches},
    {"loop", For::different, examine_loop},
    {"moved quantizer", For::different, examine_moved_quantizer},
    {"selection", For::different, examine_selection},
    {"rounding", For::different, examine_rounding},
    {"affine", For::different, examine_affine},
    {"changed affine", For::same, examine_changed_affine},
    {"turned choice", For::same, examine_turned},
    {"likeliest", For::same, examine_likeliest},
    {"nested limits", For::same, examine_nested_limits},
    {"same node", For::same, always_nodes, false},
    {"other node", For::different, always_resynchronize},
    {"positions", For::spelled, examine_positions},
    {"aligned corners", For::spelled, examine_resized},
    {"booleans", For::spelled, examine_booleans},
    {"comparison", For::spelled, examine_comparison},
    {"limits", For::spelled, examine_limits},
    {"chosen integers", For::spelled, examine_selected},
    {"reshape", For::spelled, examine_reshaped},
    {"factors", For::spelled, examine_spread_factors},
    {"formula", For::spelled, examine_formula},
});

/// What the first rule adds that applies.
Found first_found(Sides& sides, const Claim& claim, For kind) {
  for (const Rule& rule : kRules) {
    const bool is_meant = rule.whom == kind || (rule.whom == For::all && kind != For::spelled);
    Found found = is_meant ? rule.look(sides, claim) : std::nullopt;
    if (!found) continue;
    if (rule.is_told) found->rule = rule.name;
    return found;
  }
  return std::nullopt;
}

/// Whether one of two nodes of one operator alone ends nodes that cancel: a Transpose of another permutation, or another node.
bool ends_other_pair(Sides& sides, const Claim& claim) {
  const Node *const a = claim.a.value->producer(), *const b = claim.b.value->producer();
  if (!a->is("Transpose")) {
    return static_cast<bool>(upstream_of_inverse(sides.a, sides.shapes_a, claim.a).value) !=
           static_cast<bool>(upstream_of_inverse(sides.b, sides.shapes_b, claim.b).value);
  }
  std::vector<const Node*> pair;
  return written_permutation(*a, claim.a.call) != written_permutation(*b, claim.b.call) &&
         (upstream_of_transposes(sides.a, claim.a, pair) || upstream_of_transposes(sides.b, claim.b, pair));
}

/// Whether one operator makes both values. An identity does not correspond to a node with an effect, nor to an identity with other outputs.
bool is_one_operator(Sides& sides, const Claim& claim) {
  const Node *const a = claim.a.value->producer(), *const b = claim.b.value->producer();
  if (a == nullptr || b == nullptr || !same_operator(*a, *b) || ends_other_pair(sides, claim)) return false;
  if (sides.a.runs(*a).has_value() != sides.b.runs(*b).has_value()) return false;
  const auto of_a = operand_passed_on(sides.a, sides.shapes_a, claim.a), of_b = operand_passed_on(sides.b, sides.shapes_b, claim.b);
  if (of_a || of_b) {
    // Names tell which nodes correspond; numbers may have changed.
    const Ref from_a = sides.a.operand(claim.a, of_a ? *of_a : *of_b), from_b = sides.b.operand(claim.b, of_b ? *of_b : *of_a);
    const bool are_namesakes = from_a && from_b && from_a.value->name() == from_b.value->name();
    if (of_a.has_value() != of_b.has_value() && (!are_namesakes || is_identity(sides.a, claim.a) || is_identity(sides.b, claim.b)))
      return false;
  }
  return !of_a || !of_b || makes_same_outputs(*a, *b);
}

Look examine_plain(Sides& sides, Claim claim) {
  Look look;
  for (;;) {
    claim.a = sides.a.resolve(claim.a);
    claim.b = sides.b.resolve(claim.b);
    if (!claim.a || !claim.b) {
      if (claim.a || claim.b)
        look.issues.push_back(
            issue_of_reader(sides, Unexplained::Kind::operand, claim, "has an operand that is absent in the other model"));
      return look;
    }
    Found found = first_found(sides, claim, is_one_operator(sides, claim) ? For::same : For::different);
    if (!found) return look;
    const std::string_view rule = found->rule;
    std::optional<Claim> next = std::move(found->next);
    look.add(std::move(*found));
    if (!rule.empty()) look.rule = rule;
    if (!next) return look;
    claim = std::move(*next);
  }
}

}  // namespace

void Look::add(Look more) {
  if (more.starts_anew) *this = {};
  const auto append = [](auto& to, auto& from) { to.insert(to.end(), std::move_iterator(from.begin()), std::move_iterator(from.end())); };
  append(issues, more.issues);
  append(claims, more.claims);
  append(nodes_a, more.nodes_a);
  append(nodes_b, more.nodes_b);
  append(bypassed, more.bypassed);
  append(folded, more.folded);
  append(rewritten, more.rewritten);
  append(constants_a, more.constants_a);
  append(constants_b, more.constants_b);
  append(tensors, more.tensors);
  append(graphs, more.graphs);
  append(equal_nodes, more.equal_nodes);
  if (more.fold != nullptr) fold = more.fold;
  near = std::max(near, more.near);
  is_ambiguous = is_ambiguous || more.is_ambiguous;
  is_exclusive = is_exclusive || more.is_exclusive;
}

Look examine(Sides& sides, const Claim& claim) {
  if (!claim.is_plain()) {
    Look look = claim.is_flat ? examine_flat(sides, claim) : carry(sides, claim);
    look.rule = claim.is_flat ? "reshape" : "fold";
    return look;
  }
  Look look = examine_plain(sides, claim);
  if (look.issues.empty() || !claim.a || !claim.b) return look;
  Found other = first_found(sides, claim, For::spelled);
  return other ? std::move(*other) : look;
}

}  // namespace relayout::proof
