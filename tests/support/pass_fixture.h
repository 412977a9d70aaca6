#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"
#include "relayout/datum.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "support/text_model.h"

namespace relayout::test {

/// The passes that fold.
inline const std::vector<std::string> kFolds = {"fold-batch-norm", "fold-affine"};

/// A model after passes, loaded again from its saved bytes, and the findings of the passes.
struct PassResult {
  std::unique_ptr<Model> model;
  std::string bytes;
  Findings findings;

  [[nodiscard]] int64_t count(std::string_view op_type) const;  ///< nodes, nested graphs and functions included
  [[nodiscard]] std::vector<Reason> reasons() const;            ///< of the skipped candidates
  [[nodiscard]] std::string details() const;                    ///< all findings, a line each
  /// An initializer of the main graph (its message with data), or a failure.
  [[nodiscard]] std::vector<double> initializer(const std::string& name) const;
};

[[nodiscard]] PassResult run(const std::vector<std::string>& passes, const TextModel& before, const PassOptions& options = {});

/// Runs one pass and checks that the result has the structure of `after` up to inner names, that both models compute the same, and the
/// invariants of every rewrite: interface kept, operands of other nodes unchanged, nothing left over, unique names, the same bytes each
/// time, and nothing to do the second time.
PassResult expect_rewrite(const std::string& pass, const TextModel& before, const TextModel& after, const PassOptions& options = {});
/// Runs the folds and checks the same without an expected structure: `folded` candidates are done, and none is skipped.
PassResult expect_fold(const TextModel& before, int folded, const PassOptions& options = {});
/// Checks the invariants of every rewrite, see expect_rewrite(), for an existing result.
void expect_same(const TextModel& before, const PassResult& result, const std::vector<std::string>& passes, const PassOptions& options);
/// Checks that the pass changes nothing, and skips at least one candidate, all for this reason.
PassResult expect_skip(const std::string& pass, const TextModel& model, Reason reason, const PassOptions& options = {});

}  // namespace relayout::test
