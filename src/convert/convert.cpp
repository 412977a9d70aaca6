// Converts a model from its file to the result, stage by stage, and decides when nothing is written.
#include "convert/convert.h"

#include <ranges>

#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/text.h"
#include "base/times.h"
#include "layout/sizes.h"
#include "model/origin.h"
#include "model/save.h"
#include "model/tensor_data.h"
#include "model/text_format.h"
#include "model/walk.h"
#include "ops/element_types.h"
#include "ops/op_attributes.h"
#include "passes/pass.h"
#include "relayout/convert.h"
#include "relayout/error.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/save_options.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "relayout/version.h"

namespace relayout {

// Passes that the options select. Contradictions are refused before anything is read.
namespace {

const passes::Pass& known_pass(const std::string& name) {
  if (const passes::Pass* pass = passes::find_pass(name)) return *pass;
  std::vector<std::string> names;
  for (const passes::Pass& pass : passes::pass_table()) names.emplace_back(pass.name);
  fail(ErrorKind::usage, "unknown pass " + quote(name) + did_you_mean(name, names, "; "), "relayout convert --list-passes lists them");
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

/// Error{usage} for options that exclude each other, or need one that is missing.
void check(const ConvertOptions& options) {
  if (options.rewrite.layout == WeightsLayout::contiguous && (options.rewrite.export_io || options.rewrite.export_transposes)) {
    fail(ErrorKind::usage, "--layout contiguous reverts --io and --emit; they exclude each other");
  }
  const PassOptions& passes = options.rewrite;
  if (passes.undo_io && passes.export_io) fail(ErrorKind::usage, "--undo-io reverts --io; they exclude each other");
  if (passes.undo_io && (passes.bytes.swaps_channels || passes.output_bytes.swaps_channels)) {
    fail(ErrorKind::usage, "--undo-io does not bring exchanged channels back");
  }
  if (passes.undo_io && (passes.dims.any() || !passes.renames.empty() || passes.precision != DataType::undefined)) {
    fail(ErrorKind::usage, "--undo-io changes no sizes, names and types besides: convert its result");
  }
  const bool has_type = options.rewrite.precision != DataType::undefined;
  if (options.rewrite.io_precision && !has_type) fail(ErrorKind::usage, "--io-precision needs --precision");
  if (contains(options.passes, "precision") && !has_type) {
    fail(ErrorKind::usage, "pass 'precision' needs --precision, which names the type");
  }
  const auto need = [&](const std::string& pass, bool is_given, const std::string& wanted) {
    if (contains(options.passes, pass) && !is_given) fail(ErrorKind::usage, "pass '" + pass + "' needs " + wanted);
  };
  need("narrow-integers", options.rewrite.narrow_integers, "--int32");
  need("set-dims", options.rewrite.dims.any(), "--set-dim, --set-shape or --free-dim");
  need("byte-input", !options.rewrite.bytes.names.empty(), "--input-u8");
  need("byte-output", !options.rewrite.output_bytes.names.empty(), "--output-u8");
  need("undo-io", options.rewrite.undo_io, "--undo-io");
  need("rename", !options.rewrite.renames.empty(), "--rename");
  need("strip", options.rewrite.strip.any(), "--strip");
  need("scramble", options.rewrite.scramble.has_value(), "--scramble");
}

}  // namespace

std::vector<const passes::Pass*> selected_passes(const ConvertOptions& options) {
  check(options);
  const bool none = contains(options.passes, "none");
  if (none && options.passes.size() > 1) fail(ErrorKind::usage, "pass 'none' excludes all others");
  for (const std::string& name : options.passes) {
    if (name != "none") (void)known_pass(name);
  }
  for (const std::string& name : options.skip) (void)known_pass(name);
  std::vector<const passes::Pass*> out;
  for (const passes::Pass& pass : passes::pass_table()) {
    const bool is_picked = options.passes.empty() ? pass.wanted(options.rewrite) : contains(options.passes, pass.name);
    if (!none && is_picked && !contains(options.skip, pass.name)) out.push_back(&pass);
  }
  return out;
}

std::vector<PassInfo> available_passes() {
  std::vector<PassInfo> out;
  for (const passes::Pass& pass : passes::pass_table()) out.push_back({pass.name, pass.summary, pass.on_by_default()});
  return out;
}

FileFormat format_by_name(const std::filesystem::path& path) {
  return text_format::format_of(path);
}

// Options that do not fit the model.
namespace {

/// Tensors can only be shared with a model that has data files, and from its folder.
void check_sharing(const Model& model, const std::filesystem::path& output) {
  const ModelOrigin& origin = origin_of(model);
  const std::string place = escape(model.name()) + ": --share-data: ";
  if (!origin.walk.has_external) fail(ErrorKind::usage, place + "the model has no data files");
  std::error_code error;
  const std::filesystem::path folder = output.has_parent_path() ? output.parent_path() : ".";
  if (is_stream(output) || !std::filesystem::equivalent(folder, origin.directory, error)) {
    fail(ErrorKind::usage, place + "the result must be in the model's folder, because locations of data files are relative to it");
  }
}

/// Named inputs and outputs become channels-last, or nothing is written.
void check_named_ports(const ConvertResult& result, const ConvertOptions& options) {
  if (options.rewrite.io_names.empty()) return;
  std::string refused;
  for (const Finding& finding : result.findings) {
    if (finding.pass != "export-io" || finding.verdict != Verdict::skipped) continue;
    refused += (refused.empty() ? "" : "; ") + finding.op_type + " " + quote(finding.node) +
               (finding.detail.empty() ? "" : " " + finding.detail) +
               " cannot be handed over channels-last: " + std::string(text(finding.reason));
  }
  if (!refused.empty()) fail(ErrorKind::unsupported, escape(result.input.string()) + ": --io: " + refused);
}

/// A model that is entirely in one 16-bit type stays so when the other is requested: nothing is written.
void check_precision(const ConvertResult& result) {
  for (const Finding& finding : result.findings) {
    if (finding.reason != Reason::no_source_type || finding.verdict != Verdict::skipped) continue;
    fail(ErrorKind::unsupported, escape(result.input.string()) + ": --precision: " + finding.detail);
  }
}

}  // namespace

// The name of the result.

std::string model_extension(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  const bool is_known = extension == ".onnx" || extension == ".pb" || format_by_name(path) != FileFormat::binary;
  return is_known ? extension : std::string();
}

std::filesystem::path default_output(const std::filesystem::path& input) {
  std::filesystem::path out = input;
  if (!model_extension(input).empty()) out.replace_extension();
  if (out.extension() != kConvertedSuffix) out += kConvertedSuffix;
  out += ".onnx";
  return out;
}

// The folder of the result.
namespace {

/// Reports a folder that does not exist before a large model is read, not after.
void check_result_folder(const std::filesystem::path& input, const std::filesystem::path& output) {
  const std::filesystem::path folder = output.parent_path();
  std::error_code ignored;
  if (is_stream(output) || folder.empty() || std::filesystem::is_directory(folder, ignored)) return;
  if (folder == input.parent_path()) return;  // reading the model reports it
  const bool exists = std::filesystem::exists(folder, ignored);
  const std::string hint = exists ? "" : "mkdir -p " + file_word(folder.string()) + " makes it";
  if (!output.has_filename()) fail(ErrorKind::io, escape(output.string()) + (exists ? ": is not a folder" : ": no such folder"), hint);
  fail(ErrorKind::io, escape(output.string()) + ": " + quote(folder.string()) + (exists ? " is not a folder" : ": no such folder"), hint);
}

/// Makes the folder of a result and those that it is in, where they are missing.
void make_result_folder(const std::filesystem::path& output) {
  std::error_code error;
  if (output.has_parent_path()) std::filesystem::create_directories(output.parent_path(), error);
  if (error) fail_io(output.string(), quote(output.parent_path().string()) + ": " + error.message());
}

// Metadata of the result.

/// --stamp: writes version and passes into the metadata, replacing the entries of an earlier conversion.
void stamp(Model& model, const std::vector<std::string>& passes) {
  std::string names;
  for (const std::string& name : passes) names += (names.empty() ? "" : ",") + name;
  const std::pair<std::string, std::string> entries[] = {{"relayout.version", kVersion}, {"relayout.passes", names}};
  for (const auto& [key, value] : entries) {
    onnx::StringStringEntryProto* entry = nullptr;
    for (auto& existing : *model.message().mutable_metadata_props()) {
      if (existing.key() == key) entry = &existing;
    }
    if (entry == nullptr) entry = model.message().add_metadata_props();
    entry->set_key(key);
    entry->set_value(value);
  }
}

// The stages.

/// Wall time of the stages, as -v shows it.
class Stages {
 public:
  void end(std::string_view name) {
    log_time(std::string(name), last_.seconds());
    last_ = Stopwatch();
  }
  [[nodiscard]] double seconds() const { return all_.seconds(); }

