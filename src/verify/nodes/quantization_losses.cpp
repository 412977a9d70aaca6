// Holds what each node of a quantized model loses against what rounding to its grids must cost.
#include "verify/nodes/quantization_losses.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "model/attributes.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare.h"
#include "verify/nodes/datum_pair.h"
#include "verify/nodes/fed_runs.h"
#include "verify/nodes/layers.h"
#include "verify/quantizer.h"
#include "verify/rules.h"

namespace relayout {
namespace {

constexpr const char* kAnother = "another result than its steps give";

/// The QuantizeLinear behind which a value is dequantized, or that everything reads it through.
const Node* quantizer_of(const Value& value) {
  if (const Node* const reader = quantizer_behind(value); reader != nullptr) return reader;
  const Node* const producer = value.producer();
  if (producer == nullptr || !producer->is("DequantizeLinear") || producer->input(0) == nullptr) return nullptr;
  const Node* const before = producer->input(0)->producer();
  return before != nullptr && before->is("QuantizeLinear") ? before : nullptr;
}

/// The node that computes a value, in front of the quantizer that rounds it.
const Node& maker_of(const Value& value) {
  const Node* const quantizer = quantizer_of(value);
  const bool behind = quantizer != nullptr && value.producer()->is("DequantizeLinear");
  const Node* const before = behind && quantizer->input(0) != nullptr ? quantizer->input(0)->producer() : nullptr;
  return before != nullptr ? *before : *value.producer();
}

/// The DequantizeLinear that alone reads what a node moves of stored integers, by one scale for all; nullptr where there is none.
const Node* dequantizer_behind(const Node& node) {
  const Value* const moved = node.output(0);
  const bool moves = traits_of(node).moves_input(0) && node.input(0)->is_stored_constant();
  if (!moves || moved == nullptr || moved->uses().size() != 1 || moved->is_output()) return nullptr;
  const Node& reader = *moved->uses().front().node;
  return reader.is("DequantizeLinear") && moved->uses().front().index == 0 ? &reader : nullptr;
}

void round(const Datum& datum, const std::optional<Quantizer>& grid, Quantizer::Ends ends) {
  if (grid && datum.kind == Datum::Kind::tensor && datum.tensor) grid->round(datum.tensor, ends);
}

Datum rounded(const Datum& datum, const std::optional<Quantizer>& grid, Quantizer::Ends ends) {
  Datum copy = copy_of(datum);
  round(copy, grid, ends);
  return copy;
}

/// Σ of squares of the part of b − a that is a times a factor: what rounds to nearest is as often above as below, and has next to none.
double squares_by_gain(const LossSums& sums) {
  if (static_cast<double>(sums.elements) < rules::kElementsForGain || !(sums.squares_a > 0)) return 0;
  const double gain = sums.product / sums.squares_a - 1;
  return gain * gain * sums.squares_a;
}

}  // namespace

QuantizationLosses::QuantizationLosses(const Graph& a, const Graph& b) : layers_(a, b), losses_(layers_.all().size()) {
  for (const Value* const input : b.inputs()) {
    auto grid = grid_of(*input);
    if (grid && a.find(input->name()) != nullptr) inputs_.emplace(input->name(), *std::move(grid));
  }
  find_dynamic(b);
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    losses_[i].grid = grid_of(*layers_.all()[i].b);
    pair_constants(layers_.all()[i]);
  }
  for (std::size_t i = 0; i < losses_.size(); ++i) losses_[i].expected_is_known = is_covered(layers_.all()[i]);
}

std::optional<Quantizer> QuantizationLosses::grid_of(const Value& value_of_b) {
  const Node* const node = quantizer_of(value_of_b);
  return node == nullptr ? std::nullopt : Quantizer::of(*node, constants_b_);
}

