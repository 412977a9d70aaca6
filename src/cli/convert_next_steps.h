#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/conversion_targets.h"
#include "cli/report.h"
#include "relayout/convert.h"

namespace relayout::cli {

/// The next steps for the result of one model, as commands that work as they stand.
[[nodiscard]] NextSteps next_steps(const ConvertRequest& request, const ConvertJob& job, const ConvertResult& result);

/// Results of several models that are to be verified, as they come.
class ResultsToVerify {
 public:
  void add(const ConvertRequest& request, const ConvertJob& job, const ConvertResult& result);
  /// One command for all; empty where none covers them.
  [[nodiscard]] CommandWords command(const ConvertRequest& request) const;

 private:
  [[nodiscard]] std::vector<std::string> outputs() const;
  /// Whether they are all models of a tree, lie where `verify --against` finds them, and nothing else does.
  [[nodiscard]] bool are_all_below(const std::filesystem::path& tree, const std::filesystem::path& against) const;
  /// Whether verify_all_command() leads from each to its original.
  [[nodiscard]] bool are_named_by(const std::string& folder) const;

  std::vector<ConvertJob> done_;
  VerifyNeeds needs_;
};

}  // namespace relayout::cli
