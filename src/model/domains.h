// Names of operator domains: com.microsoft, and the two names of the default domain of ONNX.
#pragma once

#include <string_view>

namespace relayout {

inline constexpr std::string_view kMicrosoftDomain = "com.microsoft";

/// The default domain of ONNX has two names; this returns the empty one for both.
[[nodiscard]] constexpr std::string_view canonical_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

}  // namespace relayout
