// Holds what each node of a quantized model loses against what rounding to its grids must cost.
#include "verify/nodes/quantization_losses.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/positions.h"
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
#include "verify/measured_types.h"
#include "verify/metrics.h"
#include "verify/nodes/channel_losses.h"
#include "verify/nodes/constant_grids.h"
#include "verify/nodes/datum_pair.h"
#include "verify/nodes/fed_runs.h"
#include "verify/nodes/layer_task.h"
#include "verify/nodes/layers.h"
#include "verify/nodes/node_loss.h"
#include "verify/quantizer.h"

namespace relayout {
namespace {

void round(const Datum& datum, const std::optional<Quantizer>& grid, Quantizer::Ends ends) {
  if (grid && datum.kind == Datum::Kind::tensor && datum.tensor) grid->round(datum.tensor, ends);
}

Datum rounded(const Datum& datum, const std::optional<Quantizer>& grid, Quantizer::Ends ends) {
  Datum copy = copy_of(datum);
  round(copy, grid, ends);
  return copy;
}

/// The elements as a floating-point type holds them that may be narrower than their own.
Datum held_in(const Datum& datum, DataType type) {
  return unit_roundoff(type) > unit_roundoff(type_of(datum)) ? through(datum, type) : datum;
}

}  // namespace

QuantizationLosses::QuantizationLosses(const Graph& a, const Graph& b) : layers_(a, b), known_(a, b, layers_), losses_(known_.losses()) {}

Datum QuantizationLosses::read_as(const Datum& datum, const NodeLoss& loss, Quantizer::Ends ends) const {
  return rounded(held_in(datum, loss.read), run_.dynamically && loss.is_rounded_by_some ? Quantizer::dynamic() : loss.grid, ends);
}

void QuantizationLosses::add(LayerTask task) {
  task.inputs = [this, inputs = task.inputs] {
    Inputs made = inputs();
    for (auto& [name, datum] : made) {
      const auto grid = known_.inputs().find(name);
      if (run_.inputs && grid != known_.inputs().end()) datum = rounded(datum, grid->second, *run_.inputs);
      if (run_.inputs && run_.dynamically && known_.dynamic_inputs().contains(name))
        datum = rounded(datum, Quantizer::dynamic(), *run_.inputs);
    }
    return made;
  };
  run_.inputs.reset();
  FedRuns runs(task, layers_);
  runs.capture();
  measure_b(runs, task);
  measure_a(runs, task);
}

void QuantizationLosses::measure_b(FedRuns& runs, const LayerTask& task) {
  runs.visit(*task.b, [this](const Layer& layer, const Datum& reference, const Datum& datum) {
    NodeLoss& loss = loss_of(layer);
    const auto [right, wide] = comparable(reference, datum);
    const Datum made = rounded(wide, loss.grid, Quantizer::Ends::saturate);
    loss.measured += measure(right, made, layer.yardstick).sums;
    if (loss.grid && reference.tensor) loss.beyond += loss.grid->count_beyond(contiguous(reference.tensor));
    made_by_b_.insert_or_assign(&layer, spill_.write(made));
    // What reads dequantized numbers gets steps; where a QuantizeLinear follows, they stay as they are.
    overwrite(datum, rounded(right, loss.grid, Quantizer::Ends::saturate));
  });
  note_types(runs);
}

void QuantizationLosses::note_types(const FedRuns& runs) {
  const auto coarser = [&](DataType type, const Value* value) {
    const DataType other = value == nullptr ? DataType::undefined : runs.visited_type(*value);
    return unit_roundoff(other) > unit_roundoff(type) ? other : type;
  };
  for (const Layer& layer : layers_.all()) {
    NodeLoss& loss = loss_of(layer);
    loss.made = loss.read = coarser(DataType::undefined, layer.b);
    for (const Use& use : layer.b->uses()) {
      if (use.node->is("Cast")) loss.read = coarser(loss.read, use.node->output(0));
    }
    for (const Node* node = layer.b->producer(); node != nullptr && (node->is("Cast") || traits_of(*node).moves_input(0));) {
      const Value* const before = node->input(0);
      if (before == nullptr || is_fed(layers_, *before)) break;
      loss.made = coarser(loss.made, before);
      node = before->producer();
    }
  }
}

void QuantizationLosses::measure_a(FedRuns& runs, const LayerTask& task) {
  const auto round_constant = [&, this](const std::string& name, Tensor& tensor) {
    if (const Quantizer* const grid = known_.constants().find(name)) {
      if (grid->count_beyond(contiguous(tensor)) > 0) cut_constants_.insert(name);
      return round(Datum(tensor), *grid, Quantizer::Ends::open);
    }
    const Value* const same = task.b->model->graph().find(name);
    if (same != nullptr && same->is_stored_constant()) tensor = held_in(Datum(tensor), constants_b_.type_of(*same)).tensor;
  };
  const auto run = [&](Quantizer::Ends ends, const auto& look) {
    run_.inputs = ends;
    const auto visitor = [&](const Layer& layer, const Datum& reference, const Datum& datum) {
      if (loss_of(layer).takes_rounded == run_.dynamically) look(layer, reference, datum);
      overwrite(datum, read_as(reference, loss_of(layer), ends));
    };
    runs.visit(*task.a, visitor, round_constant);
  };
  for (const bool dynamically : {false, true}) {
    if (dynamically && !known_.is_dynamic()) continue;
    run_.dynamically = dynamically;
    run(Quantizer::Ends::open, [this](const Layer& layer, const Datum& reference, const Datum& datum) {
      NodeLoss& loss = loss_of(layer);
      const Datum made = rounded(held_in(datum, loss.made), loss.grid, Quantizer::Ends::open);
      loss.rounding += measure(reference, made, layer.yardstick).sums;
      if (!made.tensor) return;
      for (ChannelLosses* const channels : {&loss.second, &loss.last}) channels->add_expected(reference.tensor, made.tensor);
    });
    run(Quantizer::Ends::saturate, [this](const Layer& layer, const Datum& reference, const Datum& datum) {
      NodeLoss& loss = loss_of(layer);
      const Datum held = held_in(datum, loss.made);
      const Datum within = rounded(held, loss.grid, Quantizer::Ends::saturate), open = rounded(held, loss.grid, Quantizer::Ends::open);
      loss.expected += measure(reference, open, layer.yardstick).sums;
      const auto found = made_by_b_.find(&layer);
      if (found == made_by_b_.end()) return;
      const auto [right, made] = comparable(within, spill_.read(found->second));
      loss.other += measure(right, made, layer.yardstick).sums;
      loss.squares_clipped += measure(open, within, layer.yardstick).sums.squares_error;
      if (!right.tensor) return;
      for (ChannelLosses* const channels : {&loss.second, &loss.last}) channels->add_result(right.tensor, made.tensor);
    });
  }
  run_.dynamically = false;
}

bool QuantizationLosses::was_fed(const Layer& layer) {
  NodeLoss& loss = loss_of(layer);
  if (loss.was_fed) return *loss.was_fed;
  const std::vector<std::size_t> upstream = layers_.upstream(layer);
  loss.was_fed = std::ranges::all_of(upstream, [&](std::size_t i) {
    const Layer& fed = layers_.all()[i];
    const bool is_exact = fed.type != DataType::undefined && !is_measured(fed.type);
    return fed.before_jump || fed.told_by_readers() || is_exact || losses_[i].measured.elements > 0 || is_equal_unseen(fed);
  });
  return *loss.was_fed;
}

/// A constant of a is one of b too, and its own grid loses little: it is there when ranges are chosen, unlike values that follow from dims,
/// as tables of angles do.
bool QuantizationLosses::is_equal_unseen(const Layer& layer) {
  if (constants_a_.is_constant(*layer.a)) return true;
  const auto rounds = [](const Node* node) { return has_trait(*node, Trait::quantized) || has_trait(*node, Trait::quantizes); };
  return !loss_of(layer).grid && std::ranges::none_of(layers_.region_in_b(layer), rounds) && was_fed(layer);
}

bool QuantizationLosses::has_cut_constant(const Layer& layer) const {
  const auto is_cut = [this](const Value* operand) { return operand != nullptr && cut_constants_.contains(operand->name()); };
  return std::ranges::any_of(layers_.region_in_a(layer), [&](const Node* node) { return std::ranges::any_of(node->inputs(), is_cut); });
}

std::vector<QuantizationLoss> QuantizationLosses::worst_first() {
  struct Ranked {
    QuantizationLoss loss;
    Judgement judgement;
  };
  std::vector<Ranked> ranked;
  for (NodeLoss& loss : losses_) loss.was_fed.reset();
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    const NodeLoss& loss = losses_[i];
    const Layer& layer = layers_.all()[i];
    if (loss.measured.elements == 0 || !(loss.measured.squares_error > 0)) continue;
    QuantizationLoss one;
    const Node& node = named_maker(layers_, *layer.b);
    one.node = node.name().empty() ? layer.b->name() : node.name();
    one.op_type = node.op_type();
    one.tensor = layer.b->name();
    one.snr = signal_to_noise(loss.measured);
    if (loss.grid) one.clipped = static_cast<double>(loss.beyond) / static_cast<double>(loss.measured.elements);
    const Judgement judgement = was_fed(layer) ? judge(losses_[i], has_cut_constant(layer), one) : Judgement{};
    ranked.push_back({std::move(one), judgement});
  }
  std::ranges::stable_sort(ranked, [](const Ranked& a, const Ranked& b) {
    if (a.judgement.verdict != b.judgement.verdict) return a.judgement.verdict < b.judgement.verdict;
    return a.judgement.excess != b.judgement.excess ? a.judgement.excess > b.judgement.excess : a.loss.snr < b.loss.snr;
  });
  std::vector<QuantizationLoss> out;
  for (Ranked& one : ranked) out.push_back(std::move(one.loss));
  return out;
}

}  // namespace relayout
