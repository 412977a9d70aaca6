// Names of the initializers that a graph's quantization annotations refer to, which therefore are not removed; collected once for each
// graph.

#include "passes/annotated_names.h"

#include <onnx/onnx_pb.h>

#include "relayout/graph.h"

namespace relayout::passes {

bool AnnotatedNames::contains(const Value& value) {
  const auto [found, is_new] = names_.try_emplace(&value.graph());
  if (is_new) {
    for (const auto& annotation : value.graph().message()->quantization_annotation()) {
      for (const auto& entry : annotation.quant_parameter_tensor_names()) found->second.insert(entry.value());
    }
  }
  return found->second.contains(value.name());
}

}  // namespace relayout::passes
