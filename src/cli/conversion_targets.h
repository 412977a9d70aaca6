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
  CaseWords cases;  ///< of a tree
  std::string format = "auto", output_format = "auto", when = "auto";
  std::string layout = "channels-last", io, emit, precision, external_data = "auto";
  bool list_passes = false;
  Assignments dims, shapes;
  std::vector<std::string> facts;  ///< what results depend on besides the models
  ConvertOptions options;
};

/// One model: the file that is read, and the one that is written.
struct ConvertJob {
  std::string input, output;
};

/// Which file becomes which. Error{usage, io, invalid} where two would become one, or a folder is none or empty.
[[nodiscard]] std::vector<ConvertJob> jobs_of(const ConvertRequest& request);

}  // namespace relayout::cli
