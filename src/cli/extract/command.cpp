// Declares the options of extract, cuts a part out of a model, and reports its inputs and outputs.

#include "base/file.h"
#include "cli/common/options.h"
#include "cli/common/report.h"
#include "cli/common/terminal.h"
#include "relayout/data_file.h"
#include "relayout/extract.h"

namespace relayout::cli {
namespace {

struct ExtractRequest {
  std::vector<std::string> models;
  std::string output;
  ReportFiles files;
  ExtractOptions options;
};

std::string part_of(int64_t part, int64_t all, std::string_view noun) {
  return format_count(part) + " of " + counted(all, noun);
}

std::string extract_text(const ExtractResult& result, const ReportStyle& style) {
  if (style.quiet()) return "";
  std::string out = escape(result.input.string()) + " → " + escape(result.output.string()) + "   " +
                    part_of(result.nodes, result.nodes_before, "node") + " · " +
                    part_of(result.initializers, result.initializers_before, "initializer");
  if (result.functions_before > 0) out += " · " + part_of(result.functions, result.functions_before, "function");
  out += " · " + format_bytes(result.bytes_before) + " → " + format_bytes(result.bytes) + "\n";
  Table table({.indent = 2});
  for (const ExtractedPort& port : result.inputs) {
    table.row({"input", escape(port.name), port.type,
               port.captured_by.empty() ? std::string() : "not named; a graph in node " + quote(port.captured_by) + " reads it"});
  }
  for (const ExtractedPort& port : result.outputs) table.row({"output", escape(port.name), port.type});
  return out + table.text(style);
}

Json extracted_port_json(const ExtractedPort& port) {
  Json out = Json().set("name", port.name).set("type", port.type);
  if (!port.captured_by.empty()) out.set("captured_by", port.captured_by);
  return out;
}

Json extract_json(const ExtractResult& result) {
  return Json()
      .set("schema", "relayout.extract/1")
      .set("input", result.input.string())
      .set("output", result.output.string())
      .set("inputs", Json::list(result.inputs, extracted_port_json))
      .set("outputs", Json::list(result.outputs, extracted_port_json))
      .set("nodes", result.nodes)
      .set("nodes_before", result.nodes_before)
      .set("initializers", result.initializers)
      .set("initializers_before", result.initializers_before)
      .set("functions", result.functions)
      .set("functions_before", result.functions_before)
      .set("bytes", result.bytes)
      .set("bytes_before", result.bytes_before)
      .set("data_files", Json::list(result.data, [](const DataFile& file) { return Json(file.path.string()); }));
}

int run_extract(ExtractRequest& request, const Common& common) {
  if (request.output.empty()) fail(ErrorKind::usage, "extract needs --output FILE");
  if (common.json && is_stream(request.output)) fail(ErrorKind::usage, "--json and --output - both want standard output");
  if (common.threads > 0) request.options.save.threads = common.threads;
  Progress progress;
  request.options.save.progress = [&](int64_t done, int64_t total) { progress.bytes("writing", done, total); };
  const ExtractResult result = extract(request.models.front(), request.output, request.options);
  progress.clear();
  request.files.add("--output", request.output);
  return request.files.write(common,
                             text_report([&](auto& style) { return extract_text(result, style); }, [&] { return extract_json(result); }));
}

std::function<int()> prepare_extract(OptionSet& options, const Common& common) {
  auto request = std::make_shared<ExtractRequest>();
  ExtractOptions& extract = request->options;
  options.positional("MODEL", request->models, 1, 1, "an ONNX file; - is standard input");
  options.list("--from", "VALUE", extract.from,
               "begin after this value, which becomes an input (default: the model's inputs); may be given several times");
  options.list("--to", "VALUE", extract.to,
               "end with this value, which becomes an output (default: the model's outputs); may be given several times");
  options.text("-o, --output", "FILE", request->output, "write the part here; - is standard output").beside_results();
  options.flag("--allow-newer-opset", extract.load.allow_newer_opset, "accept opsets newer than relayout knows");
  return [request, &common] { return run_extract(*request, common); };
}

}  // namespace

const Command kExtract = {
    "extract",
    "cut a part out of a model: the nodes between values, with what they need",
    "MODEL [--from VALUE...] [--to VALUE...] --output FILE [OPTIONS]",
    "relayout extract net.onnx --to /layer1/Relu_output_0 -o begin.onnx\n"
    "relayout extract net.onnx --from /layer3/Relu_output_0 -o end.onnx\n"
    "relayout extract net.onnx --from a --from b --to c -o part.onnx",
    prepare_extract,
};

}  // namespace relayout::cli