void QuantizationLosses::pair_constants(const Layer& layer) {
  std::vector<const Node*> rest = layers_.region_in_a(layer);
  for (const Node* const node : layers_.region_in_b(layer)) {
    const WeightReader* const reader = weight_reader(*node);
    const auto is_counterpart = [&](const Node* other) {
      if (reader == nullptr) return other->op_type() == node->op_type() && other->domain() == node->domain();
      return other->is(reader->stands_for) || (reader->stands_for == "MatMul" && other->is("Gemm"));
    };
    const auto found = std::ranges::find_if(rest, is_counterpart);
    if (found == rest.end()) continue;
    if (reader == nullptr) {
      pair_constants(*node, **found);
    } else {
      pair_weight(*node, **found);
    }
    rest.erase(found);
  }
  // A constant that b still has was not folded into another one.
  const auto is_gone = [&](const Value* operand) {
    const auto reads = [&](const Node* node) {
      return std::ranges::any_of(node->inputs(), [&](const Value* input) { return input != nullptr && input->name() == operand->name(); });
    };
    return operand != nullptr && operand->is_stored_constant() && std::ranges::none_of(layers_.region_in_b(layer), reads);
  };
  const auto goes_into_constants = [&](const Node* node) {
    const bool may = has_trait(*node, Trait::affine) || has_trait(*node, Trait::multiplies);
    return may && std::ranges::any_of(node->inputs(), is_gone);
  };
  if (std::ranges::any_of(rest, goes_into_constants)) restructured_.insert(layer.b);
}

void QuantizationLosses::pair_constants(const Node& node, const Node& original) {
  const Node* const behind = node.input(0) == nullptr ? nullptr : dequantizer_behind(node);
  if (behind != nullptr && original.input(0) != nullptr && original.input(0)->is_stored_constant()) {
    auto grid = Quantizer::of(*behind, constants_b_);
    if (grid && grid->is_one_for_all()) {
      constants_.emplace(original.input(0)->name(), *std::move(grid));
      paired_.insert(behind);
    }
  }
  for (std::size_t i = 0; i < std::min(node.inputs().size(), original.inputs().size()); ++i) {
    const Value *const constant = original.input(i), *const operand = node.input(i);
    if (constant == nullptr || !constant->is_stored_constant() || operand == nullptr || operand->producer() == nullptr) continue;
    const Node& dequantizer = *operand->producer();
    if (!dequantizer.is("DequantizeLinear") || !dequantizer.input(0)->is_stored_constant()) continue;
    const auto mine = constants_a_.find(*constant), integers = constants_b_.find(*dequantizer.input(0));
    const bool suits = std::holds_alternative<Constant>(mine) && std::holds_alternative<Constant>(integers) &&
                       std::get<Constant>(mine).dims == std::get<Constant>(integers).dims;
    auto grid = suits ? Quantizer::of(dequantizer, constants_b_) : std::nullopt;
    if (!grid) continue;
    constants_.emplace(constant->name(), *std::move(grid));
    paired_.insert(&dequantizer);
  }
}

void QuantizationLosses::pair_weight(const Node& node, const Node& original) {
  const Value* const constant = original.input(weight_reader(node)->weight);
  if (constant == nullptr || !constant->is_stored_constant()) return;
  const bool transposed = original.is("Gemm") && Attributes(original).integer("transB", 0) != 0;
  auto grid = Quantizer::of_weight(node, constants_b_, transposed);
  const auto known = constants_a_.find(*constant);
  if (!grid || !std::holds_alternative<Constant>(known) || !grid->suits(std::get<Constant>(known).dims)) return;
  constants_.emplace(constant->name(), *std::move(grid));
  paired_.insert(&node);
}

void QuantizationLosses::find_dynamic(const Graph& b) {
  for (const Node& node : b.nodes()) {
    if (is_rounded_dynamically(node, 0) && node.input(0) != nullptr) dynamic_.insert(node.input(0));
  }
  for (const Value* const value : dynamic_) {
    if (value->is_input()) dynamic_inputs_.insert(value->name());
    if (const Layer* const layer = layers_.of_b(*value)) loss_of(*layer).is_rounded_by_some = true;
  }
  for (const Layer& layer : layers_.all()) {
    loss_of(layer).takes_rounded = std::ranges::any_of(layers_.region_in_b(layer), [&](const Node* node) {
      return is_rounded_dynamically(*node, 0) && node->input(0) != nullptr && is_fed(*node->input(0));
    });
  }
}

bool QuantizationLosses::is_fed(const Value& value_of_b) {
  return value_of_b.is_input() || layers_.of_b(value_of_b) != nullptr;
}

