// Declares what the files of this command share: its request, and a comparison of two files in the forms of its report.
#pragma once

// IWYU pragma: begin_exports
#include <array>
#include <filesystem>

#include "cli/common/options.h"
#include "cli/common/report.h"
#include "relayout/diff.h"
#include "relayout/estimate.h"
#include "relayout/model_diff.h"
#include "relayout/version.h"
// IWYU pragma: end_exports

namespace relayout::cli {

struct DiffRequest {
  std::vector<std::string> files;  ///< the first is compared with each other one
  // Which differences are shown.
  int64_t top = 20;  ///< lines of a table; 0: all
  NameChoice choice;
  std::vector<std::string> ignore;  ///< kinds and subjects of a model's changes
  std::optional<double> least_us;   ///< least time of an operation on either side
  // What fails.
  std::vector<std::string> fail_on;
  bool exit_code = false, any_machine = false;
  // How files are read.
  LoadOptions load;
  std::vector<std::string> profiles;  ///< of models
  TraceOptions traces;
  std::vector<std::string> steps;
  std::string names = "op";
  // Where the report goes.
  std::string csv;
  ReportFiles report;
};

/// A condition of the gate; it fails with a message.
struct GateCase {
  std::string name, message;
  std::vector<std::string> failed;
};

/// Two files compared. `csv` and `data` are made where they are asked for.
struct FileDiff {
  std::string a, b;
  Cell verdict = "";
  int rank = 0;  ///< the report of several pairs has the verdict of the highest rank
  std::vector<Section> sections = {};
  std::function<std::string()> csv = {};  ///< lines below the head
  std::function<Json()> data = {};
  std::vector<GateCase> gate = {};                       ///< the last one is of all conditions
  std::vector<std::string> failed = {}, undecided = {};  ///< names
};

/// Compares the first model with each of the others.
[[nodiscard]] std::vector<FileDiff> diff_of_models(const DiffRequest& request);
/// Compares the first trace with each of the others.
[[nodiscard]] std::vector<FileDiff> diff_of_traces(const DiffRequest& request);

/// Heads of --csv, which has a line per change or operation.
inline constexpr std::string_view kModelColumns =
    "file,kind,subject,reason,a,b,op_type,values,max_absolute_difference,max_relative_difference,text\r\n";
inline constexpr std::string_view kTraceColumns =
    "file,operation,a_count,b_count,difference_count,a_us,b_us,difference_us,class,time,ratio_low,ratio_high\r\n";

}  // namespace relayout::cli
