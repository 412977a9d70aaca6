// Rounds real numbers to the grid of a quantizer of the model, without running it: what integers of that scale must lose, and what they
// lose at their ends.
#include "verify/quantizer.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/attributes.h"
#include "ops/constants.h"
#include "ops/loops/dtypes.h"
#include "ops/op.h"
#include "ops/traits.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/inputs/range.h"

namespace relayout {
namespace {

constexpr TypeSet kUnsigned{DataType::uint8, DataType::uint16, DataType::uint4, DataType::uint2};
constexpr TypeSet kSigned{DataType::int8, DataType::int16, DataType::int4, DataType::int2, DataType::int32};

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> out(static_cast<std::size_t>(tensor.element_count()));
  load(tensor.type(), tensor.bytes(), 1, tensor.element_count(), out.data());
  return out;
}

/// Type of the integers: that of the zero point, of what is dequantized, or the one that `output_dtype` names.
DataType integers_of(const Node& node, const std::optional<Tensor>& zero, Constants& constants) {
  if (zero) return zero->type();
  if (node.is("DequantizeLinear")) return constants.type_of(*node.input(0));
  const int64_t named = Attributes(node).integer("output_dtype", 0);
  return named == 0 ? DataType::uint8 : static_cast<DataType>(named);
}

}  // namespace

std::optional<Quantizer> Quantizer::of(const Node& node, Constants& constants) {
  if (node.input(0) == nullptr || node.input(1) == nullptr || Attributes(node).integer("block_size", 0) != 0) return std::nullopt;
  const auto scale = constants.value(*node.input(1));
  const auto zero = node.input(2) == nullptr ? std::nullopt : constants.value(*node.input(2));
  if (!scale || (node.input(2) != nullptr && !zero) || !kRealTypes.has(scale->type())) return std::nullopt;
  const DataType type = integers_of(node, zero, constants);
  const bool is_signed = kSigned.has(type);
  if (!is_signed && !kUnsigned.has(type)) return std::nullopt;
  Quantizer out;
  out.scales_ = numbers(contiguous(*scale));
  out.zeros_ = zero ? numbers(contiguous(*zero)) : std::vector<double>{0};
  const bool suits = out.zeros_.size() == 1 || out.zeros_.size() == out.scales_.size();
  if (out.scales_.empty() || !suits || !std::ranges::all_of(out.scales_, [](double s) { return s > 0 && std::isfinite(s); }))
    return std::nullopt;
  out.axis_ = Attributes(node).integer("axis", 1);
  const int bits = traits(type).bits;
  out.lowest_ = is_signed ? -std::ldexp(1.0, bits - 1) : 0;
  out.highest_ = std::ldexp(1.0, is_signed ? bits - 1 : bits) - 1;
  return out;
}

template <class Visit>
bool Quantizer::for_each(const Tensor& tensor, const Visit& visit) const {
  if (!kRealTypes.has(tensor.type())) return false;
  const Dims& dims = tensor.dims();
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t axis = axis_ < 0 ? axis_ + rank : axis_;
  const auto count = static_cast<int64_t>(scales_.size());
  if (count > 1 && (axis < 0 || axis >= rank || dims[static_cast<std::size_t>(axis)] != count)) return false;
  int64_t inner = 1;
  for (int64_t i = axis + 1; count > 1 && i < rank; ++i) inner *= dims[static_cast<std::size_t>(i)];
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    const auto place = static_cast<std::size_t>(count > 1 ? i / inner % count : 0);
    visit(i, scales_[place], zeros_[zeros_.size() > 1 ? place : 0]);
  }
  return true;
}

bool Quantizer::round(const Tensor& tensor, Ends ends) const {
  std::vector<double> values = numbers(tensor);
  const bool suits = for_each(tensor, [&](int64_t i, double scale, double zero) {
    double& value = values[static_cast<std::size_t>(i)];
    const double step = std::nearbyint(value / scale) + zero;
    value = ((ends == Ends::saturate ? std::clamp(step, lowest_, highest_) : step) - zero) * scale;
  });
  if (suits) store(tensor.type(), tensor.bytes(), 1, tensor.element_count(), values.data());
  return suits;
}

Range Quantizer::range() const {
  Range out{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (std::size_t i = 0; i < scales_.size(); ++i) {
    const double zero = zeros_[zeros_.size() > 1 ? i : 0];
    out.lowest = std::max(out.lowest, (lowest_ - zero) * scales_[i]);
    out.highest = std::min(out.highest, (highest_ - zero) * scales_[i]);
  }
  return out;
}

int64_t Quantizer::count_beyond(const Tensor& tensor) const {
  const std::vector<double> values = numbers(tensor);
  int64_t beyond = 0;
  for_each(tensor, [&](int64_t i, double scale, double zero) {
    const double step = std::nearbyint(values[static_cast<std::size_t>(i)] / scale) + zero;
    beyond += step < lowest_ || step > highest_ ? 1 : 0;
  });
  return beyond;
}

const Node* quantizer_behind(const Value& value) {
  const auto quantizes = [](const Use& use) { return use.node->is("QuantizeLinear") && use.index == 0; };
  const bool by_all = !value.is_output() && !value.uses().empty() && std::ranges::all_of(value.uses(), quantizes);
  return by_all ? value.uses().front().node : nullptr;
}

std::map<std::string, Range> ranges_of_inputs(const Graph& graph) {
  Constants constants;
  std::map<std::string, Range> out;
  for (const Value* const input : graph.inputs()) {
    std::vector<const Value*> open{input};
    while (!open.empty()) {
      const Value& value = *open.back();
      open.pop_back();
      for (const Use& use : value.uses()) {
        const bool quantizes = use.node->is("QuantizeLinear") && use.index == 0;
        const auto quantizer = quantizes ? Quantizer::of(*use.node, constants) : std::nullopt;
        if (quantizer) {
          const Range range = quantizer->range();
          Range& all = out.emplace(input->name(), range).first->second;
          all = {std::max(all.lowest, range.lowest), std::min(all.highest, range.highest)};
        } else if (traits_of(*use.node).moves_input(static_cast<std::size_t>(use.index)) && use.node->output(0) != nullptr) {
          open.push_back(use.node->output(0));
        }
      }
    }
  }
  return out;
}

}  // namespace relayout
