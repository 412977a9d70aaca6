// Declares the options of derive, and writes the model of a derivative.

#include "base/numbers.h"
#include "base/text.h"
#include "cli/common/options.h"
#include "cli/common/report.h"
#include "relayout/derive.h"

namespace relayout::cli {
namespace {

struct DeriveRequest {
  std::vector<std::string> words;  ///< transform and model
  std::string output;
  ReportFiles files;
  bool products = false;
  DeriveOptions options;
};

constexpr std::array<std::pair<std::string_view, Derivative>, 5> kTransforms = {
    {{"jvp", Derivative::jvp},
     {"vjp", Derivative::vjp},
     {"jacobian", Derivative::jacobian},
     {"hessian", Derivative::hessian},
     {"per-sample-gradients", Derivative::per_sample_gradients}}};

Derivative transform_of(const std::string& word) {
  const auto found = std::ranges::find(kTransforms, word, &decltype(kTransforms)::value_type::first);
  if (found != kTransforms.end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [name, transform] : kTransforms) known.emplace_back(name);
  fail(ErrorKind::usage, "unknown transform " + quote(word) + did_you_mean(word, known, "; "), "relayout help derive lists them");
}

std::string derive_text(const DeriveResult& result, const ReportStyle& style) {
  if (style.quiet()) return "";
  std::string out = escape(result.input.string()) + " → " + escape(result.output.string()) + "   " + std::to_string(result.nodes_before) +
                    " → " + std::to_string(result.nodes_after) + " nodes · " + seconds_text(result.seconds) + "\n";
  const auto line = [&](std::string_view what, const std::vector<std::string>& names) {
    if (names.empty()) return;
    out += "  " + std::string(what) + std::string(14 - what.size(), ' ') + some_of(names, 8, quote) + "\n";
  };
  line("new inputs", result.inputs);
  line("new outputs", result.outputs);
  line("always zero", result.zeros);
  return out;
}

int run(DeriveRequest& request, const Common& common) {
  Derivative transform = transform_of(request.words.front());
  if (request.products && transform != Derivative::hessian) fail(ErrorKind::usage, "--hvp is for hessian");
  if (request.products) transform = Derivative::hvp;
  if (request.output.empty()) fail(ErrorKind::usage, "derive needs --output FILE");
  if (common.json && request.output == "-") fail(ErrorKind::usage, "--json and --output - both want standard output");
  const DeriveResult result = differentiate(transform, request.words.back(), request.output, request.options);
  const auto text = [&](auto& style) { return derive_text(result, style); };
  const auto document = [&] {
    return Json()
        .set("schema", "relayout.derive/1")
        .set("transform", request.words.front())
        .set("model", result.input.string())
        .set("output", result.output.string())
        .set("inputs", result.inputs)
        .set("outputs", result.outputs)
        .set("zeros", result.zeros)
        .set("nodes_before", result.nodes_before)
        .set("nodes_after", result.nodes_after)
        .set("bytes", result.bytes)
        .set("seconds", result.seconds);
  };
  request.files.add("--output", request.output);
  return request.files.write(common, text_report(text, document));
}

std::function<int()> prepare_derive(OptionSet& options, const Common& common) {
  auto request = std::make_shared<DeriveRequest>();
  options.positional(
      "TRANSFORM MODEL", request->words, 2, 2,
      "jvp: tangents of the inputs give those of the outputs; vjp: cotangents of the outputs give gradients; jacobian: all derivatives of "
      "outputs by inputs; hessian: the second ones of an output's sum; per-sample-gradients: of each sample's loss alone; MODEL: an ONNX "
      "file, - is standard input");
  options.text("-o, --output", "FILE", request->output, "write the result here; - is standard output").beside_results();
  options.list("--wrt", "NAME,…", request->options.wrt,
               "differentiate by these inputs, weights or inner values (default: all inputs of floating point; per-sample-gradients: all "
               "weights)",
               ',');
  options.list("--of", "NAME,…", request->options.of, "differentiate these outputs (default: all of floating point)", ',');
  options.flag("--hvp", request->products, "with hessian: write its product with a vector");
  options.flag("--allow-newer-opset", request->options.load.allow_newer_opset, "accept opsets newer than relayout knows");
  return [request, &common] { return run(*request, common); };
}

}  // namespace

const Command kDerive = {
    "derive",
    "write a model that computes derivatives of another, too",
    "TRANSFORM MODEL -o FILE [OPTIONS]",
    "relayout derive jvp net.onnx --wrt x -o net.jvp.onnx\n"
    "relayout derive vjp net.onnx --of logits --wrt x -o saliency.onnx\n"
    "relayout derive vjp net.onnx --of logits --wrt features -o grad_cam.onnx\n"
    "relayout derive vjp net.onnx --of loss --wrt fc.weight,fc.bias -o gradients.onnx\n"
    "relayout derive jacobian control.onnx --of u --wrt x -o gains.onnx\n"
    "relayout derive hessian net.onnx --hvp --of loss --wrt x -o curvature.onnx\n"
    "relayout derive per-sample-gradients net.onnx --of loss -o gradients.onnx",
    prepare_derive,
};

}  // namespace relayout::cli
