// Makes the primitives of oneDNN, except convolutions of shapes for which it is wrong or crashes.

#include "exec/primitives.h"

#include <algorithm>

#include "exec/onednn/common.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec::onednn {

namespace {

/// One-dimensional convolutions run as two-dimensional ones of height 1: this makes depthwise ones 27 times faster.
TensorDesc with_height(const TensorDesc& desc) {
  if (desc.dims.size() != 3) return desc;
  const Dims &dims = desc.dims, &strides = desc.strides;
  return {desc.type, {dims[0], dims[1], 1, dims[2]}, {strides[0], strides[1], strides[2] * dims[2], strides[2]}};
}

Dims with_height(const Dims& spatial, int64_t value) {
  return spatial.size() == 1 ? Dims{value, spatial[0]} : spatial;
}

/// ONNX's weights in oneDNN's dims: [g, O/g, I/g, k…], without g for one group.
TensorDesc library_weights(const TensorDesc& onnx, int64_t groups, bool transposed) {
  const TensorDesc plain = with_height(onnx);
  TensorDesc out{plain.type, {}, {}};
  const int64_t rows = plain.dims[0] / groups;
  if (groups > 1) {
    out.dims.push_back(groups);
    out.strides.push_back(rows * plain.strides[0]);
  }
  out.dims.push_back(transposed ? plain.dims[1] : rows);
  out.strides.push_back(plain.strides[transposed ? 1 : 0]);
  out.dims.push_back(transposed ? rows : plain.dims[1]);
  out.strides.push_back(plain.strides[transposed ? 0 : 1]);
  out.dims.insert(out.dims.end(), plain.dims.begin() + 2, plain.dims.end());
  out.strides.insert(out.strides.end(), plain.strides.begin() + 2, plain.strides.end());
  return out;
}

/// Defect of an implementation that oneDNN 3.7 chose, or an empty string.
std::string known_defect(const Convolution& spec, const std::string& implementation) {
  const auto uses = [&](const char* part) { return implementation.find(part) != std::string::npos; };
  // SSE4.1 kernels read the operands of sums with instructions that need aligned addresses, even where pixels are not aligned: jit_dw:sse41
  // with 6 channels and a sum crashes.
  const auto has_operand = [](const PostOp& op) { return op.kind != PostOp::Kind::function; };
  if (uses("sse41") && std::ranges::any_of(spec.post_ops, has_operand)) return "oneDNN's SSE4.1 kernel needs aligned operands";
  // One input channel, one output channel, a window of one element, several images: the matmul inside leaves memory unwritten.
  const bool of_one_channel = spec.source.dims[1] == 1 && spec.destination.dims[1] == 1;
  if (of_one_channel && spec.source.dims[0] > 1 && uses("ncsp_convolution:matmul")) return "oneDNN computes the last images wrongly";
  return {};
}

/// Extent of a window along spatial dim i.
int64_t extent_of(const Convolution& spec, std::size_t i) {
  return (spec.weights.dims[i + 2] - 1) * spec.dilations[i] + 1;
}

/// Along a dim with one output the stride has no effect: it is set to 1 where the window reaches the end of the input.
Convolution without_idle_strides(Convolution spec) {
  for (std::size_t i = 0; i < spec.strides.size(); ++i) {
    const int64_t end = extent_of(spec, i) - spec.source.dims[i + 2] - spec.pads_begin[i];
    if (spec.destination.dims[i + 2] != 1 || end < 0) continue;
    spec.strides[i] = 1;
    spec.pads_end[i] = end;
  }
  return spec;
}

/// Whether some window along spatial dim i covers an element of the input.
bool touches_input(const Convolution& spec, std::size_t i) {
  for (int64_t o = 0; o < spec.destination.dims[i + 2]; ++o) {
    const int64_t start = o * spec.strides[i] - spec.pads_begin[i], step = spec.dilations[i];
    const int64_t first = start >= 0 ? start : start + (-start + step - 1) / step * step;  // not before the input
    if (first < spec.source.dims[i + 2] && first < start + extent_of(spec, i)) return true;
  }
  return false;
}

/// Defects of oneDNN 3.7.2. It crashes where all windows along a dim are in the padding. With one input channel and one output column it
/// takes the stride of columns for that of rows.
std::string defect_of(const Convolution& spec) {
  for (std::size_t i = 0; i < spec.strides.size(); ++i) {
    if (!touches_input(spec, i)) return "oneDNN crashes on windows of pads alone";
  }
  const std::size_t last = spec.strides.size() - 1;
  const bool column = spec.source.dims[1] == spec.groups && spec.destination.dims[last + 2] == 1 && spec.weights.dims[last + 2] > 1;
  if (column && last > 0 && spec.strides[last] != 1 && spec.strides[last - 1] == 1)
    return "oneDNN takes strides of columns for those of rows";
  return {};
}

template <class PrimitiveDesc>
MadePrimitive build(const Convolution& spec, dnnl::algorithm algorithm) {
  const auto adapt = [](const TensorDesc& desc) { return with_height(desc); };
  const auto as_library = [groups = spec.groups, transposed = spec.transposed](const TensorDesc& weights) {
    return library_weights(weights, groups, transposed);
  };
  const dnnl::memory::desc source = descriptor(adapt(spec.source));
  const dnnl::memory::desc destination = descriptor(adapt(spec.destination));
  const dnnl::memory::desc weights(as_library(spec.weights).dims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::any);
  const dnnl::memory::desc bias = spec.has_bias ? descriptor(Dims{spec.destination.dims[1]}, Dims{1}) : dnnl::memory::desc();
  Dims dilations;
  for (const int64_t dilation : with_height(spec.dilations, 1)) dilations.push_back(dilation - 1);
  const Dims strides = with_height(spec.strides, 1);
  const Dims begin = with_height(spec.pads_begin, 0);
  const Dims end = with_height(spec.pads_end, 0);
  PrimitiveDesc pd(runtime().engine, dnnl::prop_kind::forward_inference, algorithm, source, weights, bias, destination, strides, dilations,
                   begin, end, attributes(spec.post_ops, adapt), true);
  if (std::string refusal = choose(pd); !refusal.empty()) return {nullptr, std::move(refusal)};
  if (std::string defect = known_defect(spec, pd.impl_info_str()); !defect.empty()) return {nullptr, std::move(defect)};

  std::vector<std::pair<int, dnnl::memory::desc>> arguments = {
      {DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, pd.weights_desc()}, {DNNL_ARG_DST, destination}};
  if (spec.has_bias) arguments.emplace_back(DNNL_ARG_BIAS, bias);
  add_operands(arguments, spec.post_ops, adapt);
  return {std::make_unique<CompiledPrimitive>(pd, std::move(arguments), std::make_unique<PackedFormat>(pd.weights_desc(), as_library)), {}};
}

}  // namespace