bool QuantizationLosses::is_known(const Node& node, const Layer& layer) {
  const auto has_grid = [&](const Value& value) {
    const Layer* const fed = layers_.of_b(value);
    return fed != nullptr ? loss_of(*fed).grid.has_value() : value.is_input() && inputs_.contains(value.name());
  };
  // Rounded for some readers and read as it is by others of the same layer: no run has both.
  const auto is_read_as_is = [&](const Value* value) { return value != nullptr && dynamic_.contains(value); };
  if (is_rounded_dynamically(node, 0)) {
    const bool has_weight = weight_reader(node) == nullptr || paired_.contains(&node);
    return has_weight && node.input(0) != nullptr && is_fed(*node.input(0));
  }
  if (loss_of(layer).takes_rounded && std::ranges::any_of(node.inputs(), is_read_as_is)) return false;
  if (weight_reader(node) != nullptr) return paired_.contains(&node);
  if (node.is("QuantizeLinear")) return &node == quantizer_of(*layer.b) || has_grid(*node.input(0));
  if (!node.is("DequantizeLinear")) return !has_trait(node, Trait::quantized) && !has_trait(node, Trait::quantizes);
  const Node* const before = node.input(0)->producer();
  return paired_.contains(&node) || (before != nullptr && before->is("QuantizeLinear"));
}

bool QuantizationLosses::is_covered(const Layer& layer) {
  const auto knows = [&](const Node* node) { return is_known(*node, layer); };
  return !restructured_.contains(layer.b) && std::ranges::all_of(layers_.region_in_b(layer), knows);
}

Datum QuantizationLosses::read_as(const Datum& datum, const NodeLoss& loss, Quantizer::Ends ends) const {
  return rounded(datum, rounds_dynamically_ && loss.is_rounded_by_some ? Quantizer::dynamic() : loss.grid, ends);
}

void QuantizationLosses::add(LayerTask task) {
  task.inputs = [this, inputs = task.inputs] {
    Inputs made = inputs();
    for (auto& [name, datum] : made) {
      const auto grid = inputs_.find(name);
      if (input_ends_ && grid != inputs_.end()) datum = rounded(datum, grid->second, *input_ends_);
      if (input_ends_ && rounds_dynamically_ && dynamic_inputs_.contains(name)) datum = rounded(datum, Quantizer::dynamic(), *input_ends_);
    }
    return made;
  };
  input_ends_.reset();
  FedRuns runs(task, layers_);
  runs.capture();
  measure_b(runs, task);
  measure_a(runs, task);
}

void QuantizationLosses::measure_b(FedRuns& runs, const LayerTask& task) {
  runs.visit(*task.b, [this](const Layer& layer, const Datum& reference, const Datum& datum) {
    NodeLoss& loss = loss_of(layer);
    const Datum made = rounded(datum, loss.grid, Quantizer::Ends::saturate);
    loss.measured += measure(reference, made, layer.yardstick).sums;
    if (loss.grid && reference.tensor) loss.beyond += loss.grid->count_beyond(contiguous(reference.tensor));
    made_by_b_.insert_or_assign(&layer, spill_.write(made));
    overwrite(datum, reference);
  });
}

void QuantizationLosses::measure_a(FedRuns& runs, const LayerTask& task) {
  const auto round_constant = [this](const std::string& name, Tensor& tensor) {
    const auto grid = constants_.find(name);
    if (grid != constants_.end()) round(Datum(tensor), grid->second, Quantizer::Ends::open);
  };
  const auto run = [&](Quantizer::Ends ends, const auto& look) {
    input_ends_ = ends;
    const auto visitor = [&](const Layer& layer, const Datum& reference, const Datum& datum) {
      if (loss_of(layer).takes_rounded == rounds_dynamically_) look(layer, reference, datum);
      overwrite(datum, read_as(reference, loss_of(layer), ends));
    };
    runs.visit(*task.a, visitor, round_constant);
  };
  for (const bool dynamically : {false, true}) {
    if (dynamically && dynamic_.empty()) continue;
    rounds_dynamically_ = dynamically;
    run(Quantizer::Ends::open, [this](const Layer& layer, const Datum& reference, const Datum& datum) {
      NodeLoss& loss = loss_of(layer);
      loss.expected += measure(reference, rounded(datum, loss.grid, Quantizer::Ends::open), layer.yardstick).sums;
    });
    run(Quantizer::Ends::saturate, [this](const Layer& layer, const Datum& /*reference*/, const Datum& datum) {
      NodeLoss& loss = loss_of(layer);
      const auto found = made_by_b_.find(&layer);
      if (found == made_by_b_.end()) return;
      const Datum within = rounded(datum, loss.grid, Quantizer::Ends::saturate), open = rounded(datum, loss.grid, Quantizer::Ends::open);
      loss.other += measure(within, spill_.read(found->second), layer.yardstick).sums;
      loss.squares_clipped += measure(open, within, layer.yardstick).sums.squares_error;
    });
  }
  rounds_dynamically_ = false;
}

