// Measures the loss of each node of a quantized model beside the loss that rounding to its grids implies.

#include "verify/quantized/quantization_losses.h"

#include <cmath>

#include "base/positions.h"
#include "base/text.h"
#include "ops/constants.h"
#include "ops/op.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/acceptance.h"
#include "verify/compare/compare_nodes.h"
#include "verify/compare/datum_pair.h"
#include "verify/compare/fed_runs.h"
#include "verify/compare/fed_values.h"
#include "verify/compare/layers.h"
#include "verify/pair.h"
#include "verify/quantized/constant_grids.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/elements.h"
#include "verify/run/quantizer.h"
#include "verify/run/reference.h"
#include "verify/run/session.h"
#include "verify/run/spill.h"
#include "verify/thresholds.h"

namespace relayout {
namespace {

// The loss of one node: rounding, or a fault.

/// Sums of squares of a value's loss for each index along one axis: a fault of one channel is small beside the loss of all channels.
class ChannelLosses {
 public:
  /// A negative `axis` counts from the end.
  explicit ChannelLosses(int64_t axis) : axis_(axis) {}

  /// Cost of rounding: the original's value, and the result of its nodes from rounded operands.
  void add_expected(const Tensor& reference, const Tensor& rounded) {
    for_each(reference, rounded, [](Sums& sums, double x, double y) { sums.expected += (x - y) * (x - y); });
  }
  /// The correct result for the operands of the other model's nodes, and their actual result.
  void add_result(const Tensor& right, const Tensor& made) {
    for_each(right, made, [](Sums& sums, double x, double y) {
      sums.right += x * x;
      sums.product += x * y;
      sums.other += (x - y) * (x - y);
      ++sums.elements;
    });
  }

  struct Fault {
    std::size_t channel = 0;
    double squares = 0;  ///< Σ of squares of the difference
  };
  /// The channel with the largest error among those that compute something else. Rounding may change the scale of results by up to `gain`.
  [[nodiscard]] std::optional<Fault> worst(double gain) const {
    if (is_void_ || sums_.empty()) return std::nullopt;
    double expected = 0, right = 0;
    for (const Sums& sums : sums_) expected += sums.expected, right += sums.right;
    // A channel with a small expected loss may lose as much as the average channel: few elements are no estimate of the cost of rounding.
    const double least =
        std::max(expected, right * std::pow(10.0, -thresholds::kFloatLossDecibels / 10)) / static_cast<double>(sums_.size());
    std::optional<Fault> worst;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      if (!is_other(sums_[i], std::max(sums_[i].expected, least), gain)) continue;
      if (!worst || sums_[i].other > worst->squares) worst = Fault{i, sums_[i].other};
    }
    return worst;
  }

 private:
  struct Sums {
    double expected = 0, right = 0, product = 0, other = 0;  ///< Σ of squares; `product`: Σ of products of both results
    int64_t elements = 0;
  };
  /// Calls add(sums, x, y) for each pair of finite elements; not where the axis is the first or does not exist, there are fewer than two
  /// channels, samples differ in their number, or the type is not measured.
  template <class Add>
  void for_each(const Tensor& a, const Tensor& b, const Add& add) {
    const auto axis = checked_axis(axis_, a.dims().size());
    // The first axis is the batch.
    if (is_void_ || !axis || *axis == 0 || !is_measured(a.type())) return;
    const std::size_t channels = as_size(a.dims()[*axis]);
    if (sums_.empty()) sums_.resize(channels);
    is_void_ = sums_.size() != channels || channels < 2;
    if (is_void_) return;
    const int64_t inner = element_count(std::span(a.dims()).subspan(*axis + 1));
    for_each_chunk(contiguous(a), contiguous(b), [&](int64_t first, std::span<const double> x, std::span<const double> y) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (!std::isfinite(x[i]) || !std::isfinite(y[i])) continue;
        add(sums_[as_size((first + static_cast<int64_t>(i)) / inner) % channels], x[i], y[i]);
      }
    });
  }
  [[nodiscard]] static bool is_other(const Sums& sums, double lost, double least_gain) {
    if (sums.elements < thresholds::kFewestElements) return false;
    if (sums.other > thresholds::kExcessLossEnergy * lost) return true;
    if (static_cast<double>(sums.elements) < thresholds::kFewestElementsForGain || !(sums.right > 0)) return false;
    const double gain = sums.product / sums.right - 1;
    return std::fabs(gain) > least_gain && gain * gain * sums.right > lost;
  }

  int64_t axis_;
  bool is_void_ = false;
  std::vector<Sums> sums_;  ///< by channel
};

