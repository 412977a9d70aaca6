#include <array>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cli/report.h"
#include "relayout/convert.h"
#include "relayout/findings.h"
#include "report/json.h"
#include "report/table.h"

namespace relayout::cli {
namespace {

constexpr std::size_t kFactsColumn = 48;  ///< where the figures of the first line begin

std::string seconds_text(double seconds) {
  std::array<char, 32> out{};
  std::snprintf(out.data(), out.size(), "%.2f s", seconds);
  return out.data();
}

/// "102.5 → 102.2 MB"; the unit once when it is the same.
std::string bytes_change(int64_t before, int64_t after) {
  const std::string from = format_bytes(before), to = format_bytes(after);
  const std::size_t unit = from.find(' ');
  if (from.substr(unit) == to.substr(to.find(' '))) return from.substr(0, unit) + " → " + to;
  return from + " → " + to;
}

std::string stream_name(const std::filesystem::path& path, std::string_view stream) {
  return path == "-" ? std::string(stream) : escape(path.string());
}

std::string facts(const ConvertResult& result) {
  std::string out = format_count(result.nodes_before) + " → " + counted(result.nodes_after, "node");
  if (result.written) out += " · " + bytes_change(result.bytes_before, result.bytes_after);
  return out + " · " + seconds_text(result.seconds);
}

bool moved_weights(const Findings& findings) {
  for (const Finding& finding : findings) {
    if (finding.verdict == Verdict::done && finding.pass == "conv-weights-layout") return true;
  }
  return false;
}

}  // namespace

std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:,@%=";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string convert_text(const ConvertResult& result, const ReportStyle& style) {
  std::string head = stream_name(result.input, "standard input") + " → " + stream_name(result.output, "standard output");
  if (!result.written) head += " (not written)";
  const std::size_t width = display_width(head);
  std::string out = paint(head, Style::strong, style.color);
  out += std::string(width + 3 > kFactsColumn ? 3 : kFactsColumn - width, ' ') + facts(result) + "\n";
  out += findings_text(result.findings, {result.passes, result.layout, !result.written, result.precision}, style);
  if (result.verification) return out + verify_text(*result.verification, false, style);
  if (result.written && result.output != "-" && result.input != "-" && result.input != result.output) {
    if (moved_weights(result.findings)) out += "Weights only: speed comes from the runtime's plan. ";
    out += "Next: relayout verify " + escape(shell_word(result.input.string())) + " " + escape(shell_word(result.output.string())) + "\n";
  }
  return out;
}

Json convert_json(const ConvertResult& result) {
  Json out = Json::object();
  out.set("input", result.input.string()).set("output", result.output.string()).set("written", result.written);
  out.set("nodes", Json::object().set("before", result.nodes_before).set("after", result.nodes_after));
  out.set("initializers", Json::object().set("before", result.initializers_before).set("after", result.initializers_after));
  Json bytes = Json::object();
  bytes.set("before", result.bytes_before);
  if (result.written) bytes.set("after", result.bytes_after);
  out.set("bytes", std::move(bytes));
  out.set("seconds", result.seconds).set("passes", result.passes).set("layout", result.layout);
  if (!result.precision.empty()) out.set("precision", result.precision);
  out.set("all_folded", result.all_folded);
  out.set("findings", findings_json(result.findings));
  if (result.verification) out.set("verification", verify_json(*result.verification, false));
  return out;
}

}  // namespace relayout::cli
