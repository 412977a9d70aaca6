// Reorders in oneDNN: copies from one layout to another (lower/copy_choice.cpp decides which copies these are).
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

}  // namespace relayout::exec::onednn