MadePrimitive make(const Convolution& spec) {
  if (spec.source.dims.size() < 3 || spec.source.dims.size() > 5) return {nullptr, "oneDNN convolves over 1 to 3 dims"};
  if (spec.transposed) return build<dnnl::deconvolution_forward::primitive_desc>(spec, dnnl::algorithm::deconvolution_direct);
  const Convolution plain = without_idle_strides(spec);
  if (std::string defect = defect_of(plain); !defect.empty()) return {nullptr, std::move(defect)};
  return build<dnnl::convolution_forward::primitive_desc>(plain, dnnl::algorithm::convolution_direct);
}

// Products of matrices, and the form of their constant weights.
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

// Primitives that need no choice.
MadePrimitive make(const Reorder& spec) {
  const dnnl::memory::desc source = descriptor(spec.source);
  const dnnl::memory::desc destination = descriptor(spec.destination);
  const dnnl::engine& engine = runtime().engine;
  dnnl::reorder::primitive_desc pd(engine, source, engine, destination, attributes({}), true);
  if (!pd) return {nullptr, "no implementation in oneDNN"};
  if (std::string refusal = objection(pd.impl_info_str()); !refusal.empty()) return {nullptr, std::move(refusal)};
  return {std::make_unique<CompiledPrimitive>(
              pd, std::vector<std::pair<int, dnnl::memory::desc>>{{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, destination}}),
          {}};
}

MadePrimitive make(const Softmax& spec) {
  const dnnl::memory::desc source = descriptor(spec.source);
  const dnnl::memory::desc destination = descriptor(spec.destination);
  dnnl::softmax_forward::primitive_desc pd(runtime().engine, dnnl::prop_kind::forward_inference, dnnl::algorithm::softmax_accurate, source,
                                           destination, static_cast<int>(spec.axis), attributes({}), true);
  if (std::string refusal = choose(pd); !refusal.empty()) return {nullptr, std::move(refusal)};
  return {std::make_unique<CompiledPrimitive>(
              pd, std::vector<std::pair<int, dnnl::memory::desc>>{{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, destination}}),
          {}};
}

MadePrimitive make(const Normalization& spec) {
  const dnnl::memory::desc source = descriptor(spec.source);
  const dnnl::memory::desc destination = descriptor(spec.destination);
  auto flags = dnnl::normalization_flags::none;
  if (spec.has_scale) flags |= dnnl::normalization_flags::use_scale;
  if (spec.has_shift) flags |= dnnl::normalization_flags::use_shift;
  const auto kind = spec.gives_statistics ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  dnnl::layer_normalization_forward::primitive_desc pd(runtime().engine, kind, source, destination, spec.epsilon, flags, attributes({}),
                                                       true);
  if (std::string refusal = choose(pd); !refusal.empty()) return {nullptr, std::move(refusal)};
  std::vector<std::pair<int, dnnl::memory::desc>> arguments = {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, destination}};
  const dnnl::memory::desc parameters = descriptor(Dims{spec.source.dims.back()}, Dims{1});
  if (spec.has_scale) arguments.emplace_back(DNNL_ARG_SCALE, parameters);
  if (spec.has_shift) arguments.emplace_back(DNNL_ARG_SHIFT, parameters);
  if (spec.gives_statistics) {
    arguments.emplace_back(DNNL_ARG_MEAN, pd.mean_desc());
    arguments.emplace_back(DNNL_ARG_VARIANCE, pd.variance_desc());
  }
  return {std::make_unique<CompiledPrimitive>(pd, std::move(arguments)), {}};
}

}  // namespace relayout::exec::onednn
