// Declares the options of inspect, and shows one model in full or several as a table.

#include "cli/common/input_options.h"
#include "cli/convert/convert.h"
#include "cli/inspect/inspect.h"
#include "relayout/version.h"

namespace relayout::cli {
namespace {

struct InspectRequest {
  std::vector<std::string> models;
  std::vector<std::string> assertions;
  bool layout = false, compare = false;
  std::string when = "auto", dot, csv, svg;
  ReportFiles files;
  Assignments dims, shapes;
  InspectOptions options;
  [[nodiscard]] bool wants_layout() const { return layout || compare || options.measure || !dot.empty(); }
  [[nodiscard]] bool wants_drawing() const { return !svg.empty() || (!files.html.empty() && !wants_layout()); }
};

int inspect_one(const InspectRequest& request, const Common& common) {
  request.files.check(common.json);
  const InspectResult result = inspect(request.models.front(), request.options);
  const std::vector<Assertion> assertions = check_assertions(result, request.assertions);
  Report report{.verdict = result.path, .footer = "relayout inspect · relayout " + std::string(kVersion)};
  report.sections = {{Form::quiet | Form::text | Form::page, "", [&](auto& style) { return inspect_text(result, style); }},
                     {Form::quiet | Form::text, "", [&](auto& style) { return assertions_text(assertions, style); }}};
  report.document = [&] { return with_assertions(inspect_json(result), assertions); };
  report.suites = {assertion_suite(result, assertions)};
  report.files = {{request.dot, [&] { return layout_dot(*result.layout, result.path); }},
                  {request.csv, [&] { return nodes_csv(result); }},
                  {request.svg, [&] { return graph_svg(result); }}};
  report.code = std::ranges::all_of(assertions, &Assertion::holds) ? 0 : 1;
  if (result.outline) add_graph(report, result);
  if (result.layout) report.page = [&] { return layout_html(*result.layout, result.path); };
  return request.files.write(common, report);
}

/// Inspects several models, a line each. One failing model does not stop the rest.
int inspect_all(const InspectRequest& request, const Common& common) {
  std::vector<InspectResult> results;
  Json documents = Json::array();
  std::vector<JunitSuite> suites;
  std::string failed;
  int worst = 0;
  Failures failures(request.models.size(), common.verbose);
  for (const std::string& model : request.models) {
    try {
      results.push_back(inspect(model, request.options));
      const std::vector<Assertion> assertions = check_assertions(results.back(), request.assertions);
      if (common.json) documents.add(with_assertions(inspect_json(results.back()), assertions));
      suites.push_back(assertion_suite(results.back(), assertions));
      if (std::ranges::all_of(assertions, &Assertion::holds)) continue;
      worst = worse_code(worst, 1);
      failed += escape(model) + "\n" + assertions_text(assertions, {});
    } catch (...) {
      const Failure failure = current_failure();
      if (failure.is_interruption()) throw;
      failures.print(failure);
      documents.add(Json().set("model", model).set("error", error_json(failure)));
      worst = worse_code(worst, failure.code);
    }
  }
  failures.print_hints();
  Report report = text_report([&](auto& style) { return (results.empty() ? "" : inspect_table(results, style)) + failed; },
                              [&] { return Json().set("schema", "relayout.inspect-table/1").set("models", std::move(documents)); }, worst);
  report.suites = std::move(suites);
  return request.files.write(common, report);
}

int run(InspectRequest& request, const Common& common) {
  request.options.threads = common.threads;
  request.options.sizes = {dims_of(request.dims), shapes_of(request.shapes)};
  if (request.wants_layout()) request.options.layout = LayoutRequest{choice_of(request.when), request.options.sizes, request.compare};
  request.options.outline = request.wants_drawing();
  if (request.models.size() == 1) return inspect_one(request, common);
  if (request.wants_layout()) fail(ErrorKind::usage, "a layout plan is of one MODEL");
  if (!request.shapes.empty()) fail(ErrorKind::usage, "--shape is of one MODEL");
  if (request.options.nodes) fail(ErrorKind::usage, "--nodes lists those of one MODEL");
  if (request.options.outline) fail(ErrorKind::usage, "a drawing is of one MODEL");
  return inspect_all(request, common);
}

std::function<int()> prepare_inspect(OptionSet& options, const Common& common) {
  auto request = std::make_shared<InspectRequest>();
  options.positional("MODEL...", request->models, 1, std::string::npos, "ONNX files; - is standard input; of several, a line each");
  options.flag("--allow-newer-opset", request->options.load.allow_newer_opset, "accept opsets newer than relayout knows");
  options.assignments("--dim", "N=2", request->dims, "set the size of a named dimension (default: 1)");
  options.assignments("--shape", "NAME=1,3,224,224", request->shapes, "set the dims of an input");
  options.flag("--nodes", request->options.nodes, "list the nodes: multiplications, stored numbers and bytes of each");
  request->files.add("--csv", request->csv);
  options.text("--csv", "FILE", request->csv, "write the list of nodes as a table for spreadsheets").needs({"--nodes"});
  options.list("--assert", "'WHAT=N'", request->assertions,
               "exit 1 unless this holds: 'Conv=3', 'opset<=17', 'bytes<=20MB', 'ops in FILE' (repeatable)");
  options.text("--junit", "FILE", request->files.junit, "write a test case per --assert, for GitLab, Jenkins and GitHub actions")
      .needs({"--assert"});
  request->files.add("--svg", request->svg);
  options.text("--svg", "FILE", request->svg, "draw the graph; of more than 300 nodes, the scopes of their names");
  options.text("--html", "FILE", request->files.html, "write report, drawing and nodes as a page; with --layout, the plan");
  options.group("Layout");
  options.flag("--layout", request->layout, "show the memory layout of every tensor when the model runs, the reorders and their reasons");
  options.choice("--when", {"auto", "always", "never"}, request->when, "run convolutions channels-last; auto (default): where it pays")
      .needs({"--layout", "--measure", "--compare", "--dot"});
  options.flag("--measure", request->options.measure, "decide by times of kernels on this machine: plans may differ from run to run");
  options.flag("--compare", request->compare, "compare with PyTorch's propagation");
  request->files.add("--dot", request->dot);
  options.text("--dot", "FILE", request->dot, "write the plan as a graph for Graphviz");
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
    "relayout inspect net.onnx --html net.html\n"
    "relayout inspect net.onnx --layout --compare\n"
    "relayout inspect net.onnx --layout --html plan.html\n"
    "relayout inspect net.onnx --json",
    prepare_inspect,
};

}  // namespace relayout::cli
