#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/conversion_targets.h"
#include "cli/report.h"
#include "relayout/convert.h"

namespace relayout::cli {

/// The words of a command, each quoted for a shell.
using CommandWords = std::vector<std::string>;

/// Next commands after a conversion; empty where there is none.
struct NextSteps {
  CommandWords verify;  ///< compares the result with its original
  CommandWords undo;    ///< restores the weight layout that other tools expect
};

/// Options that `verify` needs to judge a conversion as intended.
struct VerifyNeeds {
  std::string precision = {};  ///< fp16 or bf16
  bool images_last = false, other_types = false, newer_opset = false;
};

/// Parts of a conversion that its undo command must keep.
struct UndoNeeds {
  bool keeps_io = false;  ///< images stay channels-last
  bool newer_opset = false;
};

/// The next steps. Commands are ready to run as printed: lines are broken by a backslash, and no word is shortened.
[[nodiscard]] std::string next_text(const NextSteps& next, const ReportStyle& style);
/// "relayout verify A B", with the options that these two files need.
[[nodiscard]] CommandWords verify_command(const std::string& a, const std::string& b, const VerifyNeeds& needs);
/// "relayout verify --suite TREE --against DIR"
[[nodiscard]] CommandWords verify_tree_command(const std::string& tree, const std::string& against, const VerifyNeeds& needs);
/// "relayout verify --original FOLDER/{stem}.onnx MODEL…"
[[nodiscard]] CommandWords verify_all_command(const std::string& folder, const std::vector<std::string>& models, const VerifyNeeds& needs);
/// "relayout convert --layout contiguous X.cl.onnx -o X.contiguous.onnx"
[[nodiscard]] CommandWords undo_command(const std::string& converted, const UndoNeeds& needs);

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
