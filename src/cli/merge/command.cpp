// Declares the options of merge, and writes several models as one.

#include "base/numbers.h"
#include "base/text.h"
#include "cli/common/options.h"
#include "cli/common/report.h"
#include "relayout/merge.h"

namespace relayout::cli {
namespace {

struct MergeRequest {
  std::vector<std::string> words;  ///< the form and the parts
  std::string output;
  std::vector<std::string> combine, map;
  ModelMergeOptions options;
};

constexpr std::array<std::pair<std::string_view, Combine>, 7> kCombinations = {{{"mean", Combine::mean},
                                                                                {"sum", Combine::sum},
                                                                                {"max", Combine::max},
                                                                                {"vote", Combine::vote},
                                                                                {"stack", Combine::stack},
                                                                                {"variance", Combine::variance},
                                                                                {"std", Combine::deviation}}};

void read_combinations(MergeRequest& request) {
  if (request.combine.empty()) return;
  request.options.combine.clear();
  for (const std::string& word : request.combine) {
    const auto found = std::ranges::find(kCombinations, word, &decltype(kCombinations)::value_type::first);
    std::vector<std::string> known;
    for (const auto& [name, how] : kCombinations) known.emplace_back(name);
    if (found == kCombinations.end()) fail(ErrorKind::usage, "--combine " + quote(word) + did_you_mean(word, known, "; "));
    if (std::ranges::find(request.options.combine, found->second) == request.options.combine.end()) {
      request.options.combine.push_back(found->second);
    }
  }
}

void read_map(MergeRequest& request) {
  for (const std::string& pair : request.map) {
    const std::size_t sign = pair.find('=');
    if (sign == std::string::npos) fail(ErrorKind::usage, "--map " + quote(pair) + ": write OUT=IN");
    request.options.map.emplace_back(pair.substr(0, sign), pair.substr(sign + 1));
  }
}

std::string merge_text(const ModelMergeResult& result, bool is_chain) {
  if (!result.difference.empty()) return "not of equal structure: " + escape(result.difference) + "\n";
  std::vector<std::string> parts;
  for (const auto& part : result.parts) parts.push_back(escape(part.string()));
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : is_chain ? " → " : " + ") + part;
  out += (is_chain ? " as " : " → ") + escape(result.output.string()) + "   " + counted(result.nodes, "node") + " · " +
         format_bytes(result.bytes) + " · " + seconds_text(result.seconds) + "\n";
  out += "  inputs    " + some_of(result.inputs, 8, quote) + "\n  outputs   " + some_of(result.outputs, 8, quote) + "\n";
  return in_locale(out);
}

int run_merge(MergeRequest& request, const Common& common) {
  const std::string form = request.words.front();
  const bool is_chain = form == "chain";
  if (!is_chain && form != "ensemble") {
    fail(ErrorKind::usage, "unknown form " + quote(form) + did_you_mean(form, {"ensemble", "chain"}, "; "));
  }
  if (request.output.empty()) fail(ErrorKind::usage, "merge needs --output FILE");
  if (common.json && request.output == "-") fail(ErrorKind::usage, "--json and --output - both want standard output");
  if (is_chain && (!request.combine.empty() || request.options.batched)) fail(ErrorKind::usage, "--combine and --batched are for ensemble");
  if (!is_chain && !request.map.empty()) fail(ErrorKind::usage, "--map is for chain");
  if (is_chain && request.words.size() != 3) fail(ErrorKind::usage, "a chain has two models");
  read_combinations(request);
  read_map(request);
  const std::vector<std::filesystem::path> parts(request.words.begin() + 1, request.words.end());
  const ModelMergeResult result = is_chain ? merge_chain(parts.front(), parts.back(), request.output, request.options)
                                           : merge_ensemble(parts, request.output, request.options);
  const auto text = [&](const ReportStyle&) { return request.output == "-" ? "" : merge_text(result, is_chain); };
  const auto document = [&] {
    std::vector<std::string> names;
    for (const auto& part : result.parts) names.push_back(part.string());
    Json out = Json().set("schema", "relayout.merge/1").set("form", form).set("parts", names).set("output", result.output.string());
    out.set("inputs", result.inputs).set("outputs", result.outputs).set("nodes", result.nodes).set("bytes", result.bytes);
    if (!result.difference.empty()) out.set("difference", result.difference);
    return out.set("seconds", result.seconds);
  };
  const int code = ReportFiles().write(common, {.text = text, .document = document});
  return result.difference.empty() ? code : worse_code(code, 1);
}

std::function<int()> prepare_merge(OptionSet& options, const Common& common) {
  auto request = std::make_shared<MergeRequest>();
  options.positional(
      "FORM MODEL...", request->words, 3, 65,
      "ensemble: models of equal inputs and outputs, which are combined; chain: two models, the second of which reads outputs "
      "of the first");
  options.text("-o, --output", "FILE", request->output, "write the result here; - is standard output").beside_results();
  options.list("--combine", "HOW,…", request->combine,
               "what an ensemble makes of equal outputs: mean (default), sum, max, vote (of classes along axis 1), stack, variance, std; "
               "the first one keeps their names",
               ',');
  options.flag("--batched", request->options.batched,
               "write an ensemble of nets of equal structure as one net with stacked weights; exit 1 where they differ");
  options.list("--map", "OUT=IN,…", request->map,
               "outputs of the first model of a chain, and the inputs of the second that read them (default: those of equal names)", ',');
  options.flag("--allow-newer-opset", request->options.load.allow_newer_opset, "accept opsets newer than relayout knows");
  return [request, &common] { return run_merge(*request, common); };
}

}  // namespace

const Command kMerge = {
    "merge",
    "write several models as one: an ensemble, or a chain",
    "FORM MODEL MODEL... -o FILE [OPTIONS]",
    "relayout merge ensemble a.onnx b.onnx c.onnx --combine mean,std -o ensemble.onnx\n"
    "relayout merge ensemble a.onnx b.onnx c.onnx --batched -o ensemble.onnx\n"
    "relayout merge chain preprocess.onnx net.onnx --map image=x -o whole.onnx",
    prepare_merge,
};

}  // namespace relayout::cli
