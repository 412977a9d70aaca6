// Interface of passes: their description, the state of one run with options, findings and caches, and the limit of --stop-after.

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ops/constants.h"
#include "passes/annotated_names.h"
#include "passes/fold_state.h"
#include "passes/match.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/pass_options.h"

namespace relayout::passes {

/// One run of passes: their options, their results, and cached facts about the model.
struct PassContext {
  PassOptions options;
  /// Folds assume that weights stay in the range of their type where the code that reads the weight can check it: it throws OutOfRange.
  bool assume_ranges = false;
  Constants constants;
  Findings findings;
  int64_t rewrites = 0;                           ///< done so far, over all passes
  std::string_view pass;                          ///< running now
  std::unordered_map<const Node*, Skip> skipped;  ///< refusals so far of the running pass
  FoldState folds;
  AnnotatedNames annotated;

  [[nodiscard]] bool may_rewrite() const noexcept { return options.stop_after < 0 || rewrites < options.stop_after; }
};

/// Description of a pass.
struct Pass {
  std::string_view name, summary;
  void (*run)(Graph&, PassContext&);
  bool (*wanted)(const PassOptions&);  ///< whether these options select it, when passes are not picked by name
  [[nodiscard]] bool on_by_default() const { return wanted(PassOptions()); }
};

/// In running order.
[[nodiscard]] std::span<const Pass> pass_table();
[[nodiscard]] const Pass* find_pass(std::string_view name);
/// Runs passes over the model's graph, its nested graphs and its functions (each pass recurses by rewrite_each), in the order of the
/// table whatever the order of `passes`. Validates after each pass in debug builds and with RELAYOUT_PASS_DEBUG: 1 times and checks,
/// 2 prints the model before the pass that broke it, 3 writes a text model per pass into the working folder.
void run_passes(Model& model, std::span<const Pass* const> passes, PassContext& context);

}  // namespace relayout::passes
