// Compares one output with its stored value, by the rule of ONNX's own tests and by a stricter one.
#include "verify/stored/official.h"

#include <cmath>

#include "base/numbers.h"
#include "base/positions.h"
#include "ops/loops/dtypes.h"
#include "relayout/datum.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/elements.h"
#include "verify/run/quantizer.h"
#include "verify/run/reference_output.h"
#include "verify/thresholds.h"

namespace relayout {

// Elements of quantized tensors that perturbed weights carry to another step.
void Flips::keep(ExecuteOptions& options) {
  options.observe = [this](const Node& node, const std::vector<Datum>& outputs) {
    if (quantizes(node)) kept_[&node].push_back(spill_.write(outputs.front()));
  };
}

void Flips::count(ExecuteOptions& options) {
  times_.clear();
  elements_ = 0;
  options.observe = [this](const Node& node, const std::vector<Datum>& outputs) {
    if (quantizes(node)) see(node, outputs.front(), times_[&node]++);
  };
}

void Flips::see(const Node& node, const Datum& output, std::size_t time) {
  const auto found = kept_.find(&node);
  if (found == kept_.end() || time >= found->second.size()) return;
  const Datum kept = spill_.read(found->second[time]);
  if (!structural_difference(kept, output).empty()) return;
  const int64_t moved = count_mismatches(kept, output);
  if (elements_ == 0 && moved > 0) first_ = node.label();
  elements_ += moved;
  if (elements_ <= most_) return;
  most_ = elements_;
  node_ = first_;
}

namespace {

bool is_numeric(DataType type) {
  return type != DataType::boolean && type != DataType::string && type != DataType::undefined;
}

/// Compares numpy's tolist() of both: 1 equals True.
bool lists_equal(const Tensor& result, const Tensor& reference) {
  if (result.dims() != reference.dims()) return false;
  const Tensor a = contiguous(result), b = contiguous(reference);
  const auto count = as_size(a.element_count());
  if (reference.type() == DataType::string || result.type() == DataType::string) {
    if (result.type() != reference.type()) return false;
    return std::equal(a.data<std::string>(), a.data<std::string>() + count, b.data<std::string>());
  }
  bool equal = true;
  for_each_chunk(real_parts(a), [&](int64_t first, std::span<const double> values) {
    for (std::size_t i = 0; i < values.size() && equal; ++i) {
      const auto at = first + static_cast<int64_t>(i);
      equal = at < b.element_count() && values[i] == load_one<double>(b.type(), b.bytes() + at);
    }
  });
  return equal;
}

bool all_close(const Tensor& result, const Tensor& reference, const Tolerance& tolerance) {
  const bool scalar = result.rank() == 0 || reference.rank() == 0;
  if (result.type() != reference.type() || (!scalar && result.dims() != reference.dims())) return false;
  const Tensor a = real_parts(result), b = real_parts(reference);
  const int64_t count = std::max(a.element_count(), b.element_count());
  const int64_t stride = element_stride(a.type());
  for (int64_t i = 0; i < count; ++i) {
    const double x = load_one<double>(a.type(), a.bytes() + i % a.element_count() * stride);
    const double y = load_one<double>(b.type(), b.bytes() + i % b.element_count() * stride);
    const bool near = std::isfinite(y) && std::fabs(x - y) <= tolerance.atol + tolerance.rtol * std::fabs(y);
    if (!near && x != y && !(std::isnan(x) && std::isnan(y))) return false;
  }
  return true;
}

/// Whether integers as in quantized tensors (of 16 bits or fewer) differ by at most one.
bool is_neighbour(const Tensor& result, const Tensor& reference) {
  const DataTypeTraits& type = traits(reference.type());
  if (!is_numeric(reference.type()) || type.is_float || type.bits > 16) return false;
  double most = 0;
  for_each_chunk(contiguous(result), contiguous(reference), [&](int64_t, std::span<const double> x, std::span<const double> y) {
    for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::fabs(x[i] - y[i]));
  });
  return most <= 1;
}

void compare_tensor(const Tensor& result, const Tensor& reference, const Tolerance& tolerance, StoredComparison& out) {
  const Yardstick yardstick(reference);
  SampleMetrics metrics = measure(reference, result, yardstick);
  if (!is_measured(reference.type())) {
    judge_numbers(metrics, reference.type(), {});
    if (metrics.mismatches > 0) {
      const bool alone = out.exact_part || out.neighbours > 0;
      out.neighbours = alone && is_neighbour(result, reference) ? out.neighbours + metrics.mismatches : 0;
      out.exact_part = false;
    }
    if (out.message.empty()) out.message = metrics.reason;
    return;
  }
  const int64_t non_finite = metrics.non_finite.unequal();
  const int64_t beyond = count_beyond(reference, result, tolerance.rtol, tolerance.atol);
  if (non_finite > 0) {
    out.exact_part = false;
    out.neighbours = 0;
  }
  out.within_tolerance = out.within_tolerance && beyond == 0;
  if (metrics.max_error >= out.error) {
    out.error = metrics.max_error;
    out.range = yardstick.range();
  }
  if (beyond == 0 || !out.message.empty()) return;
  out.message = format_count(beyond) + " of " + counted(reference.element_count(), "element") + (beyond == 1 ? " is" : " are") +
                " beyond the tolerance, error/range " + scientific(metrics.max_error) + ", worst " + to_string(metrics.worst.at) + ": " +
                exact_number(metrics.worst.b) + ", stored " + exact_number(metrics.worst.a);
}

/// The error/range that passes whatever the tolerance is. 8-bit floats come from casts, which are exact.
double least_bound(DataType type) {
  if (type == DataType::float32 || type == DataType::complex64) return thresholds::kStoredLeastBound;
  return traits(type).bits < 16 ? 0 : dtype_minimum(type);
}

}  // namespace

bool official_rule_passes(const Datum& result, const Datum& reference, const Tolerance& tolerance) {
  if (reference.kind != Datum::Kind::tensor) {
    if (result.kind != reference.kind || result.elements.size() > reference.elements.size()) return false;
    for (std::size_t i = 0; i < result.elements.size(); ++i) {
      if (!official_rule_passes(result.elements[i], reference.elements[i], tolerance)) return false;
    }
    return true;
  }
  if (result.kind != Datum::Kind::tensor || !result.tensor || !reference.tensor) return false;
  if (result.tensor.element_count() == 0 || reference.tensor.element_count() == 0) return result.tensor.dims() == reference.tensor.dims();
  return is_numeric(reference.tensor.type()) ? all_close(result.tensor, reference.tensor, tolerance)
                                             : lists_equal(result.tensor, reference.tensor);
}

StoredComparison compare_stored(const Datum& result, const Datum& reference, const Tolerance& tolerance) {
  StoredComparison out;
  out.tolerance_alone = tolerance.alone;
  out.message = structural_difference(reference, result);
  out.same_structure = out.exact_part = out.message.empty();
  if (!out.exact_part) return out;
  const std::vector<Tensor> results = leaves(result), references = leaves(reference);
  for (std::size_t i = 0; i < references.size(); ++i) {
    if (!references[i]) continue;
    if (is_measured(references[i].type())) out.bound = least_bound(references[i].type());
    compare_tensor(results[i], references[i], tolerance, out);
  }
  return out;
}

}  // namespace relayout
