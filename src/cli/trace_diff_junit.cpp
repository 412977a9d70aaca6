// `diff --junit` of traces or profiles: a test case for each class in the gate, for slower and faster, and one, "whole", for all of them.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"
#include "cli/trace_diff_choice.h"
#include "cli/trace_diff_report.h"
#include "relayout/diff.h"
#include "relayout/version.h"
#include "report/junit.h"

namespace relayout::cli {

JunitSuite trace_diff_junit(const TracePair& pair, const TraceGate& gate) {
  JunitSuite suite;
  suite.name = "relayout diff " + pair.control->path + " " + pair.test->path;
  suite.timestamp = junit_now();
  suite.properties = {{"relayout", std::string(kVersion)}};
  const auto add = [&](const std::string& name, const TraceGate& part) {
    JunitCase& one = suite.cases.emplace_back();
    one.class_name = "relayout.diff." + std::filesystem::path(pair.test->path).stem().string();
    one.name = name;
    one.file = pair.test->path;
    const std::vector<std::string> names = trace_failures(pair, part);
    if (names.empty()) return;
    one.status = JunitCase::Status::failed;
    one.message = counted(static_cast<int64_t>(names.size()), "operation") + ": " + escape(names.front()) + (names.size() > 1 ? " …" : "");
    for (const std::string& operation : names) one.details += escape(operation) + "\n";
  };
  for (const CountClass kind : gate.classes) add(std::string(to_string(kind)), {.classes = {kind}});
  if (gate.slower) add("slower", {.classes = {}, .slower = gate.slower, .strict = gate.strict});
  if (gate.faster) add("faster", {.classes = {}, .faster = gate.faster, .strict = gate.strict});
  add("whole", gate);
  return suite;
}

}  // namespace relayout::cli
