#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace relayout {

/// "3.14": `digits` after the point.
[[nodiscard]] std::string fixed(double value, int digits);
/// "0.0314", "3.1e-07": `digits` significant digits, without trailing zeros.
[[nodiscard]] std::string significant(double value, int digits);
/// "1.23", "12.3", "123": three significant digits, trailing zeros included.
[[nodiscard]] std::string three_digits(double value);
/// "12.5 %": a share of 1 in percent, with one digit after the point.
[[nodiscard]] std::string percent_text(double share);
/// "99.99 %": a share of 1 in percent, with four significant digits; "100 %" only for a complete share.
[[nodiscard]] std::string share_text(double share);
/// "12.3 dB" for a ratio of a signal to its error; "no loss" for ∞, "nothing left" for −∞.
[[nodiscard]] std::string decibels(double ratio);
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
/// "3.5 M", "102"
[[nodiscard]] std::string short_count(int64_t count);
/// "301 MMAC", "10.6 kMAC": three significant digits and a fitting unit.
[[nodiscard]] std::string macs_text(int64_t macs);
/// 1234567 → "1,234,567". Counts in reports and messages are written like this. Numbers that name something, or that a reader compares with
/// a file (axes, samples, opsets, offsets, dims), have no separators.
[[nodiscard]] std::string format_count(int64_t count);
/// "1 weight", "2,000 weights".
[[nodiscard]] std::string counted(int64_t count, std::string_view noun);
/// "1 element is", "2,000 elements are".
[[nodiscard]] std::string counted(int64_t count, std::string_view one, std::string_view many);
/// Parses a decimal whole number without anything around it. `what`: beginning of the message of Error{usage}.
[[nodiscard]] int64_t parse_integer(const std::string& what, std::string_view text, int64_t minimum);

/// The number that a text consists of, in decimal digits after at most a minus sign; nullopt for other texts and beyond 64 bits.
[[nodiscard]] inline std::optional<int64_t> whole_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace relayout
