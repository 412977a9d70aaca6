#pragma once

#include <cstddef>
#include <optional>
#include <unordered_set>
#include <vector>

#include "relayout/graph.h"
#include "verify/nodes/layers.h"
#include "verify/nodes/suspects.h"

namespace relayout {

/// The part of two models that decides the layers which a proof leaves open. All other values are fed; their nodes need not run.
class Excerpt {
 public:
  /// Nothing where every layer is open, an entry concerns every node, or a layer has kLargestRegion nodes or more.
  [[nodiscard]] static std::optional<Excerpt> of(const Layers& layers, const Suspects& suspects);

  /// The open layers, in order.
  [[nodiscard]] const std::vector<std::size_t>& requested() const noexcept { return requested_; }
  /// Whether a layer's value of a is compared or fed.
  [[nodiscard]] bool is_used(const Layer& layer) const { return used_.contains(&layer); }
  /// Whether such a value depends on a node of a.
  [[nodiscard]] bool leads_to_used(const Node& node) const { return upstream_.contains(&node); }
  /// Whether a node of either model takes part in computing an open layer from fed values.
  [[nodiscard]] bool is_part(const Node& node) const { return parts_.contains(&node); }

 private:
  /// Notes the nodes that compute a layer from fed values, and those values; false when there are too many.
  bool add(const Layers& layers, const Layer& layer);

  std::vector<std::size_t> requested_;
  std::unordered_set<const Layer*> used_;
  std::unordered_set<const Node*> upstream_, parts_;
};

}  // namespace relayout
