// Declares the options of verify, and judges a pair of models, many, one against stored outputs, or a suite.

#include "base/atomic_file.h"
#include "cli/common/input_options.h"
#include "cli/common/options.h"
#include "cli/common/process.h"
#include "cli/common/terminal.h"
#include "cli/suite/suite.h"
#include "cli/verify/report.h"
#include "relayout/derivative_check.h"
#include "relayout/execute.h"
#include "relayout/merge.h"
#include "relayout/reproducer.h"

namespace relayout::cli {
namespace {

// What is compared: two models, many with their originals, one with stored outputs, or those of a tree in either way.
constexpr Forms kTwoFiles = 1, kMany = 2, kStored = 4, kSuite = 8, kSuiteOfPairs = 16;
// A merged file with its parts, which make the other of a pair; a derivative with its original.
constexpr Forms kMerged = 256, kChain = 512, kDerivative = 1024, kPair = kTwoFiles | kMerged | kChain;
constexpr Forms kSuites = kSuite | kSuiteOfPairs, kOfPairs = kPair | kMany | kSuiteOfPairs, kCompared = kOfPairs | kStored | kSuites;
// What is done with them.
constexpr Forms kRuns = 32, kLists = 64, kProves = 128;

struct VerifyRequest {
  std::vector<std::string> models;
  std::string data;
  InputWords inputs;
  PixelWords output_pixels;
  std::string io, precision, match, mode, save_data, save_repro, original;
  int64_t scramble = -1;
  bool reference = false, layers = false, merged = false, chain = false;
  std::string derivative;
  MergeWords merge;
  ReportFiles files;
  Assignments renames;
  std::vector<std::string> accept, allow;
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

/// Reads --allow guard-lost,other-sizes.
std::set<std::string, std::less<>> allowed_of(const std::vector<std::string>& names) {
  const std::vector<std::string_view> known = doubt_names();
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) != known.end()) continue;
    fail(ErrorKind::usage, "--allow " + escape(name) + ": one of " + joined(known, ", "));
  }
  return {names.begin(), names.end()};
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
  options.allow = allowed_of(request.allow);
  options.match_position = !request.match.empty();
  for (const auto& [a, b] : request.renames) options.renames[a] = b;
  read_inputs(request.inputs, options);
  options.bytes = byte_images_of(request.inputs.pixels, "--");
  options.output_bytes = byte_images_of(request.output_pixels, "--output-");
  options.save_data = request.save_data;
  if (request.mode == "as-written") options.mode = Mode::as_written;
  if (request.mode == "optimized") options.mode = Mode::optimized;
  if (request.reference || request.mode == "reference") options.mode = Mode::reference;
}

/// Arguments for the processes of a suite's cases: the options that a case has in common with its suite.
std::vector<std::string> case_arguments(const VerifyRequest& request, const Common& common, const OptionSet& options) {
  const Forms compared = request.suite.cases.against.empty() ? kSuite | kStored : kSuiteOfPairs | kPair;
  const std::vector<std::string> given = options.given_for(compared | (request.options.proof_only ? kProves : kRuns));
  std::vector<std::string> out{"--threads", std::to_string(std::max(common.threads, 1))};
  const bool takes_seed = !request.options.proof_only && std::ranges::find(given, "--seed") == given.end();
  if (takes_seed) out.insert(out.end(), {"--seed", std::to_string(request.inputs.seed)});
  out.insert(out.end(), given.begin(), given.end());
  return out;
}

/// Runs every case of one tree, or of two.
int verify_suite(VerifyRequest& request, const Common& common, const OptionSet& options, Progress& progress) {
  if (!request.models.empty() || !request.data.empty())
    fail(ErrorKind::usage, "--suite takes its models and data from the tree: name no others");
  if (request.suite.cases.list) {
    list_cases(request.suite.cases, common.json);
    return 0;
  }
  request.suite.allow_inconclusive = request.options.allow_inconclusive;
  const SuiteResult result = run_suite(request.suite, case_arguments(request, common, options), progress);
  progress.clear();
  return request.files.write(common, suite_report(result));
}

