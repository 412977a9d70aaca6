// Matrix products.
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/onednn/common.h"
#include "exec/primitives.h"
#include "relayout/tensor.h"

namespace relayout::exec::onednn {
namespace {

/// Layout that constant weights are packed to. Left to itself, the library picks plain rows without AVX-512, which is half as fast as
/// transposed ones.
dnnl::memory::desc packed_weights(const TensorDesc& weights) {
  if (has_avx512()) return {weights.dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any};
  const std::size_t last = weights.dims.size() - 1;
  Dims strides(weights.dims.size(), 1);
  strides[last] = weights.dims[last - 1];
  int64_t matrix = weights.dims[last] * weights.dims[last - 1];
  for (std::size_t i = last - 1; i-- > 0;) {
    strides[i] = matrix;
    matrix *= weights.dims[i];
  }
  return descriptor(weights.dims, strides);
}

}  // namespace

MadePrimitive make(const Matmul& spec) {
  if (spec.destination.dims.size() < 2) return {nullptr, "not a matrix"};
  const dnnl::memory::desc source = descriptor(spec.source);
  const dnnl::memory::desc destination = descriptor(spec.destination);
  const dnnl::memory::desc weights = spec.constant_weights ? packed_weights(spec.weights) : descriptor(spec.weights);
  dnnl::memory::desc bias;
  if (spec.has_bias) {
    const int64_t columns = spec.destination.dims.back();
    Dims dims(spec.destination.dims.size() - 1, 1);
    dims.push_back(columns);
    Dims strides(spec.destination.dims.size() - 1, columns);
    strides.push_back(1);
    bias = descriptor(dims, strides);
  }
  dnnl::matmul::primitive_desc pd =
      spec.has_bias ? dnnl::matmul::primitive_desc(runtime().engine, source, weights, bias, destination, attributes(spec.post_ops), true)
                    : dnnl::matmul::primitive_desc(runtime().engine, source, weights, destination, attributes(spec.post_ops), true);
  if (std::string refusal = choose(pd); !refusal.empty()) return {nullptr, std::move(refusal)};

  std::vector<std::pair<int, dnnl::memory::desc>> arguments = {
      {DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, pd.weights_desc()}, {DNNL_ARG_DST, destination}};
  if (spec.has_bias) arguments.emplace_back(DNNL_ARG_BIAS, bias);
  add_operands(arguments, spec.post_ops);
  std::unique_ptr<WeightsFormat> format;
  if (spec.constant_weights) {
    format = std::make_unique<PackedFormat>(pd.weights_desc(), [](const TensorDesc& desc) { return desc; });
  }
  return {std::make_unique<CompiledPrimitive>(pd, std::move(arguments), std::move(format)), {}};
}

}  // namespace relayout::exec::onednn
