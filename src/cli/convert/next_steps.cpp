// Names the commands that verify or undo a conversion, ready to run as printed.

#include "base/file.h"
#include "cli/common/terminal.h"
#include "cli/convert/convert.h"
#include "relayout/save_options.h"

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
  // A model for other sizes has no original, and one with other weights computes something else.
  if (!request.set_shapes.empty() || is_done(result, "scramble")) return std::nullopt;
  VerifyNeeds needs{.images_last = is_done(result, "export-io") || is_done(result, "undo-io"),
                    .newer_opset = request.options.load.allow_newer_opset};
  if (is_done(result, "precision") && request.precision != "fp32") needs.precision = request.precision;
  needs.other_types = (request.options.rewrite.io_precision && request.precision == "fp32") || !request.set_dims.empty() ||
                      is_done(result, "narrow-integers");
  for (const Finding& finding : result.findings) {
    const auto renamed = request.options.rewrite.renames.find(finding.node);
    const bool is_port = finding.pass == "rename" && finding.op_type != "dim";
    if (is_port && renamed != request.options.rewrite.renames.end()) needs.renames.insert(*renamed);
  }
  needs.is_undone = is_done(result, "undo-io");
  if (is_done(result, "byte-input") || needs.is_undone) needs.bytes = request.options.rewrite.bytes;
  if (is_done(result, "byte-output") || needs.is_undone) needs.output_bytes = request.options.rewrite.output_bytes;
  return needs;
}

/// "relayout verify" with the needed options.
CommandWords verify_words(const VerifyNeeds& needs) {
  CommandWords words{"relayout", "verify"};
  if (!needs.precision.empty()) words.insert(words.end(), {"--precision", needs.precision});
  for (const auto& [from, to] : needs.renames)
    words.insert(words.end(), {"--rename", shell_word(std::string(from).append("=").append(to))});
  for (const std::vector<std::string>& bytes :
       {arguments_of(needs.bytes, "--", "--input-u8"), arguments_of(needs.output_bytes, "--output-", "--output-u8")}) {
    words.insert(words.end(), bytes.begin(), bytes.end());
  }
  if (needs.images_last) words.insert(words.end(), {"--io", "nhwc"});
  if (needs.other_types) words.emplace_back("--allow-interface");
  if (needs.newer_opset) words.emplace_back("--allow-newer-opset");
  return words;
}

/// A title followed by a command, in lines of at most `width` columns where its words allow.
std::string command_text(const std::string& title, const CommandWords& words, std::size_t width) {
  constexpr std::string_view kBreak = " \\\n    ";
  std::string out = title;
  std::size_t at = display_width(title);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::size_t columns = display_width(words[i]);
    const bool fits = width == 0 || at + 1 + columns + 2 <= width;
    if (i > 0) out += fits ? " " : kBreak;
    out += words[i];
    at = (i == 0 || fits ? at + 1 : 4) + columns;
  }
  return out + "\n";
}

/// "relayout verify --suite TREE --against DIR"
CommandWords verify_tree_command(const std::string& tree, const std::string& against, const VerifyNeeds& needs) {
  CommandWords words = verify_words(needs);
  words.insert(words.end(), {"--suite", file_word(tree), "--against", file_word(against)});
  return words;
}

/// "relayout verify --original FOLDER/{stem}.onnx MODEL…"
CommandWords verify_all_command(const std::string& folder, const std::vector<ConvertJob>& jobs, const VerifyNeeds& needs) {
  CommandWords words = verify_words(needs);
  words.insert(words.end(), {"--original", shell_word(folder + "/{stem}.onnx")});
  for (const ConvertJob& job : jobs) words.push_back(file_word(job.output));
  return words;
}

}  // namespace

CommandWords verify_command(const std::string& a, const std::string& b, const VerifyNeeds& needs) {
  CommandWords words = verify_words(needs);
  words.insert(words.end(), {file_word(a), file_word(b)});
  return words;
}

CommandWords undo_command(const std::string& converted, const UndoNeeds& needs) {
  const std::string extension = model_extension(converted);
  std::string base = converted.substr(0, converted.size() - extension.size());
  if (base.ends_with(kConvertedSuffix)) base.resize(base.size() - kConvertedSuffix.size());
  CommandWords words{"relayout", "convert", "--layout", "contiguous"};
  if (needs.keeps_io) words.insert(words.end(), {"--skip", "export-io"});
  if (needs.newer_opset) words.emplace_back("--allow-newer-opset");
  words.insert(words.end(), {file_word(converted), "-o", file_word(base + ".contiguous" + (extension.empty() ? ".onnx" : extension))});
  return words;
}

std::string next_text(const NextSteps& next, const ReportStyle& style) {
  std::string out;
  if (!next.undo.empty()) {
    const std::string what = "Channels-last weights are for runtimes that map weights as they are stored; others run as before.\n";
    out += fit_lines(what, style.width) + command_text("Before quantizing or pruning: ", next.undo, style.width);
  }
  if (!next.verify.empty()) out += command_text("Next: ", next.verify, style.width);
  if (!next.note.empty()) out += fit_lines(next.note + "\n", style.width);
  return out;
}

NextSteps next_steps(const ConvertRequest& request, const ConvertJob& job, const ConvertResult& result) {
  NextSteps next;
  if (!result.written || !can_be_named(request, job)) return next;
  if (result.layout == WeightsLayout::channels_last && is_done(result, "conv-weights-layout")) {
    next.undo =
        undo_command(job.output, {.keeps_io = request.options.rewrite.export_io, .newer_opset = request.options.load.allow_newer_opset});
  }
  if (const auto needs = verify_needs(request, job, result)) {
    // Bytes are computed from numbers: those of the result.
    next.verify = needs->is_undone ? verify_command(job.output, job.input, *needs) : verify_command(job.input, job.output, *needs);
  }
  if (!request.set_shapes.empty() && !result.verification)
    next.note = "The original has other dims: the same command with --verify compares both at these.";
  return next;
}

void ResultsToVerify::add(const ConvertRequest& request, const ConvertJob& job, const ConvertResult& result) {
  const auto needs = verify_needs(request, job, result);
  if (!needs || needs->is_undone) return;
  done_.push_back(job);
  if (!needs->precision.empty()) needs_.precision = needs->precision;
  needs_.renames.insert(needs->renames.begin(), needs->renames.end());
  if (!needs->bytes.names.empty()) needs_.bytes = needs->bytes;
  if (!needs->output_bytes.names.empty()) needs_.output_bytes = needs->output_bytes;
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
  return are_named_by(folder) ? verify_all_command(folder, done_, needs_) : CommandWords();
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
