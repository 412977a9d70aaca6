// Declares the options of run, runs one model, and reports its values as text and as a document.
#include <cmath>

#include "cli/common/input_options.h"
#include "cli/common/options.h"
#include "cli/common/report.h"
#include "cli/common/terminal.h"
#include "relayout/execute.h"
#include "relayout/run.h"
#include "relayout/types.h"

namespace relayout::cli {
namespace {

constexpr int kDigits = 4;
constexpr std::size_t kNameColumns = 44;

std::string run_number(double value) {
  return significant(value, kDigits);
}

std::string share_of(int64_t part, int64_t all) {
  return part == 0 ? "0" : percent_text(static_cast<double>(part) / static_cast<double>(all));
}

/// "3 NaN, 2 ∞ and 1 −∞ of 1,000 numbers"
std::string faults_text(const TensorStatistics& facts) {
  const auto part = [](int64_t count, const char* what) { return count > 0 ? format_count(count) + what : ""; };
  return joined({part(facts.nans, " NaN"), part(facts.above, " ∞"), part(facts.below, " −∞")}, ", ") + " of " +
         counted(facts.elements, "number");
}

std::string range_text(const TensorStatistics& facts) {
  return facts.finite() == 0 ? "none finite" : run_number(facts.least) + " … " + run_number(facts.greatest);
}

std::vector<Cell> statistics_cells(const TensorStatistics& facts) {
  const bool any = facts.finite() > 0;
  const auto number = [&](double value) { return right(any ? run_number(value) : "–"); };
  return {number(facts.least),
          number(facts.greatest),
          number(facts.mean),
          number(facts.deviation),
          right(share_of(facts.zeros, facts.elements)),
          right(format_count(facts.nans)),
          right(format_count(facts.infinities())),
          right(share_of(facts.beyond_f16, facts.elements))};
}

/// Names that were asked for are printed in full: other commands take them.
Table values_table(const std::vector<RunTensor>& tensors, const RunOptions& options, const ReportStyle& style) {
  const bool has_statistics = options.statistics;
  const std::size_t most = style.verbose || !options.tensors.empty() ? SIZE_MAX : kNameColumns;
  Table table({.gap = 2});
  std::vector<Cell> head{"value", "type"};
  if (has_statistics) {
    for (const char* const name : {"min", "max", "mean", "σ", "zeros", "NaN", "∞", "> f16"}) head.push_back(right(name));
  }
  table.head(std::move(head));
  for (const RunTensor& tensor : tensors) {
    std::vector<Cell> cells{shortened(escape(tensor.name), most), tensor.type};
    if (tensor.statistics) std::ranges::move(statistics_cells(*tensor.statistics), std::back_inserter(cells));
    table.row(std::move(cells));
  }
  return table;
}

std::string maker_of(const RunTensor& value) {
  if (value.op_type.empty()) return "given";
  return "made by node " + quote(value.node) + " (" + escape(value.op_type) + ")";
}

std::string finite_text(const RunResult& result, const ReportStyle& style) {
  if (!result.not_finite) return paint("finite", Style::good, style.color) + "   all " + counted(result.values, "value") + "\n";
  const auto& [value, operands] = *result.not_finite;
  const TensorStatistics& facts = *value.statistics;
  const bool is_rounding = facts.finite() == facts.elements;
  std::string out = paint(is_rounding ? "out of range" : "not finite", Style::bad, style.color) + "   " + quote(value.name) + " " +
                    value.type + ", " + maker_of(value) + ": ";
  out += is_rounding ? range_text(facts) + ", beyond " + std::string(name_of(result.as)) : faults_text(facts);
  if (!is_rounding && facts.finite() > 0) out += ", the others " + range_text(facts);
  out += "\n";
  Table table({.indent = 2, .gap = 2});
  for (const RunTensor& operand : operands) {
    const TensorStatistics& read = *operand.statistics;
    table.row({"reads " + shortened(escape(operand.name), kNameColumns), right(range_text(read)),
               read.finite() == read.elements ? std::string() : faults_text(read)});
  }
  return out + table.text(style);
}

Json statistics_json(const TensorStatistics& facts) {
  const bool any = facts.finite() > 0;
  const auto number = [&](double value) { return any ? Json(value) : Json(); };
  return Json()
      .set("elements", facts.elements)
      .set("min", number(facts.least))
      .set("max", number(facts.greatest))
      .set("mean", number(facts.mean))
      .set("deviation", number(facts.deviation))
      .set("zeros", facts.zeros)
      .set("nan", facts.nans)
      .set("inf", facts.above)
      .set("minus_inf", facts.below)
      .set("beyond_f16", facts.beyond_f16);
}

Json value_json(const RunTensor& tensor) {
  Json out = Json().set("name", tensor.name);
  if (!tensor.op_type.empty()) out.set("node", tensor.node).set("op_type", tensor.op_type);
  if (!tensor.type.empty()) out.set("type", tensor.type).set("dims", tensor.dims);
  if (tensor.statistics) out.set("statistics", statistics_json(*tensor.statistics));
  if (!tensor.saved.empty()) out.set("saved", tensor.saved);
  return out;
}

std::string run_text(const RunResult& result, const RunOptions& options, const ReportStyle& style) {
  if (style.quiet()) return options.require_finite ? finite_text(result, style) : "";
  std::string out = paint(escape(result.model), Style::strong, style.color) + "   " + std::string(to_string(result.mode));
  if (result.as != DataType::undefined) out += " · rounded to " + std::string(name_of(result.as));
  if (!result.assumed.empty()) out += " · assumed " + joined(result.assumed, ", ", escape);
  out += " · " + counted(result.values, "value") + " in " + seconds_text(result.seconds) + "\n";
  out += values_table(result.tensors, options, style).text(style);
  for (const RunTensor& tensor : result.tensors) {
    if (!tensor.faults) continue;
    out += paint("not finite", Style::warning, style.color) + "   " + quote(tensor.name) + ": " + faults_text(*tensor.faults) +
           (options.require_finite ? "\n" : " (--require-finite names the first node that makes any)\n");
  }
  if (!options.save.empty()) {
    out += "saved " + counted(static_cast<int64_t>(result.tensors.size()), "value") + ", " + format_bytes(result.saved_bytes) + ": " +
           escape(options.save.string()) + "\n";
  }
  return options.require_finite ? out + finite_text(result, style) : out;
}

Json run_json(const RunResult& result, const RunOptions& options) {
  Json out = Json().set("schema", "relayout.run/1").set("model", result.model).set("mode", to_string(result.mode));
  if (result.as != DataType::undefined) out.set("as", name_of(result.as));
  out.set("assumed", result.assumed).set("seconds", result.seconds).set("values", result.values);
  out.set("tensors", Json::list(result.tensors, value_json));
  if (!options.save.empty()) out.set("saved", Json().set("path", options.save.string()).set("bytes", result.saved_bytes));
  if (!options.require_finite) return out;
  out.set("finite", !result.not_finite.has_value());
  if (result.not_finite) {
    out.set("first_fault", value_json(result.not_finite->value).set("operands", Json::list(result.not_finite->operands, value_json)));
  }
  return out;
}

struct RunRequest {
  std::vector<std::string> models;
  InputWords inputs;
  std::string mode = "as-written", save, as;
  ReportFiles files;
  RunOptions options;
};

int run_request(RunRequest& request, const Common& common) {
  RunOptions& options = request.options;
  read_inputs(request.inputs, options);
  options.dims = dims_of(request.inputs.dims);
  options.threads = common.threads;
  options.mode = request.mode == "optimized" ? Mode::optimized : request.mode == "reference" ? Mode::reference : Mode::as_written;
  options.save = request.save;
  if (!request.as.empty()) options.as = request.as == "fp16" ? DataType::float16 : DataType::bfloat16;
  Progress progress;
  options.progress = [&](std::string_view what, int64_t done, int64_t total) { progress.steps(what, done, total); };
  const RunResult result = run_model(request.models.front(), options);
  progress.clear();
  return request.files.write(common, text_report([&](auto& style) { return run_text(result, options, style); },
                                                 [&] { return run_json(result, options); }, exit_code(result)));
}

std::function<int()> prepare_run(OptionSet& options, const Common& common) {
  auto request = std::make_shared<RunRequest>();
  RunOptions& run = request->options;
  options.positional("MODEL", request->models, 1, 1, "an ONNX file; - is standard input");
  options.flag("--allow-newer-opset", run.load.allow_newer_opset, "accept opsets newer than relayout knows");
  options.choice("--mode", {"as-written", "optimized", "reference"}, request->mode,
                 "run each node alone (default), with the layout plan and fused steps, or in double precision");
  options.group("Values");
  options.list("--tensors", "GLOB", run.tensors,
               "choose values by name, also inside of nested graphs and functions (default: the outputs); may be given several times");
  options.text("--save", "FILE", request->save, "write them as arrays of NumPy: into an archive (.npz), or into a new folder")
      .beside_results();
  options.flag("--stats", run.statistics, "print their ranges, means and deviations, and how many are 0, NaN, infinite, beyond f16");
  options.flag("--require-finite", run.require_finite,
               "exit 1 where a node makes NaN or infinity: the first, with the ranges of its operands");
  options
      .choice("--as", {"fp16", "bf16"}, request->as, "round weights, inputs and what nodes make to this type, as if the model were in it")
      .needs({"--stats", "--require-finite", "--save"});
  options.group("Inputs");
  declare_input_options(options, request->inputs);
  return [request, &common] { return run_request(*request, common); };
}

}  // namespace

const Command kRun = {
    "run",
    "run a model once: its values, their ranges, the first that is not finite",
    "MODEL [OPTIONS]",
    "relayout run net.onnx --input image=cat.png --save out.npz\n"
    "relayout run net.onnx --input sr=16000 --tensors '*' --stats\n"
    "relayout run net.onnx --tensors '*/attn/*' --save values.npz\n"
    "relayout run net.onnx --tensors 'loop › y#2' --stats    in the third run of a loop\n"
    "relayout run net.onnx --require-finite\n"
    "relayout run net.onnx --require-finite --as fp16",
    prepare_run,
};

}  // namespace relayout::cli
