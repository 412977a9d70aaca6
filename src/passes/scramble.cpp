// Replaces weights by random numbers of the same mean and spread within the same range, for models that are to be shown without them.

#include <limits>

#include "base/interrupt.h"
#include "base/positions.h"
#include "base/random.h"
#include "model/float_elements.h"
#include "model/node.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "passes/edits.h"
#include "passes/pass.h"
#include "passes/rewrite.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

/// Single numbers are parts of formulas; whole numbers of few dims are sizes, zero points or a vocabulary.
bool is_weight(DataType type, const Dims& dims) {
  const bool is_small_integer = type == DataType::int8 || type == DataType::uint8;
  return element_count(dims) > 1 && (is_scalable(type) || (is_small_integer && dims.size() > 1));
}

/// Numbers of a stream with the mean and spread of the given ones, within their range: none becomes negative where none was.
std::vector<double> others_like(std::span<const double> values, const RandomStream& random) {
  double low = std::numeric_limits<double>::infinity(), high = -low, sum = 0, squares = 0;
  int64_t count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
    squares += value * value;
    ++count;
  }
  std::vector<double> out(values.begin(), values.end());
  if (count == 0) return out;
  const double mean = sum / static_cast<double>(count);
  const double spread = std::sqrt(std::max(squares / static_cast<double>(count) - mean * mean, 0.0));
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (std::isfinite(out[i])) out[i] = std::clamp(mean + spread * random.normal(i), low, high);
  }
  return out;
}

TensorData scrambled(const TensorData& data, const std::string& name, uint64_t seed) {
  check_interrupt();
  const Tensor tensor = contiguous(data.load());
  std::vector<double> values(as_size(tensor.element_count()));
  load(tensor.type(), tensor.bytes(), 1, tensor.element_count(), values.data());
  values = others_like(values, RandomStream(seed, name));
  if (is_scalable(data.type())) return from_doubles(data.type(), data.dims(), values);
  for (double& value : values) value = std::round(value);
  std::vector<std::byte> bytes(values.size());
  store(data.type(), bytes.data(), 1, std::ssize(values), values.data());
  return {data.type(), data.dims(), Bytes::owned(std::move(bytes))};
}

/// The contents of a Constant, where they are a weight.
std::optional<TensorData> contents_of(const Node& node, PassContext& context) {
  if (!node.is("Constant") || node.attribute("value") == nullptr || node.output(0) == nullptr) return std::nullopt;
  const auto found = context.constants.find(*node.output(0));
  const Constant* const constant = std::get_if<Constant>(&found);
  if (constant == nullptr || !is_weight(constant->type, constant->dims)) return std::nullopt;
  return constant->data;
}

}  // namespace

void scramble(Graph& graph, PassContext& context) {
  if (graph.outer() != nullptr || !context.options.scramble) return;
  const uint64_t seed = *context.options.scramble;
  for_each_graph(graph, [&](Graph& nested) {
    for (Initializer& initializer : nested.initializers()) {
      if (!initializer.data || !is_weight(initializer.data->type(), initializer.data->dims())) continue;
      const std::string& name = initializer.value->name();
      apply_one({"weight", name}, context, [&] { nested.set_data(initializer, scrambled(*initializer.data, name, seed)); });
      context.constants.forget(*initializer.value);
    }
    for (Node& node : nested.nodes()) {
      const auto data = contents_of(node, context);
      if (!data) continue;
      const std::string& name = reported_name(node);
      apply_one({"weight", name}, context, [&] { nested.set_constant(node, scrambled(*data, name, seed)); });
      context.constants.forget(*node.output(0));
    }
  });
}

}  // namespace relayout::passes
