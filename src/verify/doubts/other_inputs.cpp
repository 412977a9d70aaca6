// Runs two models that agree in every bit of the samples on other inputs, which show what a maximum or a mask hides.
#include "base/positions.h"
#include "base/text.h"
#include "model/walk.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/compare/datum_pair.h"
#include "verify/doubts/doubts.h"
#include "verify/evidence.h"
#include "verify/finding.h"
#include "verify/inputs/inputs.h"
#include "verify/inputs/port.h"
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

constexpr const char* kStep = "inputs of other numbers";
/// Other inputs may be conditioned worse than those of the samples, whose floors are known.
constexpr double kWiderFloor = 20, kLeastError = 1e-3;
/// The same where a model rounds to steps, of which other inputs may cross some.
constexpr double kLeastErrorOfSteps = 0.05;

/// Makes the last of numbers in order differ from the one before it, and so on, as far as integers are equal there.
void part_ties(std::vector<double>& line, bool is_rising) {
  if (line.size() < 2) return;
  const auto [lowest, highest] = std::ranges::minmax(line);
  for (std::size_t i = line.size() - 1; i > 0; --i) {
    if (is_rising ? line[i - 1] < line[i] : line[i - 1] > line[i]) return;
    line[i - 1] = std::clamp(line[i] + (is_rising ? -1 : 1), lowest, highest);
  }
}

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
    if (kIntegerTypes.has(tensor.type())) part_ties(line, is_rising);
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

/// Inputs of numbers that are to be replaced: all but masks and what the user gave.
std::vector<std::string> free_inputs(const Evidence& evidence) {
  const std::set<std::string> masks = evidence.reference().inputs().ports().masks();
  std::vector<std::string> out;
  for (const Port& port : evidence.reference().inputs().ports().all()) {
    const bool is_kept = masks.contains(port.name) || evidence.pair().options->inputs.contains(port.name);
    if (!is_kept && port.kind == Datum::Kind::tensor && kNumericTypes.has(port.type)) out.push_back(port.name);
  }
  return out;
}

/// Whether a model rounds to steps; `stored`: whose range was measured on usual inputs, beyond which others lie.
bool has_steps(const Model& model, bool stored) {
  bool found = false;
  for_each_node(model, [&](const Node& node) {
    found = found || (has_trait(node, Trait::quantizes) && !(stored && node.is("DynamicQuantizeLinear")));
  });
  return found;
}

/// Whether two results differ by far more than rounding: in half of their elements where these are compared exactly.
bool differ(const Datum& a, const Datum& b, DataType type, double most) {
  if (!structural_difference(a, b).empty()) return true;
  if (!kRealTypes.has(type)) {
    int64_t elements = 0;
    for (const Tensor& tensor : leaves(a)) elements += tensor ? tensor.element_count() : 0;
    return elements > 0 && 2 * count_mismatches(a, b) > elements;
  }
  const SampleMetrics metrics = measure_errors(a, b, Yardstick(a));
  return metrics.non_finite.unequal() == 0 && metrics.max_error > most;
}

/// Whether rules of this file are to be asked: other inputs are judged by the samples' floors, which is fair only for alike arithmetic.
bool agrees_in_every_bit(Evidence& evidence) {
  const bool is_equal = std::ranges::all_of(evidence.outputs(), [](const OutputComparison& output) {
    return std::ranges::all_of(output.samples, [](const SampleMetrics& of) { return of.max_error == 0 && of.mismatches == 0; });
  });
  const Pair& pair = evidence.pair();
  const bool is_plain = pair.narrow == DataType::undefined && !pair.quantized && !evidence.unexplained().empty();
  return is_equal && is_plain && !has_steps(*pair.a.model, true) && !has_steps(*pair.b.model, true);
}

