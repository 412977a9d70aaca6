#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace relayout {

/// What a finding does to the verdict.
enum class Severity : uint8_t {
  agreement,   ///< both are the same, whatever is in doubt
  remark,      ///< nothing
  acquittal,   ///< takes back the difference of one output in one sample
  doubt,       ///< makes it inconclusive: what was run does not show what the finding is about
  difference,  ///< makes it different
  defect,      ///< of relayout itself
};

/// What one rule found about a pair. Rules find, decide() decides.
struct VerifyFinding {
  Severity severity = Severity::doubt;
  std::string_view name = {};                           ///< of the rule; of a doubt as `--allow` takes it
  std::string text = {};                                ///< one line
  std::string node = {};                                ///< its name, or that of its first result; empty where it is about no single node
  std::string advice = {};                              ///< follows the text if nothing else makes the verdict different
  std::optional<std::size_t> output = {}, sample = {};  ///< indices, where it is about one of them
};
using VerifyFindings = std::vector<VerifyFinding>;

/// Names of differences that decide() treats apart: B refuses inputs that A takes, which no accepted loss excuses; B computes in coarser
/// types, which is said after what the outputs show.
inline constexpr std::string_view kRejected = "rejected", kCoarserType = "coarser-type";
/// Name of the doubt that something was left out.
inline constexpr std::string_view kOutOfBudget = "out-of-budget";

}  // namespace relayout