/// Compares one model with its stored outputs.
int verify_stored(const VerifyRequest& request, const Common& common, Progress& progress) {
  if (request.models.size() != 1) fail(ErrorKind::usage, "--data goes with one MODEL");
  const DataResult result = verify_data(request.models[0], request.data, request.options);
  progress.clear();
  const int code = request.files.write(common, data_report(result));
  if (const auto failure = failure_of(result)) print_failure(*failure, common.verbose);
  return code;
}

std::string reproducers_text(const std::vector<Reproducer>& reproducers) {
  std::string out;
  for (const Reproducer& made : reproducers) {
    const bool is_there = !made.folder.empty();
    out += "reproducer   " + quote(made.node) + " (" + escape(made.op_type) + "): ";
    if (is_there)
      out += escape(made.folder.string()) + ", " + counted(made.nodes_a, "node") + " of A, " + format_count(made.nodes_b) + " of B";
    if (!made.reason.empty()) out += (is_there ? "; " : "none, ") + made.reason;
    out += "\n";
  }
  return out;
}

Json reproducer_json(const Reproducer& made) {
  Json out = Json().set("node", made.node).set("op_type", made.op_type).set("differs", made.differs);
  if (!made.folder.empty()) out.set("folder", made.folder.string()).set("nodes_a", made.nodes_a).set("nodes_b", made.nodes_b);
  if (!made.reason.empty()) out.set("reason", made.reason);
  return out;
}

/// Compares two models.
int verify_pair(const VerifyRequest& request, const Common& common, Progress& progress) {
  if (request.models.size() != 2) fail(ErrorKind::usage, "verify needs two models, or one with --data DIR; see relayout verify --help");
  if (request.options.mode) fail(ErrorKind::usage, "--mode goes with --data: two models are run as written and optimized");
  const bool allow_inconclusive = request.options.allow_inconclusive;
  VerifyOptions options = request.options;
  std::optional<PrivateFolder> samples;
  if (!request.save_repro.empty() && options.save_data.empty()) options.save_data = samples.emplace().path();
  const VerifyResult result = verify(request.models[0], request.models[1], options);
  std::vector<Reproducer> reproducers;
  const auto seed = request.scramble < 0 ? std::nullopt : std::optional(static_cast<uint64_t>(request.scramble));
  if (!request.save_repro.empty()) reproducers = save_reproducers(result, options, request.save_repro, seed);
  progress.clear();
  Report report = verify_report(result, allow_inconclusive, request.layers);
  if (!request.save_repro.empty()) {
    report.sections.push_back({Form::text | Form::quiet, "", [&](auto&) { return reproducers_text(reproducers); }});
    report.document = [&, whole = report.document] { return whole().set("reproducers", Json::list(reproducers, reproducer_json)); };
  }
  const int code = request.files.write(common, report);
  if (const auto failure = failure_of(result)) print_failure(*failure, common.verbose);
  return code;
}

/// Compares a merged file with one that is made of its parts here, side by side.
int verify_merged(VerifyRequest& request, const Common& common, Progress& progress) {
  const std::size_t least = request.merged ? 2 : 3;
  if (request.models.size() < least || (request.chain && request.models.size() != 3)) {
    fail(ErrorKind::usage,
         request.merged ? "--merged goes with the merged file and its parts" : "--chain goes with the chain and its two parts");
  }
  const PrivateFolder folder;
  std::string name;
  for (auto part = request.models.begin() + 1; part != request.models.end(); ++part) {
    name += (name.empty() ? "" : "+") + std::filesystem::path(*part).stem().string();
  }
  constexpr std::size_t kMostLetters = 80;
  const std::filesystem::path whole = folder.path() / (name.substr(0, kMostLetters) + ".onnx");
  const std::vector<std::filesystem::path> parts(request.models.begin() + 1, request.models.end());
  ModelMergeOptions options{.load = request.options.load};
  read_merge_words(request.merge, options);
  if (request.merged && parts.size() > 1) (void)merge_ensemble(parts, whole, options);
  if (request.chain) (void)merge_chain(parts.front(), parts.back(), whole, options);
  request.models = {parts.size() > 1 ? whole.string() : parts.front().string(), request.models.front()};
  return verify_pair(request, common, progress);
}

