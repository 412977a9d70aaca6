// Runs the selected passes over a model and its functions, and checks the graph after each where a developer asks for it.
#include "passes/pass.h"

#include <fstream>

#include "base/log.h"
#include "base/machine.h"
#include "base/text.h"
#include "base/times.h"
#include "model/node.h"
#include "model/walk.h"
#include "passes/edits.h"
#include "relayout/error.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"

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

/// Runs one pass, checked as RELAYOUT_PASS_DEBUG says.
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

/// Runs passes until they rewrite nothing. What they refuse has its finding from the first time.
void settle(Model& model, std::span<const Pass* const> passes, PassContext& context) {
  constexpr int kMostRounds = 16;
  int64_t before = -1;
  for (int round = 0; round < kMostRounds && before != context.rewrites; ++round) {
    before = context.rewrites;
    const auto known = std::ssize(context.findings);
    for (const Pass* const pass : passes) run_pass(model, *pass, context);
    const auto refused = std::remove_if(context.findings.begin() + known, context.findings.end(),
                                        [](const Finding& finding) { return finding.verdict != Verdict::done; });
    context.findings.erase(refused, context.findings.end());
  }
}

}  // namespace

void run_passes(Model& model, std::span<const Pass* const> passes, PassContext& context) {
  if (context.options.freeze) freeze(model.graph(), context);
  if (std::ranges::find(passes, find_pass("fold-constants")) != passes.end()) context.bytes_of_given_nodes = bytes_of_nodes(model);
  std::vector<const Pass*> settling;
  bool has_rewritten = false;  // one of those
  for (const Pass& pass : pass_table()) {
    if (std::ranges::find(passes, &pass) != passes.end()) {
      const int64_t before = context.rewrites;
      run_pass(model, pass, context);
      if (pass.settles) settling.push_back(&pass);
      has_rewritten = has_rewritten || (pass.settles && context.rewrites > before);
    }
    const bool is_last = pass.run == product_bias || pass.run == precision;  // of those to simplify, and of all, run or not
    if (is_last && settling.size() > 1 && has_rewritten) {
      settle(model, settling, context);
      has_rewritten = false;
    }
  }
}

// Nodes that the user's patterns leave to the passes.

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

// Names in quantization annotations.

bool AnnotatedNames::contains(const Value& value) {
  const auto [found, is_new] = names_.try_emplace(&value.graph());
  if (is_new) {
    for (const auto& annotation : value.graph().message()->quantization_annotation()) {
      for (const auto& entry : annotation.quant_parameter_tensor_names()) found->second.insert(entry.value());
    }
  }
  return found->second.contains(value.name());
}

/// A pass matches nodes that it may not change, and then changes them.
Node& writable(const Node& node) {
  return const_cast<Node&>(node);  // graphs own their nodes, and a rewrite may change its graph
}

}  // namespace relayout::passes
