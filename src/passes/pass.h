#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "ops/constants.h"
#include "relayout/findings.h"
#include "relayout/graph.h"

namespace relayout {

enum class WeightsLayout { keep, channels_last, contiguous };

/// Options of all passes.
struct PassOptions {
  WeightsLayout layout = WeightsLayout::channels_last;
  bool include_1d = false;
  bool freeze = false;
  std::vector<std::string> only, exclude;  ///< globs over node names
  int64_t stop_after = -1;                 ///< rewrites; -1: no limit
  int threads = 2;
};

/// One run's state that passes share.
struct PassContext {
  PassOptions options;
  Constants constants;
  Findings findings;
  bool dry_run = false;   ///< match only
  int64_t rewrites = 0;   ///< done so far, over all passes
  std::string_view pass;  ///< running now
};

/// A refusal: the reason and what is in the way.
struct Skip {
  Reason reason;
  std::string detail;
};
/// Not a candidate at all: no finding is written.
struct NotApplicable {};

/// Everything a rewrite needs, or why not. Matchers only read; applying cannot refuse.
template <class Rewrite>
using Match = std::variant<Rewrite, Skip, NotApplicable>;

struct Pass {
  std::string_view name, summary;
  void (*run)(Graph&, PassContext&);
  bool on_by_default;
};

/// In running order.
[[nodiscard]] std::span<const Pass> pass_table();
[[nodiscard]] const Pass* find_pass(std::string_view name);
/// Runs passes over the model's graph, its nested graphs and its functions (each pass recurses by rewrite_each), in the order of the
/// table whatever the order of `names`. Validates between passes in debug builds and with RELAYOUT_PASS_DEBUG.
void run_passes(Model& model, std::span<const Pass* const> passes, PassContext& context);

}  // namespace relayout
