// Lists the rules that look for what samples do not show, and asks them.
#include "verify/doubts/doubts.h"

#include "base/text.h"
#include "relayout/proof.h"
#include "relayout/verify.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/pair.h"

namespace relayout {
namespace {

constexpr auto kRules = std::to_array<Rule>({
    {"node-differs", Cost::samples, Scope::rounding, find_differing_nodes, false},
    {"hidden-constant", Cost::fed, Scope::nodes, find_hidden_constants},
    {"hidden-in-graph", Cost::samples, Scope::nodes, find_constants_hidden_in_graphs},
    {"hidden-by-rounding", Cost::samples, Scope::nodes, find_constants_hidden_by_rounding},
    {"diluted-constant", Cost::samples, Scope::nodes, find_diluted_constants},
    {"hidden-by-choice", Cost::fed, Scope::nodes, find_hidden_choices},
    {"edge-values", Cost::fed, Scope::nodes, find_edge_values},
    {"values-not-reached", Cost::fed, Scope::nodes, find_unreached_values},
    {"one-sign", Cost::fed, Scope::nodes, find_values_of_one_sign},
    {"rounding-ties", Cost::fed, Scope::rounding, find_rounding_ties},
    {"unentered-graph", Cost::samples, Scope::nodes, find_unentered_graphs},
    {"other-comparison", Cost::samples, Scope::nodes, find_other_comparisons},
    {"replaceable-input", Cost::files, Scope::nodes, find_replaceable_inputs},
    {"unread-attribute", Cost::samples, Scope::nodes, find_unread_attributes},
    {"one-size-only", Cost::samples, Scope::rounding, find_dims_of_one_size},
    {"other-sizes", Cost::samples, Scope::rounding, find_other_sizes},
    {"cast-beyond-type", Cost::samples, Scope::rounding, find_casts_beyond_type},
    {"rule-not-tried", Cost::fed, Scope::rounding, find_untried_pieces},
    {"undefined-order", Cost::files, Scope::limits, find_undefined_order},
    {"formula-overflow", Cost::fed, Scope::limits, find_formula_overflow},
    {"cast-grain", Cost::fed, Scope::rounding, find_cast_grain},
    {"guard-lost", Cost::fed, Scope::limits, find_lost_guards},
    {"guard-changed", Cost::fed, Scope::nodes, find_changed_guards},
    {"hidden-by-maximum", Cost::own_runs, Scope::nodes, find_hidden_by_maximum},
    {"labels-in-mask", Cost::own_runs, Scope::nodes, find_labels_in_masks},
    {"graph-alone", Cost::own_runs, Scope::nodes, find_in_graphs_alone},
    {"shows-nothing", Cost::samples, Scope::outputs, find_outputs_that_show_nothing},
    {"ill-conditioned", Cost::samples, Scope::outputs, find_ill_conditioned_outputs},
    {"wide-floor", Cost::samples, Scope::outputs, find_wide_floors},
    {"mask-with-holes", Cost::own_runs, Scope::outputs, find_masks_with_holes, false},
    {"optimized", Cost::own_runs, Scope::every, find_optimized_difference, false},
});

bool applies(const Rule& rule, const Evidence& evidence) {
  const Pair& pair = evidence.pair();
  switch (rule.scope) {
    case Scope::outputs:
      return !pair.proved;
    case Scope::nodes:
      return evidence.proof() != nullptr && !pair.proved && !pair.is_rounded && !pair.options->outputs_only;
    case Scope::rounding:
      return evidence.proof() != nullptr && !pair.proved && !pair.options->outputs_only;
    case Scope::limits:
      return evidence.proof() != nullptr && !pair.options->outputs_only;
    case Scope::every:
      return true;
  }
  return false;
}

bool is_decisive(const VerifyFinding& finding) {
  return finding.severity >= Severity::difference;
}

}  // namespace

std::span<const Rule> all_rules() noexcept {
  return kRules;
}

std::vector<std::string_view> doubt_names() {
  // Besides those of rules: reasons why nothing was run or compared.
  std::vector<std::string_view> out{kNoOutputs, kCannotRun, kNotRun, kReferenceCannotRun, kNotCompared};
  for (const Rule& rule : kRules) {
    if (rule.doubts) out.push_back(rule.name);
  }
  out.push_back(kOutOfBudget);
  return out;
}

std::string prefix_of(const std::string& node, const std::string& op_type, const Unexplained& entry) {
  return entry.name == node ? "" : "node " + quote(node) + " (" + escape(op_type) + "): ";
}

std::string unreached(const Unexplained& entry) {
  return entry.text + ", and no sample reaches that" + kMoreSamples;
}

VerifyFindings look(std::span<const Rule> rules, Evidence& evidence) {
  std::vector<VerifyFindings> found(rules.size());
  for (const Cost cost : {Cost::files, Cost::samples, Cost::fed, Cost::own_runs}) {
    for (std::size_t i = 0; i < rules.size(); ++i) {
      if (rules[i].cost != cost || !applies(rules[i], evidence)) continue;
      found[i] = rules[i].look(evidence);
      for (VerifyFinding& finding : found[i]) finding.name = rules[i].name;
    }
    if (std::ranges::any_of(found, [](const VerifyFindings& of_rule) { return std::ranges::any_of(of_rule, is_decisive); })) break;
  }
  VerifyFindings out;
  for (VerifyFindings& of_rule : found) std::ranges::move(of_rule, std::back_inserter(out));
  return out;
}

}  // namespace relayout
