// Patterns of --only, --exclude and their kin that match nothing are errors: a misspelt name must not be taken for success.

#include "passes/patterns.h"

#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/walk.h"
#include "passes/pass.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout {

void check_patterns(const Model& model, const PassOptions& options) {
  for (const auto& [option, all] : {std::pair("--only ", &options.only), std::pair("--exclude ", &options.exclude)}) {
    std::vector<std::string> unmatched = *all;
    for_each_node(model, [&](const Node& node) {
      if (unmatched.empty()) return;
      const std::string name = name_in_findings(node);
      std::erase_if(unmatched, [&](const std::string& glob) { return glob_match(glob, name); });
    });
    if (!unmatched.empty()) {
      fail(ErrorKind::usage, escape(model.name()) + ": " + option + quote(unmatched.front()) + ": no node has a name like that",
           "names are those of nodes, or of their first output where they have none; * stands for anything");
    }
  }
}

}  // namespace relayout
