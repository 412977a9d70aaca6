// `diff --junit` of models: a test case for each kind of change in the gate, and one, "whole", for all of them.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/model_diff_choice.h"
#include "cli/model_diff_report.h"
#include "relayout/model_diff.h"
#include "relayout/version.h"
#include "report/junit.h"

namespace relayout::cli {

JunitSuite model_diff_junit(const ModelPair& pair, const std::vector<ChangeKind>& gate) {
  JunitSuite suite;
  suite.name = "relayout diff " + pair.diff->a.path + " " + pair.diff->b.path;
  suite.timestamp = junit_now();
  suite.properties = {{"relayout", std::string(kVersion)}};
  const auto add = [&](const std::string& name, const std::vector<ChangeKind>& kinds) {
    JunitCase& one = suite.cases.emplace_back();
    one.class_name = "relayout.diff." + std::filesystem::path(pair.diff->b.path).stem().string();
    one.name = name;
    one.file = pair.diff->b.path;
    for (const ModelChange* change : pair.changes) {
      if (std::ranges::find(kinds, change->kind) == kinds.end()) continue;
      if (one.message.empty()) one.message = change->text;
      one.status = JunitCase::Status::failed;
      one.details += change->text + "\n";
    }
  };
  for (const ChangeKind kind : gate) add(std::string(to_string(kind)), {kind});
  add("whole", gate);
  return suite;
}

}  // namespace relayout::cli
