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

/// One run of passes: what they are to do, what they have done, and what they know of the model.
struct PassContext {
  PassOptions options;
  /// Folds take it that weights stay in the range of their type where who reads the weight can look instead: OutOfRange comes of reading.
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

/// Everything that is to be said of a pass.
struct Pass {
  std::string_view name, summary;
  void (*run)(Graph&, PassContext&);
  bool (*wanted)(const PassOptions&);  ///< whether these options ask for it, when passes are not picked by name
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
