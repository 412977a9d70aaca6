#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/options.h"
#include "relayout/inputs.h"

namespace relayout::cli {

/// The options for a model's inputs, as words.
struct InputWords {
  Assignments dims, shapes, files;
  int64_t seed = 1;
  std::string resize;
  std::vector<std::string> mean, deviation;
};

/// Declares --seed, --input, --shape, --dim, --resize, --mean, --std, and the rule that the last three need --input.
void declare_input_options(OptionSet& options, InputWords& words);

/// Reads all of them except --dim, which has a list of sizes in profile.
void read_inputs(const InputWords& words, InputOptions& options);

}  // namespace relayout::cli
