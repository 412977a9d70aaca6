// Declares the text and JSON reports of convert, inspect and verify, their style, and the width (80) below which tables have fewer columns.
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
