// Declares the options of inspect, and shows one model in full or several as a table.

#include "cli/common/input_options.h"
#include "cli/common/terminal.h"
#include "cli/convert/convert.h"
#include "cli/inspect/inspect.h"

namespace relayout::cli {
namespace {

struct InspectRequest {
  std::vector<std::string> models;
  bool layout = false, compare = false;
  std::string when = "auto", dot;
  ReportFiles files;
  Assignments dims, shapes;
  InspectOptions options;
  [[nodiscard]] bool wants_layout() const { return layout || compare || options.measure || !dot.empty() || !files.html.empty(); }
};

int inspect_one(const InspectRequest& request, const Common& common) {
  request.files.check(common.json);
  const InspectResult result = inspect(request.models.front(), request.options);
  return request.files.write(common, {.text = [&](const ReportStyle& style) { return inspect_text(result, style); },
                                      .document = [&] { return inspect_json(result); },
                                      .page = [&] { return layout_html(*result.layout, result.path); },
                                      .files = {{request.dot, [&] { return layout_dot(*result.layout, result.path); }}}});
}

/// Inspects several models, a line each. One failing model does not stop the rest.
int inspect_all(const InspectRequest& request, const Common& common) {
  std::vector<InspectResult> results;
  Json documents = Json::array();
  int worst = 0;
  Failures failures(request.models.size(), common.verbose);
  for (const std::string& model : request.models) {
    try {
      results.push_back(inspect(model, request.options));
      if (common.json) documents.add(inspect_json(results.back()));
    } catch (...) {
      const Failure failure = current_failure();
      if (failure.is_interruption()) throw;
      failures.print(failure);
      documents.add(Json().set("model", model).set("error", error_json(failure)));
      worst = worse_code(worst, failure.code);
    }
  }
  failures.print_hints();
  return ReportFiles().write(
      common, {.text = [&](const ReportStyle& style) { return results.empty() ? "" : inspect_table(results, style); },
               .document = [&] { return Json().set("schema", "relayout.inspect-table/1").set("models", std::move(documents)); },
               .code = worst});
}

int run(InspectRequest& request, const Common& common) {
  request.options.threads = common.threads;
  request.options.sizes = {dims_of(request.dims), shapes_of(request.shapes)};
  if (request.wants_layout()) request.options.layout = LayoutRequest{choice_of(request.when), request.options.sizes, request.compare};
  if (request.models.size() == 1) return inspect_one(request, common);
  if (request.wants_layout()) fail(ErrorKind::usage, "a layout plan is of one MODEL");
  if (!request.shapes.empty()) fail(ErrorKind::usage, "--shape is of one MODEL");
  return inspect_all(request, common);
}

std::function<int()> prepare_inspect(OptionSet& options, const Common& common) {
  auto request = std::make_shared<InspectRequest>();
  options.positional("MODEL...", request->models, 1, std::string::npos, "ONNX files; - is standard input; of several, a line each");
  options.flag("--allow-newer-opset", request->options.load.allow_newer_opset, "accept opsets newer than relayout knows");
  options.assignments("--dim", "N=2", request->dims, "set the size of a named dimension (default: 1)");
  options.assignments("--shape", "NAME=1,3,224,224", request->shapes, "set the dims of an input");
  options.group("Layout");
  options.flag("--layout", request->layout, "show the memory layout of every tensor when the model runs, the reorders and their reasons");
  options.choice("--when", {"auto", "always", "never"}, request->when, "run convolutions channels-last; auto (default): where it pays")
      .needs({"--layout", "--measure", "--compare", "--dot", "--html"});
  options.flag("--measure", request->options.measure, "decide by times of kernels on this machine: plans may differ from run to run");
  options.flag("--compare", request->compare, "compare with PyTorch's propagation");
  request->files.add("--dot", request->dot);
  options.text("--dot", "FILE", request->dot, "write the plan as a graph for Graphviz");
  options.text("--html", "FILE", request->files.html, "write the plan as a page");
  return [request, &common] { return run(*request, common); };
}

}  // namespace

const Command kInspect = {
    "inspect",
    "show the contents of a model and the changes convert would make",
    "MODEL [OPTIONS]\nMODEL MODEL... [OPTIONS]",
    "relayout inspect net.onnx        header, folds, refusals and their reasons\n"
    "relayout inspect net.onnx -v     every convolution: shape, layout, verdict\n"
    "relayout inspect models/*.onnx   a table\n"
    "relayout inspect net.onnx --layout --compare\n"
    "relayout inspect net.onnx --layout --html plan.html\n"
    "relayout inspect net.onnx --json",
    prepare_inspect,
};

}  // namespace relayout::cli
