// Finds differences of nodes that the proof leaves open: over the samples, and with other values where the samples do not show them.

#include "base/numbers.h"
#include "base/text.h"
#include "model/node.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare/changes.h"
#include "verify/compare/choices.h"
#include "verify/compare/compare_nodes.h"
#include "verify/compare/datum_pair.h"
#include "verify/compare/fed_values.h"
#include "verify/compare/tried_pieces.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/thresholds.h"

namespace relayout {
namespace {

using Entries = std::vector<Unexplained>;
using Effect = UnexplainedCheck::Effect;

std::string label_of(const std::string& node, const std::string& op_type) {
  return "node " + quote(node) + " (" + escape(op_type) + ")";
}

/// Whether a constant of b holds sizes, counts or indices, which are never rounded: integers of any type that no node reads as quantized
/// numbers.
bool is_never_rounded(const Unexplained& entry, const Graph& b) {
  const Value* const value = b.find(entry.name);
  if (value == nullptr || !kIntegerTypes.has(Constants().type_of(*value))) return false;
  return std::ranges::none_of(value->uses(), [](const Use& use) {
    const std::string& op = use.node->op_type();
    return op.starts_with('Q') || op == "DequantizeLinear" || op.ends_with("Integer");
  });
}

/// Whether nodes take parts of a constant by indices, of which samples hold a few; also of what follows from it alone.
bool is_table(const Value& constant, int depth = 0) {
  constexpr int kDeepest = 4;
  return depth < kDeepest && std::ranges::any_of(
                                 constant.uses(),
                                 [&](const Use& use) {
                                   const Node& node = *use.node;
                                   const Value *const made = node.output(0), *const indices = node.input(1);
                                   if (made == nullptr) return false;
                                   if (Constants().is_constant(*made)) return is_table(*made, depth + 1);
                                   return use.index == 0 && indices != nullptr && (has_trait(node, Trait::indexes) || node.is("Slice"));
                                 });
}
bool is_table(const Unexplained& entry, const Graph& b) {
  const Value* const value = b.find(entry.name);
  return is_stored(entry) && value != nullptr && is_table(*value);
}

/// Whether a constant alone differs by more than rounding, and its nodes stay within their floors over the samples. A table counts beside
/// other differences too.
bool is_hidden(const UnexplainedCheck& check, const Entries& entries, const Graph& b) {
  const Unexplained& entry = entries[check.entry];
  return check.outcome == Outcome::same && (check.alone || is_table(entry, b)) && check.effect != Effect::expected && is_constant(entry) &&
         (entry.values > 0 || entry.largest > 0) && (entry.largest > thresholds::kRoundedConstantDifference || is_never_rounded(entry, b));
}

/// Whether the two nodes of an entry's name read constants of other numbers, whatever these are called. Else an entry about an operand
/// compares this node of B with another one of A, which tells nothing about a constant. Constants of other types are integers counted from
/// another zero.
bool read_other_constants(Evidence& evidence, const std::string& name) {
  const Pair& pair = evidence.pair();
  const Node *const a = evidence.named(pair.a).first(name), *const b = evidence.named(pair.b).first(name);
  if (a == nullptr || b == nullptr || a->op_type() != b->op_type()) return false;
  Constants of_a, of_b;
  for (std::size_t i = 0; i < std::min(a->inputs().size(), b->inputs().size()); ++i) {
    if (a->input(i) == nullptr || b->input(i) == nullptr) continue;
    const auto found_a = of_a.find(*a->input(i)), found_b = of_b.find(*b->input(i));
    const auto *const constant_a = std::get_if<Constant>(&found_a), *const constant_b = std::get_if<Constant>(&found_b);
    if (constant_a == nullptr || constant_b == nullptr || constant_a->type != constant_b->type) continue;
    if (!bit_equal(Datum(constant_a->load()), Datum(constant_b->load()))) return true;
  }
  return false;
}

std::string unreached_at_node(const UnexplainedCheck& check, const Entries& entries) {
  return prefix_of(check.node, check.op_type, entries[check.entry]) + unreached(entries[check.entry]);
}

/// Whether a constant differs by more than rounding to b's narrow type, and its nodes stay within their floors. Every node differs by
/// rounding there, so that an effect says nothing about the constant. Weights and biases may hold folded factors, which the proof does not
/// recognize where types change.
bool exceeds_rounding(const UnexplainedCheck& check, const Entries& entries, DataType grain) {
  const Unexplained& entry = entries[check.entry];
  return check.outcome == Outcome::same && check.effect != Effect::expected && entry.kind == Unexplained::Kind::tensor &&
         entry.values > 0 && entry.beyond_half > thresholds::kGainInRoundings * unit_roundoff(grain);
}

/// Whether a constant differs by more than rounding to the narrow type of either model, and its nodes vouch for it only together with other
/// products, whose rounding may hide it; or no node shows it, as it is too far upstream of every value that both models have.
bool is_hidden_by_others(const Unexplained& entry, const UnexplainedCheck* check, DataType narrow) {
  const bool is_off = is_constant(entry) && entry.values > 0 && entry.beyond_half > thresholds::kGainInRoundings * unit_roundoff(narrow);
  return is_off && (check == nullptr || (check->outcome == Outcome::same && check->together && check->effect != Effect::expected));
}

/// Whether an operator (added, removed or changed) has nodes that compute the same bits over the samples.
bool is_unreached(const UnexplainedCheck& check, const Entries& entries) {
  const Unexplained& entry = entries[check.entry];
  return check.outcome == Outcome::same && check.effect == Effect::none && !(check.alone && is_constant(entry)) &&
         entry.largest <= thresholds::kRoundedConstantDifference;
}

/// Advice for an effect that no sizes of the samples show.
constexpr const char* kOtherSizes = " (--dim and --shape give other sizes)";

std::string entry_of(const Change& change, const Entries& entries) {
  return change.entries.empty() ? "output " + quote(change.b->name()) + " is made in another way" : entries[change.entries.front()].text;
}

std::string describe(const Trial& trial, const Entries& entries) {
  const Piece& piece = trial.piece;
  const bool is_choice = piece.node->is("Where");
  const std::string verb = is_choice ? " never chooses where " : piece.is_truth() ? " is never " : " gets no ";
  return entry_of(*trial.change, entries) + ", and no sample reaches that: node " + piece.node->label() + " of " +
         (trial.is_of_a ? "A" : "B") + verb + (is_choice ? "its condition is " : "") + piece.text() +
         (trial.by_sizes ? kOtherSizes : kMoreSamples);
}

std::string describe(const CastsBeyond::Found& found, const Entries& entries) {
  return entry_of(*found.change, entries) + ", and node " + found.cast->label() + " of " + (found.is_of_a ? "A" : "B") +
         " gets numbers beyond " + found.type + ", which ONNX leaves to the implementation";
}

}  // namespace

VerifyFindings find_differing_nodes(Evidence& evidence) {
  VerifyFindings out;
  for (const LayerResult& layer : evidence.nodes().guilty) {
    out.push_back(
        {.severity = Severity::difference,
         .text = label_of(layer.node, layer.op_type) + ": fed A's values, it gives a different result (" +
                 (layer.bound > 0 && layer.error > layer.bound ? scientific(layer.error) + ", floor " + scientific(layer.floor.max)
                                                               : layer.reason) +
                 "), which the outputs hide (--outputs-only judges them alone)",
         .node = layer.node});
  }
  return out;
}

/// Judges constants that differ by more than rounding and whose nodes stay within their floors, by values slightly off the samples', so
/// that no operand is always zero or small: a difference if those show the constant, a doubt if neither they nor the samples do.
VerifyFindings find_hidden_constants(Evidence& evidence) {
  const Graph& b = evidence.pair().b.model->graph();
  const Entries& entries = evidence.unexplained();
  std::vector<const UnexplainedCheck*> hidden;
  for (const UnexplainedCheck& check : evidence.nodes().checks) {
    const Unexplained& entry = entries[check.entry];
    if (!is_hidden(check, entries, b)) continue;
    if (entry.kind != Unexplained::Kind::operand || read_other_constants(evidence, entry.name)) hidden.push_back(&check);
  }
  VerifyFindings out;
  if (hidden.empty()) return out;
  const auto is_hidden_entry = [&](std::size_t entry) {
    return std::ranges::find(hidden, entry, &UnexplainedCheck::entry) != hidden.end();
  };
  std::vector<std::size_t> shown;
  for (const LayerResult& layer : evidence.fed(Feeding::shaken)) {
    if (!convicts(layer) || std::ranges::none_of(layer.proof.unexplained, is_hidden_entry)) continue;
    shown.insert(shown.end(), layer.proof.unexplained.begin(), layer.proof.unexplained.end());
    out.push_back({.severity = Severity::difference,
                   .text = prefix_of(layer.node, layer.op_type, entries[layer.proof.unexplained.front()]) +
                           entries[layer.proof.unexplained.front()].text + "; no sample shows it, values beside theirs do",
                   .node = layer.node});
  }
  for (const UnexplainedCheck* const check : hidden) {
    const bool is_seen = check->effect != Effect::none && !is_table(entries[check->entry], b);
    if (is_seen || std::ranges::find(shown, check->entry) != shown.end()) continue;
    if (is_nested_mask(entries[check->entry].name, *evidence.pair().a.model, *evidence.pair().b.model)) continue;
    out.push_back({.text = unreached_at_node(*check, entries), .node = check->node});
  }
  return out;
}

/// If b computes in a narrow type, a constant that differs by more than rounding to it has to show at its nodes: the rounding of results
/// hides it.
VerifyFindings find_constants_hidden_by_rounding(Evidence& evidence) {
  const DataType grain = evidence.pair().grain;
  const Entries& entries = evidence.unexplained();
  VerifyFindings out;
  if (grain == DataType::undefined) return out;
  for (const UnexplainedCheck& check : evidence.nodes().checks) {
    if (!exceeds_rounding(check, entries, grain)) continue;
    out.push_back({.text = prefix_of(check.node, check.op_type, entries[check.entry]) + entries[check.entry].text +
                           ": more than rounding to " + std::string(name_of(grain)) + ", less than the rounding of the node's result",
                   .node = check.node});
  }
  return out;
}

/// Constants that differ by more than rounding to the narrow type of either model, and show only in values computed from several products,
/// or in none.
VerifyFindings find_diluted_constants(Evidence& evidence) {
  const DataType narrow = evidence.pair().narrow;
  const Entries& entries = evidence.unexplained();
  VerifyFindings out;
  if (narrow == DataType::undefined) return out;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!is_hidden_by_others(entries[i], evidence.check_of(i), narrow)) continue;
    out.push_back({.text = entries[i].text + ": more than rounding to " + std::string(name_of(narrow)) +
                           ", and no node shows it that does not hold the rounding of other products too",
                   .node = entries[i].name});
  }
  return out;
}

