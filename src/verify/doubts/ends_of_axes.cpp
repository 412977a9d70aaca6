// Runs both models on numbers that rise or fall along all axes, whose largest and smallest stand where a cropped or padded end hides them.
#include "base/positions.h"
#include "base/text.h"
#include "ops/loops/dtypes.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare/datum_pair.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/inputs/inputs.h"
#include "verify/pair.h"
#include "verify/run/bounds.h"
#include "verify/run/candidate.h"
#include "verify/run/distance.h"
#include "verify/run/floors.h"
#include "verify/run/reference.h"
#include "verify/run/reference_output.h"
#include "verify/run/session.h"

namespace relayout {
namespace {

constexpr const char* kStep = "numbers in order";
/// Numbers in order may be conditioned worse than those of the samples, whose floors are known.
constexpr double kWiderFloor = 20, kLeastError = 1e-3;

/// Sorts the elements along each axis in turn, after which they are in order along all of them.
void sort_along_axes(const Datum& datum, bool is_rising) {
  constexpr int64_t kMost = int64_t{1} << 22;
  const Tensor& tensor = datum.tensor;
  if (datum.kind != Datum::Kind::tensor || !tensor || !tensor.is_contiguous() || tensor.element_count() > kMost) return;
  std::vector<double> numbers = reals_of(tensor), line;
  int64_t stride = 1;
  const auto sort_from = [&](int64_t first, int64_t length) {
    line.clear();
    for (int64_t i = 0; i < length; ++i) line.push_back(numbers[as_size(first + i * stride)]);
    std::ranges::sort(line);
    if (!is_rising) std::ranges::reverse(line);
    for (int64_t i = 0; i < length; ++i) numbers[as_size(first + i * stride)] = line[as_size(i)];
  };
  for (std::size_t axis = as_size(tensor.rank()); axis-- > 0;) {
    const int64_t length = tensor.dims()[axis], block = length * stride;
    for (int64_t begin = 0; begin < tensor.element_count(); begin += block) {
      for (int64_t first = begin; first < begin + stride; ++first) sort_from(first, length);
    }
    stride = block;
  }
  store(tensor.type(), tensor.bytes(), 1, tensor.element_count(), numbers.data());
}

/// The inputs of a sample in order, but for masks, positions and what the user gave.
Inputs ordered_inputs(const Evidence& evidence, std::size_t sample, bool is_rising) {
  const InputPorts& ports = evidence.reference().inputs().ports();
  const std::set<std::string> integers = ports.plain_integers(), masks = ports.masks();
  Inputs out = evidence.reference().inputs_of(sample);
  for (auto& [name, datum] : out) {
    const bool is_sorted = kRealTypes.has(type_of(datum)) || integers.contains(name);
    if (!is_sorted || masks.contains(name) || evidence.pair().options->inputs.contains(name)) continue;
    datum = copy_of(datum);
    sort_along_axes(datum, is_rising);
  }
  return out;
}

/// Whether two results differ by far more than rounding: in half of their elements where these are compared exactly.
bool differ(const Datum& a, const Datum& b, DataType type, const Floor& floor) {
  if (!structural_difference(a, b).empty()) return true;
  if (!kRealTypes.has(type)) {
    int64_t elements = 0;
    for (const Tensor& tensor : leaves(a)) elements += tensor ? tensor.element_count() : 0;
    return elements > 0 && 2 * count_mismatches(a, b) > elements;
  }
  Yardstick yardstick;
  yardstick.add(a);
  const SampleMetrics metrics = measure_errors(a, b, yardstick);
  return metrics.non_finite.unequal() == 0 && metrics.max_error > std::max(kLeastError, kWiderFloor * floor.max);
}

}  // namespace

/// Where all samples agree in every bit, a difference may be one that a maximum hides.
VerifyFindings find_unshown_ends(Evidence& evidence) {
  const Pair& pair = evidence.pair();
  const bool is_equal = std::ranges::all_of(evidence.outputs(), [](const OutputComparison& output) {
    return std::ranges::all_of(output.samples, [](const SampleMetrics& of) { return of.max_error == 0 && of.mismatches == 0; });
  });
  if (pair.narrow != DataType::undefined || pair.quantized || !is_equal || evidence.unexplained().empty()) return {};
  const std::size_t samples = std::min<std::size_t>(2, evidence.reference().samples().size());
  for (std::size_t s = 0; s < samples; ++s) {
    for (const bool is_rising : {true, false}) {
      if (!pair.steps->affords(kStep, 2)) return {};
      const Inputs inputs = ordered_inputs(evidence, s, is_rising);
      pair.steps->next(kStep);
      const Session::Run a = pair.open(pair.a, pair.execute_options(Mode::as_written))->run(inputs);
      pair.steps->next(kStep);
      const Session::Run b = pair.open(pair.b, pair.execute_options(Mode::as_written))->run(inputs);
      if (!a.rejected.empty() || !b.rejected.empty()) continue;
      for (std::size_t i = 0; i < evidence.reference().outputs().count(); ++i) {
        const auto place = evidence.candidate().outputs()[i].place;
        if (!place || !differ(a.outputs[i], b.outputs[*place], evidence.outputs()[i].type, evidence.floors().of(i, s))) continue;
        return {{.text = evidence.unexplained().front().text + ", and where inputs " + (is_rising ? "rise" : "fall") +
                         " along their axes, output " + quote(pair.a.outputs[i].name) + " differs, which no sample shows" + kMoreSamples}};
      }
    }
  }
  return {};
}

}  // namespace relayout
