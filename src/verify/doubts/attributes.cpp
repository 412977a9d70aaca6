// Finds changed comparisons, attributes and inputs whose effect the samples do not show.

#include <cmath>

#include "base/text.h"
#include "model/node.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/op_attributes.h"
#include "ops/operands.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/pair.h"
#include "verify/thresholds.h"

namespace relayout {
namespace {

/// Whether `holds` for two nodes of the name of an entry, one of each model. Graphs beside each other may have nodes of the same name.
template <class Holds>
bool any_namesakes(Evidence& evidence, const Unexplained& entry, const Holds& holds) {
  const auto of_a = evidence.named(evidence.pair().a).of(entry.name), of_b = evidence.named(evidence.pair().b).of(entry.name);
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    for (std::size_t k = 0; k < of_b.size(); ++k) {
      if ((i == k || of_a.size() != of_b.size()) && holds(*of_a[i], *of_b[k])) return true;
    }
  }
  return false;
}

/// Whether an entry changes a comparison, or an operator on conditions, of the same name.
bool is_other_comparison(Evidence& evidence, const Unexplained& entry) {
  return entry.kind == Unexplained::Kind::node_changed && any_namesakes(evidence, entry, [](const Node& a, const Node& b) {
           return a.op_type() != b.op_type() && has_trait(a, Trait::makes_boolean) && has_trait(b, Trait::makes_boolean);
         });
}

/// Attributes that matter only for some numbers: large states of recurrent operators, ignored labels of losses.
constexpr auto kRarelyActiveAttributes = std::to_array<std::string_view>({"clip", "ignore_index"});

/// Whether an attribute of two nodes differs.
bool attribute_differs(const Node& a, const Node& b, std::string_view name) {
  const onnx::AttributeProto *const of_a = a.attribute(name), *const of_b = b.attribute(name);
  if (of_a == nullptr || of_b == nullptr) return of_a != of_b;
  return of_a->i() != of_b->i() || of_a->f() != of_b->f() || of_a->s() != of_b->s();
}

/// Whether heights, widths or lengths of images among a model's inputs are free.
bool has_free_sides(const Graph& graph) {
  return std::ranges::any_of(graph.inputs(), [](const Value* input) {
    const auto declared = input->declared();
    if (!declared || declared->dims.size() < 3) return false;
    return std::any_of(declared->dims.begin() + 2, declared->dims.end(), [](int64_t dim) { return dim < 0; });
  });
}

/// Constant scales of a Resize, without those of 1; nullopt if they are not known.
std::optional<std::vector<double>> scales_of(const Node& resize, Constants& constants) {
  const Value* const operand = resize.input(2);
  const auto known = operand == nullptr ? std::nullopt : constants.value(*operand);
  if (!known || known->element_count() == 0 || !kRealTypes.has(known->type())) return std::nullopt;
  std::vector<double> out = reals_of(*known);
  std::erase(out, 1.0);
  return out;
}

/// Whether two Resizes place pixels differently only at some sides: pytorch_half_pixel where a side becomes 1, half_pixel_symmetric where a
/// scaled side is not a whole number.
bool may_part_by_sides(const Node& a, const Node& b) {
  constexpr std::string_view kName = "coordinate_transformation_mode";
  const auto has = [&](std::string_view mode) {
    return std::ranges::any_of(std::array{&a, &b}, [&](const Node* node) { return Attributes(*node).text(kName, "half_pixel") == mode; });
  };
  Constants constants;
  const auto scales = scales_of(a, constants);
  const auto any = [&](const auto& is_open) { return !scales || std::ranges::any_of(*scales, is_open); };
  if (has("pytorch_half_pixel")) return any([](double scale) { return scale < 2; });
  return has("half_pixel_symmetric") && any([](double scale) { return scale != std::trunc(scale); });
}

/// Whether two nodes with other attributes compute the same for some numbers or sizes only, so that samples that agree do not show that
/// others would.
bool part_unseen_by_attributes(const Graph& graph, const Node& a, const Node& b, const Unexplained& entry) {
  if (a.op_type() != b.op_type() || a.domain() != b.domain()) return false;
  // Attributes hold all that a classical model has learned: each number decides about few features.
  if (a.domain() == kMlDomain) return entry.values == 0 || entry.largest > thresholds::kRoundedConstantDifference;
  if (has_trait(a, Trait::normalizes) && attribute_differs(a, b, "epsilon")) return true;
  if (a.is("Resize") && attribute_differs(a, b, "coordinate_transformation_mode")) return has_free_sides(graph) && may_part_by_sides(a, b);
  return a.domain().empty() &&
         std::ranges::any_of(kRarelyActiveAttributes, [&](std::string_view name) { return attribute_differs(a, b, name); });
}

}  // namespace

VerifyFindings find_other_comparisons(Evidence& evidence) {
  const std::vector<Unexplained>& entries = evidence.unexplained();
  VerifyFindings out;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!is_other_comparison(evidence, entries[i]) || evidence.is_shown(i)) continue;
    out.push_back({.text = unreached(entries[i]), .node = entries[i].name});
  }
  return out;
}

/// Callers may replace the contents that an input has in the file; samples do not.
VerifyFindings find_replaceable_inputs(Evidence& evidence) {
  const Graph &a = evidence.pair().a.model->graph(), &b = evidence.pair().b.model->graph();
  const auto needed_in_a = needed_nodes(a), needed_in_b = needed_nodes(b);
  const auto is_read = [](const Value& input, const auto& needed) {
    return input.is_output() || std::ranges::any_of(input.uses(), [&](const Use& use) { return needed.contains(use.node); });
  };
  VerifyFindings out;
  for (const Value* const input : a.inputs()) {
    const Value* const other = input->is_overridable() ? b.find(input->name()) : nullptr;
    if (other == nullptr || !other->is_overridable()) continue;
    const bool is_read_by_a = is_read(*input, needed_in_a);
    if (is_read_by_a == is_read(*other, needed_in_b)) continue;
    out.push_back({.text = "input " + quote(input->name()) + " has contents in the files that callers may replace, and only " +
                           (is_read_by_a ? "A" : "B") + " reads it",
                   .node = input->name()});
  }
  return out;
}

/// Attributes that differ, and whose part in the result no sample shows, or that set the type in which a node computes inside, which no run
/// of this executor can show.
VerifyFindings find_unread_attributes(Evidence& evidence) {
  const Pair& pair = evidence.pair();
  const std::vector<Unexplained>& entries = evidence.unexplained();
  const bool allows_loss = pair.options->precision != DataType::undefined || pair.options->accept.is_given();
  VerifyFindings out;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].kind != Unexplained::Kind::attribute) continue;
    const bool is_open = any_namesakes(evidence, entries[i], [&](const Node& a, const Node& b) {
      const bool computes_otherwise = !allows_loss && inner_type(a) != inner_type(b);
      return computes_otherwise || (!evidence.is_acquitted(i) && part_unseen_by_attributes(pair.a.model->graph(), a, b, entries[i]));
    });
    if (is_open) out.push_back({.text = unreached(entries[i]), .node = entries[i].name});
  }
  return out;
}

}  // namespace relayout
