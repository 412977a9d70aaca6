// Finds Casts in one model alone that get real numbers beyond their integer type, a result that ONNX leaves to the implementation.
#include "verify/nodes/casts_beyond.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

#include "ops/bounds.h"
#include "ops/element_types.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/data_structure.h"
#include "verify/elements.h"
#include "verify/nodes/changes.h"

namespace relayout {

void CastsBeyond::add(const Change& change, const ElementTypes& types_a, const ElementTypes& types_b) {
  for (const Node* const node : change.of_a) add(change, *node, true, types_a);
  for (const Node* const node : change.of_b) add(change, *node, false, types_b);
  const Node &head_a = *change.a->producer(), &head_b = *change.b->producer();
  if (std::ranges::find(change.of_a, &head_a) == change.of_a.end()) add(change, head_a, true, types_a);
  if (std::ranges::find(change.of_b, &head_b) == change.of_b.end()) add(change, head_b, false, types_b);
}

void CastsBeyond::add(const Change& change, const Node& node, bool is_of_a, const ElementTypes& types) {
  if (!has_trait(node, Trait::casts) || node.input(0) == nullptr || node.output(0) == nullptr) return;
  const DataType from = types.of(*node.input(0)), to = types.of(*node.output(0));
  if (!kRealTypes.has(from) || !kIntegerTypes.has(to)) return;
  by_operand_.emplace(node.input(0), casts_.size());
  casts_.push_back({&node, &change, is_of_a, to, false});
}

void CastsBeyond::watch(const Value& value, const Datum& datum) {
  const auto [first, last] = by_operand_.equal_range(&value);
  for (auto at = first; at != last; ++at) {
    Cast& cast = casts_[at->second];
    const Bounds held = bounds_of_type(cast.to);
    // A Cast truncates numbers between two integers towards zero. NaN is beyond.
    const auto is_held = [&](double number) { return number > held.lowest - 1 && number < held.highest + 1; };
    for (const Tensor& tensor : leaves(datum)) {
      if (!tensor || !kRealTypes.has(tensor.type())) continue;
      for_each_chunk(contiguous(tensor), [&](int64_t, std::span<const double> numbers) {
        cast.is_beyond = cast.is_beyond || !std::ranges::all_of(numbers, is_held);
      });
    }
  }
}

CastsBeyond::Found CastsBeyond::find() const {
  for (const Cast& cast : casts_) {
    const auto is_like = [&](const Cast& other) {
      return other.change == cast.change && other.is_of_a != cast.is_of_a && other.to == cast.to && other.is_beyond;
    };
    if (!cast.is_beyond || std::ranges::any_of(casts_, is_like)) continue;
    return {cast.node, cast.change, cast.is_of_a, std::string(name_of(cast.to))};
  }
  return {};
}

}  // namespace relayout
