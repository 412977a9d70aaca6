#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/onednn/common.h"
#include "exec/primitives.h"
#include "relayout/tensor.h"

namespace relayout::onednn {

MadePrimitive make(const Resampling& spec) {
  const dnnl::memory::desc source = descriptor(spec.source);
  const dnnl::memory::desc destination = descriptor(spec.destination);
  const dnnl::algorithm algorithm = spec.linear ? dnnl::algorithm::resampling_linear : dnnl::algorithm::resampling_nearest;
  dnnl::resampling_forward::primitive_desc pd(runtime().engine, dnnl::prop_kind::forward_inference, algorithm, source, destination,
                                              attributes({}), true);
  if (std::string refusal = choose(pd); !refusal.empty()) return {nullptr, std::move(refusal)};
  return {std::make_unique<CompiledPrimitive>(
              pd, std::vector<std::pair<int, dnnl::memory::desc>>{{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, destination}}),
          {}};
}

MadePrimitive make(const Concat& spec) {
  std::vector<dnnl::memory::desc> sources;
  std::vector<std::pair<int, dnnl::memory::desc>> arguments;
  for (const TensorDesc& source : spec.sources) {
    sources.push_back(descriptor(source));
    arguments.emplace_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(sources.size()) - 1, sources.back());
  }
  const dnnl::memory::desc destination = descriptor(spec.destination);
  arguments.emplace_back(DNNL_ARG_DST, destination);
  dnnl::concat::primitive_desc pd(runtime().engine, destination, static_cast<int>(spec.axis), sources, attributes({}), true);
  if (!pd) return {nullptr, "no implementation in oneDNN"};
  if (std::string refusal = objection(pd.impl_info_str()); !refusal.empty()) return {nullptr, std::move(refusal)};
  return {std::make_unique<CompiledPrimitive>(pd, std::move(arguments)), {}};
}

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

}  // namespace relayout::onednn
