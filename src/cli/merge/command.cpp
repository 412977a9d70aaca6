// Declares the options of merge, and writes several models as one.

#include "base/numbers.h"
#include "base/text.h"
#include "cli/common/input_options.h"
#include "cli/common/options.h"
#include "cli/common/report.h"
#include "relayout/merge.h"

namespace relayout::cli {
namespace {

struct MergeRequest {
  std::vector<std::string> words;  ///< the form and the parts
  std::string output;
  ReportFiles files;
  MergeWords how;
  ModelMergeOptions options;
};

std::string merge_text(const ModelMergeResult& result, bool is_chain, const ReportStyle& style) {
  if (!result.difference.empty()) return "not of equal structure: " + escape(result.difference) + "\n";
  if (style.quiet()) return "";
  std::string out = joined(result.parts, is_chain ? " → " : " + ", [](const auto& part) { return escape(part.string()); });
  out += (is_chain ? " as " : " → ") + escape(result.output.string()) + "   " + counted(result.nodes, "node") + " · " +
         format_bytes(result.bytes) + " · " + seconds_text(result.seconds) + "\n";
  out += "  inputs    " + some_of(result.inputs, 8, quote) + "\n  outputs   " + some_of(result.outputs, 8, quote) + "\n";
  return out;
}

int run_merge(MergeRequest& request, const Common& common) {
  const std::string form = request.words.front();
  const bool is_chain = form == "chain";
  if (!is_chain && form != "ensemble") {
    fail(ErrorKind::usage, "unknown form " + quote(form) + did_you_mean(form, {"ensemble", "chain"}, "; "));
  }
  if (request.output.empty()) fail(ErrorKind::usage, "merge needs --output FILE");
  if (common.json && request.output == "-") fail(ErrorKind::usage, "--json and --output - both want standard output");
  if (is_chain && (!request.how.combine.empty() || request.options.batched))
    fail(ErrorKind::usage, "--combine and --batched are for ensemble");
  if (!is_chain && !request.how.map.empty()) fail(ErrorKind::usage, "--map is for chain");
  if (is_chain && request.words.size() != 3) fail(ErrorKind::usage, "a chain has two models");
  read_merge_words(request.how, request.options);
  const std::vector<std::filesystem::path> parts(request.words.begin() + 1, request.words.end());
  const ModelMergeResult result = is_chain ? merge_chain(parts.front(), parts.back(), request.output, request.options)
                                           : merge_ensemble(parts, request.output, request.options);
  const auto text = [&](auto& style) { return merge_text(result, is_chain, style); };
  const auto document = [&] {
    const Json names = Json::list(result.parts, [](const auto& part) { return Json(part.string()); });
    Json out = Json().set("schema", "relayout.merge/1").set("form", form).set("parts", names).set("output", result.output.string());
    out.set("inputs", result.inputs).set("outputs", result.outputs).set("nodes", result.nodes).set("bytes", result.bytes);
    if (!result.difference.empty()) out.set("difference", result.difference);
    return out.set("seconds", result.seconds);
  };
  request.files.add("--output", request.output);
  const int code = request.files.write(common, text_report(text, document));
  return result.difference.empty() ? code : worse_code(code, 1);
}

std::function<int()> prepare_merge(OptionSet& options, const Common& common) {
  auto request = std::make_shared<MergeRequest>();
  options.positional(
      "FORM MODEL...", request->words, 3, 65,
      "ensemble: models of equal inputs and outputs, which are combined; chain: two models, the second of which reads outputs "
      "of the first");
  options.text("-o, --output", "FILE", request->output, "write the result here; - is standard output").beside_results();
  declare_merge_words(options, request->how, 0, 0);
  options.flag("--batched", request->options.batched,
               "write an ensemble of nets of equal structure as one net with stacked weights; exit 1 where they differ");
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
