#include "relayout/inspect.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/text_file.h"
#include "cli/command.h"
#include "cli/layout_report.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "relayout/layout.h"
#include "relayout/model.h"

namespace relayout::cli {
namespace {

struct Request {
  std::vector<std::string> models;
  bool json = false, layout = false, compare = false;
  std::string when = "auto", dot, html;
  Assignments dims, shapes;
  InspectOptions options;
};

int run(Request& request, const Common& common) {
  const bool draws = !request.dot.empty() || !request.html.empty();
  request.options.threads = common.threads;
  if (request.layout || request.compare || request.options.measure || draws) {
    request.options.layout = LayoutRequest{choice_of(request.when), {dims_of(request.dims), shapes_of(request.shapes)}, request.compare};
  }
  const InspectResult result = inspect(request.models.front(), request.options);
  if (request.json) {
    write_output(inspect_json(result).dump() + "\n");
  } else {
    write_output(inspect_text(result, {common.verbose, output_has_colors()}));
  }
  if (!request.dot.empty()) write_text_file(request.dot, layout_dot(*result.layout, result.path));
  if (!request.html.empty()) write_text_file(request.html, layout_html(*result.layout, result.path));
  return 0;
}

std::function<int()> prepare(OptionSet& options, const Common& common) {
  auto request = std::make_shared<Request>();
  options.positional("MODEL", request->models, 1, 1, "an ONNX file; - is standard input");
  options.flag("--allow-newer-opset", request->options.load.allow_newer_opset, "take opsets newer than those that relayout knows");
  options.flag("--json", request->json, "everything as one JSON document");
  options.group("Layout");
  options.flag("--layout", request->layout, "how every tensor would lie when the model runs, what is reordered and why");
  options.choice("--when", {"auto", "always", "never"}, request->when,
                 "convolutions run channels-last where it pays (default), always, or never");
  options.flag("--measure", request->options.measure, "decide by times of kernels on this machine: the plan may differ from run to run");
  options.flag("--compare", request->compare, "beside what PyTorch's propagation would do");
  options.assignments("--dim", "N=2", request->dims, "size of a named dimension (default: 1)");
  options.assignments("--shape", "NAME=1,3,224,224", request->shapes, "dims of an input");
  options.text("--dot", "FILE", request->dot, "the plan as a graph for Graphviz");
  options.text("--html", "FILE", request->html, "the plan as a page of one file");
  return [request, &common] { return run(*request, common); };
}

}  // namespace

const Command kInspect = {
    "inspect",
    "show what is in a model and what convert would do with it",
    "MODEL [OPTIONS]",
    "relayout inspect mobilenet_v2.onnx       one screen: what it is, what folds, what stays and why\n"
    "relayout inspect mobilenet_v2.onnx -v    every convolution with shape, groups, layout, verdict\n"
    "relayout inspect net.onnx --layout --compare     which tensor lies how, what is reordered and why\n"
    "relayout inspect net.onnx --layout --html plan.html\n"
    "relayout inspect net.onnx --json",
    prepare,
};

}  // namespace relayout::cli
