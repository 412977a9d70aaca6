// Words remarks on a comparison that leave its verdict alone.
#include "verify/remarks.h"

#include "base/numbers.h"
#include "base/text.h"
#include "ops/bounds.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/finding.h"
#include "verify/inputs/port.h"
#include "verify/pair.h"
#include "verify/rules.h"
#include "verify/run/session.h"

namespace relayout {

void note_lost_defaults(const Model& a, const Model& b, VerifyResult& result) {
  if (a.ir_version() < 4) return;
  std::vector<std::string> lost;
  for (const std::string& name : defaulted_inputs(a.graph())) {
    const auto has_it = [&](const Value* input) { return input->name() == name; };
    if (std::ranges::none_of(b.graph().inputs(), has_it)) lost.push_back(name);
  }
  if (lost.empty()) return;
  result.remarks.push_back(counted(std::ssize(lost), "input") + " with a default cannot be given to B: " + some_of(lost, 3, quote));
}

void note_random_nodes(const Pair& pair, VerifyResult& result) {
  const auto random_a = random_nodes(pair.a.model->graph()), random_b = random_nodes(pair.b.model->graph());
  const auto note = [&](const std::vector<std::string>& labels, const std::string& where, const std::string& then) {
    if (labels.empty()) return;
    result.remarks.push_back(counted(std::ssize(labels), "random node") + " in " + where + " (" + some_of(labels, 1, std::identity()) +
                             "): " + then);
  };
  constexpr const char* kPinned = "seeds are pinned by node name";
  if (random_a == random_b) return note(random_a, "both files", kPinned);
  note(random_a, pair.a.name, pair.a.name + " is not deterministic; " + kPinned);
  note(random_b, pair.b.name, pair.b.name + " is not deterministic; " + kPinned);
}

void note_held_inputs(const Pair& pair, const std::map<std::string, Bounds>& ranges, VerifyResult& result) {
  const auto bound = [](double value) { return exact_number(static_cast<double>(static_cast<float>(value))); };
  for (const auto& [name, range] : ranges) {
    if (pair.options->inputs.contains(name)) continue;
    result.remarks.push_back("input " + quote(name) + ": samples are between " + bound(range.lowest) + " and " + bound(range.highest) +
                             ", the range of B's quantizer (--input gives your own)");
  }
}

VerifyFindings find_nan_in_both(const VerifyResult& measured) {
  VerifyFindings out;
  for (const OutputComparison& output : measured.outputs) {
    int64_t both = 0, elements = 0;
    for (const SampleMetrics& metrics : output.samples) both += metrics.non_finite.nan_both, elements += metrics.sums.elements;
    if (both == 0) continue;
    out.push_back({.severity = Severity::remark,
                   .text = "output " + quote(output.name) + ": " + format_count(both) + " of " + counted(elements, "element") +
                           (both == 1 ? " is" : " are") + " NaN in both"});
  }
  return out;
}

bool has_unusual_ratio(const OutputComparison& output) noexcept {
  return output.ratio > rules::kUnusualRatio;
}

std::vector<std::string> remarks_on(const OutputComparison& output) {
  if (output.outcome != Outcome::same) return {};
  std::vector<std::string> out;
  const std::string bound = std::to_string(kFloorFactor) + " × floor";
  if (output.ratio > kFloorFactor && !output.least_bound) {
    out.push_back("above " + bound + " by B's own rounding");
  } else if (has_unusual_ratio(output) && output.least_bound) {
    out.push_back("within " + scientific(output.bound) + ", the least bound of " + std::string(name_of(output.type)) + ": " + bound +
                  " is less");
  } else if (has_unusual_ratio(output)) {
    out.push_back("within the bound of " + bound + ", but above what correct evaluations usually differ by");
  }
  if (output.floor > rules::kHighFloor) {
    out.push_back("the floor is " + fixed(100 * output.floor, 0) + " % of the range: correct evaluations may differ by this much here");
  }
  return out;
}

}  // namespace relayout
