// Options --only and --exclude of `convert`: the nodes that their patterns leave to the passes, and the error for a pattern that no node
// matches (names: model/node_name.cpp). A pattern that matches nothing is an error: a misspelt name must not be taken for success.

#include "passes/node_selection.h"

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/node_name.h"
#include "model/walk.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"

namespace relayout::passes {

bool is_excluded(const Node& node, const PassOptions& options) {
  if (options.only.empty() && options.exclude.empty()) return false;
  const std::string& name = reported_name(node);
  const auto matches = [&](const std::string& glob) { return glob_match(glob, name); };
  const auto any = [&](const std::vector<std::string>& globs) {
    for (const std::string& glob : globs) {
      if (matches(glob)) return true;
    }
    return false;
  };
  return any(options.exclude) || (!options.only.empty() && !any(options.only));
}

void check_patterns(const Model& model, const PassOptions& options) {
  for (const auto& [option, all] : {std::pair("--only ", &options.only), std::pair("--exclude ", &options.exclude)}) {
    std::vector<std::string> unmatched = *all;
    for_each_node(model, [&](const Node& node) {
      if (unmatched.empty()) return;
      const std::string& name = reported_name(node);
      std::erase_if(unmatched, [&](const std::string& glob) { return glob_match(glob, name); });
    });
    if (!unmatched.empty()) {
      fail(ErrorKind::usage, escape(model.name()) + ": " + option + quote(unmatched.front()) + ": no node has a name like that",
           "names are those of nodes, or of their first output where they have none; * matches anything");
    }
  }
}

}  // namespace relayout::passes
