#pragma once

namespace relayout {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace relayout