/// Compares derivatives with central differences.
int verify_derivative(const VerifyRequest& request, const Common& common, Progress& progress) {
  if (request.models.size() != 1) fail(ErrorKind::usage, "--derivative goes with one MODEL");
  DerivativeCheckOptions options;
  static_cast<InputOptions&>(options) = static_cast<const InputOptions&>(request.options);
  options.load = request.options.load;
  options.threads = request.options.threads;
  if (request.options.samples > 0) options.samples = request.options.samples;
  const DerivativeCheckResult result = check_derivatives(request.models.front(), request.derivative, options);
  progress.clear();
  return request.files.write(common, derivative_report(result));
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
  std::vector<PairOutcome> pairs;
  Failures failures(request.models.size(), common.verbose);
  for (const std::string& model : request.models) {
    pairs.push_back(judge(request, model));
    progress.clear();
    if (pairs.back().failure) failures.print(*pairs.back().failure);
  }
  failures.print_hints();
  return request.files.write(common, pairs_report(pairs, request.options.allow_inconclusive, request.layers));
}

/// Writes the exception being handled as the report's only case. A failure to write the report is ignored in favour of that exception.
void note_failure(const VerifyRequest& request) {
  const Failure failure = current_failure();
  const std::string name = request.suite.cases.tree.empty() ? request.models.back() : request.suite.cases.tree;
  static_cast<void>(request.files.write_files({.suites = {junit_suite(name, failure)}}));
}

int run(VerifyRequest& request, const Common& common, const OptionSet& options) {
  keep_freed_pages();
  read_words(request);
  request.options.threads = common.threads;
  request.options.layers = request.layers || !request.files.html.empty();
  request.options.digests = common.json || common.verbose;
  request.files.check(common.json);
  Progress progress;
  request.options.progress = [&](std::string_view what, int64_t done, int64_t total) { progress.steps(what, done, total); };
  try {
    if (!request.suite.cases.tree.empty()) return verify_suite(request, common, options, progress);
    if (!request.original.empty()) return verify_pairs(request, common, progress);
    if (request.merged || request.chain) return verify_merged(request, common, progress);
    if (!request.derivative.empty()) return verify_derivative(request, common, progress);
    return request.data.empty() ? verify_pair(request, common, progress) : verify_stored(request, common, progress);
  } catch (const Error& error) {
    // The report contains the error too, unless the report is the file that could not be written.
    const bool came_to_nothing = error.kind() == ErrorKind::invalid || error.kind() == ErrorKind::unsupported ||
                                 error.kind() == ErrorKind::io || error.kind() == ErrorKind::defect;
    if (came_to_nothing && (!request.models.empty() || !request.suite.cases.tree.empty())) note_failure(request);
    throw;
  }
}

void declare_inputs(OptionSet& options, VerifyRequest& request) {
  options.group("Inputs");
  options
      .integer("--samples", "N", 1, request.options.samples, "run N sets of inputs (default: 4, fewer where the files prove that they do)")
      .only(kOfPairs | kDerivative | kRuns);
  declare_input_options(
      options, request.inputs,
      {.seed = kRuns, .sizes = kOfPairs | kDerivative | kRuns, .files = kPair | kMany | kDerivative | kRuns, .bytes = kOfPairs | kRuns});
  declare_byte_outputs(options, request.output_pixels, kOfPairs | kRuns);
  options.text("--save-data", "DIR", request.save_data, "write inputs and outputs of A into DIR as test_data_set_N, for --data")
      .only(kPair | kRuns);
  options
      .text("--save-repro", "DIR", request.save_repro,
            "write each node at fault into a new folder: as two small models, with A's values and the command that shows it")
      .only(kPair | kRuns)
      .excludes({"--input-u8"}, "the parts would be those of the files, whose inputs differ");
  options.integer("--scramble", "SEED", 0, request.scramble, "replace the weights there by random numbers like them")
      .only(kPair | kRuns)
      .needs({"--save-repro"});
}

