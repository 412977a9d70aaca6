// Declares and reads the options that say how models are merged.
#include "cli/common/merge_words.h"

#include "base/text.h"
#include "cli/common/options.h"
#include "relayout/merge.h"

namespace relayout::cli {
namespace {

std::vector<Combine> combinations_of(const std::vector<std::string>& words) {
  std::vector<Combine> out;
  for (const std::string& word : words) {
    const auto found = std::ranges::find(kCombinations, word, &decltype(kCombinations)::value_type::first);
    std::vector<std::string> known;
    for (const auto& [name, how] : kCombinations) known.emplace_back(name);
    if (found == kCombinations.end()) fail(ErrorKind::usage, "--combine " + quote(word) + did_you_mean(word, known, "; "));
    if (std::ranges::find(out, found->second) == out.end()) out.push_back(found->second);
  }
  return out;
}

}  // namespace

void declare_merge_words(OptionSet& options, MergeWords& words, Forms of_ensembles, Forms of_chains) {
  options
      .list("--combine", "HOW,…", words.combine,
            "what an ensemble makes of equal outputs: mean (default), sum, max, vote (of classes along axis 1), stack, variance, std; "
            "the first one keeps their names",
            ',')
      .only(of_ensembles);
  options
      .list("--map", "OUT=IN,…", words.map,
            "outputs of the first model of a chain, and the inputs of the second that read them (default: those of equal names)", ',')
      .only(of_chains);
}

ModelMergeOptions merge_options(const MergeWords& words) {
  ModelMergeOptions out;
  if (!words.combine.empty()) out.combine = combinations_of(words.combine);
  for (const std::string& pair : words.map) {
    const std::size_t sign = pair.find('=');
    if (sign == std::string::npos) fail(ErrorKind::usage, "--map " + quote(pair) + ": write OUT=IN");
    out.map.emplace_back(pair.substr(0, sign), pair.substr(sign + 1));
  }
  return out;
}

}  // namespace relayout::cli
