#include "relayout/inspect.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "relayout/model.h"

namespace relayout::cli {
namespace {

struct Request {
  std::vector<std::string> models;
  bool json = false;
  LoadOptions load;
};

int run(const Request& request, const Common& common) {
  const InspectResult result = inspect(request.models.front(), request.load);
  if (request.json) {
    write_output(inspect_json(result).dump() + "\n");
  } else {
    write_output(inspect_text(result, {common.verbose, output_has_colors()}));
  }
  return 0;
}

std::function<int()> prepare(OptionSet& options, const Common& common) {
  auto request = std::make_shared<Request>();
  options.positional("MODEL", request->models, 1, 1, "an ONNX file; - is standard input");
  options.flag("--allow-newer-opset", request->load.allow_newer_opset, "take opsets newer than those that relayout knows");
  options.flag("--json", request->json, "everything as one JSON document");
  return [request, &common] { return run(*request, common); };
}

}  // namespace

const Command kInspect = {
    "inspect",
    "show what is in a model and what convert would do with it",
    "MODEL [OPTIONS]",
    "relayout inspect mobilenet_v2.onnx       one screen: what it is, what folds, what stays and why\n"
    "relayout inspect mobilenet_v2.onnx -v    every convolution with shape, groups, layout, verdict\n"
    "relayout inspect net.onnx --json",
    prepare,
};

}  // namespace relayout::cli
