#pragma once

#include <cstdint>
#include <string>

namespace relayout {

/// "3.14": `digits` after the point.
[[nodiscard]] std::string fixed(double value, int digits);
/// "0.0314", "3.1e-07": `digits` significant digits, without trailing zeros.
[[nodiscard]] std::string significant(double value, int digits);
/// "1.2e-06", "0", "∞"
[[nodiscard]] std::string scientific(double value);
/// The fewest digits that read back as the same value of the type; "nan", "inf".
[[nodiscard]] std::string shortest(double value);
[[nodiscard]] std::string shortest(float value);
/// shortest(), in the digits of float32 if that represents the value exactly: 0.1F is "0.1".
[[nodiscard]] std::string exact_number(double value);
/// "4.2 s", "63 s"
[[nodiscard]] std::string seconds_text(double seconds);
/// "102.5 MB", powers of ten.
[[nodiscard]] std::string format_bytes(int64_t bytes);
/// 1234567 → "1,234,567"
[[nodiscard]] std::string format_count(int64_t count);

}  // namespace relayout
