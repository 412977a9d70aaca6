// Reads off two graphs what the second one rounds, without running either.
#include "verify/nodes/known_roundings.h"

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/graph.h"
#include "verify/nodes/constant_grids.h"
#include "verify/nodes/layers.h"
#include "verify/nodes/node_loss.h"
#include "verify/quantizer.h"

namespace relayout {
namespace {

/// Whether a node gives its first operand other dims.
bool reshapes(const Node& node, const Value* operand) {
  return has_trait(node, Trait::keeps_order) && operand != nullptr && node.input(0) == operand && node.output(0) != nullptr;
}

/// The node that makes the elements of a node's first operand, which others may have moved.
const Node* maker_of_moved(const Node& node) {
  const Node* maker = node.input(0) == nullptr ? nullptr : node.input(0)->producer();
  while (maker != nullptr && traits_of(*maker).moves_input(0)) maker = maker->input(0) == nullptr ? nullptr : maker->input(0)->producer();
  return maker;
}

/// The QuantizeLinear behind which a value is dequantized, or that everything reads it through, in other dims perhaps.
const Node* quantizer_of(const Value& value) {
  if (const Node* const reader = quantizer_behind(value); reader != nullptr) return reader;
  const Node* const sole = value.uses().size() == 1 && !value.is_output() ? value.uses().front().node : nullptr;
  if (sole != nullptr && reshapes(*sole, &value)) {
    if (const Node* const reader = quantizer_behind(*sole->output(0)); reader != nullptr) return reader;
  }
  const Node* producer = value.producer();
  while (producer != nullptr && reshapes(*producer, producer->input(0))) producer = producer->input(0)->producer();
  const Node* const before = producer != nullptr && producer->is("DequantizeLinear") ? maker_of_moved(*producer) : nullptr;
  return before != nullptr && before->is("QuantizeLinear") ? before : nullptr;
}

/// Whether what a QuantizeLinear rounds was dequantized from its own steps.
bool is_on_grid(const Node& quantizer) {
  const Node* const maker = maker_of_moved(quantizer);
  return maker != nullptr && maker->is("DequantizeLinear") && maker->input(1) == quantizer.input(1) &&
         maker->input(2) == quantizer.input(2);
}

/// The node that computes a value, in front of the quantizer that rounds it.
const Node& maker_of(const Value& value) {
  const Node* const quantizer = quantizer_of(value);
  const bool behind = quantizer != nullptr && value.producer()->is("DequantizeLinear");
  const Node* const before = behind && quantizer->input(0) != nullptr ? quantizer->input(0)->producer() : nullptr;
  return before != nullptr ? *before : *value.producer();
}

/// Whether a quantizer rounds a value, perhaps before its elements are moved and rounded to the same steps once more.
bool is_rounded_by(const Value& value, const Node& quantizer) {
  const Node* node = quantizer_of(value);
  while (node != nullptr && node != &quantizer) {
    node = is_on_grid(*node) ? maker_of_moved(*maker_of_moved(*node)) : nullptr;
    if (node != nullptr && !node->is("QuantizeLinear")) return false;
  }
  return node != nullptr;
}

/// The grid to which a value of b is rounded; nothing where none is, or another for some readers.
std::optional<Quantizer> grid_of(const Value& value_of_b, Constants& constants) {
  const Node* const node = quantizer_of(value_of_b);
  auto grid = node == nullptr ? std::nullopt : Quantizer::of(*node, constants);
  // The axis of several scales is one of the dims that the quantizer sees.
  const auto is_dequantized = [&] {
    const Node& producer = *value_of_b.producer();
    return producer.is("DequantizeLinear") && producer.input(0)->producer() == node;
  };
  const bool suits = grid && (grid->is_one_for_all() || node->input(0) == &value_of_b || is_dequantized());
  return suits ? std::move(grid) : std::nullopt;
}

/// The value that is fed, or nullptr, of which another one holds all elements in their own or another order.
const Value* fed_source(Layers& layers, const Value* value) {
  while (value != nullptr && !is_fed(layers, *value)) {
    const Node* const producer = value->producer();
    const bool has_all = producer != nullptr && (has_trait(*producer, Trait::permutes) || has_trait(*producer, Trait::keeps_order));
    value = has_all ? producer->input(0) : nullptr;
  }
  return value;
}

/// The value that a node rounds by its own elements, perhaps in other dims.
const Value* rounded_by(Layers& layers, const Node& node) {
  return is_rounded_dynamically(node, 0) ? fed_source(layers, node.input(0)) : nullptr;
}

/// Whether a node only brings all elements of a value before one that rounds them so.
bool hands_on_to_rounding(const Node& node) {
  const Value* const made = node.output(0);
  const bool one = made != nullptr && made->uses().size() == 1 && !made->is_output();
  return one && (has_trait(node, Trait::permutes) || has_trait(node, Trait::keeps_order)) &&
         is_rounded_dynamically(*made->uses().front().node, as_size(made->uses().front().index));
}

/// Whether a node computes a function of its operand that no product, sum, mean or range is.
bool is_function(const Node& node) {
  const Traits& traits = traits_of(node);
  const auto has_any = [&](std::initializer_list<Trait> all) {
    return std::ranges::any_of(all, [&](Trait one) { return traits.has(one); });
  };
  return traits.has(Trait::same_dims) && traits.arithmetic() == Arithmetic::none && !traits.moves_input(0) &&
         !has_any({Trait::affine, Trait::clips, Trait::exact, Trait::casts, Trait::identity, Trait::keeps_order, Trait::permutes,
                   Trait::quantizes, Trait::quantized, Trait::normalizes, Trait::jumps, Trait::multiplies});
}

/// Whether a node adds, multiplies, moves or rounds numbers.
bool is_plain(const Node& node) {
  const Traits& traits = traits_of(node);
  const auto has_any = [&](std::initializer_list<Trait> all) {
    return std::ranges::any_of(all, [&](Trait one) { return traits.has(one); });
  };
  return node.is("Constant") || traits.moves_input(0) ||
         has_any({Trait::affine, Trait::multiplies, Trait::casts, Trait::identity, Trait::keeps_order, Trait::permutes, Trait::quantizes,
                  Trait::averages});
}

}  // namespace

bool is_fed(Layers& layers, const Value& value_of_b) {
  return value_of_b.is_input() || layers.of_b(value_of_b) != nullptr;
}

const Node& named_maker(Layers& layers, const Value& value_of_b) {
  const Node* node = &maker_of(value_of_b);
  while (traits_of(*node).moves_input(0) && node->input(0) != nullptr && !is_fed(layers, *node->input(0))) {
    const Node* before = node->input(0)->producer();
    const Node* const quantizer = before != nullptr && before->is("DequantizeLinear") ? maker_of_moved(*before) : nullptr;
    if (quantizer != nullptr && quantizer->is("QuantizeLinear") && !is_fed(layers, *quantizer->input(0)))
      before = quantizer->input(0)->producer();
    if (before == nullptr || has_trait(*before, Trait::quantizes)) break;
    node = before;
  }
  return *node;
}

KnownRoundings::KnownRoundings(const Graph& a, const Graph& b, Layers& layers) : layers_(layers), losses_(layers.all().size()) {
  for (const Value* const input : b.inputs()) {
    auto grid = grid_of(*input, constants_b_);
    if (grid && a.find(input->name()) != nullptr) inputs_.emplace(input->name(), *std::move(grid));
  }
  find_dynamic(b);
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    losses_[i].grid = grid_of(*layers_.all()[i].b, constants_b_);
    constants_.add(layers_, layers_.all()[i]);
  }
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    const Layer& layer = layers_.all()[i];
    const auto knows = [&](const Node* node) { return is_known(*node, layer); };
    losses_[i].expected_is_known =
        !constants_.is_restructured(layer) && std::ranges::all_of(layers_.region_in_b(layer), knows) && !layers_.goes_past_fed(layer);
    losses_[i].missing = missing_function(layer);
  }
}

