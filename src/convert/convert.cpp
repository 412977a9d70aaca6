// The stages of `relayout convert` and when nothing is written: --require-all-folded and which BatchNormalizations count, --verify before
// saving, --dry-run, exit code, repeated run after an overflow.
#include "relayout/convert.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/machine.h"
#include "base/text.h"
#include "base/times.h"
#include "convert/check_options.h"
#include "convert/result_folder.h"
#include "convert/selected_passes.h"
#include "convert/stamp.h"
#include "layout/sizes.h"
#include "model/save.h"
#include "model/tensor_data.h"
#include "model/walk.h"
#include "ops/element_types.h"
#include "ops/op_attributes.h"
#include "passes/pass.h"
#include "relayout/error.h"
#include "relayout/findings.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/save_options.h"
#include "relayout/types.h"
#include "relayout/verify.h"

namespace relayout {
namespace {

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

/// Verifies the result that saving would write, from a file that no other process sees.
VerifyResult verify_draft(Model& model, const ConvertResult& result, const ConvertOptions& options, SaveOptions saving) {
  if (is_stream(result.input)) fail(ErrorKind::usage, "a model from standard input cannot be read again to be verified");
  const PrivateFolder folder;
  const std::filesystem::path draft = folder.path() / (is_stream(result.output) ? "model.onnx" : result.output.filename());
  saving.progress = nullptr;
  saving.sync = false;
  save(model, draft, saving);
  VerifyOptions verification = options.verification;
  verification.load = options.load;
  verification.images_last = options.rewrite.export_io || options.rewrite.layout == WeightsLayout::contiguous;
  // Undefined: no precision was requested.
  if (options.rewrite.precision == DataType::float32) {
    verification.allow_interface = verification.allow_interface || options.rewrite.io_precision;
  } else {
    verification.precision = options.rewrite.precision;
  }
  verification.threads = options.threads;
  // The model has been read, with its warnings.
  const MutedWarnings said_already;
  VerifyResult out = verify(result.input, draft, verification);
  out.b = result.output.string();
  return out;
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
  if (options.stamp) stamp(*model, result.passes);
  stages.end("passes");
  check_interrupt();

  if (options.verify && exit_code(result, options) == 0) {
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