/// Loss of one node of a quantized model, and the cost of its rounding.
struct NodeLoss {
  std::optional<Quantizer> grid;    ///< of this value in b
  bool is_rounded_by_some = false;  ///< some consumers in b round it by its own least and largest elements
  bool takes_rounded = false;       ///< computed from values as such consumers round them
  bool expected_is_known = false;   ///< all roundings in b between the fed values upstream and this value are known
  const Node* missing = nullptr;    ///< of a: a function that b replaces with products, sums and roundings alone
  LossSums measured;
  LossSums rounding;                  ///< of a's node with operands, constants and result rounded, not cut off at the ends of a grid
  LossSums expected;                  ///< as `rounding`, but with operands cut off at the ends of b's grids: that loss is upstream's
  LossSums other;                     ///< difference of b's node from a's with the same operands, constants and ends
  ChannelLosses second{1}, last{-1};  ///< `rounding` and `other` by index along the second and along the last axis
  DataType made = DataType::undefined, read = DataType::undefined;  ///< coarsest types in which b computes and reads it
  double squares_clipped = 0;                                       ///< Σ of squares that the ends of the grid cut off
  int64_t beyond = 0;                                               ///< elements of a beyond the ends of the grid
  std::optional<bool> was_fed;                                      ///< result of was_fed()
};

/// Remark on a loss.
struct Judgement {
  /// In the order of the report: a different result, a range that is too small, neither.
  enum class Verdict : uint8_t { other, clipped, right };
  Verdict verdict = Verdict::right;
  double excess = 0;  ///< energy of the fault, relative to the value
};

constexpr const char* kAnother = "another result than its steps give";

/// Relative amount by which rounding may scale a value as a whole: a constant that is rounded once multiplies all of it.
double gain_of_rounding(DataType type) {
  return thresholds::kGainInRoundings * unit_roundoff(type);
}

/// Σ of squares of the part of b − a that is proportional to a: next to none for rounding to nearest, which errs as often up as down.
double squares_by_gain(const LossSums& sums) {
  if (static_cast<double>(sums.elements) < thresholds::kFewestElementsForGain || !(sums.squares_a > 0)) return 0;
  const double gain = sums.product / sums.squares_a - 1;
  return gain * gain * sums.squares_a;
}

/// Judges the channel with the largest error among those that compute something else.
Judgement judge_channels(const NodeLoss& loss, QuantizationLoss& one) {
  std::optional<ChannelLosses::Fault> worst;
  std::string axis;
  for (const bool last : {true, false}) {
    const auto fault = (last ? loss.last : loss.second).worst(gain_of_rounding(loss.made));
    if (!fault || (worst && worst->squares >= fault->squares)) continue;
    worst = fault;
    axis = last ? "the last axis" : "the second axis";
  }
  if (!worst) return {};
  one.fault = kAnother;
  one.fault += " at place " + std::to_string(worst->channel) + " of " + axis;
  return {Judgement::Verdict::other, worst->squares / loss.measured.squares_a};
}

