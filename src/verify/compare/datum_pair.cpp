// Brings two values of one name to a comparable form, and tells those that differ only in ways that readers do not mind.
#include "verify/compare/datum_pair.h"

#include <cmath>

#include "base/positions.h"
#include "layout/axis_order.h"
#include "model/walk.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/run/bounds.h"
#include "verify/run/distance.h"
#include "verify/run/elements.h"
#include "verify/run/noise.h"
#include "verify/thresholds.h"

namespace relayout {
namespace {

bool is_narrow(const Tensor& tensor) {
  return tensor && is_narrow(tensor.type());
}

/// The elements in another floating-point type.
Tensor in_type(const Tensor& tensor, DataType type) {
  const Tensor dense = contiguous(tensor);
  Tensor out(type, dense.dims());
  for_each_chunk(dense, [&](int64_t first, std::span<const double> values) {
    store(type, out.bytes() + first * element_stride(type), 1, static_cast<int64_t>(values.size()), values.data());
  });
  return out;
}

/// The integer type of the same width with the other signedness: quantizers choose either, with zero points half of the range apart.
/// Undefined where there is none.
DataType other_sign(DataType type) {
  constexpr auto kPairs = std::to_array<std::pair<DataType, DataType>>(
      {{DataType::int8, DataType::uint8}, {DataType::int16, DataType::uint16}, {DataType::int4, DataType::uint4}});
  for (const auto& [with_sign, without] : kPairs) {
    if (type == with_sign) return without;
    if (type == without) return with_sign;
  }
  return DataType::undefined;
}

/// The same steps of a quantizer in the type of the other signedness.
Tensor with_other_sign(const Tensor& tensor) {
  const DataType type = other_sign(tensor.type());
  Tensor out(type, tensor.dims());
  const double half = std::ldexp(1.0, traits(type).bits - 1) * (traits(type).is_signed ? -1 : 1);
  std::vector<double> values = reals_of(tensor);
  for (double& value : values) value += half;
  store(type, out.bytes(), 1, out.element_count(), values.data());
  return out;
}

bool are_of_other_signs(const Datum& a, const Datum& b) {
  const bool tensors = a.kind == Datum::Kind::tensor && b.kind == Datum::Kind::tensor && a.tensor && b.tensor;
  return tensors && other_sign(a.tensor.type()) == b.tensor.type();
}

/// Whether two values differ in that one has 16 bits or fewer: that alone is no difference.
bool is_other_precision(const Datum& a, const Datum& b) {
  const bool tensors = a.kind == Datum::Kind::tensor && b.kind == Datum::Kind::tensor && a.tensor && b.tensor;
  return tensors && a.tensor.type() != b.tensor.type() && kRealTypes.has(a.tensor.type()) && kRealTypes.has(b.tensor.type()) &&
         (is_narrow(a.tensor) || is_narrow(b.tensor));
}

bool has_channels(const Datum& value) {
  return value.tensor && value.tensor.dims().size() > 2;
}

}  // namespace

Datum copy_of(const Datum& datum) {
  Datum out;
  out.kind = datum.kind;
  for (const Datum& element : datum.elements) out.elements.push_back(copy_of(element));
  if (!datum.tensor) return out;
  const Tensor dense = contiguous(datum.tensor);
  out.tensor = Tensor(dense.type(), dense.dims());
  overwrite(out.tensor, dense);
  return out;
}

Datum like(const Datum& value, const Datum& other) {
  if (are_of_other_signs(value, other)) return Datum(with_other_sign(value.tensor));
  return is_other_precision(value, other) ? Datum(in_type(value.tensor, other.tensor.type())) : value;
}

Datum through(const Datum& value, DataType narrower) {
  const bool is_real = value.tensor && kRealTypes.has(value.tensor.type());
  return is_real ? Datum(in_type(in_type(value.tensor, narrower), value.tensor.type())) : value;
}

Datum in_dims_of(const Datum& value, const Datum& other) {
  if (!value.tensor || !other.tensor || value.tensor.dims() == other.tensor.dims() ||
      value.tensor.element_count() != other.tensor.element_count()) {
    return value;
  }
  const Tensor dense = contiguous(value.tensor);
  return Datum(dense.view(other.tensor.dims(), contiguous_strides(other.tensor.dims())));
}

Datum channels_last(const Datum& value) {
  if (!has_channels(value)) return value;
  return Datum(contiguous(value.tensor.transposed(layout::to_channels_last(value.tensor.dims().size()))));
}

Datum channels_second(const Datum& value) {
  if (!has_channels(value)) return value;
  return Datum(contiguous(value.tensor.transposed(layout::from_channels_last(value.tensor.dims().size()))));
}

std::pair<Datum, Datum> comparable(const Datum& a, const Datum& b) {
  if (are_of_other_signs(a, b)) return {a, like(b, a)};
  if (!is_other_precision(a, b)) return {a, b};
  return is_narrow(a.tensor) ? std::pair{like(a, b), b} : std::pair{a, like(b, a)};
}

double peak_of(const Datum& datum) {
  double peak = 0;
  for_each_real(datum, [&](double number) { peak = std::isfinite(number) ? std::max(peak, std::abs(number)) : peak; });
  return peak;
}

void overwrite(const Datum& to, const Datum& from) {
  const std::vector<Tensor> targets = leaves(to), sources = leaves(like(from, to));
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] && targets[i].is_contiguous()) overwrite(targets[i], sources[i]);
  }
}

