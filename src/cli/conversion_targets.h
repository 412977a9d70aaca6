#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/suite.h"
#include "relayout/convert.h"

namespace relayout::cli {

/// Options of the command line beyond those of the library.
struct ConvertRequest {
  std::vector<std::string> inputs;
  std::string output, out_dir, cache;
  CaseWords cases;  ///< --suite and the choice of its models
  std::string format = "auto", output_format = "auto", when = "auto";
  std::string layout = "channels-last", io, emit, precision, external_data = "auto";
  bool list_passes = false;
  Assignments dims, shapes;
  std::vector<std::string> facts;  ///< values besides the models on which results depend
  ConvertOptions options;
};

/// One model: the file to read and the file to write.
struct ConvertJob {
  std::string input, output;
};

/// One job per model. Error{usage} when two models would have one result, Error{io} when --out-dir is not a folder, Error{invalid} when a
/// tree has no model.
[[nodiscard]] std::vector<ConvertJob> jobs_of(const ConvertRequest& request);

}  // namespace relayout::cli