/// How B may differ from A by intention.
void declare_intentions(OptionSet& options, VerifyRequest& request) {
  constexpr std::string_view kOwn =
      "stored inputs and outputs are those of MODEL's own interface; compare it with its original instead: relayout verify A B";
  options.choice("--precision", {"fp16", "bf16", "int8", "int4"}, request.precision,
                 "expect B to compute in this type: judge 16 bits by their rounding, fewer by --accept");
  options
      .list("--accept", "METRIC=X,…", request.accept,
            "accept a loss within these bounds: snr=DB, cosine=X, error=X (of the range), top1=X, top5=X, match=X (shares from 0 to 1)",
            ',')
      .excludes({"--strict"});
  options.flag("--outputs-only", request.options.outputs_only, "judge the outputs alone, not each unexplained difference at its node")
      .excludes({"--strict"});
  options.choice("--io", {"nhwc"}, request.io, "expect images channels-last in A or B, as convert --io nhwc writes them")
      .because(kStored, kOwn);
  options.assignments("--rename", "NAME=OTHER", request.renames, "pair input or output NAME of A with OTHER of B")
      .because(kStored, kOwn)
      .excludes({"--match"});
  options.choice("--match", {"position"}, request.match, "pair inputs and outputs by their order, whatever their names")
      .because(kStored, kOwn);
  options
      .flag("--allow-interface", request.options.allow_interface,
            "accept inputs and outputs of B in other float types, inputs in int32 for int64, or of fewer sizes")
      .because(kStored, kOwn);
}

void declare_verdict(OptionSet& options, VerifyRequest& request) {
  constexpr Forms kJudged = kOfPairs | kRuns | kProves;
  VerifyOptions& verify = request.options;
  options.group("Verdict", kOfPairs | kRuns);
  options.real("--rtol", "X", verify.rtol, "add a relative tolerance, which never loosens the bound (--data: replace the bound)")
      .only(kCompared | kRuns);
  options.real("--atol", "X", verify.atol, "add an absolute tolerance, which never loosens the bound (--data: replace it)")
      .only(kCompared | kRuns);
  declare_intentions(options, request);
  options.list("--allow", "NAME,…", request.allow, "accept a verdict that only these doubts make inconclusive (help verdicts)", ',')
      .only(kJudged);
  options.flag("--allow-inconclusive", verify.allow_inconclusive, "accept every inconclusive verdict: exit 0").only(kJudged);
  options.choice("--mode", {"as-written", "optimized", "reference"}, request.mode, "with --data: run in this mode only")
      .only(kStored | kSuite | kRuns)
      .excludes({"--reference"});
  options.flag("--reference", request.reference, "run in double precision: --mode reference").only(kStored | kSuite | kRuns);
  options.flag("--proof", verify.proof_only, "run nothing: judge by the proof from the two files alone").only(kJudged);
  options.flag("--strict", verify.strict, "count every difference that no fold explains, whatever the outputs say").only(kJudged);
  options.real("--budget", "SECONDS", verify.budget, "leave out what would take more processor time (default: 10, or 20 runs of each)");
  options.flag("--thorough", verify.thorough, "leave nothing out, however long it takes").excludes({"--budget"});
  options.flag("--run-identical", verify.run_identical, "run files of the same bytes too");
  options.flag("--allow-newer-opset", verify.load.allow_newer_opset, "accept opsets newer than relayout knows").only(kRuns | kProves);
}

