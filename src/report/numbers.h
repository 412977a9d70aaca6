#pragma once

#include <string>

namespace relayout {

/// "3.14": `digits` behind the point.
[[nodiscard]] std::string fixed(double value, int digits);
/// "0.0314", "3.1e-07": `digits` that count, without zeros at the end.
[[nodiscard]] std::string significant(double value, int digits);
/// "1.2e-06"
[[nodiscard]] std::string scientific(double value);
/// "4.2 s", "63 s"
[[nodiscard]] std::string seconds_text(double seconds);

}  // namespace relayout
