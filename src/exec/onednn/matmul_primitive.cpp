// Makes matrix products in oneDNN, and chooses the form of constant weights.

#include "exec/onednn/common.h"
#include "exec/primitives.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec::onednn {
namespace {

using Desc = dnnl::memory::desc;

/// Descriptor of matrices stored by columns.
Desc transposed(const Dims& dims) {
  const std::size_t last = dims.size() - 1;
  Dims strides(dims.size(), 1);
  strides[last] = dims[last - 1];
  int64_t matrix = dims[last] * dims[last - 1];
  for (std::size_t i = last - 1; i-- > 0;) {
    strides[i] = matrix;
    matrix *= dims[i];
  }
  return descriptor(dims, strides);
}

Desc bias_over_columns(const TensorDesc& destination) {
  const int64_t columns = destination.dims.back();
  Dims dims(destination.dims.size(), 1), strides(destination.dims.size(), columns);
  dims.back() = columns;
  strides.back() = 1;
  return descriptor(dims, strides);
}

/// A matmul by the first implementation without an objection, or the reason why there is none.
struct Choice {
  dnnl::matmul::primitive_desc pd;
  std::string refusal;
};

Choice choose_for(const Matmul& spec, const Desc& weights) {
  const Desc source = descriptor(spec.source), destination = descriptor(spec.destination);
  const dnnl::primitive_attr attr = attributes(spec.post_ops);
  const dnnl::engine& engine = runtime().engine;
  Choice out;
  out.pd = spec.has_bias
               ? dnnl::matmul::primitive_desc(engine, source, weights, bias_over_columns(spec.destination), destination, attr, true)
               : dnnl::matmul::primitive_desc(engine, source, weights, destination, attr, true);
  out.refusal = choose(out.pd);
  return out;
}

bool has_blocks(const Choice& choice) {
  return std::string_view(choice.pd.impl_info_str()).starts_with("brg_matmul");
}

/// A matmul with constant weights. Without AVX-512 the library's default is to multiply plain rows, which takes up to 1.5 times as long as
/// columns. For several rows blocks are the fastest, by an implementation further down its list: 0.36 to 0.97 of the time with columns for
/// 2 to 256 rows, depths of 33 to 3072 and 10 to 3072 columns (AVX2 on Zen 5, 3.7.2, 2026-11-25). One row takes up to 1.5 times as long
/// with blocks.
Choice choose_packed(const Matmul& spec) {
  const Dims& dims = spec.weights.dims;
  const Desc packed(dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
  if (has_avx512()) return choose_for(spec, packed);
  if (spec.destination.dims[dims.size() - 2] > 1) {
    Choice choice = choose_for(spec, packed);
    while (choice.refusal.empty() && !has_blocks(choice)) choice.refusal = choice.pd.next_impl() ? choose(choice.pd) : "no blocks";
    if (choice.refusal.empty()) return choice;
  }
  return choose_for(spec, transposed(dims));
}

}  // namespace

MadePrimitive make(const Matmul& spec) {
  if (spec.destination.dims.size() < 2) return {nullptr, "not a matrix"};
  Choice choice = spec.constant_weights ? choose_packed(spec) : choose_for(spec, descriptor(spec.weights));
  if (!choice.refusal.empty()) return {nullptr, std::move(choice.refusal)};
  const dnnl::matmul::primitive_desc& pd = choice.pd;

  std::vector<std::pair<int, dnnl::memory::desc>> arguments = {
      {DNNL_ARG_SRC, descriptor(spec.source)}, {DNNL_ARG_WEIGHTS, pd.weights_desc()}, {DNNL_ARG_DST, descriptor(spec.destination)}};
  if (spec.has_bias) arguments.emplace_back(DNNL_ARG_BIAS, bias_over_columns(spec.destination));
  add_operands(arguments, spec.post_ops);
  std::unique_ptr<WeightsFormat> format;
  if (spec.constant_weights) {
    format = std::make_unique<PackedFormat>(pd.weights_desc(), [](const TensorDesc& desc) { return desc; });
  }
  return {std::make_unique<CompiledPrimitive>(pd, std::move(arguments), std::move(format)), {}};
}

}  // namespace relayout::exec::onednn