std::function<int()> prepare_verify(OptionSet& options, const Common& common) {
  auto request = std::make_shared<VerifyRequest>();
  options.forms({{kTwoFiles},
                 {.bit = kMerged, .chooser = "--merged"},
                 {.bit = kChain, .chooser = "--chain"},
                 {.bit = kDerivative, .chooser = "--derivative"},
                 {.bit = kMany, .chooser = "--original"},
                 {.bit = kStored, .chooser = "--data", .why = "--data holds one model against stored outputs"},
                 {.bit = kSuite, .chooser = "--suite"},
                 {.bit = kSuiteOfPairs, .chooser = "--against", .within = kSuite}});
  options.forms({{kRuns}, {.bit = kLists, .chooser = "--list"}, {.bit = kProves, .chooser = "--proof"}});
  options.positional("A B", request->models, 0, std::string::npos,
                     "the original and the model to judge; with --data or --derivative one model, with --original all to judge, with "
                     "--merged or --chain the merged file and its parts");
  options
      .text("--original", "PATTERN", request->original,
            "judge each MODEL against its own original: {stem}.onnx is net.onnx beside net.cl.onnx (also {stem%SUFFIX}, {name}, {dir})")
      .excludes({"--data"});
  options.flag("--merged", request->merged, "judge an ensemble, the first file, by its parts, the others");
  options.flag("--chain", request->chain, "judge a chain, the first file, by its two parts");
  declare_merge_words(options, request->merge, kMerged, kChain);
  options.text("--derivative", "FILE", request->derivative,
               "judge derivatives of MODEL (relayout derive) by its central differences, both in double precision");
  options.text("--data", "DIR", request->data, "compare with the outputs stored in DIR (test_data_set_N, or one of them)");
  declare_inputs(options, *request);
  declare_verdict(options, *request);
  options.group("Report", 0, /*beside_results=*/true);
  options.flag("--layers", request->layers, "list errors by depth, each node also fed with A's values").only(kPair | kMany | kRuns);
  declare_report_files(options, request->files, "write a page: all figures, error histograms, errors by depth; of a suite all cases",
                       {.page = kPair | kSuites | kRuns | kProves, .others = kRuns | kProves});
  declare_suite_options(options, request->suite, {.trees = kSuites, .pairs = kSuiteOfPairs, .list = kLists, .judges = kRuns | kProves});
  return [request, &common, &options] { return run(*request, common, options); };
}

}  // namespace

const Command kVerify = {
    "verify",
    "run two models on the same inputs: do they compute the same?",
    "A B [OPTIONS]\nMODEL --data DIR [OPTIONS]\nMERGED PART PART… --merged|--chain [OPTIONS]\nMODEL --derivative FILE "
    "[OPTIONS]\n--original PATTERN MODEL… [OPTIONS]\n--suite TREE [--against DIR] [OPTIONS]",
    "relayout verify resnet50.onnx resnet50.cl.onnx\n"
    "relayout verify a.onnx b.onnx --samples 8 --seed 7 --dim batch=2\n"
    "relayout verify a.onnx b.onnx --input image=cat.npy\n"
    "relayout verify a.onnx u8.onnx --io nhwc --input-u8 image --mean 0.5 --std 0.5\n"
    "relayout verify a.onnx int8.onnx --precision int8 --accept snr=25,top1=0.99\n"
    "relayout verify net.onnx --data net/test_data_set_0\n"
    "relayout verify --merged ensemble.onnx a.onnx b.onnx --combine mean,std\n"
    "relayout verify net.onnx --derivative net.jvp.onnx\n"
    "relayout verify --original '{stem}.onnx' models/*.cl.onnx --github\n"
    "relayout verify --suite onnx/backend/test/data --shard 1/4 --json\n"
    "relayout verify --suite originals --against converted",
    prepare_verify,
};

}  // namespace relayout::cli
