// Option --freeze: initializers that callers may replace, as they are also graph inputs, become constants before the first pass.
#include "passes/freeze.h"

#include "passes/pass.h"
#include "relayout/findings.h"
#include "relayout/graph.h"

namespace relayout::passes {

void freeze(Graph& graph, PassContext& context) {
  for (Initializer& initializer : graph.initializers()) {
    if (!initializer.value->is_overridable()) continue;
    graph.freeze(initializer);
    context.findings.push_back({"freeze", "initializer", initializer.value->name()});
  }
}

}  // namespace relayout::passes
