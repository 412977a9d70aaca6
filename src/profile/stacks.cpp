// `profile --stacks`: writes rows as collapsed stacks for flame graph tools, with frames for model, scopes, node and operator, separated by
// semicolons, then nanoseconds.
#include <cmath>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/text.h"
#include "relayout/profile.h"

namespace relayout {
namespace {

/// Replaces semicolons, which would begin another frame.
std::string frame(std::string_view name) {
  std::string out = escape(name);
  for (char& c : out) {
    if (c == ';') c = ':';
  }
  return out;
}

}  // namespace

std::string collapsed_stacks(const Profile& profile) {
  std::string out;
  for (const ProfileRow& row : profile.rows) {
    out += frame(profile.model);
    for (const std::string_view part : path_of(row)) out += ";" + frame(part);
    if (!row.op_type.empty()) out += ";" + frame(row.op_type);
    out += " " + std::to_string(std::llround(row.us * kNanosecondsPerMicrosecond)) + "\n";
  }
  return out;
}

}  // namespace relayout