/// Judges operators that differ, but whose nodes compute the same bits over the samples, by values that the samples do not have. Inputs
/// that lead to such values may or may not exist.
VerifyFindings find_unreached_values(Evidence& evidence) {
  const Entries& entries = evidence.unexplained();
  VerifyFindings out;
  std::vector<std::size_t> wanted;
  for (const UnexplainedCheck& check : evidence.nodes().checks) {
    if (is_unreached(check, entries)) wanted.push_back(check.entry);
  }
  for (const Feeding feeding : {Feeding::near, Feeding::far}) {
    if (wanted.empty() || (feeding == Feeding::far && evidence.pair().narrow != DataType::undefined)) break;
    std::vector<UnexplainedCheck> checks;
    check_unexplained(checks, evidence.fed(feeding), *evidence.proof());
    for (const UnexplainedCheck& check : checks) {
      if (check.outcome != Outcome::different || std::erase(wanted, check.entry) == 0) continue;
      out.push_back({.text = unreached_at_node(check, entries), .node = check.node});
    }
  }
  return out;
}

VerifyFindings find_casts_beyond_type(Evidence& evidence) {
  const CastsBeyond::Found found = evidence.tried().casts().find();
  if (found.cast == nullptr) return {};
  return {{.text = describe(found, evidence.unexplained()), .node = reported_name(*found.cast)}};
}

