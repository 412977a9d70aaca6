// Declares the options that say how models are merged, which merge and verify share.

#pragma once

#include <string>
#include <vector>

#include "cli/common/option_rules.h"
#include "relayout/merge.h"

namespace relayout::cli {

class OptionSet;

struct MergeWords {
  std::vector<std::string> combine, map;
};

/// --combine, which is for these forms (0: all), and --map.
void declare_merge_words(OptionSet& options, MergeWords& words, Forms of_ensembles, Forms of_chains);
/// Error{usage} for words that mean nothing.
[[nodiscard]] ModelMergeOptions merge_options(const MergeWords& words);

}  // namespace relayout::cli
