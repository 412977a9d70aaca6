// The table of passes, in running order, with what each of them is run for; and the loop that runs, times and checks them.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "base/log.h"
#include "passes/pass.h"
#include "passes/passes.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/types.h"

namespace relayout::passes {
namespace {

bool always(const PassOptions&) {
  return true;
}
bool folds(const PassOptions& options) {
  return options.fold;
}
bool simplifies(const PassOptions& options) {
  return options.simplify;
}
bool changes_precision(const PassOptions& options) {
  return options.precision != DataType::undefined;
}
bool orders_weights(const PassOptions& options) {
  return options.layout != WeightsLayout::keep;
}
// Contiguous is the way back: what was exported goes.
bool exports_io(const PassOptions& options) {
  return options.export_io || options.layout == WeightsLayout::contiguous;
}
bool exports_transposes(const PassOptions& options) {
  return options.export_transposes || options.layout == WeightsLayout::contiguous;
}

constexpr Pass kPasses[] = {
    // First, so that dead readers do not block folds. Later passes remove what they make dead.
    {"remove-unused", "nodes and initializers without a reader", remove_unused, always},
    {"inline-functions", "calls of functions that stand between a BatchNormalization and what it folds into", inline_functions, always},
    {"remove-identity", "nodes that hand their operand on as it is", remove_identity, simplifies},
    {"fold-batch-norm", "BatchNormalization into Conv, ConvTranspose, Gemm and MatMul on either side", fold_batch_norm, folds},
    // After it: affines that a BatchNormalization takes along need no look of their own.
    {"fold-affine", "Mul, Add, Sub, Div and Neg by constants per channel into the same operators", fold_affine, folds},
    // After the folds: what only they need is never stored.
    {"fold-constants", "what constants alone make, where that does not enlarge the model", fold_constants, simplifies},
    // After the folds, which round to the type that is there; before weights are read through a Transpose.
    {"precision", "weights and activations in 16 bits (--precision bf16, fp16), or in 32 (fp32)", precision, changes_precision},
    // After the folds, which change weights: one in channels-last order is read through a Transpose.
    {"conv-weights-layout", "convolution weights in channels-last order, or back in contiguous order", conv_weights_layout, orders_weights},
    // Last: what is exported is how the finished graph is run.
    {"export-io", "graph inputs and outputs in channels-last order (--io nhwc), or back", export_io, exports_io},
    {"export-transposes", "the borders of the layout plan as pairs of Transposes (--emit transposes), or back", export_transposes,
     exports_transposes},
};

constexpr bool names_are_unique() {
  for (const Pass& a : kPasses) {
    if (std::ranges::count(kPasses, a.name, &Pass::name) != 1) return false;
  }
  return true;
}
static_assert(names_are_unique());

/// RELAYOUT_PASS_DEBUG, 0 when it is not set.
int debug_level() {
  const char* const level = std::getenv("RELAYOUT_PASS_DEBUG");
  return level != nullptr ? std::atoi(level) : 0;
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
  const auto start = std::chrono::steady_clock::now();
  context.pass = pass.name;
  pass.run(model.graph(), context);
  for (const auto& function : model.functions()) pass.run(*function, context);
  log_time(std::string(pass.name), std::chrono::steady_clock::now() - start);
  if (debug >= 3) std::ofstream("relayout-" + std::string(pass.name) + ".onnxtxt") << to_text(model);
  if (!checks) return;
  try {
    validate(model);
  } catch (const Error& error) {
    if (debug >= 2) log_warning("model before " + std::string(pass.name) + ":\n" + before);
    fail(ErrorKind::defect, "after " + std::string(pass.name) + ": " + error.what());
  }
}

/// --freeze: initializers that a caller could replace become constants.
void freeze(Graph& graph, PassContext& context) {
  for (Initializer& initializer : graph.initializers()) {
    if (!initializer.value->is_overridable()) continue;
    graph.freeze(initializer);
    context.findings.push_back({"freeze", "initializer", initializer.value->name()});
  }
}

}  // namespace

std::span<const Pass> pass_table() {
  return kPasses;
}

const Pass* find_pass(std::string_view name) {
  const auto* const found = std::ranges::find(kPasses, name, &Pass::name);
  return found != std::end(kPasses) ? found : nullptr;
}

void run_passes(Model& model, std::span<const Pass* const> passes, PassContext& context) {
  if (context.options.freeze) freeze(model.graph(), context);
  for (const Pass& pass : kPasses) {
    if (std::ranges::find(passes, &pass) != passes.end()) run_pass(model, pass, context);
  }
}

}  // namespace relayout::passes
