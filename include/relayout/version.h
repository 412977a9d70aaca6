#pragma once

namespace relayout {

/// The version of the program and of the library: the one place that says it.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace relayout
