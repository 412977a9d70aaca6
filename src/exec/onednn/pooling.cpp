#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exec/onednn/common.h"
#include "exec/primitives.h"

namespace relayout::onednn {

MadePrimitive make(const Pooling& spec) {
  if (spec.source.dims.size() < 3 || spec.source.dims.size() > 5) return {nullptr, "oneDNN pools over 1 to 3 dims"};
  using enum dnnl::algorithm;
  const dnnl::algorithm algorithm = spec.kind == Pooling::Kind::maximum           ? pooling_max
                                    : spec.kind == Pooling::Kind::average_exclude ? pooling_avg_exclude_padding
                                                                                  : pooling_avg_include_padding;
  const dnnl::memory::desc source = descriptor(spec.source);
  const dnnl::memory::desc destination = descriptor(spec.destination);
  Dims dilations;
  for (const int64_t dilation : spec.dilations) dilations.push_back(dilation - 1);
  dnnl::pooling_forward::primitive_desc pd(runtime().engine, dnnl::prop_kind::forward_inference, algorithm, source, destination,
                                           spec.strides, spec.kernel, dilations, spec.pads_begin, spec.pads_end, attributes({}), true);
  if (std::string refusal = choose(pd); !refusal.empty()) return {nullptr, std::move(refusal)};
  return {std::make_unique<CompiledPrimitive>(
              pd, std::vector<std::pair<int, dnnl::memory::desc>>{{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, destination}}),
          {}};
}

}  // namespace relayout::onednn
