// Makes the primitives of oneDNN that need no choice: reorders, softmax and layer normalization.

#include "exec/onednn/common.h"
#include "exec/primitives.h"

namespace relayout::exec::onednn {

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
  dnnl::layer_normalization_forward::primitive_desc pd(runtime().engine, dnnl::prop_kind::forward_inference, source, destination,
                                                       spec.epsilon, flags, attributes({}), true);
  if (std::string refusal = choose(pd); !refusal.empty()) return {nullptr, std::move(refusal)};
  std::vector<std::pair<int, dnnl::memory::desc>> arguments = {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, destination}};
  const dnnl::memory::desc parameters = descriptor(Dims{spec.source.dims.back()}, Dims{1});
  if (spec.has_scale) arguments.emplace_back(DNNL_ARG_SCALE, parameters);
  if (spec.has_shift) arguments.emplace_back(DNNL_ARG_SHIFT, parameters);
  return {std::make_unique<CompiledPrimitive>(pd, std::move(arguments)), {}};
}

}  // namespace relayout::exec::onednn
