#pragma once

#include <string_view>

namespace relayout {

inline constexpr std::string_view kMicrosoftDomain = "com.microsoft";

/// The domain of ONNX's own operators has two names, of which the empty one is used here.
[[nodiscard]] constexpr std::string_view canonical_domain(std::string_view domain) {
  return domain == "ai.onnx" ? std::string_view() : domain;
}

}  // namespace relayout
