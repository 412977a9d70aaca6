// Runs the selected passes on graph and functions, times each for -v, and checks the graph after it as RELAYOUT_PASS_DEBUG=1, 2 or 3 says;
// --freeze comes first.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/environment.h"
#include "base/log.h"
#include "passes/freeze.h"
#include "passes/pass.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"

namespace relayout::passes {
namespace {

/// RELAYOUT_PASS_DEBUG, 0 when it is not set.
int debug_level() {
  return std::atoi(environment("RELAYOUT_PASS_DEBUG").c_str());
}

void validate(const Model& model) {
  model.graph().validate();
  for (const auto& function : model.functions()) function->validate();
}

/// Runs one pass, checked and timed as RELAYOUT_PASS_DEBUG says.
void run_pass(Model& model, const Pass& pass, PassContext& context) {
  const int debug = debug_level();
#ifdef NDEBUG
  const bool checks = debug > 0;
#else
  const bool checks = true;
#endif
  const std::string before = debug >= 2 ? to_text(model) : std::string();
  const Stopwatch watch;
  context.pass = pass.name;
  pass.run(model.graph(), context);
  for (const auto& function : model.functions()) pass.run(*function, context);
  log_time(std::string(pass.name), watch.seconds());
  if (debug >= 3) std::ofstream("relayout-" + std::string(pass.name) + ".onnxtxt") << to_text(model);
  if (!checks) return;
  try {
    validate(model);
  } catch (const Error& error) {
    if (debug >= 2) log_warning("model before " + std::string(pass.name) + ":\n" + before);
    fail(ErrorKind::defect, "after " + std::string(pass.name) + ": " + error.what());
  }
}

}  // namespace

void run_passes(Model& model, std::span<const Pass* const> passes, PassContext& context) {
  if (context.options.freeze) freeze(model.graph(), context);
  for (const Pass& pass : pass_table()) {
    if (std::ranges::find(passes, &pass) != passes.end()) run_pass(model, pass, context);
  }
}

}  // namespace relayout::passes
