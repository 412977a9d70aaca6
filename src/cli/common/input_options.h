#pragma once

#include "cli/common/options.h"
#include "relayout/inputs.h"

namespace relayout::cli {

/// Parses "1,3,224,224".
[[nodiscard]] std::vector<int64_t> parse_dims(const std::string& what, std::string_view text);
/// Parses the values of --dim, N=2, and of --shape, NAME=1,3,224,224, or of other options with such values.
[[nodiscard]] std::map<std::string, int64_t> dims_of(const Assignments& words, const std::string& option = "--dim");
[[nodiscard]] std::map<std::string, std::vector<int64_t>> shapes_of(const Assignments& words, const std::string& option = "--shape");

/// The options for a model's inputs, as words.
struct InputWords {
  Assignments dims, shapes, files;
  int64_t seed = 1;
  std::string resize;
  std::vector<std::string> mean, deviation;
};

/// The forms of a command for which these options are; 0: all.
struct InputForms {
  Forms seed = 0, sizes = 0;
  Forms files = 0;  ///< --input, and what is said of its images
};

/// Declares --seed, --input, --shape, --dim, --resize, --mean and --std.
void declare_input_options(OptionSet& options, InputWords& words, const InputForms& forms = {});

/// Reads all of them except --dim, which has a list of sizes in profile.
void read_inputs(const InputWords& words, InputOptions& options);

}  // namespace relayout::cli
