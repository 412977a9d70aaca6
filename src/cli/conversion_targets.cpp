// Names the result of each model in a call of `relayout convert` by --output, --out-dir, --in-place or --suite; refuses two models with one
// result.
#include "cli/conversion_targets.h"

#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/suite.h"
#include "relayout/convert.h"
#include "relayout/error.h"
#include "relayout/suite.h"

namespace relayout::cli {
namespace {

namespace fs = std::filesystem;

/// Every model of a tree, converted into the same relative folder below --out-dir.
std::vector<ConvertJob> jobs_of_tree(const ConvertRequest& request) {
  std::error_code ignored;
  const fs::path tree = request.cases.tree, out = request.out_dir;
  if (fs::equivalent(tree, out, ignored)) {
    fail(ErrorKind::usage, "--suite and --out-dir are one folder: the next run would take results for originals");
  }
  const std::vector<std::string> names = find_models(tree, out);
  if (names.empty()) fail(ErrorKind::invalid, escape(tree.string()) + ": no .onnx file below it");
  std::vector<ConvertJob> jobs;
  std::set<std::string> outputs;
  for (const std::string& name : chosen_part(names, request.cases)) {
    const fs::path input = tree / name;
    const fs::path folder = (out / name).parent_path();
    jobs.push_back({input.string(), (folder / default_output(input).filename()).string()});
    if (!outputs.insert(jobs.back().output).second) fail(ErrorKind::usage, "two models would become " + quote(jobs.back().output));
  }
  return jobs;
}

}  // namespace

std::vector<ConvertJob> jobs_of(const ConvertRequest& request) {
  if (!request.out_dir.empty() && fs::exists(request.out_dir) && !fs::is_directory(request.out_dir)) {
    fail(ErrorKind::io, escape(request.out_dir) + ": is not a folder");
  }
  if (!request.cases.tree.empty()) return jobs_of_tree(request);
  std::vector<ConvertJob> jobs;
  std::set<std::string> outputs;
  for (const std::string& input : request.inputs) {
    ConvertJob job{input, request.output};
    if (job.output.empty()) job.output = request.options.save.in_place ? input : default_output(input).string();
    if (!request.out_dir.empty()) {
      job.output = (fs::path(request.out_dir) / fs::path(job.output).filename()).string();
    }
    if (!outputs.insert(job.output).second) fail(ErrorKind::usage, "two models would become " + quote(job.output));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace relayout::cli
