#pragma once

#include <string>
#include <vector>

#include "relayout/convert.h"
#include "relayout/inspect.h"
#include "relayout/verify.h"
#include "report/json.h"
#include "report/table.h"

namespace relayout::cli {

/// How a report is printed.
struct ReportStyle {
  bool verbose = false;
  bool color = false;
  bool layers = false;    ///< verify: the table of errors against depth
  bool quiet = false;     ///< the verdict alone
  bool refusals = false;  ///< convert: every node that stays
  std::size_t width = 0;  ///< columns; 0: any
};

/// Below this width of the terminal tables leave out columns.
inline constexpr std::size_t kUsualWidth = 80;
[[nodiscard]] inline bool has_columns(const ReportStyle& style, std::size_t width) {
  return style.width == 0 || style.width >= width;
}

/// The words of a command, each as a shell takes it.
using CommandWords = std::vector<std::string>;

/// Commands to go on with after a conversion; empty where there is none.
struct NextSteps {
  CommandWords verify;  ///< compares the result with its original
  CommandWords undo;    ///< gives other tools the weights that they know
};

/// Options without which `verify` would not judge a conversion as it was meant.
struct VerifyNeeds {
  std::string precision = {};  ///< fp16 or bf16
  bool images_last = false, other_types = false, newer_opset = false;
};

/// The part of a conversion that a way back to contiguous weights must not take back.
struct UndoNeeds {
  bool keeps_io = false;  ///< images stay channels-last
  bool newer_opset = false;
};

/// Facts about passes beyond their findings.
struct PassReport {
  std::vector<std::string> passes;       ///< that ran, in order
  std::string layout = "channels-last";  ///< that weights were to have
  bool will = false;                     ///< nothing has been done yet
  std::string precision = {};            ///< that was asked for
};

/// The rewrites of the passes, one line per pass with its refusals by reason below it.
[[nodiscard]] std::string findings_text(const Findings& findings, const PassReport& report, const ReportStyle& style);
/// "17 of 20 weights would move to channels-last, 3 both layouts at once"; empty where no convolution has a weight.
[[nodiscard]] std::string weights_outlook(const Findings& findings);
[[nodiscard]] Json findings_json(const Findings& findings);

[[nodiscard]] std::string convert_text(const ConvertResult& result, const ReportStyle& style);
/// The next steps. Commands work as they are printed: they are broken by a backslash, and no word is shortened.
[[nodiscard]] std::string next_text(const NextSteps& next, const ReportStyle& style);
/// "relayout verify A B", with what these two files need.
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
/// Several models, a line each.
[[nodiscard]] std::string inspect_table(const std::vector<InspectResult>& results, const ReportStyle& style);

// Reports of verify.
/// Verdict last, with what was run; one line per output before it, interface differences first. -v: figures of every sample.
[[nodiscard]] std::string verify_text(const VerifyResult& result, bool allow_inconclusive, const ReportStyle& style);
[[nodiscard]] Json verify_json(const VerifyResult& result, bool allow_inconclusive);
[[nodiscard]] std::string data_text(const DataResult& result, const ReportStyle& style);
[[nodiscard]] Json data_json(const DataResult& result);

/// "1 weight", "2 weights", with thousands parted.
[[nodiscard]] std::string counted(int64_t count, std::string_view noun);
/// "2 scales and shifts", which this code calls affines.
[[nodiscard]] std::string count_of_affines(int64_t count);

}  // namespace relayout::cli