/// Sets the expected loss of a node, and its fault. `has_cut_constant`: a constant operand has elements beyond the ends of its grid, a
/// single one of which may cause most of a channel's loss.
Judgement judge(const NodeLoss& loss, bool has_cut_constant, QuantizationLoss& one) {
  if (loss.rounding.elements == 0) return {};
  if (loss.missing != nullptr && loss.other.squares_error > thresholds::kExcessLossEnergy * loss.rounding.squares_error) {
    one.fault = "a's " + quote(loss.missing->name()) + " (" + escape(loss.missing->op_type()) + ") is missing";
    return {Judgement::Verdict::other, loss.other.squares_error / loss.measured.squares_a};
  }
  if (!loss.expected_is_known) return {};
  one.expected = std::min(signal_to_noise(loss.expected), thresholds::kFloatLossDecibels);
  const double by_rounding = std::min(signal_to_noise(loss.rounding), thresholds::kFloatLossDecibels);
  const double lost = loss.measured.squares_a * std::pow(10.0, -by_rounding / 10), other = loss.other.squares_error;
  const double by_gain = std::max(lost, loss.measured.squares_a * std::pow(gain_of_rounding(loss.made), 2));
  if (other > thresholds::kExcessLossEnergy * lost || squares_by_gain(loss.other) > by_gain) {
    one.fault = kAnother;
    return {Judgement::Verdict::other, other / loss.measured.squares_a};
  }
  const Judgement by_channel = has_cut_constant ? Judgement{} : judge_channels(loss, one);
  if (by_channel.verdict == Judgement::Verdict::other) return by_channel;
  if (!(loss.squares_clipped > thresholds::kExcessLossEnergy * lost)) return {};
  one.fault = "the ends of its range cut off more than its steps";
  return {Judgement::Verdict::clipped, loss.squares_clipped / loss.measured.squares_a};
}

// The losses of all nodes.

/// Whether a node gives `operand`, its first, other dims.
bool reshapes(const Node& node, const Value* operand) {
  return has_trait(node, Trait::keeps_order) && operand != nullptr && node.input(0) == operand && node.output(0) != nullptr;
}

/// The node that computes the elements of a node's first operand, upstream of nodes that move them.
const Node* maker_of_moved(const Node& node) {
  const Node* maker = node.input(0) == nullptr ? nullptr : node.input(0)->producer();
  while (maker != nullptr && traits_of(*maker).moves_input(0)) maker = maker->input(0) == nullptr ? nullptr : maker->input(0)->producer();
  return maker;
}

/// The QuantizeLinear whose steps are dequantized to a value, or through which all consumers read it, perhaps in other dims.
const Node* quantizer_of(const Value& value) {
  if (const Node* const reader = quantizer_downstream(value); reader != nullptr) return reader;
  if (const Use* const sole = value.sole_use(); sole != nullptr && reshapes(*sole->node, &value)) {
    if (const Node* const reader = quantizer_downstream(*sole->node->output(0)); reader != nullptr) return reader;
  }
  const Node* producer = value.producer();
  while (producer != nullptr && reshapes(*producer, producer->input(0))) producer = producer->input(0)->producer();
  const Node* const before = producer != nullptr && producer->is("DequantizeLinear") ? maker_of_moved(*producer) : nullptr;
  return before != nullptr && before->is("QuantizeLinear") ? before : nullptr;
}

/// Whether the operand of a QuantizeLinear was dequantized with the same scale and zero point.
bool is_on_grid(const Node& quantizer) {
  const Node* const maker = maker_of_moved(quantizer);
  return maker != nullptr && maker->is("DequantizeLinear") && maker->input(1) == quantizer.input(1) &&
         maker->input(2) == quantizer.input(2);
}

/// The node that computes a value, upstream of the quantizer that rounds it.
const Node& maker_of(const Value& value) {
  const Node* const quantizer = quantizer_of(value);
  const bool is_downstream = quantizer != nullptr && value.producer()->is("DequantizeLinear");
  const Node* const before = is_downstream && quantizer->input(0) != nullptr ? quantizer->input(0)->producer() : nullptr;
  return before != nullptr ? *before : *value.producer();
}

/// Whether a quantizer rounds a value, perhaps before its elements are moved and rounded to the same steps again.
bool is_rounded_by(const Value& value, const Node& quantizer) {
  const Node* node = quantizer_of(value);
  while (node != nullptr && node != &quantizer) {
    node = is_on_grid(*node) ? maker_of_moved(*maker_of_moved(*node)) : nullptr;
    if (node != nullptr && !node->is("QuantizeLinear")) return false;
  }
  return node != nullptr;
}

/// The grid to which a value of b is rounded; nothing where no grid applies to all consumers, or its scales are along an axis of other
/// dims.
std::optional<Quantizer> grid_of(const Value& value_of_b, Constants& constants) {
  const Node* const node = quantizer_of(value_of_b);
  auto grid = node == nullptr ? std::nullopt : Quantizer::of(*node, constants);
  // The axis of several scales is an axis of the operand of the quantizer.
  const auto is_dequantized = [&] {
    const Node& producer = *value_of_b.producer();
    return producer.is("DequantizeLinear") && producer.input(0)->producer() == node;
  };
  const bool suits = grid && (grid->is_one_for_all() || node->input(0) == &value_of_b || is_dequantized());
  return suits ? std::move(grid) : std::nullopt;
}

