// Declares the options of run, and runs one model.

#include "cli/common/input_options.h"
#include "cli/common/options.h"
#include "cli/common/progress.h"
#include "cli/run/run.h"

namespace relayout::cli {
namespace {

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
  return request.files.write(common, {.text = [&](const ReportStyle& style) { return run_text(result, options, style); },
                                      .document = [&] { return run_json(result, options); },
                                      .code = exit_code(result)});
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
