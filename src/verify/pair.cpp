// Reads both files of a comparison: their interfaces, what proves them equal, and what decides before anything runs.

#include "verify/pair.h"

#include "base/log.h"
#include "base/machine.h"
#include "base/numbers.h"
#include "base/sha256.h"
#include "base/text.h"
#include "model/origin.h"
#include "ops/element_types.h"
#include "passes/pass.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/proof.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "verify/coarser_work.h"
#include "verify/finding.h"
#include "verify/inputs/inputs.h"
#include "verify/inputs/port.h"
#include "verify/interface.h"
#include "verify/run/session.h"

namespace relayout {
namespace {

using Field = InterfaceDifference::Field;

/// Removes the nodes that `convert --io nhwc` added after inputs and before outputs (exact pairs of dims and a Transpose, see
/// passes/export_io.cpp), so that both models take images in the original order.
void take_images_contiguous(Model& model) {
  passes::PassContext context;
  context.options.layout = WeightsLayout::contiguous;
  const passes::Pass* const pass = passes::find_pass("export-io");
  passes::run_passes(model, std::span(&pass, 1), context);
}

/// A model with its functions' nodes in place of the calls, so that what a function computes is compared like all else; nullptr if it has
/// no functions, or the proof, which enters calls by rules of its own, does not confirm the copy.
std::unique_ptr<Model> without_calls(const Model& model, const LoadOptions& options) {
  if (model.functions().empty()) return nullptr;
  const MutedWarnings muted;
  std::unique_ptr<Model> expanded = read_again(model, options);
  passes::PassContext context;
  context.expand_all_calls = true;
  const passes::Pass* const pass = passes::find_pass("inline-functions");
  passes::run_passes(*expanded, std::span(&pass, 1), context);
  return prove(model, *expanded, {.digests = false, .is_copy = true}).proved ? std::move(expanded) : nullptr;
}

/// What the files prove of `b` and of `a` with the arithmetic on bytes as convert writes it, which folds may have absorbed; nothing without
/// bytes. In `a` as it runs stands the formula in double precision: samples, of which each proof gets one, confirm that both are the same.
std::optional<ProofResult> prove_from_bytes(const Side& a, const Model& b, const VerifyOptions& options, const ProofOptions& proving) {
  if (options.bytes.names.empty() && options.output_bytes.names.empty()) return std::nullopt;
  const MutedWarnings muted;
  const Side written = read_again(a, options.load, options.images_last);
  passes::PassContext context;
  context.options.bytes = options.bytes;
  context.options.output_bytes = options.output_bytes;
  const std::array<const passes::Pass*, 2> both{passes::find_pass("byte-input"), passes::find_pass("byte-output")};
  passes::run_passes(*written.model, both, context);
  return prove(*written.model, b, proving);
}

/// The proof that leaves least open: of `a` itself, or of `a` with the arithmetic on bytes.
ProofResult prove_best(const Side& a, const Model& b, const VerifyOptions& options, bool can_run, const ProofOptions& proving) {
  std::optional<ProofResult> from_bytes = can_run ? prove_from_bytes(a, b, options, proving) : std::nullopt;
  if (from_bytes && from_bytes->proved) return std::move(*from_bytes);
  ProofResult proof = prove(*a.model, b, proving);
  return from_bytes && from_bytes->unexplained.size() < proof.unexplained.size() ? std::move(*from_bytes) : std::move(proof);
}

/// Remarks on initializers that callers of a may replace, as they are also inputs, and callers of b may not. Before IR version 4, all are
/// inputs.
void note_lost_defaults(const Model& a, const Model& b, VerifyResult& result) {
  if (a.ir_version() < 4) return;
  std::vector<std::string> lost;
  for (const std::string& name : defaulted_inputs(a.graph())) {
    const auto has_it = [&](const Value* input) { return input->name() == name; };
    if (std::ranges::none_of(b.graph().inputs(), has_it)) lost.push_back(name);
  }
  if (lost.empty()) return;
  result.remarks.push_back(counted(std::ssize(lost), "input") + " with a default cannot be given to B: " + some_of(lost, 3, quote));
}

/// Whether `b` computes in, or holds, numbers of 16 bits, and `a` computes in wider types: what proofs across types are for.
bool rounds_more(const Graph& a, const Graph& b) {
  const NarrowWork work = narrow_work(b);
  return work.nodes + work.constants > 0 && narrow_work(a).nodes == 0;
}

/// Compares the interfaces and proves what the files show. From here on both models are known to be valid.
void read(const Side& a, Side& b, const VerifyOptions& options, VerifyResult& result) {
  const Graph& graph = a.model->graph();
  result.interface = take_names(graph, *b.model, options);
  for (const std::string& name : options.bytes.names) {
    result.remarks.push_back("input " + quote(name) + " of A is computed from the bytes that B takes (--input-u8)");
  }
  for (const std::string& name : options.output_bytes.names) {
    result.remarks.push_back("output " + quote(name) + " of A is made bytes, as B gives it (--output-u8)");
  }
  const bool is_mapped = !result.interface.empty() || !options.bytes.names.empty() || !options.output_bytes.names.empty();
  std::vector<InterfaceDifference> differences = compare_interfaces(graph, b.model->graph());
  adapt(graph, *b.model, options, differences);
  note_lost_defaults(*a.model, *b.model, result);
  result.interface.insert(result.interface.end(), differences.begin(), differences.end());
  b.outputs = output_ports(b.model->graph());
  result.unsupported_a = Executor::unsupported(a.model->graph());
  result.unsupported_b = Executor::unsupported(b.model->graph());
  result.identical = !is_mapped && are_identical(*a.model, *b.model);
  if (result.identical) return;
  const bool can_run = result.unsupported_a.empty() && result.unsupported_b.empty();
  ProofOptions proving{.digests = false, .threads = options.threads};
  for (const InterfaceDifference& one : differences) {
    if (one.side == "input" && one.adapted && one.field == Field::type && one.b == "i32") proving.narrow_inputs.push_back(one.name);
  }
  result.proof = prove_best(a, *b.model, options, can_run, proving);
  const bool may_round = is_measured(options.precision) || options.accept.is_given();
  if (result.proof->proved || !may_round || !rounds_more(graph, b.model->graph())) return;
  proving.across_types = true;
  result.rounded_proof = prove_best(a, *b.model, options, can_run, proving);
}

/// Refuses names, sizes and files given by the caller that do not fit, even if nothing runs.
void check_inputs(const Side& a, const VerifyOptions& options) {
  if (options.inputs.empty() && options.dims.empty() && options.shapes.empty()) return;
  InputMaker inputs(a.model->graph(), options, nullptr, {false, {}, true});
  inputs.prepare(std::max(inputs.given().in_folders(), 1));
}

Dims declared_dims(const Graph& graph, const std::string& input) {
  const Value* const value = graph.find(input);
  const auto declared = value != nullptr ? value->declared() : std::nullopt;
  return declared ? declared->dims : Dims();
}

/// What makes A's inputs those of B where sizes alone tell them apart, or bytes: "; convert --pass set-dims --set-shape x=4,3,64,64 …".
/// Else empty.
std::string way_to_fit(const Graph& a, const Graph& b, const std::vector<InterfaceDifference>& differences) {
  std::string options;
  std::string_view last;
  for (const InterfaceDifference& one : differences) {
    if (inputs_fit({one}) || one.name == last) continue;
    if (one.field == Field::type && one.a == "f32" && one.b == "u8") {
      return "; --input-u8 " + shell_word(one.name) + " computes A's from bytes, with --mean and --std as convert was given";
    }
    const Dims of_a = declared_dims(a, one.name), of_b = declared_dims(b, one.name);
    const bool is_fixed = std::ranges::all_of(of_b, [](int64_t dim) { return dim >= 0; });
    // The same dims in another order are those of an image in another layout.
    if (!one.axis || !is_fixed || std::ranges::is_permutation(of_a, of_b)) return {};
    std::string dims;
    for (const int64_t dim : of_b) dims += (dims.empty() ? "" : ",") + std::to_string(dim);
    options += " --set-shape " + shell_word(one.name + "=" + dims);
    last = one.name;
  }
  return options.empty() ? "" : "; compare B with a copy of A of these dims (convert --pass set-dims" + options + ")";
}

/// Why nothing has to run, or nothing can; empty otherwise.
VerifyFindings decided_by_files(const Pair& pair, const VerifyResult& measured) {
  const bool cannot_run = !measured.unsupported_a.empty() || !measured.unsupported_b.empty();
  if (measured.identical && (cannot_run || !pair.options->run_identical)) {
    check_declared_types(*pair.a.model);  // models that run are checked when they are planned
    return {{.severity = Severity::agreement, .text = "identical files (sha256 " + sha256_of(*origin_of(*pair.a.model).file) + ")"}};
  }
  if (pair.a.model->graph().outputs().empty()) {
    return {{.name = kNoOutputs, .text = escape(pair.a.name) + " has no outputs: there is nothing to compare"}};
  }
  if (cannot_run && measured.proof && measured.proof->proved) {
    return {{.severity = Severity::agreement, .text = "proved from the files; nodes that cannot run: nothing was executed"}};
  }
  if (cannot_run) return {{.name = kCannotRun, .text = "nodes that cannot run: nothing was executed"}};
  if (inputs_fit(measured.interface)) return {};
  const std::string why = "B cannot be given A's inputs" + misfits_of(measured.interface) + ": nothing was run" +
                          way_to_fit(pair.a.model->graph(), pair.b.model->graph(), measured.interface);
  return {{.severity = Severity::difference, .name = "unfit-inputs", .text = why}};
}

Side side_of(std::string name, std::unique_ptr<Model> model, const LoadOptions& options, bool images_last) {
  Side side{std::move(name), std::move(model), {}};
  if (auto expanded = without_calls(*side.model, options)) side.model = std::move(expanded);
  if (images_last) take_images_contiguous(*side.model);
  side.outputs = output_ports(side.model->graph());
  return side;
}

}  // namespace

Side load_side(const std::filesystem::path& path, const LoadOptions& options, bool images_last) {
  return side_of(path.string(), Model::load(path, options), options, images_last);
}

Side read_again(const Side& side, const LoadOptions& options, bool images_last) {
  return side_of(side.name, read_again(*side.model, options), options, images_last);
}

VerifyResult describe_run(const Side& a, const Side& b, const VerifyOptions& options) {
  VerifyResult result;
  result.a = a.name;
  result.b = b.name;
  result.seed = options.seed;
  result.threads = threads_or_all(options.threads);
  if (!options.digests) return result;
  if (origin_of(*a.model).file) result.sha256_a = sha256_of(*origin_of(*a.model).file);
  if (origin_of(*b.model).file) result.sha256_b = sha256_of(*origin_of(*b.model).file);
  return result;
}

Pair read_files(Side a, Side b, const VerifyOptions& options, OpenSession open, Steps& steps, VerifyResult& measured) {
  read(a, b, options, measured);
  Pair pair{std::move(a), std::move(b), &options, std::move(open), &steps};
  pair.proved = measured.proof && measured.proof->proved;
  pair.is_rounded = measured.rounded_proof && measured.rounded_proof->proved;
  return pair;
}

VerifyFindings find_decided(const Pair& pair, const VerifyResult& measured) {
  VerifyFindings findings = decided_by_files(pair, measured);
  if (!findings.empty()) check_inputs(pair.a, *pair.options);
  return findings;
}

}  // namespace relayout
