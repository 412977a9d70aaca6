// Declares the options of verify, and judges a pair of models, many, one against stored outputs, or a suite.
#include <algorithm>
#include <array>

#include "cli/common/input_options.h"
#include "cli/common/options.h"
#include "cli/common/process.h"
#include "cli/common/progress.h"
#include "cli/suite/suite.h"
#include "cli/verify/pairs.h"
#include "cli/verify/report.h"
#include "relayout/execute.h"

namespace relayout::cli {
namespace {

struct VerifyRequest {
  std::vector<std::string> models;
  std::string data;
  InputWords inputs;
  std::string io, precision, match, mode, save_data, original;
  bool reference = false, layers = false;
  ReportFiles files;
  Assignments renames;
  std::vector<std::string> accept;
  SuiteRequest suite;
  VerifyOptions options;
};

/// Reads --accept snr=25,top1=0.99.
Acceptance acceptance_of(const std::vector<std::string>& words) {
  Acceptance accept;
  const auto bounds = std::to_array<std::pair<std::string_view, std::optional<double>*>>({{"snr", &accept.snr},
                                                                                          {"cosine", &accept.cosine},
                                                                                          {"error", &accept.error},
                                                                                          {"top1", &accept.top1},
                                                                                          {"top5", &accept.top5},
                                                                                          {"match", &accept.match}});
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    const auto found = std::ranges::find(bounds, std::string_view(name), &std::pair<std::string_view, std::optional<double>*>::first);
    if (found == bounds.end() || name.size() == word.size()) {
      fail(ErrorKind::usage, "--accept " + escape(word) + ": one of snr=DB, cosine=X, error=X, top1=X, top5=X, match=X");
    }
    const double bound = parse_real("--accept " + name, std::string_view(word).substr(name.size() + 1));
    const bool is_decibel = name == "snr", is_share = !is_decibel && name != "error";
    if (is_share && !(bound >= 0 && bound <= 1)) fail(ErrorKind::usage, "--accept " + escape(word) + ": from 0 to 1");
    if (!is_decibel && bound < 0) fail(ErrorKind::usage, "--accept " + escape(word) + ": from 0 on");
    *found->second = bound;
  }
  return accept;
}

DataType precision_of(const std::string& word) {
  if (word == "fp16") return DataType::float16;
  if (word == "bf16") return DataType::bfloat16;
  return word == "int8" ? DataType::int8 : word == "int4" ? DataType::int4 : DataType::undefined;
}

/// Reads the words of options into the library's types.
void read_words(VerifyRequest& request) {
  VerifyOptions& options = request.options;
  options.dims = dims_of(request.inputs.dims);
  options.images_last = !request.io.empty();
  options.precision = precision_of(request.precision);
  options.accept = acceptance_of(request.accept);
  options.match_position = !request.match.empty();
  for (const auto& [a, b] : request.renames) options.renames[a] = b;
  read_inputs(request.inputs, options);
  options.save_data = request.save_data;
  if (request.reference && !request.mode.empty() && request.mode != "reference") {
    fail(ErrorKind::usage, "--reference and --mode " + request.mode + " exclude each other");
  }
  if (request.mode == "as-written") options.mode = Mode::as_written;
  if (request.mode == "optimized") options.mode = Mode::optimized;
  if (request.reference || request.mode == "reference") options.mode = Mode::reference;
}

ReportStyle report_style(const VerifyRequest& request, const Common& common) {
  ReportStyle style = request.files.style(common);
  style.layers = request.layers;
  return style;
}

/// Options for the processes of a suite's cases.
std::vector<std::string> case_options(const VerifyRequest& request, const Common& common) {
  const VerifyOptions& options = request.options;
  std::vector<std::string> words{"--threads", std::to_string(std::max(common.threads, 1))};
  const auto add = [&](const char* name, const std::string& value) { words.insert(words.end(), {name, value}); };
  const auto add_flag = [&](const char* name, bool given) {
    if (given) words.emplace_back(name);
  };
  if (!options.proof_only) add("--seed", std::to_string(request.inputs.seed));
  if (options.mode) add("--mode", std::string(to_string(*options.mode)));
  if (options.rtol) add("--rtol", shortest(*options.rtol));
  if (options.atol) add("--atol", shortest(*options.atol));
  if (options.samples > 0) add("--samples", std::to_string(options.samples));
  if (!request.io.empty()) add("--io", request.io);
  if (!request.precision.empty()) add("--precision", request.precision);
  for (const auto& [name, value] : request.inputs.dims) add("--dim", std::string(name).append("=").append(value));
  for (const auto& [name, value] : request.inputs.shapes) add("--shape", std::string(name).append("=").append(value));
  for (const std::string& bound : request.accept) add("--accept", bound);
  for (const auto& [a, b] : request.renames) add("--rename", std::string(a).append("=").append(b));
  if (!request.match.empty()) add("--match", request.match);
  add_flag("--allow-interface", options.allow_interface);
  add_flag("--proof", options.proof_only);
  add_flag("--strict", options.strict);
  add_flag("--outputs-only", options.outputs_only);
  add_flag("--run-identical", options.run_identical);
  add_flag("--allow-inconclusive", options.allow_inconclusive);
  add_flag("--allow-newer-opset", options.load.allow_newer_opset);
  return words;
}

/// Runs every case of one tree, or of two.
int verify_suite(VerifyRequest& request, const Common& common, Progress& progress) {
  if (!request.models.empty() || !request.data.empty())
    fail(ErrorKind::usage, "--suite takes its models and data from the tree: name no others");
  if (request.suite.cases.list) {
    list_cases(request.suite.cases, common.json);
    return 0;
  }
  request.suite.allow_inconclusive = request.options.allow_inconclusive;
  const SuiteResult result = run_suite(request.suite, case_options(request, common), progress);
  progress.clear();
  return write_suite(result, request.files, common);
}

/// Compares one model with its stored outputs.
int verify_stored(const VerifyRequest& request, const Common& common, Progress& progress) {
  if (request.models.size() != 1) fail(ErrorKind::usage, "--data goes with one MODEL");
  const DataResult result = verify_data(request.models[0], request.data, request.options);
  progress.clear();
  const int code = request.files.write(common, {.suites = {junit_suite(result)},
                                                .document = data_json(result),
                                                .text = data_text(result, report_style(request, common)),
                                                .code = exit_code(result)});
  if (const auto failure = failure_of(result)) print_failure(*failure, common.verbose);
  return code;
}

/// Compares two models.
int verify_pair(const VerifyRequest& request, const Common& common, Progress& progress) {
  if (request.models.size() != 2) fail(ErrorKind::usage, "verify needs two models, or one with --data DIR; see relayout verify --help");
  if (request.options.mode) fail(ErrorKind::usage, "--mode goes with --data: two models are run as written and optimized");
  const bool allow_inconclusive = request.options.allow_inconclusive;
  const VerifyResult result = verify(request.models[0], request.models[1], request.options);
  progress.clear();
  const int code = request.files.write(common, {.suites = {junit_suite(result, allow_inconclusive)},
                                                .document = verify_json(result, allow_inconclusive),
                                                .text = verify_text(result, allow_inconclusive, report_style(request, common)),
                                                .page = [&] { return verify_html(result, allow_inconclusive); },
                                                .code = exit_code(result, allow_inconclusive)});
  if (const auto failure = failure_of(result)) print_failure(*failure, common.verbose);
  return code;
}

/// Judges one of many models. Its failure does not stop the rest, an interruption does.
PairOutcome judge(const VerifyRequest& request, const std::string& model) {
  PairOutcome pair{"", model, {}, {}};
  try {
    pair.original = original_of(request.original, model);
    pair.result = verify(pair.original, model, request.options);
    pair.failure = failure_of(*pair.result);
  } catch (...) {
    pair.failure = current_failure();
    if (pair.failure->is_interruption()) throw;
  }
  return pair;
}

/// Compares every model with its own original.
int verify_pairs(const VerifyRequest& request, const Common& common, Progress& progress) {
  if (request.models.empty()) fail(ErrorKind::usage, "--original goes with the models to be judged");
  static_cast<void>(model_name_of(request.original, request.models.front()));  // an invalid pattern is invalid for all models
  const bool allow_inconclusive = request.options.allow_inconclusive;
  std::vector<PairOutcome> pairs;
  Failures failures(request.models.size(), common.verbose);
  for (const std::string& model : request.models) {
    pairs.push_back(judge(request, model));
    progress.clear();
    if (pairs.back().failure) failures.print(*pairs.back().failure);
  }
  failures.print_hints();
  return request.files.write(common, {.suites = junit_suites(pairs, allow_inconclusive),
                                      .document = pairs_json(pairs, allow_inconclusive),
                                      .text = pairs_text(pairs, allow_inconclusive, report_style(request, common)),
                                      .code = exit_code(pairs, allow_inconclusive)});
}

/// Writes the exception being handled as the report's only case. A failure to write the report is ignored in favour of that exception.
void note_failure(const VerifyRequest& request) {
  const Failure failure = current_failure();
  const std::string name = request.suite.cases.tree.empty() ? request.models.back() : request.suite.cases.tree;
  static_cast<void>(request.files.write_files({junit_suite(name, failure)}));
}

int run(VerifyRequest& request, const Common& common) {
  keep_freed_pages();
  read_words(request);
  request.options.threads = common.threads;
  request.options.layers = request.layers || !request.files.html.empty();
  request.options.digests = common.json || common.verbose;
  request.files.destinations().check(common.json);
  Progress progress;
  request.options.progress = [&](std::string_view what, int64_t done, int64_t total) { progress.steps(what, done, total); };
  try {
    if (!request.suite.cases.tree.empty()) return verify_suite(request, common, progress);
    if (!request.original.empty()) return verify_pairs(request, common, progress);
    return request.data.empty() ? verify_pair(request, common, progress) : verify_stored(request, common, progress);
  } catch (const Error& error) {
    // The report contains the error too, unless the report is the file that could not be written.
    const bool came_to_nothing = error.kind() == ErrorKind::invalid || error.kind() == ErrorKind::unsupported ||
                                 error.kind() == ErrorKind::io || error.kind() == ErrorKind::defect;
    if (came_to_nothing && (!request.models.empty() || !request.suite.cases.tree.empty())) note_failure(request);
    throw;
  }
}

/// Rules against options that have no effect or contradict each other.
void declare_verify_rules(OptionRules& rules) {
  rules.needs({"--jobs", "--timeout", "--shard", "--allow-empty", "--expected", "--against", "--list", "--case", "--cases-from",
               "--durations", "--resume", "--cache"},
              {"--suite"});
  rules.needs({"--pair"}, {"--against"});
  rules.needs({"--null"}, {"--list"});
  rules.needs({"--mode", "--reference"}, {"--data", "--suite"});
  rules.excludes({"--mode"}, {"--reference"});
  rules.excludes({"--suite"}, {"--data", "--original"});
  rules.excludes({"--original"}, {"--data"});
  rules.idle({"--mode", "--reference", "--html", "--save-data"}, {"--original"});
  rules.idle({"--mode", "--reference"}, {"--against"});
  // For two models only.
  rules.idle({"--io", "--rename", "--match", "--allow-interface"}, {"--data"},
             "stored inputs and outputs are those of MODEL's own interface; compare it with its original instead: relayout verify A B");
  rules.idle({"--samples", "--input", "--shape", "--dim", "--resize", "--mean", "--std", "--save-data", "--allow-inconclusive",
              "--run-identical", "--layers", "--html", "--strict", "--proof", "--precision", "--outputs-only", "--accept"},
             {"--data"}, "--data holds one model against stored outputs");
  // For one pair of models only.
  rules.idle({"--input", "--resize", "--mean", "--std", "--save-data", "--layers"}, {"--suite"});
  // For one pair or many.
  rules.idle_unless({"--samples", "--shape", "--dim", "--io", "--allow-inconclusive", "--run-identical", "--strict", "--proof",
                     "--precision", "--outputs-only", "--accept", "--rename", "--match", "--allow-interface"},
                    "--suite", "--against");
  // For a run only; --list runs nothing.
  rules.idle({"--resume",
              "--cache",
              "--jobs",
              "--timeout",
              "--allow-empty",
              "--expected",
              "--html",
              "--junit",
              "--markdown",
              "--github",
              "--mode",
              "--reference",
              "--seed",
              "--rtol",
              "--atol",
              "--samples",
              "--shape",
              "--dim",
              "--io",
              "--allow-inconclusive",
              "--run-identical",
              "--strict",
              "--proof",
              "--precision",
              "--outputs-only",
              "--accept",
              "--rename",
              "--match",
              "--allow-interface",
              "--allow-newer-opset"},
             {"--list"});
  // For a run only; --proof runs nothing.
  rules.idle({"--samples",   "--seed",         "--input",  "--shape",  "--dim",           "--resize",         "--mean", "--std",
              "--save-data", "--rtol",         "--atol",   "--io",     "--run-identical", "--layers",         "--mode", "--reference",
              "--precision", "--outputs-only", "--accept", "--rename", "--match",         "--allow-interface"},
             {"--proof"});
  rules.excludes({"--outputs-only"}, {"--strict"});
  rules.excludes({"--accept"}, {"--strict"});
  rules.excludes({"--rename"}, {"--match"});
}

std::function<int()> prepare_verify(OptionSet& options, const Common& common) {
  auto request = std::make_shared<VerifyRequest>();
  options.positional("A B", request->models, 0, std::string::npos,
                     "the model that is right and the one to be judged; with --data only one, with --original all to be judged");
  options.text("--original", "PATTERN", request->original,
               "judge each MODEL against its own original: {stem}.onnx is net.onnx beside net.cl.onnx (also {stem%SUFFIX}, {name}, {dir})");
  options.text("--data", "DIR", request->data, "compare with the outputs stored in DIR (test_data_set_N, or one of them)");
  options.group("Inputs");
  options.integer(
      "--samples", "N", 1, request->options.samples,
      "how many sets of inputs to run (default: 4; 2 where the files prove all but constants that nearly agree, 1 where they prove all)");
  declare_input_options(options, request->inputs);
  options.text("--save-data", "DIR", request->save_data, "write inputs and outputs of A there as test_data_set_N, for --data");
  options.group("Verdict");
  options.real("--rtol", "X", request->options.rtol, "relative tolerance in addition, never loosens the bound (--data: instead of it)");
  options.real("--atol", "X", request->options.atol, "absolute tolerance in addition, never loosens the bound (--data: instead of it)");
  options.choice("--precision", {"fp16", "bf16", "int8", "int4"}, request->precision,
                 "B computes in this type, or quantizes to it, on purpose: judge 16 bits by their rounding, fewer by --accept");
  options.list(
      "--accept", "METRIC=X,…", request->accept,
      "take a loss within these bounds: snr=DB, cosine=X, error=X (of the range), top1=X, top5=X (share of rows whose best entry in A is "
      "B's best, or among B's five best), match=X (share of equal integers)",
      ',');
  options.flag("--outputs-only", request->options.outputs_only, "judge the outputs alone, not each unexplained difference at its node");
  options.choice("--io", {"nhwc"}, request->io, "A or B takes and gives images channels-last, as convert --io nhwc wrote it");
  options.assignments("--rename", "NAME=OTHER", request->renames, "input or output NAME of A is called OTHER in B");
  options.choice("--match", {"position"}, request->match, "pair inputs and outputs in their order, whatever their names");
  options.flag("--allow-interface", request->options.allow_interface,
               "inputs and outputs of B may have another floating-point type (they are cast) or fewer sizes");
  options.flag("--allow-inconclusive", request->options.allow_inconclusive, "exit 0 when nothing could be tested");
  options.choice("--mode", {"as-written", "optimized", "reference"}, request->mode, "with --data: run in this mode only");
  options.flag("--reference", request->reference, "--mode reference: double precision");
  options.flag("--proof", request->options.proof_only, "run nothing: only the proof from the two files");
  options.flag("--strict", request->options.strict, "a difference that no fold explains is a difference, whatever the outputs say");
  options.flag("--run-identical", request->options.run_identical, "run files of the same bytes too");
  options.flag("--allow-newer-opset", request->options.load.allow_newer_opset, "take opsets newer than those that relayout knows");
  options.group("Report");
  options.flag("--layers", request->layers, "a table of errors against depth, each node also fed with A's values");
  declare_report_files(options, request->files,
                       "a page with all figures, the error histogram and errors by depth; of a suite with all cases");
  declare_suite_options(options, request->suite);
  declare_verify_rules(options.rules());
  return [request, &common] { return run(*request, common); };
}

}  // namespace

const Command kVerify = {
    "verify",
    "run two models on the same inputs: do they compute the same?",
    "A B [OPTIONS]\nMODEL --data DIR [OPTIONS]\n--original PATTERN MODEL… [OPTIONS]\n--suite TREE [--against DIR] [OPTIONS]",
    "relayout verify resnet50.onnx resnet50.cl.onnx\n"
    "relayout verify a.onnx b.onnx --samples 8 --seed 7 --dim batch=2\n"
    "relayout verify a.onnx b.onnx --input image=cat.npy\n"
    "relayout verify a.onnx int8.onnx --precision int8 --accept snr=25,top1=0.99\n"
    "relayout verify net.onnx --data net/test_data_set_0\n"
    "relayout verify --original '{stem}.onnx' models/*.cl.onnx --github\n"
    "relayout verify --suite onnx/backend/test/data --shard 1/4 --json\n"
    "relayout verify --suite originals --against converted",
    prepare_verify,
};

}  // namespace relayout::cli