 private:
  Stopwatch all_, last_;
};

struct Counts {
  int64_t nodes = 0, initializers = 0, batch_norms = 0;
};

/// Counts the main graph, nested graphs and functions. BatchNormalizations that the user excluded are meant to stay, and are not counted.
Counts count(const Model& model, const PassOptions& options) {
  Counts counts;
  const auto add_node = [&](const Node& node) {
    ++counts.nodes;
    if (node.is("BatchNormalization") && !passes::is_excluded(node, options)) ++counts.batch_norms;
  };
  for_each_node(model, add_node, [&](const Graph& graph) { counts.initializers += std::ssize(graph.initializers()); });
  return counts;
}

/// Warns about operators that pass through untouched because their meaning is unknown.
void warn_about_unknown(const Model& model) {
  const std::vector<std::string> names = unknown_operators(model);
  if (!names.empty()) log_warning(escape(model.name()) + ": unknown operators pass through untouched: " + some_of(names, 3, quote));
}

}  // namespace

int exit_code(const ConvertResult& result, const ConvertOptions& options) noexcept {
  if (options.require_all_folded && !result.all_folded) return 1;
  return result.verification ? exit_code(*result.verification, options.verification.allow_inconclusive) : 0;
}

namespace {

/// Whether the ranges of folds are checked while weights are written, or before; again: after they were assumed, with all warnings given.
enum class Ranges { assumed, looked_at, looked_at_again };

ConvertResult convert(const std::filesystem::path& input, const std::filesystem::path& output, const ConvertOptions& options,
                      Ranges ranges) {
  Stages stages;
  ConvertResult result;
  result.input = input;
  result.output = output;
  result.layout = options.rewrite.layout;
  result.precision = options.rewrite.precision;

  // The request is checked before anything is read.
  const std::vector<const passes::Pass*> passes = selected_passes(options);
  for (const passes::Pass* pass : passes) result.passes.emplace_back(pass->name);
  if (options.require_all_folded && std::ranges::find(result.passes, "fold-batch-norm") == result.passes.end()) {
    fail(ErrorKind::usage, "--require-all-folded: 'fold-batch-norm' is not among the passes");
  }
  const int threads = threads_or_two(options.threads);
  PassOptions passing = options.rewrite;
  SaveOptions saving = options.save;
  passing.threads = saving.threads = threads;
  if (!options.make_folders) check_result_folder(input, output);

  std::optional<MutedWarnings> said_already;
  if (ranges == Ranges::looked_at_again) said_already.emplace();
  // From here on the model is valid, its nodes are in order, and payloads are references into the file: nothing large is in memory.
  auto model = Model::load(input, options.load);
  const Counts before = count(*model, passing);
  result.nodes_before = before.nodes;
  result.initializers_before = before.initializers;
  result.bytes_before = model->file_size();
  if (options.opset > 0) model = at_opset(std::move(model), options.opset, options.load);
  if (options.save.share_data) check_sharing(*model, output);
  passes::check_patterns(*model, passing);
  layout::check_sizes(options.rewrite.sizes, layout::size_names(model->graph()));
  check_declared_types(*model);
  warn_about_unknown(*model);
  stages.end("load");
  check_interrupt();

  {
    // From here on the graph is the one to be written: weights carry their factors and their order, they are not computed yet.
    passes::PassContext context;
    context.options = passing;
    context.assume_ranges = ranges == Ranges::assumed;
    passes::run_passes(*model, passes, context);
    result.findings = std::move(context.findings);
    said_already.reset();
    // The passes' memory (evaluated constants) is freed here, before writing needs its buffers.
  }
  check_named_ports(result, options);
  check_precision(result);
  const Counts after = count(*model, passing);
  result.nodes_after = after.nodes;
  result.initializers_after = after.initializers;
  result.all_folded = after.batch_norms == 0;
  if (options.ir_version > 0) set_ir_version(*model, options.ir_version);
  if (options.stamp) stamp(*model, result.passes);
  stages.end("passes");
  check_interrupt();

  // ONNX's converter is not known to be right for every operator.
  const bool verifies = options.verify || options.opset > 0;
  if (verifies && exit_code(result, options) == 0) {
    result.verification = verify_draft(*model, result, options, saving);
    stages.end("verify");
  }

  // The last place to refuse: after this there is a file.
  if (!options.dry_run && exit_code(result, options) == 0) {
    if (options.make_folders) make_result_folder(output);
    const SaveResult saved = save(*model, output, saving);
    result.bytes_after = saved.bytes;
    result.data = saved.data;
    result.left_behind = saved.left_behind;
    result.written = true;
    stages.end("save");
  }
  result.seconds = stages.seconds();
  return result;
}

}  // namespace

ConvertResult convert(const std::filesystem::path& input, const std::filesystem::path& output, const ConvertOptions& options) {
  // A fold that leaves the range of its type is rare, and reading all weights to exclude it takes as long as writing them. So most weights
  // are checked while they are written to a file. If one leaves the range, no file appears, and the conversion is repeated with a check in
  // advance. What a stream has given or taken cannot be repeated.
  const bool can_begin_again = !is_stream(input) && !is_stream(output);
  if (options.dry_run || !can_begin_again) return convert(input, output, options, Ranges::looked_at);
  const Stopwatch watch;
  try {
    return convert(input, output, options, Ranges::assumed);
  } catch (const OutOfRange&) {
    ConvertResult result = convert(input, output, options, Ranges::looked_at_again);
    result.seconds = watch.seconds();
    return result;
  }
}

}  // namespace relayout
