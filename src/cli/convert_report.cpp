// Text and JSON of a conversion: nodes and bytes before and after, data files, "Nothing changes in this model", and the advice --layout
// keep where nothing is folded.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "base/standard_stream.h"
#include "base/text.h"
#include "cli/conversion_words.h"
#include "cli/outlook.h"
#include "cli/report.h"
#include "relayout/convert.h"
#include "relayout/data_file.h"
#include "relayout/findings.h"
#include "relayout/layout.h"
#include "relayout/types.h"
#include "report/display_width.h"
#include "report/json.h"
#include "report/table.h"

namespace relayout::cli {
namespace {

constexpr std::size_t kFactsColumn = 48;  ///< first column of the first line's figures

/// "102.5 → 102.2 MB"; the unit appears once when both have the same.
std::string bytes_change(int64_t before, int64_t after) {
  const std::string from = format_bytes(before), to = format_bytes(after);
  const std::size_t unit = from.find(' ');
  if (from.substr(unit) == to.substr(to.find(' '))) return from.substr(0, unit) + " → " + to;
  return from + " → " + to;
}

std::string stream_name(const std::filesystem::path& path, std::string_view stream) {
  return is_stream(path) ? std::string(stream) : escape(path.string());
}

std::string facts(const ConvertResult& result) {
  std::string out = format_count(result.nodes_before) + " → " + counted(result.nodes_after, "node");
  if (result.written) out += " · " + bytes_change(result.bytes_before, result.bytes_after);
  return out + " · " + fixed(result.seconds, 2) + " s";
}

int64_t done_by(const ConvertResult& result, bool (*is_counted)(const Finding&)) {
  return std::ranges::count_if(result.findings,
                               [&](const Finding& finding) { return finding.verdict == Verdict::done && is_counted(finding); });
}

/// One line for a conversion that changes nothing, or that moves weights to channels-last and folds nothing or adds Transposes. Names the
/// option that avoids it. Empty where other passes added nodes too, as those of --precision, --io and --emit do.
std::string no_gain_text(const ConvertResult& result) {
  const auto moves = [](const Finding& finding) { return finding.pass == "conv-weights-layout"; };
  const auto folds = [](const Finding& finding) { return finding.pass != "conv-weights-layout" && finding.pass != "remove-unused"; };
  const auto exports = [](const Finding& finding) { return finding.pass == "export-io" || finding.pass == "export-transposes"; };
  const int64_t moved = done_by(result, moves), more = result.nodes_after - result.nodes_before;
  const bool has_folds = done_by(result, folds) > 0;
  if (done_by(result, [](const Finding&) { return true; }) == 0) return "Nothing changes in this model.\n";
  if (result.layout != WeightsLayout::channels_last || moved == 0 || more > moved || (more <= 0 && has_folds)) return {};
  if (done_by(result, exports) > 0) return {};
  const bool will = !result.written;
  std::string out = has_folds ? "" : nothing_folded_text(will);
  if (more > 0) {
    out += (has_folds ? "There " : "; there ") + are_text(more, will) + " " + counted(more, "more node") +
           ": each weight that is moved needs a Transpose";
  }
  return out + (has_folds ? ". --layout keep folds only.\n" : ". --layout keep leaves the weights as they are.\n");
}

/// The data files of the result, and those that it no longer uses.
void add_data_files(std::string& out, const ConvertResult& result, const ReportStyle& style) {
  const auto name = [](const DataFile& file) { return escape(file.path.string()) + ", " + format_bytes(file.bytes); };
  TextTable table({.indent = 2, .gap = 3, .color = style.color, .width = style.width});
  for (const DataFile& file : result.data) {
    const bool is_shared = file.of_input && result.input != result.output;
    table.row({"data", name(file) + (is_shared ? ": a file of " + escape(result.input.string()) + ", which the result needs too" : "")});
  }
  for (const DataFile& file : result.left_behind) table.row({"data", name(file) + ": no longer needed by this model"});
  out += table.text();
}

}  // namespace

std::string convert_text(const ConvertResult& result, const ReportStyle& style) {
  const std::string head =
      stream_name(result.input, kStandardInput) + " → " + result_text(stream_name(result.output, kStandardOutput), !result.written);
  const std::size_t width = display_width(head);
  std::string out = paint(head, Style::strong, style.color);
  out += std::string(width + 3 > kFactsColumn ? 3 : kFactsColumn - width, ' ') + facts(result) + "\n";
  if (!style.quiet)
    out += findings_text(result.findings, {result.passes, word_of(result.layout), !result.written, word_of(result.precision)}, style);
  if (!style.quiet) out += no_gain_text(result);
  if (!style.quiet) add_data_files(out, result, style);
  if (result.verification) out += verify_text(*result.verification, false, style);
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
  const auto files = [](const std::vector<DataFile>& list) {
    Json all = Json::array();
    for (const DataFile& file : list) {
      Json entry = Json::object();
      all.add(std::move(entry.set("path", file.path.string()).set("bytes", file.bytes).set("of_input", file.of_input)));
    }
    return all;
  };
  out.set("data_files", files(result.data)).set("data_files_left_behind", files(result.left_behind));
  out.set("seconds", result.seconds).set("passes", result.passes).set("layout", word_of(result.layout));
  if (result.precision != DataType::undefined) out.set("precision", word_of(result.precision));
  out.set("all_folded", result.all_folded);
  out.set("findings", findings_json(result.findings));
  if (result.verification) out.set("verification", verify_json(*result.verification, false));
  return out;
}

}  // namespace relayout::cli
