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
#include "relayout/layout.h"
#include "relayout/types.h"

namespace relayout::passes {

/// Options of all passes.
struct PassOptions {
  bool fold = true;       ///< BatchNormalization and other affines into linear operators
  bool simplify = false;  ///< evaluate what constants alone make, remove nodes that do nothing
  bool export_io = false, export_transposes = false;
  WeightsLayout layout = WeightsLayout::channels_last;
  bool include_1d = false;
  std::vector<std::string> io_names;              ///< inputs and outputs to hand over channels-last; empty: all images
  LayoutChoice choice = LayoutChoice::automatic;  ///< of the plan that is exported
  ShapeOptions sizes;                             ///< for that plan
  DataType precision = DataType::undefined;       ///< to compute in: float16, bfloat16, or float32 instead of both; undefined: as it is
  bool io_precision = false;                      ///< graph inputs and outputs too
  bool freeze = false;                            ///< overridable initializers become constants before the first pass
  std::vector<std::string> only, exclude;         ///< globs over node names (output names of nodes without one)
  int64_t stop_after = -1;                        ///< rewrites; -1: no limit
  /// Folds take it that weights stay in the range of their type where who reads the weight can look instead: OutOfRange comes of reading.
  bool assume_ranges = false;
  int threads = 2;
};

/// One run of passes: what they are to do, what they have done, and what they know of the model.
struct PassContext {
  PassOptions options;
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