/// Runs both models on a sample of which these inputs are edited. A doubt where an output then differs, which says for which inputs.
VerifyFindings try_inputs(Evidence& evidence, std::size_t sample, const std::vector<std::string>& names,
                          const std::function<void(const Datum&)>& edit, const std::string& text) {
  const Pair& pair = evidence.pair();
  if (names.empty() || !pair.steps->affords(kStep, 2)) return {};
  Inputs inputs = evidence.reference().inputs_of(sample);
  for (const std::string& name : names) edit(inputs.at(name) = copy_of(inputs.at(name)));
  pair.steps->next(kStep);
  const Session::Run a = pair.open(pair.a, pair.execute_options(Mode::as_written))->run(inputs);
  pair.steps->next(kStep);
  const Session::Run b = pair.open(pair.b, pair.execute_options(Mode::as_written))->run(inputs);
  if (!a.rejected.empty() || !b.rejected.empty()) return {};
  const double least = has_steps(*pair.a.model, false) || has_steps(*pair.b.model, false) ? kLeastErrorOfSteps : kLeastError;
  for (std::size_t i = 0; i < evidence.reference().outputs().count(); ++i) {
    const double most = std::max(least, kWiderFloor * evidence.floors().of(i, sample).max);
    const auto place = evidence.candidate().outputs()[i].place;
    if (!place || !differ(a.outputs[i], b.outputs[*place], evidence.outputs()[i].type, most)) continue;
    return {{.text = evidence.unexplained().front().text + ", and where " + text + ", output " + quote(pair.a.outputs[i].name) +
                     " differs, which no sample shows" + kMoreSamples}};
  }
  return {};
}

}  // namespace

/// A maximum or minimum hides data that one model drops, unless the largest or smallest number is among them: at the end of an axis, or in
/// an input.
VerifyFindings find_hidden_by_maximum(Evidence& evidence) {
  constexpr std::size_t kMostInputs = 4;
  if (!agrees_in_every_bit(evidence)) return {};
  std::vector<std::string> names = free_inputs(evidence);
  const std::size_t samples = std::min<std::size_t>(2, evidence.reference().samples().size());
  for (std::size_t sample = 0; sample < samples; ++sample) {
    for (const bool is_rising : {true, false}) {
      const std::string text = std::string("inputs ") + (is_rising ? "rise" : "fall") + " along their axes";
      VerifyFindings found = try_inputs(evidence, sample, names, [&](const Datum& datum) { sort_along_axes(datum, is_rising); }, text);
      if (!found.empty()) return found;
    }
  }
  const Inputs inputs = evidence.reference().inputs_of(0);
  std::erase_if(names, [&](const std::string& name) { return !kRealTypes.has(type_of(inputs.at(name))); });
  if (names.size() < 2 || names.size() > kMostInputs) return {};
  double farthest = 1;
  for (const std::string& name : names) farthest = std::max(farthest, peak_of(inputs.at(name)));
  for (const std::string& name : names) {
    for (const double shift : {2 * farthest, -2 * farthest}) {
      const auto move = [&](const Datum& datum) { edit(datum, kRealTypes, [&](std::size_t, double& number) { number += shift; }); };
      const std::string text = "input " + quote(name) + " is " + (shift > 0 ? "above" : "below") + " all others";
      VerifyFindings found = try_inputs(evidence, 0, {name}, move, text);
      if (!found.empty()) return found;
    }
  }
  return {};
}

/// An input that is multiplied as a mask is may as well be a map of labels: other numbers than 0 and 1.
VerifyFindings find_labels_in_masks(Evidence& evidence) {
  constexpr std::size_t kLabels = 3;
  if (!agrees_in_every_bit(evidence)) return {};
  std::vector<std::string> names;
  for (const std::string& name : evidence.reference().inputs().ports().possible_labels()) {
    if (!evidence.pair().options->inputs.contains(name)) names.push_back(name);
  }
  const auto label = [](std::size_t position, double& number) {
    number = number == 0 ? 0 : 1 + static_cast<double>((position + position / kLabels) % kLabels);
  };
  const auto set_labels = [&](const Datum& datum) { edit(datum, kNumericTypes, label); };
  return try_inputs(evidence, 0, names, set_labels, "masks hold other integers than 0 and 1");
}

}  // namespace relayout
