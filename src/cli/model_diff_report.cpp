// The differences of two models as text, JSON, CSV, Markdown, JUnit and an HTML page.
#include "cli/model_diff_report.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/numbers.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/report.h"
#include "relayout/error.h"
#include "relayout/model_diff.h"
#include "relayout/version.h"
#include "report/fields.h"
#include "report/json.h"
#include "report/junit.h"
#include "report/table.h"
#include "report/verdict_page.h"

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

JunitSuite model_diff_junit(const ModelPair& pair, const std::vector<ChangeKind>& gate) {
  JunitSuite suite;
  suite.name = "relayout diff " + pair.diff->a.path + " " + pair.diff->b.path;
  suite.timestamp = junit_now();
  suite.properties = {{"relayout", std::string(kVersion)}};
  const auto add = [&](const std::string& name, const std::vector<ChangeKind>& kinds) {
    JunitCase& one = suite.cases.emplace_back();
    one.class_name = "relayout.diff." + std::filesystem::path(pair.diff->b.path).stem().string();
    one.name = name;
    one.file = pair.diff->b.path;
    for (const ModelChange* change : pair.changes) {
      if (std::ranges::find(kinds, change->kind) == kinds.end()) continue;
      if (one.message.empty()) one.message = change->text;
      one.status = JunitCase::Status::failed;
      one.details += change->text + "\n";
    }
  };
  for (const ChangeKind kind : gate) add(std::string(to_string(kind)), {kind});
  add("whole", gate);
  return suite;
}

}  // namespace relayout::cli