bool QuantizationLosses::was_fed(const Layer& layer) {
  return std::ranges::all_of(layers_.upstream(layer), [&](std::size_t i) {
    const Layer& fed = layers_.all()[i];
    const bool is_exact = fed.type != DataType::undefined && !is_measured(fed.type);
    return fed.before_jump || fed.told_by_readers() || is_exact || losses_[i].measured.elements > 0 || is_equal_unseen(fed);
  });
}

/// A constant of a is one of b too, and its own grid loses little: it is there when ranges are chosen, unlike values that follow from dims,
/// as tables of angles do.
bool QuantizationLosses::is_equal_unseen(const Layer& layer) {
  if (constants_a_.is_constant(*layer.a)) return true;
  const auto rounds = [](const Node* node) { return has_trait(*node, Trait::quantized) || has_trait(*node, Trait::quantizes); };
  return !loss_of(layer).grid && std::ranges::none_of(layers_.region_in_b(layer), rounds) && was_fed(layer);
}

double QuantizationLosses::judge(const NodeLoss& loss, QuantizationLoss& one) {
  if (!loss.expected_is_known || loss.expected.elements == 0) return 0;
  one.expected = std::min(signal_to_noise(loss.expected), rules::kFloatLoss);
  const double lost = loss.measured.squares_a * std::pow(10.0, -*one.expected / 10), other = loss.other.squares_error;
  if (other > rules::kExcessLoss * lost || squares_by_gain(loss.other) > lost) {
    one.fault = kAnother;
    return other / loss.measured.squares_a;
  }
  if (!(loss.squares_clipped > rules::kExcessLoss * lost)) return 0;
  one.fault = "the ends of its range cut off more than its steps";
  return loss.squares_clipped / loss.measured.squares_a;
}

std::vector<QuantizationLoss> QuantizationLosses::worst_first() {
  struct Ranked {
    QuantizationLoss loss;
    int group = 0;      ///< another result, a range that is too small, neither
    double excess = 0;  ///< energy of the fault, relative to the value
  };
  std::vector<Ranked> ranked;
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    const NodeLoss& loss = losses_[i];
    const Layer& layer = layers_.all()[i];
    if (loss.measured.elements == 0 || !(loss.measured.squares_error > 0)) continue;
    QuantizationLoss one;
    const Node& node = maker_of(*layer.b);
    one.node = node.name().empty() ? layer.b->name() : node.name();
    one.op_type = node.op_type();
    one.tensor = layer.b->name();
    one.snr = signal_to_noise(loss.measured);
    if (loss.grid) one.clipped = static_cast<double>(loss.beyond) / static_cast<double>(loss.measured.elements);
    const double excess = was_fed(layer) ? judge(loss, one) : 0;
    ranked.push_back({one, one.fault == kAnother ? 0 : one.fault.empty() ? 2 : 1, excess});
  }
  std::ranges::stable_sort(ranked, [](const Ranked& a, const Ranked& b) {
    if (a.group != b.group) return a.group < b.group;
    return a.excess != b.excess ? a.excess > b.excess : a.loss.snr < b.loss.snr;
  });
  std::vector<QuantizationLoss> out;
  for (Ranked& one : ranked) out.push_back(std::move(one.loss));
  return out;
}

}  // namespace relayout
