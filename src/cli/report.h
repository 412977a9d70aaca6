#pragma once

#include <string>
#include <vector>

#include "relayout/convert.h"
#include "relayout/inspect.h"
#include "relayout/verify.h"
#include "report/json.h"
#include "report/table.h"

namespace relayout::cli {

/// The style of a printed report.
struct ReportStyle {
  bool verbose = false;
  bool color = false;
  bool layers = false;    ///< verify: the table of errors against depth
  bool quiet = false;     ///< the verdict alone
  bool refusals = false;  ///< convert: every refused node
  std::size_t width = 0;  ///< columns; 0: any
};

/// Tables have fewer columns in terminals narrower than this.
inline constexpr std::size_t kUsualWidth = 80;
[[nodiscard]] inline bool has_columns(const ReportStyle& style, std::size_t width) {
  return style.width == 0 || style.width >= width;
}

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

/// Facts about passes beyond their findings.
struct PassReport {
  std::vector<std::string> passes;       ///< passes that ran, in order
  std::string layout = "channels-last";  ///< requested layout of weights
  bool will = false;                     ///< the rewrites are only planned
  std::string precision = {};            ///< requested precision
};

/// The rewrites of the passes, one line per pass with its refusals by reason below it.
[[nodiscard]] std::string findings_text(const Findings& findings, const PassReport& report, const ReportStyle& style);
/// "17 of 20 weights would move to channels-last, 3 both layouts at once"; empty where no convolution has a weight.
[[nodiscard]] std::string weights_outlook(const Findings& findings);
[[nodiscard]] Json findings_json(const Findings& findings);

[[nodiscard]] std::string convert_text(const ConvertResult& result, const ReportStyle& style);
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
[[nodiscard]] Json convert_json(const ConvertResult& result);

[[nodiscard]] std::string inspect_text(const InspectResult& result, const ReportStyle& style);
[[nodiscard]] Json inspect_json(const InspectResult& result);
/// A table of several models, a line each.
[[nodiscard]] std::string inspect_table(const std::vector<InspectResult>& results, const ReportStyle& style);

// Reports of verify.
/// Interface differences first, then one line per output, and last the verdict with the circumstances of the run. -v: figures of every
/// sample.
[[nodiscard]] std::string verify_text(const VerifyResult& result, bool allow_inconclusive, const ReportStyle& style);
[[nodiscard]] Json verify_json(const VerifyResult& result, bool allow_inconclusive);
[[nodiscard]] std::string data_text(const DataResult& result, const ReportStyle& style);
[[nodiscard]] Json data_json(const DataResult& result);

/// "2 scales and shifts", the term for affines in reports.
[[nodiscard]] std::string count_of_affines(int64_t count);

}  // namespace relayout::cli
