// Patterns of --only, --exclude and their kin that match nothing are errors: a misspelt name must not be taken for success.

#include "passes/patterns.h"

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "passes/pass.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {
namespace {

void erase_matched(const Graph& graph, std::vector<std::string>& patterns) {
  for (const Node& node : graph.nodes()) {
    if (patterns.empty()) return;
    const std::string name = name_in_findings(node);
    std::erase_if(patterns, [&](const std::string& glob) { return glob_match(glob, name); });
    for (const auto& nested : node.subgraphs()) erase_matched(*nested, patterns);
  }
}

}  // namespace

void check_patterns(const Model& model, const PassOptions& options) {
  for (const auto& [option, all] : {std::pair("--only ", &options.only), std::pair("--exclude ", &options.exclude)}) {
    std::vector<std::string> unmatched = *all;
    erase_matched(model.graph(), unmatched);
    for (const auto& function : model.functions()) erase_matched(*function, unmatched);
    if (!unmatched.empty()) {
      fail(ErrorKind::usage, escape(model.name()) + ": " + option + quote(unmatched.front()) + ": no node has a name like that",
           "names are those of nodes, or of their first output where they have none; * stands for anything");
    }
  }
}

}  // namespace relayout
