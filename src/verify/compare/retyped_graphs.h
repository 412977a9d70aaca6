#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/constants.h"
#include "ops/element_types.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "verify/compare/pairing.h"

namespace relayout {

/// Recognises a nested graph of B as one of A in other types of real numbers: the same operators, attributes and connections, with Casts
/// between real numbers anywhere, and constants that are A's rounded to B's types.
class RetypedGraphs {
 public:
  /// Main graphs; both must outlive this.
  RetypedGraphs(const Graph& a, const Graph& b);

  [[nodiscard]] bool are_alike(const Graph& a, const Graph& b);

 private:
  [[nodiscard]] bool have_same_results(const Graph& a, const Graph& b);
  [[nodiscard]] bool are_alike(const Value* a, const Value* b);
  [[nodiscard]] bool are_alike(const Node& a, const Node& b);
  [[nodiscard]] bool are_partners(const std::vector<const Value*>& a, const std::vector<const Value*>& b);
  [[nodiscard]] std::optional<bool> are_equal_constants(const Value& a, const Value& b);

  const Graph &main_a_, &main_b_;
  OpSignatures signatures_;
  ElementTypes types_a_, types_b_;
  Constants constants_a_, constants_b_;
  std::optional<std::unordered_map<const Value*, Partner>> partners_;  ///< of the main graphs, when first needed
  std::unordered_map<const Value*, const Value*> alike_;               ///< values of B with those of A that they were found to be
};

}  // namespace relayout