/// Whether a value of b is fed: it belongs to a layer, or is an input.
bool is_fed(Layers& layers, const Value& value_of_b) {
  return value_of_b.is_input() || layers.of_b(value_of_b) != nullptr;
}

/// The fed value whose elements `value` holds, all of them, in the same or another order; nullptr: none.
const Value* fed_source(Layers& layers, const Value* value) {
  while (value != nullptr && !is_fed(layers, *value)) {
    const Node* const producer = value->producer();
    const bool has_all = producer != nullptr && (has_trait(*producer, Trait::permutes) || has_trait(*producer, Trait::keeps_order));
    value = has_all ? producer->input(0) : nullptr;
  }
  return value;
}

/// The fed value that a node rounds by its own range, perhaps in other dims; nullptr: none.
const Value* rounded_by(Layers& layers, const Node& node) {
  return is_rounded_dynamically(node, 0) ? fed_source(layers, node.input(0)) : nullptr;
}

/// Whether a node only passes all elements of a value to a node that rounds them by their own range.
bool passes_to_rounding(const Node& node) {
  const Value* const made = node.output(0);
  const Use* const use = made == nullptr ? nullptr : made->sole_use();
  return use != nullptr && (has_trait(node, Trait::permutes) || has_trait(node, Trait::keeps_order)) &&
         is_rounded_dynamically(*use->node, as_size(use->index));
}

bool has_any(const Traits& traits, std::initializer_list<Trait> wanted) {
  return std::ranges::any_of(wanted, [&](Trait one) { return traits.has(one); });
}

/// Whether a node computes a function of its operand other than a product, sum, mean or range.
bool is_function(const Node& node) {
  using enum Trait;
  const Traits& traits = traits_of(node);
  return traits.has(same_dims) && traits.arithmetic() == Arithmetic::none && !traits.moves_input(0) &&
         !has_any(traits,
                  {affine, clips, exact, casts, identity, keeps_order, permutes, quantizes, quantized, normalizes, jumps, multiplies});
}

/// Whether a node adds, multiplies, averages, moves or rounds numbers.
bool is_plain(const Node& node) {
  using enum Trait;
  const Traits& traits = traits_of(node);
  return node.is("Constant") || traits.moves_input(0) ||
         has_any(traits, {affine, multiplies, casts, identity, keeps_order, permutes, quantizes, averages});
}

/// The roundings of a quantized model b that its graph and the original's show before anything runs.
struct KnownRoundings {
  std::vector<NodeLoss> losses;                    ///< by layer: its grid, and whether all roundings that lead to it are known
  ConstantGrids constants;                         ///< grids of a's constants
  std::map<std::string, Quantizer> inputs;         ///< grids of a's inputs, by name
  std::unordered_set<const Value*> dynamic;        ///< values of b that some consumers round by the values' own range
  std::unordered_set<std::string> dynamic_inputs;  ///< names of those that are inputs
};

/// Finds the KnownRoundings of two graphs.
class RoundingsReader {
 public:
  explicit RoundingsReader(Layers& layers) : layers_(layers) { known_.losses.resize(layers.all().size()); }

  KnownRoundings run(const Graph& a, const Graph& b) {
    for (const Value* const input : b.inputs()) {
      auto grid = grid_of(*input, constants_b_);
      if (grid && a.find(input->name()) != nullptr) known_.inputs.emplace(input->name(), *std::move(grid));
    }
    find_dynamic(b);
    for (std::size_t i = 0; i < known_.losses.size(); ++i) {
      known_.losses[i].grid = grid_of(*layers_.all()[i].b, constants_b_);
      known_.constants.add(layers_, layers_.all()[i]);
    }
    for (std::size_t i = 0; i < known_.losses.size(); ++i) {
      const Layer& layer = layers_.all()[i];
      const auto knows = [&](const Node* node) { return is_known(*node, layer); };
      known_.losses[i].expected_is_known = !known_.constants.is_restructured(layer) &&
                                           std::ranges::all_of(layers_.region_in_b(layer), knows) && !layers_.bypasses_fed(layer);
      known_.losses[i].missing = missing_function(layer);
    }
    return std::move(known_);
  }

