// The differences of two models as text: a line per change with its sign, and the summary by kind and reason ("equal but for names"), which
// other forms share.
#include "cli/model_diff_report.h"

#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"
#include "cli/model_diff_choice.h"
#include "cli/report.h"
#include "relayout/model_diff.h"
#include "report/table.h"

namespace relayout::cli {
namespace {

Style kind_style(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::changed:
      return Style::warning;
    case ChangeKind::added:
      return Style::good;
    case ChangeKind::removed:
      return Style::bad;
    case ChangeKind::explained:
    case ChangeKind::renamed:
      break;
  }
  return Style::faint;
}

/// "20 folded · 17 permuted"
std::string reasons_text(const ModelPair& pair) {
  std::map<std::string, int64_t> reasons;
  for (const ModelChange* change : pair.changes) {
    if (change->kind == ChangeKind::explained) ++reasons[change->reason];
  }
  std::string out;
  for (const auto& [reason, number] : reasons) out += (out.empty() ? "" : " · ") + format_count(number) + " " + reason;
  return out;
}

std::string side_text(const DiffSide& side) {
  return counted(side.nodes, "node") + (side.opset > 0 ? " · opset " + std::to_string(side.opset) : "");
}

}  // namespace

std::string model_diff_summary(const ModelPair& pair) {
  std::string out;
  for (const ChangeKind kind : kChangeKinds) {
    if (const int64_t number = pair.count(kind); number > 0) {
      out += (out.empty() ? "" : " · ") + format_count(number) + " " + std::string(to_string(kind));
      if (kind == ChangeKind::explained) out += " (" + reasons_text(pair) + ")";
    }
  }
  if (pair.is_same()) out = out.empty() ? "equal" : "equal but for names: " + out;
  const ModelDiff& diff = *pair.diff;
  out += "   " + counted(diff.nodes_equal, "node is the same", "nodes are the same");
  return diff.nodes_renamed > 0 ? out + ", " + format_count(diff.nodes_renamed) + " under another name" : out;
}

char sign_of(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::changed:
      return '~';
    case ChangeKind::added:
      return '+';
    case ChangeKind::removed:
      return '-';
    case ChangeKind::explained:
    case ChangeKind::renamed:
      break;
  }
  return '=';
}

std::string model_diff_text(const ModelPair& pair, const ModelChoice& choice, const ReportStyle& style) {
  if (style.quiet) return model_diff_summary(pair) + "\n";
  TextTable head({.gap = 3, .color = style.color, .width = style.width});
  head.row({"A", {escape(pair.diff->a.path), Style::strong}, side_text(pair.diff->a)});
  head.row({"B", {escape(pair.diff->b.path), Style::strong}, side_text(pair.diff->b)});
  std::string out = head.text() + "\n";
  for (const ChangeKind kind : kChangeKinds) {
    const std::vector<const ModelChange*> shown = pair.first_of(kind, choice.top);
    for (const ModelChange* change : shown) {
      out += paint(std::string(1, sign_of(kind)), kind_style(kind), style.color) + " " + change->text + "\n";
    }
    const int64_t rest = pair.count(kind) - std::ssize(shown);
    if (rest > 0) out += "  … " + format_count(rest) + " more " + std::string(to_string(kind)) + "\n";
  }
  return out + (pair.changes.empty() ? "" : "\n") + model_diff_summary(pair) + "\n";
}

}  // namespace relayout::cli
