// Removes descriptions and metadata, which exporters fill with stack traces and paths of their machine.

#include "base/numbers.h"
#include "base/text.h"
#include "model/walk.h"
#include "passes/pass.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"

namespace relayout::passes {
namespace {

void note(int64_t count, const char* kind, const std::string& name, PassContext& context) {
  if (count == 0) return;
  ++context.rewrites;
  context.findings.push_back({.pass = std::string(context.pass), .op_type = kind, .node = name, .detail = counted(count, "annotation")});
}

}  // namespace

void strip(Graph& graph, PassContext& context) {
  const Annotations& what = context.options.strip;
  const auto removes = [&](const std::string& key) {
    return std::ranges::any_of(what.metadata, [&](const std::string& glob) { return glob_match(glob, key); });
  };
  int64_t count = 0;
  for_each_graph(graph, [&](Graph& nested) { count += nested.remove_annotations(what.descriptions, removes); });
  if (graph.is_function()) return note(count, "function", graph.function()->name(), context);
  count += graph.model().remove_annotations(what.descriptions, removes);
  note(count, "graph", graph.message()->name(), context);
}

}  // namespace relayout::passes
