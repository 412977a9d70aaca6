#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "support/pass_fixture.h"

namespace relayout::test {

inline const std::string kFoldBatchNorm = "fold-batch-norm";

[[nodiscard]] std::string head(int opset, int ir_version = 8);
/// The BatchNormalization parameters s, b, m, var of C channels, for the list in `<…>`.
[[nodiscard]] std::string parameters(int channels, const std::string& suffix = "", const std::string& type = "float");
/// x [2,3,5,6], W [4,3,3,3], B [4], s b m var [4], y [2,4,3,4], with this body and further listed values.
[[nodiscard]] TextModel conv_bn(const std::string& body, const std::string& listed = "", const std::string& model_head = head(17));
/// One fold or refusal: a model and the expected result.
struct FoldCase {
  const char* name;  ///< begins with its number
  std::string model;
  int folded = 0;                   ///< candidates that are folded, when all are
  std::optional<Reason> kept = {};  ///< reason why nothing changes
  int opset = 17;
  bool is_skipped_silently = false;  ///< nothing changes and no finding says so
};
void PrintTo(const FoldCase& row, std::ostream* out);  // NOLINT(readability-identifier-naming): GoogleTest looks for this name
void expect_case(const FoldCase& row);

/// IR 3: all initializers are inputs.
[[nodiscard]] TextModel with_initializers_as_inputs(TextModel model);

/// An initializer of the main graph of the text model.
[[nodiscard]] std::vector<double> old_values(const TextModel& model, const std::string& name);
/// γ / √(σ² + ε) of channel c from initializers s and var.
[[nodiscard]] double factor_of(const TextModel& model, std::size_t channel, double epsilon = static_cast<double>(1e-5F));

}  // namespace relayout::test
