// Declares what the files of this command share: its request, its report, and the commands that follow it.
#pragma once

// IWYU pragma: begin_exports
#include <map>
#include <set>
#include <system_error>

#include "cli/common/input_options.h"
#include "cli/common/options.h"
#include "cli/suite/suite.h"
#include "relayout/findings.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/types.h"
#include "suite/suite.h"
// IWYU pragma: end_exports

namespace relayout::cli {

/// Options of the command line beyond those of the library.
struct ConvertRequest {
  std::vector<std::string> inputs;
  std::string output, out_dir, cache;
  CaseWords cases;  ///< --suite and the choice of its models
  std::string format = "auto", output_format = "auto", when = "auto";
  std::string layout = "channels-last", io, emit, precision, external_data = "auto";
  bool list_passes = false;
  Assignments dims, shapes;
  Assignments set_dims, set_shapes, free_dims, renames;
  PixelWords pixels, output_pixels;
  int64_t scramble = -1;
  std::vector<std::string> strip;
  std::vector<std::string> facts;  ///< values besides the models on which results depend
  ConvertOptions options;
};

/// One model: the file to read and the file to write.
struct ConvertJob {
  std::string input, output;
};

/// One job per model. Error{usage} when two models would have one result, Error{io} when --out-dir is not a folder, Error{invalid} when a
/// tree has no model.
[[nodiscard]] std::vector<ConvertJob> jobs_of(const ConvertRequest& request);

// The words of convert's options and their meanings in the library. The parser has checked those of --layout, --precision and the formats.

[[nodiscard]] WeightsLayout layout_of(std::string_view word) noexcept;
[[nodiscard]] std::string word_of(WeightsLayout layout);
/// The choice for a word of --when.
[[nodiscard]] LayoutChoice choice_of(const std::string& word);
/// bf16, fp16, fp32; empty: undefined.
[[nodiscard]] DataType precision_of(std::string_view word) noexcept;
[[nodiscard]] std::string word_of(DataType precision);
/// onnx, onnxtxt, textproto, json; auto: by the file name.
[[nodiscard]] FileFormat format_of(std::string_view word) noexcept;
/// "nhwc", or "nhwc:NAME,NAME…"; empty: inputs and outputs unchanged. Error{usage} for anything else.
void read_io(std::string_view text, ConvertOptions& options);
/// "auto", "always", "never", each with optional ":THRESHOLD" in bytes. Error{usage} for anything else.
void read_external_data(std::string_view text, ConvertOptions& options);
/// Reads all words of the request into its options.
void read_words(ConvertRequest& request);

/// The words of a command, each quoted for a shell.
using CommandWords = std::vector<std::string>;

/// Next commands after a conversion; empty where there is none.
struct NextSteps {
  CommandWords verify;    ///< compares the result with its original
  CommandWords undo;      ///< restores the weight layout that other tools expect
  std::string note = {};  ///< says what compares the result with its original where no command by itself does
};

/// Options that `verify` needs to judge a conversion as intended.
struct VerifyNeeds {
  std::string precision = {};  ///< fp16 or bf16
  std::map<std::string, std::string> renames = {};
  ByteImages bytes = {}, output_bytes = {};
  bool is_undone = false;  ///< the result is the original of the file that was given
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
  /// Whether the results are those of all models of `tree`, at the paths where `verify --against` looks, and the only models there.
  [[nodiscard]] bool are_all_below(const std::filesystem::path& tree, const std::filesystem::path& against) const;
  /// Whether the pattern of verify_all_command() maps each result to its original.
  [[nodiscard]] bool are_named_by(const std::string& folder) const;

  std::vector<ConvertJob> done_;
  VerifyNeeds needs_;
};

/// Facts about passes beyond their findings.
struct PassReport {
  std::vector<std::string> passes;       ///< passes that ran, in order
  std::string layout = "channels-last";  ///< requested layout of weights
  bool will = false;                     ///< the rewrites are only planned
  std::string precision = {};            ///< requested precision
  bool lists_refusals = false;           ///< names every refused node
};

/// The rewrites of the passes, one line per pass with its refusals by reason below it.
[[nodiscard]] Table findings_table(const Findings& findings, const PassReport& report, bool all);
/// "17 of 20 weights would move to channels-last, 3 are the same in both layouts"; empty where no convolution has a weight.
[[nodiscard]] std::string weights_outlook(const Findings& findings);
[[nodiscard]] Json findings_json(const Findings& findings);

/// What was done, without the verdict of --verify.
[[nodiscard]] Report conversion_report(const ConvertResult& result, bool lists_refusals = false);
[[nodiscard]] Json convert_json(const ConvertResult& result);

/// The work of convert, in numbers.
struct Outlook {
  int64_t folds = 0, batch_norms = 0, moves = 0, weights = 0, affine_folds = 0, affines = 0;
};
[[nodiscard]] Outlook outlook_of(const Findings& findings);

/// "20 of 20 BatchNormalizations will fold · 2 of 3 scales and shifts"
[[nodiscard]] std::string folds_outlook(const Findings& findings);
/// Folds and weights in one line.
[[nodiscard]] std::string outlook_text(const Findings& findings);

}  // namespace relayout::cli
