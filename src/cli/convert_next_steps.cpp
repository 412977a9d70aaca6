// Next steps after a conversion: commands that verify or undo results, each ready to run as printed.
#include "cli/convert_next_steps.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/locale.h"
#include "cli/conversion_targets.h"
#include "cli/conversion_words.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "relayout/convert.h"
#include "relayout/findings.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/suite.h"

namespace relayout::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNamed = 16;  ///< models named in one readable command

/// Whether a command without --format would read the file.
bool is_read_by_name(const std::string& path, const std::string& format) {
  return format_of(format) == FileFormat::automatic || format_of(format) == format_by_name(path);
}

bool is_done(const ConvertResult& result, std::string_view pass) {
  return std::ranges::any_of(result.findings,
                             [&](const Finding& finding) { return finding.verdict == Verdict::done && finding.pass == pass; });
}

/// Whether other commands accept the files of a job by their names alone.
bool can_be_named(const ConvertRequest& request, const ConvertJob& job) {
  const bool is_readable = is_read_by_name(job.input, request.format) && is_read_by_name(job.output, request.output_format);
  const bool is_printable = in_locale(printable(job.input + job.output)) == job.input + job.output;
  return is_readable && is_printable && job.output != kStream && job.input != kStream && job.input != job.output;
}

/// Options that `verify` needs for a result; nothing where it has been verified or cannot be.
std::optional<VerifyNeeds> verify_needs(const ConvertRequest& request, const ConvertJob& job, const ConvertResult& result) {
  if (!result.written || result.verification || !can_be_named(request, job)) return std::nullopt;
  VerifyNeeds needs{.images_last = is_done(result, "export-io"), .newer_opset = request.options.load.allow_newer_opset};
  if (is_done(result, "precision") && request.precision != "fp32") needs.precision = request.precision;
  needs.other_types = request.options.rewrite.io_precision && request.precision == "fp32";
  return needs;
}

}  // namespace

NextSteps next_steps(const ConvertRequest& request, const ConvertJob& job, const ConvertResult& result) {
  NextSteps next;
  if (!result.written || !can_be_named(request, job)) return next;
  if (result.layout == WeightsLayout::channels_last && is_done(result, "conv-weights-layout")) {
    next.undo =
        undo_command(job.output, {.keeps_io = request.options.rewrite.export_io, .newer_opset = request.options.load.allow_newer_opset});
  }
  if (const auto needs = verify_needs(request, job, result)) next.verify = verify_command(job.input, job.output, *needs);
  return next;
}

void ResultsToVerify::add(const ConvertRequest& request, const ConvertJob& job, const ConvertResult& result) {
  const auto needs = verify_needs(request, job, result);
  if (!needs) return;
  done_.push_back(job);
  if (!needs->precision.empty()) needs_.precision = needs->precision;
  needs_.images_last = needs_.images_last || needs->images_last;
  needs_.other_types = needs_.other_types || needs->other_types;
  needs_.newer_opset = needs_.newer_opset || needs->newer_opset;
}

CommandWords ResultsToVerify::command(const ConvertRequest& request) const {
  if (done_.empty() || request.out_dir.empty()) return {};
  const std::string& tree = request.cases.tree;
  if (!tree.empty()) return are_all_below(tree, request.out_dir) ? verify_tree_command(tree, request.out_dir, needs_) : CommandWords();
  const fs::path parent = fs::path(done_.front().input).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  return are_named_by(folder) ? verify_all_command(folder, outputs(), needs_) : CommandWords();
}

std::vector<std::string> ResultsToVerify::outputs() const {
  std::vector<std::string> out;
  for (const ConvertJob& job : done_) out.push_back(job.output);
  return out;
}

bool ResultsToVerify::are_all_below(const fs::path& tree, const fs::path& against) const {
  std::set<fs::path> wanted, made, there;
  for (const std::string& name : find_models(tree, against)) {
    wanted.insert((against / fs::path(name).parent_path() / default_output(name).filename()).lexically_normal());
  }
  for (const ConvertJob& job : done_) made.insert(fs::path(job.output).lexically_normal());
  for (const std::string& name : find_models(against)) there.insert((against / name).lexically_normal());
  return wanted == made && there == made;
}

bool ResultsToVerify::are_named_by(const std::string& folder) const {
  const bool has_braces = folder.find_first_of("{}") != std::string::npos;
  return !has_braces && done_.size() <= kMostNamed && std::ranges::all_of(done_, [&](const ConvertJob& job) {
    return fs::path(model_name_of(folder + "/{stem}.onnx", job.output)).lexically_normal() == fs::path(job.input).lexically_normal();
  });
}

}  // namespace relayout::cli