const Node* KnownRoundings::missing_function(const Layer& layer) {
  const std::vector<const Node*> nodes = layers_.region_in_a(layer);
  const auto varies = [&](const Node* node) { return is_function(*node) && !constants_a_.is_constant(*node->output(0)); };
  const auto function = std::ranges::find_if(nodes, varies);
  if (function == nodes.end() || layers_.goes_past_fed(layer)) return nullptr;
  const bool is_spelled = !std::ranges::all_of(layers_.region_in_b(layer), [](const Node* node) { return is_plain(*node); });
  return is_spelled ? nullptr : *function;
}

void KnownRoundings::find_dynamic(const Graph& b) {
  for (const Node& node : b.nodes()) {
    if (const Value* const value = rounded_by(layers_, node)) dynamic_.insert(value);
  }
  for (const Value* const value : dynamic_) {
    if (value->is_input()) dynamic_inputs_.insert(value->name());
    if (const Layer* const layer = layers_.of_b(*value)) loss_of(*layer).is_rounded_by_some = true;
  }
  for (const Layer& layer : layers_.all()) {
    loss_of(layer).takes_rounded =
        std::ranges::any_of(layers_.region_in_b(layer), [&](const Node* node) { return rounded_by(layers_, *node) != nullptr; });
  }
}

bool KnownRoundings::is_known(const Node& node, const Layer& layer) {
  const auto has_grid = [&](const Value& read) {
    const Value* const value = fed_source(layers_, &read);
    const Layer* const fed = value == nullptr ? nullptr : layers_.of_b(*value);
    return fed != nullptr ? loss_of(*fed).grid.has_value() : value != nullptr && value->is_input() && inputs_.contains(value->name());
  };
  // Rounded for some readers and read as it is by others of the same layer: no run has both.
  const auto is_read_as_is = [&](const Value* value) {
    return value != nullptr && dynamic_.contains(value) && !hands_on_to_rounding(node);
  };
  if (is_rounded_dynamically(node, 0)) {
    const bool has_weight = weight_reader(node) == nullptr || constants_.is_paired(node);
    return has_weight && rounded_by(layers_, node) != nullptr;
  }
  if (loss_of(layer).takes_rounded && std::ranges::any_of(node.inputs(), is_read_as_is)) return false;
  if (weight_reader(node) != nullptr)
    return constants_.is_paired(node) && (weight_reader(node)->first_weight == 0 || has_known_integers(node));
  if (node.is("QuantizeLinear")) return is_rounded_by(*layer.b, node) || has_grid(*node.input(0)) || is_on_grid(node);
  if (!node.is("DequantizeLinear")) return !has_trait(node, Trait::quantized) && !has_trait(node, Trait::quantizes);
  const Node* const before = maker_of_moved(node);
  return constants_.is_paired(node) || (before != nullptr && before->is("QuantizeLinear"));
}

bool KnownRoundings::has_known_integers(const Node& product) const {
  const Value* const integers = product.input(0);
  if (integers == nullptr || integers->producer() == nullptr) return integers != nullptr;
  return maker_of_moved(product) != nullptr || constants_.is_paired(*integers->producer());
}

}  // namespace relayout
