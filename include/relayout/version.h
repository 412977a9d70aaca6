#pragma once

namespace relayout {

/// The version of the program and of the library; defined only here.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace relayout