 private:
  /// A function among a layer's nodes in a, where all its nodes in b are plain; nullptr: none.
  const Node* missing_function(const Layer& layer) {
    const std::vector<const Node*> nodes = layers_.region_in_a(layer);
    const auto varies = [&](const Node* node) { return is_function(*node) && !constants_a_.is_constant(*node->output(0)); };
    const auto function = std::ranges::find_if(nodes, varies);
    if (function == nodes.end() || layers_.bypasses_fed(layer)) return nullptr;
    const bool is_spelled = !std::ranges::all_of(layers_.region_in_b(layer), [](const Node* node) { return is_plain(*node); });
    return is_spelled ? nullptr : *function;
  }

  /// Finds the values that b rounds for some consumers, and the layers that are computed from them.
  void find_dynamic(const Graph& b) {
    for (const Node& node : b.nodes()) {
      if (const Value* const value = rounded_by(layers_, node)) known_.dynamic.insert(value);
    }
    for (const Value* const value : known_.dynamic) {
      if (value->is_input()) known_.dynamic_inputs.insert(value->name());
      if (const Layer* const layer = layers_.of_b(*value)) loss_of(*layer).is_rounded_by_some = true;
    }
    for (const Layer& layer : layers_.all()) {
      loss_of(layer).takes_rounded =
          std::ranges::any_of(layers_.region_in_b(layer), [&](const Node* node) { return rounded_by(layers_, *node) != nullptr; });
    }
  }

  bool is_known(const Node& node, const Layer& layer) {
    const auto has_grid = [&](const Value& read) {
      const Value* const value = fed_source(layers_, &read);
      const Layer* const fed = value == nullptr ? nullptr : layers_.of_b(*value);
      return fed != nullptr ? loss_of(*fed).grid.has_value()
                            : value != nullptr && value->is_input() && known_.inputs.contains(value->name());
    };
    // Rounded for some consumers, and read unrounded by others of the same layer: no run has both.
    const auto is_read_as_is = [&](const Value* value) {
      return value != nullptr && known_.dynamic.contains(value) && !passes_to_rounding(node);
    };
    if (is_rounded_dynamically(node, 0)) {
      const bool has_weight = weight_reader(node) == nullptr || known_.constants.is_paired(node);
      return has_weight && rounded_by(layers_, node) != nullptr;
    }
    if (loss_of(layer).takes_rounded && std::ranges::any_of(node.inputs(), is_read_as_is)) return false;
    if (weight_reader(node) != nullptr)
      return known_.constants.is_paired(node) && (weight_reader(node)->first_weight == 0 || has_known_integers(node));
    if (node.is("QuantizeLinear")) return is_rounded_by(*layer.b, node) || has_grid(*node.input(0)) || is_on_grid(node);
    if (!node.is("DequantizeLinear")) return !has_trait(node, Trait::quantized) && !has_trait(node, Trait::quantizes);
    const Node* const before = maker_of_moved(node);
    return known_.constants.is_paired(node) || (before != nullptr && before->is("QuantizeLinear"));
  }

  /// Whether the real numbers that a product's first operand represents as integers are known.
  bool has_known_integers(const Node& product) const {
    const Value* const integers = product.input(0);
    if (integers == nullptr || integers->producer() == nullptr) return integers != nullptr;
    return maker_of_moved(product) != nullptr || known_.constants.is_paired(*integers->producer());
  }

  [[nodiscard]] NodeLoss& loss_of(const Layer& layer) { return known_.losses[layers_.place_of(layer)]; }

  Layers& layers_;
  Constants constants_a_, constants_b_;
  KnownRoundings known_;
};

/// The node that computes a value of b, upstream of nodes that move and round its elements.
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

void round(const Datum& datum, const std::optional<Quantizer>& grid, Quantizer::Ends ends) {
  if (grid && datum.kind == Datum::Kind::tensor && datum.tensor) grid->round(datum.tensor, ends);
}

