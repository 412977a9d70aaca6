#pragma once

#include <string_view>
#include <unordered_map>

#include "passes/pass.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::passes {

/// Nodes whose last bits decide about results by what they feed, not by their operator alone: 16 bits lose there what no later node brings
/// back. They are the operands of logarithms, up to the transform and the samples behind a power spectrum; differences of close numbers,
/// such as E[x²] − E[x]², with the products and means in them; squares that are summed; what a guard keeps off 0 where it vanishes in the
/// type.
class DecidingBits {
 public:
  DecidingBits(Graph& graph, PassContext& context, DataType target);

  /// Why a node stays in 32 bits; empty where nothing of this kind does.
  [[nodiscard]] std::string_view reason(const Node& node) const;

 private:
  std::unordered_map<const Node*, std::string_view> reasons_;
};

}  // namespace relayout::passes
