// Tells when two values differ only in the large negative numbers that mask scores of attention.
#include "verify/compare/masks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "base/positions.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "verify/rules.h"
#include "verify/run/data_structure.h"
#include "verify/run/elements.h"

namespace relayout {
namespace {

/// Whether a value has uses, is no output, and `is_one` holds for all its uses.
template <class IsOne>
bool is_read_by(const Value* value, const IsOne& is_one) {
  return value != nullptr && !value->is_output() && !value->uses().empty() && std::ranges::all_of(value->uses(), is_one);
}

/// Whether a node computes x - ReduceMax (x) for Exp alone, as ONNX expands Softmax: elements far below the largest count as 0.
bool is_distance_to_largest(const Node& sub, const Value& value) {
  const auto is_exponential = [](const Use& use) { return use.node->is("Exp"); };
  return less_its_largest(sub) == &value && is_read_by(sub.output(0), is_exponential);
}

/// Whether a use of a value belongs to an expanded Softmax.
bool is_of_softmax(const Use& use, const Value& value) {
  if (arithmetic_of(*use.node) == Arithmetic::subtract) return is_distance_to_largest(*use.node, value);
  const auto takes_distance = [&](const Use& reader) { return is_distance_to_largest(*reader.node, value); };
  return use.node->is("ReduceMax") && use.index == 0 && is_read_by(use.node->output(0), takes_distance);
}

/// Whether a mask is still one after a consumer has shifted, scaled or moved it.
bool carries_masks(const Use& use) {
  const Traits traits = traits_of(*use.node);
  switch (traits.arithmetic()) {
    case Arithmetic::add:
    case Arithmetic::subtract:
    case Arithmetic::multiply:
    case Arithmetic::maximum:
      return true;
    default:
      return traits.has(Trait::casts) || traits.moves_input(as_size(use.index)) || use.node->is("Where");
  }
}

}  // namespace

bool ends_in_softmax(const Value& value) {
  constexpr std::size_t kMost = 256;
  std::vector<const Value*> open{&value};
  std::set<const Value*> seen;
  bool found = false;
  while (!open.empty()) {
    const Value& at = *open.back();
    open.pop_back();
    if (!seen.insert(&at).second) continue;
    if (at.is_output() || seen.size() > kMost) return false;
    for (const Use& use : at.uses()) {
      const Node& reader = *use.node;
      const bool standard = reader.domain().empty() && &reader.graph() == &at.graph();
      if (standard && (reader.is("Softmax") || is_of_softmax(use, at))) {
        found = true;
        continue;
      }
      if (!standard || !carries_masks(use) || reader.output(0) == nullptr) return false;
      open.push_back(reader.output(0));
    }
  }
  return found;
}

bool differs_by_masks(const Datum& a, const Datum& b) {
  if (!structural_difference(a, b).empty()) return false;
  bool all = true, any = false;
  const std::vector<Tensor> left = leaves(a), right = leaves(b);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!left[i] || !kRealTypes.has(left[i].type())) return false;
    for_each_chunk(left[i], right[i], [&](int64_t, std::span<const double> x, std::span<const double> y) {
      for (std::size_t k = 0; k < x.size(); ++k) {
        const bool masked = x[k] <= rules::kMasked, masked_too = y[k] <= rules::kMasked;
        any = any || (masked && masked_too && x[k] != y[k]);
        all = all && masked == masked_too && !std::isnan(x[k]) && !std::isnan(y[k]);
      }
    });
  }
  return all && any;
}

}  // namespace relayout