/// Nodes that only one model has, or has in this form, have a case in their definition for numbers that no run had there, though its
/// operands may be such.
VerifyFindings find_untried_pieces(Evidence& evidence) {
  const Entries& entries = evidence.unexplained();
  const auto doubt = [&](const Trial& trial) -> VerifyFindings {
    return {{.text = describe(trial, entries), .node = reported_name(*trial.piece.node)}};
  };
  for (const auto& [open, layers] : evidence.tryings()) {
    for (const LayerResult& layer : *layers) {
      const auto found = open.find(evidence.changes().of_b(layer.tensor));
      if (found != open.end() && convicts(layer)) return doubt(found->second);
    }
  }
  const Trial* const trial = evidence.tried().find_open();
  return trial == nullptr ? VerifyFindings() : doubt(*trial);
}

// Differences in front of nodes that choose.
namespace {

std::string describe(const OtherChoice& found, const Evidence& evidence) {
  const std::string by = "node " + found.b->label() + " chooses by numbers that are " + scientific(found.error) +
                         " of their range away, where " + scientific(found.bound) + " may be rounding, and no sample shows it" +
                         kMoreSamples;
  return found.entries.empty() ? by : evidence.unexplained()[found.entries.front()].text + ", " + by;
}

}  // namespace

/// Choices that fall otherwise for other numbers than the samples'. Finds nothing where B computes in a narrower type than A, or where both
/// are quantized: rounding alone moves numbers past more than their floors there.
VerifyFindings find_hidden_choices(Evidence& evidence) {
  const Pair& pair = evidence.pair();
  VerifyFindings out;
  if (pair.grain != DataType::undefined || pair.quantized) return out;
  for (const OtherChoice& found : compare_choices(pair, evidence.reference(), evidence.paired())) {
    out.push_back({.text = describe(found, evidence), .node = reported_name(*found.b)});
  }
  return out;
}

}  // namespace relayout