Datum rounded(const Datum& datum, const std::optional<Quantizer>& grid, Quantizer::Ends ends) {
  Datum copy = copy_of(datum);
  round(copy, grid, ends);
  return copy;
}

/// The elements rounded to a floating-point type, where it is narrower than their own.
Datum held_in(const Datum& datum, DataType type) {
  return unit_roundoff(type) > unit_roundoff(type_of(datum)) ? through(datum, type) : datum;
}

/// Losses of the nodes of a quantized model, each fed the original's values. The original itself gives the loss that rounding implies: its
/// constants and operands are rounded to the quantized model's grids, as if these had no ends, and to its floating-point types where those
/// are narrower. From operands that end where the grids do, b's nodes must compute the same as a's. A scale other than the one that the
/// integers were computed with, or a missing operator, shows as a difference between the two; the ends themselves show as the elements that
/// they cut off.
class QuantizationLosses {
 public:
  QuantizationLosses(const Graph& a, const Graph& b) : layers_(a, b), known_(RoundingsReader(layers_).run(a, b)), losses_(known_.losses) {}

  /// Runs both models over one more sample.
  void add(LayerTask task) {
    task.inputs = [this, inputs = task.inputs] {
      Inputs made = inputs();
      for (auto& [name, datum] : made) {
        const auto grid = known_.inputs.find(name);
        if (run_.inputs && grid != known_.inputs.end()) datum = rounded(datum, grid->second, *run_.inputs);
        if (run_.inputs && run_.dynamically && known_.dynamic_inputs.contains(name))
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
  /// First the nodes that compute something else, then those whose range is too small, then the others; within each group the worst first.
  /// Leaves out nodes without loss.
  [[nodiscard]] std::vector<QuantizationLoss> worst_first() {
    struct Ranked {
      QuantizationLoss loss;
      Judgement judgement;
    };
    std::vector<Ranked> ranked;
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

 private:
  /// A copy of a value as its consumers get it in the current run.
  [[nodiscard]] Datum read_as(const Datum& datum, const NodeLoss& loss, Quantizer::Ends ends) const {
    return rounded(held_in(datum, loss.read), run_.dynamically && loss.is_rounded_by_some ? Quantizer::dynamic() : loss.grid, ends);
  }
  [[nodiscard]] NodeLoss& loss_of(const Layer& layer) { return losses_[layers_.place_of(layer)]; }
  /// Whether a constant operand of a layer's nodes has elements beyond the ends of its grid: a single one may cause most of a channel's
  /// loss.
  [[nodiscard]] bool has_cut_constant(const Layer& layer) const {
    const auto is_cut = [this](const Value* operand) { return operand != nullptr && cut_constants_.contains(operand->name()); };
    return std::ranges::any_of(layers_.region_in_a(layer), [&](const Node* node) { return std::ranges::any_of(node->inputs(), is_cut); });
  }

  /// Whether all values from which a layer is computed were fed: a value that was evaluated before the run is not.
  [[nodiscard]] bool was_fed(const Layer& layer) {
    NodeLoss& loss = loss_of(layer);
    if (loss.was_fed) return *loss.was_fed;
    const std::vector<std::size_t> upstream = layers_.upstream(layer);
    loss.was_fed = std::ranges::all_of(upstream, [&](std::size_t i) {
      const Layer& fed = layers_.all()[i];
      const bool is_exact = fed.type != DataType::undefined && !is_measured(fed.type);
      return fed.before_jump || fed.is_judged_by_readers() || is_exact || losses_[i].measured.elements > 0 || is_equal_unseen(fed);
    });
    return *loss.was_fed;
  }

  /// Whether both models have the same value in place of one that no run computes. A constant of a is a constant of b too, and its own grid
  /// loses little: it is known when ranges are chosen. Values that follow from dims, such as tables of angles, are not.
  [[nodiscard]] bool is_equal_unseen(const Layer& layer) {
    if (constants_a_.is_constant(*layer.a)) return true;
    const auto rounds = [](const Node* node) { return has_trait(*node, Trait::quantized) || has_trait(*node, Trait::quantizes); };
    return !loss_of(layer).grid && std::ranges::none_of(layers_.region_in_b(layer), rounds) && was_fed(layer);
  }

  void measure_b(FedRuns& runs, const LayerTask& task) {
    const auto types = runs.visit(*task.b, [this](const Layer& layer, const Datum& reference, const Datum& datum) {
      NodeLoss& loss = loss_of(layer);
      const auto [right, wide] = comparable(reference, datum);
      const Datum made = rounded(wide, loss.grid, Quantizer::Ends::saturate);
      loss.measured += measure(right, made, layer.yardstick).sums;
      if (loss.grid && reference.tensor) loss.beyond += loss.grid->count_beyond(contiguous(reference.tensor));
      made_by_b_.insert_or_assign(&layer, spill_.write(made));
      // Consumers of dequantized numbers get steps of the grid. A QuantizeLinear downstream does not change those.
      overwrite(datum, rounded(right, loss.grid, Quantizer::Ends::saturate));
    });
    note_types(types);
  }

  /// Notes the types that values have in b's run.
  void note_types(const std::unordered_map<const Value*, DataType>& types) {
    const auto with = [&](DataType type, const Value* value) {
      const auto found = types.find(value);
      return found != types.end() ? coarser(type, found->second) : type;
    };
    for (const Layer& layer : layers_.all()) {
      NodeLoss& loss = loss_of(layer);
      loss.made = loss.read = with(DataType::undefined, layer.b);
      for (const Use& use : layer.b->uses()) {
        if (use.node->is("Cast")) loss.read = with(loss.read, use.node->output(0));
      }
      for (const Node* node = layer.b->producer(); node != nullptr && (node->is("Cast") || traits_of(*node).moves_input(0));) {
        const Value* const before = node->input(0);
        if (before == nullptr || is_fed(layers_, *before)) break;
        loss.made = with(loss.made, before);
        node = before->producer();
      }
    }
  }

  void measure_a(FedRuns& runs, const LayerTask& task) {
    const auto round_constant = [&, this](const std::string& name, Tensor& tensor) {
      if (const Quantizer* const grid = known_.constants.find(name)) {
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
      if (dynamically && known_.dynamic.empty()) continue;
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

  Layers layers_;
  KnownRoundings known_;
  Constants constants_a_, constants_b_;
  std::vector<NodeLoss> losses_;                   ///< by layer
  std::unordered_set<std::string> cut_constants_;  ///< constants of a with elements beyond the ends of their grids
  Spill spill_;
  std::map<const Layer*, Spill::Stored> made_by_b_;
  /// Rounding of values in the current run.
  struct Run {
    std::optional<Quantizer::Ends> inputs;  ///< ends of the grids of a's inputs; nothing: not rounded
    bool dynamically = false;               ///< by the values' own range, where some consumers do so
  } run_;
};

/// Names the losses of a copy of b after the operators and values of b itself.
void name_as_written(std::vector<QuantizationLoss>& losses, const Graph& b) {
  std::unordered_map<std::string_view, const Node*> nodes;
  for (const Node& node : b.nodes()) nodes.emplace(node.name(), &node);
  for (QuantizationLoss& loss : losses) {
    const auto found = nodes.find(loss.node);
    if (found == nodes.end()) continue;
    loss.op_type = found->second->op_type();
    if (b.find(loss.tensor) == nullptr && found->second->output(0) != nullptr) loss.tensor = found->second->output(0)->name();
  }
}

}  // namespace

std::vector<QuantizationLoss> measure_quantization(const Pair& pair, const Reference& reference) {
  Side spelled;
  spelled.model = with_quantization_spelled_out(*pair.b.model, pair.a.model->graph());
  spelled.name = pair.b.name;
  const Side& b = spelled.model ? spelled : pair.b;
  Side folded;
  folded.model = with_batch_norms_folded(*pair.a.model, b.model->graph());
  folded.name = pair.a.name;
  const Side& a = folded.model ? folded : pair.a;
  QuantizationLosses losses(a.model->graph(), b.model->graph());
  const std::size_t samples = std::min<std::size_t>(thresholds::kLayerSamples, reference.samples().size());
  for (std::size_t s = 0; s < samples; ++s) losses.add(task_of(pair, a, b, reference, s, "losses"));
  std::vector<QuantizationLoss> out = losses.worst_first();
  if (spelled.model) name_as_written(out, pair.b.model->graph());
  return out;
}

}  // namespace relayout
