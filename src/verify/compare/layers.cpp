// Pairs the values of two models that are compared node by node, and selects the part that has to run.
#include "verify/compare/layers.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/node.h"
#include "ops/element_types.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/types.h"
#include "verify/compare/datum_pair.h"
#include "verify/compare/pairing.h"
#include "verify/compare/suspects.h"
#include "verify/run/bounds.h"

namespace relayout {
namespace {

/// The coarsest type in which nodes read a value: its own, or that of a Cast that reads it.
DataType held_as(const Value& value, const ElementTypes& types) {
  DataType held = types.of(value);
  for (const Use& use : value.uses()) {
    const Value* const made = use.node->is("Cast") ? use.node->output(0) : nullptr;
    if (made != nullptr) held = coarser(held, types.of(*made));
  }
  return held;
}

}  // namespace

Layers::Layers(const Graph& a, const Graph& b) {
  const auto partners = pair_values(a, b);
  OpSignatures signatures;
  const ElementTypes types(b, signatures);
  for (const Node& node : b.nodes()) {
    for (const Value* const output : node.outputs()) {
      const auto partner = output == nullptr ? partners.end() : partners.find(output);
      if (partner == partners.end()) continue;
      by_b_.emplace(output, layers_.size());
      by_a_.emplace(partner->second.value, layers_.size());
      Layer& layer = layers_.emplace_back();
      layer.a = partner->second.value;
      layer.b = output;
      layer.held = held_as(*output, types);
      layer.by_structure = partner->second.by_structure;
      layer.channels_last = partner->second.channels_last;
      layer.before_jump = layer.apart = partner->second.before_jump;
    }
  }
  for (Layer& layer : layers_) layer.leaks = leaks(layer);
  for (const Layer& layer : layers_) mark_unshared(layer);
}

void Layers::mark_unshared(const Layer& layer) {
  std::unordered_set<const Value*> read_by_a, read_by_b;
  const auto read = [](const std::vector<const Node*>& region, const ByValue& by_value, std::unordered_set<const Value*>& out) {
    for (const Node* const node : region) {
      std::ranges::copy_if(node->inputs(), std::inserter(out, out.end()), [&](const Value* input) { return by_value.contains(input); });
    }
  };
  read(region_in_a(layer), by_a_, read_by_a);
  read(region_in_b(layer), by_b_, read_by_b);
  for (const Value* const value : read_by_a) {
    Layer& other = layers_[by_a_.at(value)];
    if (&other != &layer && !read_by_b.contains(other.b)) other.leaks = true;
  }
  std::unordered_set<const Node*> upstream;
  for (const Value* const value : read_by_b) {
    Layer& other = layers_[by_b_.at(value)];
    if (&other == &layer || read_by_a.contains(other.a)) continue;
    if (upstream.empty()) upstream = needed_nodes({layer.a});
    other.leaks = other.leaks || !upstream.contains(other.a->producer());
  }
}

bool Layers::leaks(const Layer& layer) const {
  const auto is_read_elsewhere = [](const std::vector<const Node*>& region, const Value& end) {
    const auto is_outside = [&](const Use& use) { return std::ranges::find(region, use.node) == region.end(); };
    const auto escapes = [&](const Value* made) {
      return made != nullptr && made != &end && std::ranges::any_of(made->uses(), is_outside);
    };
    return std::ranges::any_of(region, [&](const Node* node) { return std::ranges::any_of(node->outputs(), escapes); });
  };
  return is_read_elsewhere(region_in_a(layer), *layer.a) || is_read_elsewhere(region_in_b(layer), *layer.b);
}

const Layer* Layers::of_a(const Value& value) const {
  const auto found = by_a_.find(&value);
  return found == by_a_.end() ? nullptr : &layers_[found->second];
}

const Layer* Layers::of_b(const Value& value) const {
  const auto found = by_b_.find(&value);
  return found == by_b_.end() ? nullptr : &layers_[found->second];
}

Layer* Layers::of_a(const Value& value) {
  return const_cast<Layer*>(std::as_const(*this).of_a(value));  // NOLINT(cppcoreguidelines-pro-type-const-cast): layers_ is not const here
}

Layer* Layers::of_b(const Value& value) {
  return const_cast<Layer*>(std::as_const(*this).of_b(value));  // NOLINT(cppcoreguidelines-pro-type-const-cast): as above
}

Layer* Layers::captured(const Value& value_of_a) {
  Layer* const layer = of_a(value_of_a);
  return layer == nullptr || !layer->reference ? nullptr : layer;
}

Layer* Layers::fed(const Value& value_of_b) {
  Layer* const layer = of_b(value_of_b);
  return layer == nullptr || !layer->reference || layer->apart ? nullptr : layer;
}

std::vector<std::size_t> Layers::upstream(const Layer& layer) const {
  std::vector<std::size_t> out;
  for (const Node* const part : region_in_b(layer)) {
    for (const Value* const input : part->inputs()) {
      const auto found = input == nullptr ? by_b_.end() : by_b_.find(input);
      if (found != by_b_.end()) out.push_back(found->second);
    }
  }
  return out;
}

std::vector<const Node*> Layers::region_in_a(const Layer& layer) const {
  return region(*layer.a, by_a_);
}

std::vector<const Node*> Layers::region_in_b(const Layer& layer) const {
  return region(*layer.b, by_b_);
}

bool Layers::bypasses_fed(const Layer& layer) const {
  const std::vector<const Node*> made_of = region_in_b(layer);
  const std::vector<std::size_t> fed = upstream(layer);
  const auto is_part = [&](const Node* node) { return std::ranges::find(made_of, node) != made_of.end(); };
  const auto is_passed = [&](const Value* value) {
    const auto found = value == nullptr ? by_a_.end() : by_a_.find(value);
    if (found == by_a_.end() || &layers_[found->second] == &layer || std::ranges::find(fed, found->second) != fed.end()) return false;
    return std::ranges::any_of(region_in_b(layers_[found->second]), is_part);
  };
  return std::ranges::any_of(region_in_a(layer), [&](const Node* node) { return std::ranges::any_of(node->inputs(), is_passed); });
}

std::vector<const Node*> Layers::region(const Value& value, const ByValue& by_value) const {
  return region_of(value, [&](const Value& other) {
    const auto found = by_value.find(&other);
    if (found == by_value.end()) return false;
    const Layer& layer = layers_[found->second];
    return !layer.before_jump && !layer.is_judged_by_readers() && !layer.renamed && !layer.unseen;
  });
}

Datum LayerValues::reference_for(const Layer& layer, const Datum& made) const {
  const Datum as_made = reference(layer);
  if (layer.channels_last) return channels_last(as_made);
  return layer.flat ? in_dims_of(as_made, made) : as_made;
}

bool LayerValues::differs_in(const Layer& layer, bool (*relation)(const Datum&, const Datum&)) const {
  const Datum made = candidate(layer), right = reference_for(layer, made);
  const bool narrower = unit_roundoff(type_of(right)) > unit_roundoff(type_of(made));
  return narrower ? relation(like(right, made), made) : relation(right, like(made, right));
}

Suspects::Entries misread_entries(const Layers& layers, const Layer& layer, const Suspects& suspects) {
  constexpr std::size_t kMostNodes = 64;
  if (!suspects.everywhere().empty()) return {};
  std::vector<std::pair<const Node*, const Node*>> pending{{layer.a->producer(), layer.b->producer()}};
  std::vector<const Node*> found;
  for (std::size_t at = 0; at < pending.size() && at < kMostNodes; ++at) {
    const auto [of_a, of_b] = pending[at];
    if (of_a->op_type() != of_b->op_type()) continue;
    for (std::size_t i = 0; i < std::min(of_a->inputs().size(), of_b->inputs().size()); ++i) {
      const Value *const a = of_a->input(i), *const b = of_b->input(i);
      const Layer* const read = b == nullptr ? nullptr : layers.of_b(*b);
      if (a == nullptr || read == nullptr || read->a == a || a->producer() == nullptr) continue;
      if (!suspects.of({b->producer(), a->producer()}).empty()) {
        found.insert(found.end(), {b->producer(), a->producer()});
      } else {
        pending.emplace_back(a->producer(), b->producer());
      }
    }
  }
  return suspects.of(found);
}

// The part that judges the nodes that the proof leaves open.
namespace {

bool is_open(const Layers& layers, const Layer& layer, const Suspects& suspects) {
  std::vector<const Node*> nodes = layers.region_in_b(layer);
  if (suspects.are_unreached(nodes)) return true;
  const std::vector<const Node*> of_a = layers.region_in_a(layer);
  nodes.insert(nodes.end(), of_a.begin(), of_a.end());
  return !suspects.of(nodes).empty() || !misread_entries(layers, layer, suspects).empty();
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