DataType type_of(const Datum& datum) {
  const std::vector<Tensor> tensors = leaves(datum);
  return tensors.empty() ? DataType::undefined : tensors.front().type();
}

// Large negative numbers that mask scores of attention.
namespace {

/// Whether a value has uses, is no output, and `is_one` holds for all its uses.
template <class IsOne>
bool is_read_by(const Value* value, const IsOne& is_one) {
  return value != nullptr && !value->is_output() && !value->uses().empty() && std::ranges::all_of(value->uses(), is_one);
}

/// Whether a node computes x - ReduceMax (x) for Exp alone, as ONNX expands Softmax: elements far below the largest count as 0.
bool is_distance_to_largest(const Node& sub, const Value& value) {
  const auto is_exponential = [](const Use& use) { return use.node->is("Exp"); };
  return less_its_largest(sub) == &value && is_read_by(sub.output(0), is_exponential);
}

/// Whether a use of a value belongs to an expanded Softmax.
bool is_of_softmax(const Use& use, const Value& value) {
  if (arithmetic_of(*use.node) == Arithmetic::subtract) return is_distance_to_largest(*use.node, value);
  const auto takes_distance = [&](const Use& reader) { return is_distance_to_largest(*reader.node, value); };
  return reduces(*use.node) == Reduces::maximum && use.index == 0 && is_read_by(use.node->output(0), takes_distance);
}

/// Whether a mask is still one after a consumer has shifted, scaled or moved it.
bool carries_masks(const Use& use) {
  const Traits traits = traits_of(*use.node);
  switch (traits.arithmetic()) {
    case Arithmetic::add:
    case Arithmetic::subtract:
    case Arithmetic::multiply:
    case Arithmetic::maximum:
      return true;
    default:
      return traits.has(Trait::casts) || traits.moves_input(as_size(use.index)) || use.node->is("Where");
  }
}

/// The operand of this name that nodes of nested graphs and functions read; null where there is none, or several.
const Value* find_nested(const Model& model, const std::string& name) {
  std::set<const Value*> found;
  for_each_node(model, [&](const Node& node) {
    if (&node.graph() == &model.graph()) return;
    for (const Value* const input : node.inputs()) {
      if (input != nullptr && input->name() == name) found.insert(input);
    }
  });
  return found.size() == 1 ? *found.begin() : nullptr;
}

}  // namespace

bool ends_in_softmax(const Value& value) {
  constexpr std::size_t kMost = 256;
  std::vector<const Value*> open{&value};
  std::set<const Value*> seen;
  bool found = false;
  while (!open.empty()) {
    const Value& at = *open.back();
    open.pop_back();
    if (!seen.insert(&at).second) continue;
    if (at.is_output() || seen.size() > kMost) return false;
    for (const Use& use : at.uses()) {
      const Node& reader = *use.node;
      const bool standard = reader.domain().empty() && (at.producer() == nullptr || &reader.graph() == &at.graph());
      if (standard && (reader.is("Softmax") || is_of_softmax(use, at))) {
        found = true;
        continue;
      }
      if (!standard || !carries_masks(use) || reader.output(0) == nullptr) return false;
      open.push_back(reader.output(0));
    }
  }
  return found;
}

bool is_nested_mask(const std::string& name, const Model& a, const Model& b) {
  const Value *const in_a = find_nested(a, name), *const in_b = find_nested(b, name);
  if (in_a == nullptr || in_b == nullptr || !ends_in_softmax(*in_a) || !ends_in_softmax(*in_b)) return false;
  const std::optional<Tensor> of_a = Constants().value(*in_a), of_b = Constants().value(*in_b);
  return of_a && of_b && differs_by_masks(*of_a, *of_b);
}

bool differs_by_masks(const Datum& a, const Datum& b) {
  if (!structural_difference(a, b).empty()) return false;
  bool all = true, any = false;
  const std::vector<Tensor> left = leaves(a), right = leaves(b);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (!left[i] || !kRealTypes.has(left[i].type())) return false;
    for_each_chunk(left[i], right[i], [&](int64_t, std::span<const double> x, std::span<const double> y) {
      for (std::size_t k = 0; k < x.size(); ++k) {
        const bool masked = x[k] <= thresholds::kMaskedScore, masked_too = y[k] <= thresholds::kMaskedScore;
        any = any || (masked && masked_too && x[k] != y[k]);
        all = all && masked == masked_too && !std::isnan(x[k]) && !std::isnan(y[k]);
      }
    });
  }
  return all && any;
}

}  // namespace relayout
