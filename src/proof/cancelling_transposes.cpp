// Finds two adjacent Transposes of one model that cancel, which the proof skips, and reads the permutation of a Transpose.

#include "proof/cancelling_transposes.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/positions.h"
#include "proof/side.h"
#include "relayout/graph.h"

namespace relayout::proof {

std::vector<int64_t> written_permutation(const Node& node, const Call* call) {
  if (!node.is("Transpose")) return {};
  const AttributeReader attributes(node, call);
  std::vector<int64_t> out = attributes.integers("perm");
  if (attributes.is_open()) out.clear();
  return out;
}

Ref upstream_of_transposes(const Side& side, Ref ref, std::vector<const Node*>& nodes) {
  const Node* const outer = ref.value->producer();
  if (outer == nullptr || !outer->is("Transpose")) return {};
  const Ref between = side.operand(ref, 0);
  const Node* const inner = between ? between.value->producer() : nullptr;
  if (inner == nullptr || !inner->is("Transpose")) return {};
  const auto first = written_permutation(*inner, between.call);
  const auto second = written_permutation(*outer, ref.call);
  if (first.empty() || first.size() != second.size()) return {};
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto from = as_size(second[i]);
    if (from >= first.size() || first[from] != static_cast<int64_t>(i)) return {};
  }
  nodes.push_back(outer);
  nodes.push_back(inner);
  return side.operand(between, 0);
}

}  // namespace relayout::proof
