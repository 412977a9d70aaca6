// Selects the part of both models that has to run to judge the nodes that the proof leaves open; everything else gets A's values.
#include "verify/nodes/excerpt.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "model/node.h"
#include "relayout/graph.h"
#include "verify/nodes/layers.h"
#include "verify/nodes/pairing.h"
#include "verify/nodes/suspects.h"

namespace relayout {
namespace {

bool is_open(const Layers& layers, const Layer& layer, const Suspects& suspects) {
  std::vector<const Node*> nodes = layers.region_in_b(layer);
  if (suspects.are_unreached(nodes)) return true;
  const std::vector<const Node*> of_a = layers.region_in_a(layer);
  nodes.insert(nodes.end(), of_a.begin(), of_a.end());
  return !suspects.of(nodes).empty();
}

}  // namespace

std::optional<Excerpt> Excerpt::of(const Layers& layers, const Suspects& suspects) {
  if (!suspects.everywhere().empty()) return std::nullopt;
  Excerpt out;
  for (std::size_t i = 0; i < layers.all().size(); ++i) {
    const Layer& layer = layers.all()[i];
    if (layer.unseen || !is_open(layers, layer, suspects)) continue;
    out.requested_.push_back(i);
    if (!out.add(layers, layer)) return std::nullopt;
  }
  if (out.requested_.size() == layers.all().size()) return std::nullopt;
  std::vector<const Value*> values;
  for (const Layer* const layer : out.used_) values.push_back(layer->a);
  out.upstream_ = needed_nodes(std::move(values));
  return out;
}

bool Excerpt::add(const Layers& layers, const Layer& layer) {
  used_.insert(&layer);
  for (const bool in_b : {false, true}) {
    const std::vector<const Node*> nodes = in_b ? layers.region_in_b(layer) : layers.region_in_a(layer);
    if (nodes.size() >= kLargestRegion) return false;
    for (const Node* const node : nodes) {
      parts_.insert(node);
      for (const Value* const input : node->inputs()) {
        const Layer* const fed = input == nullptr ? nullptr : in_b ? layers.of_b(*input) : layers.of_a(*input);
        if (fed != nullptr && !fed->unseen) used_.insert(fed);
      }
    }
  }
  return true;
}

}  // namespace relayout
