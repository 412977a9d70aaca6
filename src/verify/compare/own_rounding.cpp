// Measures how far the roundings of both models' own sums and constants may move outputs, as far as both round numbers of that size.
#include "verify/compare/own_rounding.h"

#include <cmath>

#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/elements.h"
#include "verify/run/noise.h"
#include "verify/run/quantizer.h"
#include "verify/run/reference.h"
#include "verify/run/session.h"

namespace relayout {
namespace {

/// Larger numbers stand for an infinity in masks.
constexpr double kLargest = 65504;

double magnitude_of(const Datum& datum) {
  double largest = 0;
  for (const Tensor& tensor : leaves(datum)) {
    if (!tensor || !kRealTypes.has(tensor.type())) continue;
    for_each_chunk(contiguous(tensor), [&](int64_t, std::span<const double> numbers) {
      for (const double number : numbers) largest = std::fabs(number) <= kLargest ? std::max(largest, std::fabs(number)) : largest;
    });
  }
  return largest;
}

/// The largest magnitude of a real number that a model computes or reads, and of the ends of its quantizers' grids.
double largest_of(const Pair& pair, const Side& side, const Inputs& inputs) {
  double largest = 0;
  Constants constants;
  ExecuteOptions options = pair.execute_options(Mode::as_written);
  options.observe = [&](const Node& node, const std::vector<Datum>& outputs) {
    for (const Datum& output : outputs) largest = std::max(largest, magnitude_of(output));
    if (!node.is("DequantizeLinear")) return;
    if (const auto grid = Quantizer::of(node, constants)) {
      largest = std::max({largest, std::fabs(grid->range().lowest), std::fabs(grid->range().highest)});
    }
  };
  for (const auto& [name, datum] : inputs) largest = std::max(largest, magnitude_of(datum));
  pair.steps->next("own rounding");
  (void)pair.open(side, std::move(options))->run(inputs);
  return largest;
}

/// Whether a node computes numbers that it has to round.
bool rounds(const Node& node) {
  const Traits traits = traits_of(node);
  return !traits.has(Trait::exact) && !traits.has(Trait::identity) && !traits.moves_input(0) && !traits.has(Trait::control_flow);
}

/// The results that outputs hold, rearranged at most: their own rounding is in every floor.
std::unordered_set<const Value*> last_of(const Graph& graph) {
  std::vector<const Value*> open(graph.outputs().begin(), graph.outputs().end());
  std::unordered_set<const Value*> found(open.begin(), open.end());
  while (!open.empty()) {
    const Node* const node = open.back()->producer();
    open.pop_back();
    if (node == nullptr || rounds(*node)) continue;
    for (const Value* const input : node->inputs()) {
      if (input != nullptr && found.insert(input).second) open.push_back(input);
    }
  }
  return found;
}

/// Moves the elements of a result by one ULP, those of more than `largest` by less.
void move(const Tensor& tensor, const Tensor& moved, double largest) {
  std::vector<double> numbers = reals_of(tensor);
  const std::vector<double> others = reals_of(moved);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double excess = std::fabs(numbers[i]) / largest;
    numbers[i] += (others[i] - numbers[i]) / std::max(1.0, excess);
  }
  store(tensor.type(), tensor.bytes(), 1, tensor.element_count(), numbers.data());
}

void move_results(const Node& node, const std::vector<Datum>& outputs, const std::unordered_set<const Value*>& last, uint64_t seed,
                  int draw, double largest) {
  if (!rounds(node)) return;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Tensor& tensor = outputs[k].tensor;
    const bool is_moved = node.output(k) != nullptr && !last.contains(node.output(k));
    const bool is_real = is_moved && outputs[k].kind == Datum::Kind::tensor && tensor && kRealTypes.has(tensor.type());
    if (!is_real || !tensor.is_contiguous()) continue;
    const Tensor moved = moved_by_one_ulp(tensor, seed, "value " + node.output(k)->name(), draw, DataType::undefined);
    if (moved.bytes() != tensor.bytes()) move(tensor, moved, largest);
  }
}

/// Widens the floors by runs of a side in which its constants and results move.
void widen_by_moved(std::vector<Floor>& floors, const Pair& pair, const Side& side, const Reference& reference, std::size_t sample,
                    double largest) {
  const Inputs& inputs = reference.inputs_of(sample);
  const std::unordered_set<const Value*> last = last_of(side.model->graph());
  const WeightNoise noise(side.model->graph());
  Outputs exact;
  for (int draw = -1; draw < rules::kNoiseDraws; ++draw) {
    ExecuteOptions options = pair.execute_options(Mode::as_written);
    if (draw >= 0) {
      const uint64_t seed = options.seed;
      options.observe = [&, seed, draw](const Node& node, const std::vector<Datum>& outputs) {
        move_results(node, outputs, last, seed, draw, largest);
      };
      noise.apply(options, draw, pair.grain);
    }
    pair.steps->next("own rounding");
    Session::Run run = pair.open(side, std::move(options))->run(inputs);
    if (!run.rejected.empty()) return;
    if (draw < 0) exact = std::move(run.outputs);
    for (std::size_t i = 0; draw >= 0 && i < floors.size(); ++i) {
      const auto found = std::ranges::find_if(side.outputs, [&](const auto& port) { return port.name == pair.a.outputs[i].name; });
      const auto at = static_cast<std::size_t>(found - side.outputs.begin());
      if (at >= exact.size() || !structural_difference(exact[at], run.outputs[at]).empty()) continue;
      widen(floors[i], relative(distance(exact[at], run.outputs[at]), reference.outputs().yardstick(i, sample)));
    }
  }
}

}  // namespace

std::vector<Floor> own_rounding(const Pair& pair, const Reference& reference, std::size_t sample) {
  std::vector<Floor> floors(reference.outputs().count());
  const Inputs& inputs = reference.inputs_of(sample);
  const double largest = std::min(largest_of(pair, pair.a, inputs), largest_of(pair, pair.b, inputs));
  widen_by_moved(floors, pair, pair.a, reference, sample, largest);
  widen_by_moved(floors, pair, pair.b, reference, sample, largest);
  return floors;
}

}  // namespace relayout
