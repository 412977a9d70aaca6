#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/onednn/common.h"
#include "exec/primitives.h"

namespace relayout::onednn {

MadePrimitive make(const Eltwise& spec) {
  const dnnl::memory::desc source = descriptor(spec.source);
  const dnnl::memory::desc destination = descriptor(spec.destination);
  dnnl::eltwise_forward::primitive_desc pd(runtime().engine, dnnl::prop_kind::forward_inference, algorithm_of(spec.function), source,
                                           destination, spec.alpha, spec.beta, attributes({}), true);
  if (std::string refusal = choose(pd); !refusal.empty()) return {nullptr, std::move(refusal)};
  return {std::make_unique<CompiledPrimitive>(
              pd, std::vector<std::pair<int, dnnl::memory::desc>>{{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, destination}}),
          {}};
}

MadePrimitive make(const Binary& spec) {
  const dnnl::memory::desc first = descriptor(spec.first);
  const dnnl::memory::desc second = descriptor(spec.second);
  const dnnl::memory::desc destination = descriptor(spec.destination);
  dnnl::binary::primitive_desc pd(runtime().engine, algorithm_of(spec.function), first, second, destination, attributes({}), true);
  if (std::string refusal = choose(pd); !refusal.empty()) return {nullptr, std::move(refusal)};
  return {std::make_unique<CompiledPrimitive>(pd,
                                              std::vector<std::pair<int, dnnl::memory::desc>>{
                                                  {DNNL_ARG_SRC_0, first}, {DNNL_ARG_SRC_1, second}, {DNNL_ARG_DST, destination}}),
          {}};
}

}  // namespace relayout::onednn
