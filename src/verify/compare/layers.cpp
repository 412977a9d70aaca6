// Pairs the values of two models that are compared node by node, and selects the part that has to run.
#include "verify/compare/layers.h"

#include "model/node.h"
#include "model/walk.h"
#include "ops/element_types.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "verify/compare/datum_pair.h"
#include "verify/compare/pairing.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"

namespace relayout {

// The nodes that compute with each unexplained difference of the proof.
namespace {

/// The node of the main graph that a node belongs to: the node itself, or the one that holds its graph; nullptr for a node of a function.
const Node* in_main_graph(const Node& node) {
  const Node& holder = outermost(node);
  return holder.graph().is_function() ? nullptr : &holder;
}

/// Nodes that compute with a constant, and nodes in between that read constants alone (a Transpose, a Cast, a DequantizeLinear).
std::vector<const Node*> readers_of(const Value& constant) {
  std::vector<const Node*> readers;
  std::vector<const Value*> pending{&constant};
  std::unordered_set<const Value*> constants{&constant};
  std::unordered_set<const Node*> seen;
  const auto is_known = [&](const Value* value) { return value == nullptr || constants.contains(value) || value->is_stored_constant(); };
  while (!pending.empty()) {
    const Value* const at = pending.back();
    pending.pop_back();
    for (const Use& use : at->uses()) {
      const bool constant_node = use.node->subgraphs().empty() && std::ranges::all_of(use.node->inputs(), is_known);
      if (!constant_node) {
        readers.push_back(use.node);
      } else if (seen.insert(use.node).second) {
        readers.push_back(use.node);  // its result may be paired
        for (const Value* const output : use.node->outputs()) {
          if (output != nullptr && constants.insert(output).second) pending.push_back(output);
        }
      }
    }
  }
  return readers;
}

}  // namespace

Suspects::Suspects(const ProofResult& proof, const Graph& a, const Graph& b) {
  const Names of_a = names_of(a), of_b = names_of(b);
  OpSignatures signatures;
  for (const Graph* const graph : {&a, &b}) {
    const ElementTypes types(*graph, signatures);
    for (const Node& node : graph->nodes()) {
      if (widens(node, types) && node.input(0)->producer() != nullptr) narrow_makers_.emplace(&node, node.input(0)->producer());
    }
  }
  for (std::size_t i = 0; i < proof.unexplained.size(); ++i) {
    const Unexplained& entry = proof.unexplained[i];
    if (entry.kind != Unexplained::Kind::interface) add(i, entry, entry.in_first ? of_a : of_b);
  }
  for (const std::string& output : proof.unreached) {
    const Value* const value = b.find(output);
    for (const Node* node = value == nullptr ? nullptr : value->producer(); node != nullptr; node = narrow_maker(*node)) {
      unreached_.insert(node);
    }
  }
}

Suspects::Names Suspects::names_of(const Graph& graph) {
  Names names;
  const auto add_initializers = [&](const Graph& entered) {
    for (const Initializer& initializer : entered.initializers()) names.values.emplace(initializer.value->name(), initializer.value);
  };
  const auto add_node = [&](const Node& node) {
    if (!node.name().empty()) names.nodes.emplace(node.name(), &node);
    for (const Value* const output : node.outputs()) {
      if (output != nullptr) names.values.emplace(output->name(), output);
    }
  };
  for_each_node(graph.model(), add_node, add_initializers);
  return names;
}

void Suspects::add(std::size_t entry, const Unexplained& unexplained, const Names& names) {
  bool placed = false;
  const auto [first_node, last_node] = names.nodes.equal_range(unexplained.name);
  for (auto at = first_node; at != last_node; ++at) {
    add_reader(entry, *at->second);
    placed = true;
  }
  const auto [first_value, last_value] = names.values.equal_range(unexplained.name);
  for (auto at = first_value; at != last_value; ++at) {
    const Value& value = *at->second;
    placed = true;
    if (value.producer() != nullptr) add_reader(entry, *value.producer());
    if (!value.is_stored_constant()) continue;
    for (const Node* const reader : readers_of(value)) add_reader(entry, *reader);
  }
  if (!placed || unexplained.kind == Unexplained::Kind::graph) everywhere_.push_back(entry);
}

void Suspects::add_reader(std::size_t entry, const Node& node) {
  const Node* const main = in_main_graph(node);
  if (main == nullptr) {
    // Of a function: any node of the main graph may call it.
    if (everywhere_.empty() || everywhere_.back() != entry) everywhere_.push_back(entry);
    return;
  }
  for (const Node* at = main; at != nullptr; at = narrow_maker(*at)) {
    Entries& entries = by_node_[at];
    if (entries.empty() || entries.back() != entry) entries.push_back(entry);
  }
}

const Node* Suspects::narrow_maker(const Node& node) const {
  const auto found = narrow_makers_.find(&node);
  return found == narrow_makers_.end() ? nullptr : found->second;
}

Suspects::Entries Suspects::of(const std::vector<const Node*>& nodes) const {
  Entries out = everywhere_;
  for (const Node* const node : nodes) {
    if (const auto found = by_node_.find(node); found != by_node_.end()) out.insert(out.end(), found->second.begin(), found->second.end());
  }
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool Suspects::are_unreached(const std::vector<const Node*>& nodes) const {
  return std::ranges::any_of(nodes, [&](const Node* node) { return unreached_.contains(node); });
}

const Node* Suspects::last_of(const std::vector<const Node*>& nodes, bool (*is_wanted)(const Node&)) const {
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (by_node_.contains(nodes[i]) && is_wanted(*nodes[i])) return nodes[i];
  }
  return nullptr;
}

// Values of two models on one sample, compared.
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
      for_each_read(*node, [&](const Value& value) {
        if (by_value.contains(&value)) out.insert(&value);
      });
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
    const auto is_outside = [&](const Use& use) { return std::ranges::find(region, &outermost(*use.node)) == region.end(); };
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
    for_each_read(*part, [&](const Value& read) {
      const auto found = by_b_.find(&read);
      if (found != by_b_.end()) out.push_back(found->second);
    });
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
  const auto is_passed = [&](const Value& value) {
    const auto found = by_a_.find(&value);
    if (found == by_a_.end() || &layers_[found->second] == &layer || std::ranges::find(fed, found->second) != fed.end()) return false;
    return std::ranges::any_of(region_in_b(layers_[found->second]), is_part);
  };
  return std::ranges::any_of(region_in_a(layer), [&](const Node* node) { return any_read(*node, is_passed); });
}

