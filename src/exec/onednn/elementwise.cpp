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

}  // namespace relayout::onednn
