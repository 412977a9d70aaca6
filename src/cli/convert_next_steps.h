#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/conversion_targets.h"
#include "cli/report.h"
#include "relayout/convert.h"

namespace relayout::cli {

/// The next steps for the result of one model, as commands that are ready to run.
[[nodiscard]] NextSteps next_steps(const ConvertRequest& request, const ConvertJob& job, const ConvertResult& result);

/// Collects the results of several models that are to be verified.
class ResultsToVerify {
 public:
  void add(const ConvertRequest& request, const ConvertJob& job, const ConvertResult& result);
  /// One command for all results; empty where no single command covers them.
  [[nodiscard]] CommandWords command(const ConvertRequest& request) const;

 private:
  [[nodiscard]] std::vector<std::string> outputs() const;
  /// Whether the results are those of all models of `tree`, at the paths where `verify --against` looks, and the only models there.
  [[nodiscard]] bool are_all_below(const std::filesystem::path& tree, const std::filesystem::path& against) const;
  /// Whether the pattern of verify_all_command() maps each result to its original.
  [[nodiscard]] bool are_named_by(const std::string& folder) const;

  std::vector<ConvertJob> done_;
  VerifyNeeds needs_;
};

}  // namespace relayout::cli