std::vector<const Node*> region_of(const Value& value, const std::function<bool(const Value&)>& ends) {
  std::vector<const Node*> nodes;
  std::unordered_set<const Node*> seen;
  std::vector<const Value*> pending{&value};
  while (!pending.empty() && nodes.size() < kLargestRegion) {
    const Value* const at = pending.back();
    pending.pop_back();
    const Node* const producer = at->producer();
    if (producer == nullptr || producer->is("Constant") || !seen.insert(producer).second) continue;
    nodes.push_back(producer);
    for_each_read(*producer, [&](const Value& read) {
      if (!ends(read)) pending.push_back(&read);
    });
  }
  std::ranges::reverse(nodes);
  return nodes;
}

std::vector<const Node*> Layers::region(const Value& value, const ByValue& by_value) const {
  return region_of(value, [&](const Value& other) {
    const auto found = by_value.find(&other);
    if (found == by_value.end()) return false;
    const Layer& layer = layers_[found->second];
    return !layer.before_jump && !layer.is_judged_by_readers() && !layer.renamed && !layer.unseen;
  });
}

Datum LayerValues::in_form_of(const Datum& made, const Layer& layer, const Datum& value) {
  if (layer.channels_last) return channels_last(value);
  return layer.flat ? in_dims_of(value, made) : value;
}

Datum LayerValues::sampled_or(const Datum& reference, const Layer& layer, bool of_b) const {
  if (!layer.sampled) return reference;
  const Datum stored = spill_.read(*layer.sampled);
  const Datum sampled = like(of_b ? in_form_of(reference, layer, stored) : stored, reference);
  return structural_difference(reference, sampled).empty() ? sampled : reference;
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
    out.graphs_.insert({&layer.a->graph(), &layer.b->graph()});
    if (!out.add(layers, layer)) return std::nullopt;
  }
  if (2 * out.requested_.size() > layers.all().size()) return std::nullopt;
  std::vector<const Value*> values;
  for (const Layer* const layer : out.used_) values.push_back(layer->a);
  out.upstream_ = needed_nodes(std::move(values));
  return out;
}

bool Excerpt::is_part(const Node& node) const {
  const Node& holder = outermost(node);
  return parts_.contains(&holder) || !graphs_.contains(&holder.graph());
}

bool Excerpt::add(const Layers& layers, const Layer& layer) {
  used_.insert(&layer);
  for (const bool in_b : {false, true}) {
    const std::vector<const Node*> nodes = in_b ? layers.region_in_b(layer) : layers.region_in_a(layer);
    if (nodes.size() >= kLargestRegion) return false;
    for (const Node* const node : nodes) {
      parts_.insert(node);
      for_each_read(*node, [&](const Value& read) {
        const Layer* const fed = in_b ? layers.of_b(read) : layers.of_a(read);
        if (fed != nullptr && !fed->unseen) used_.insert(fed);
      });
    }
  }
  return true;
}

}  // namespace relayout
