// Finds differences in front of nodes that choose, which no choice over the samples shows.
#include <string>

#include "base/numbers.h"
#include "model/node.h"
#include "relayout/graph.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "verify/compare/choices.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/pair.h"

namespace relayout {
namespace {

std::string describe(const OtherChoice& found, const Evidence& evidence) {
  const std::string by = "node " + found.b->label() + " chooses by numbers that are " + scientific(found.error) +
                         " of their range away, where " + scientific(found.bound) + " may be rounding, and no sample shows it" +
                         kMoreSamples;
  return found.entries.empty() ? by : evidence.unexplained()[found.entries.front()].text + ", " + by;
}

}  // namespace

/// Where B computes in a narrower type than A, rounding alone moves numbers past more than their floors.
VerifyFindings find_hidden_choices(Evidence& evidence) {
  const Pair& pair = evidence.pair();
  VerifyFindings out;
  if (pair.grain != DataType::undefined || pair.quantized) return out;
  for (const OtherChoice& found : compare_choices(pair, evidence.reference(), *evidence.proof())) {
    out.push_back({.text = describe(found, evidence), .node = reported_name(*found.b)});
  }
  return out;
}

}  // namespace relayout
