// Reports the differences of two models as text, as test cases and as a page.
#include <algorithm>
#include <iterator>
#include <map>

#include "cli/diff/diff.h"
#include "report/page.h"

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

// Test cases.
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

// Pages.
namespace {

VerdictPage::Section changes_section(const ModelPair& pair, ChangeKind kind) {
  constexpr std::size_t kMostRows = 2000;  // the data of the page has all changes
  std::vector<std::vector<Cell>> rows;
  for (const ModelChange* change : pair.first_of(kind, kMostRows)) {
    rows.push_back({std::string(1, sign_of(kind)) + " " + change->text, std::string(to_string(change->subject)), change->reason});
  }
  if (rows.empty()) return {};
  const int64_t all = pair.count(kind);
  std::string title(to_string(kind));
  title.front() = static_cast<char>(title.front() - 'a' + 'A');
  return {title + ": " + format_count(all) + (all > std::ssize(rows) ? ", the first " + format_count(std::ssize(rows)) : ""),
          html_table({"change", "what", "why"}, rows)};
}

}  // namespace

std::string model_diff_html(const std::vector<ModelPair>& pairs) {
  VerdictPage page;
  const bool same = std::ranges::all_of(pairs, &ModelPair::is_same);
  const bool explained = std::ranges::all_of(pairs, [](const ModelPair& pair) {
    return pair.count(ChangeKind::changed) + pair.count(ChangeKind::added) + pair.count(ChangeKind::removed) == 0;
  });
  page.verdict = same ? "equal" : explained ? "explained" : "different";
  page.style = explained ? Style::good : Style::warning;
  page.title = page.verdict + ": " + pairs.back().diff->b.path;
  page.subject = pairs.front().diff->a.path;
  page.footer = "relayout diff · relayout " + std::string(kVersion);
  page.data = Json::array();
  for (const ModelPair& pair : pairs) {
    page.subject += " → " + pair.diff->b.path;
    page.sections.push_back({pairs.size() > 1 ? pair.diff->b.path : "", html_lines({model_diff_summary(pair)})});
    for (const ChangeKind kind : kChangeKinds) page.sections.push_back(changes_section(pair, kind));
    page.data.add(model_diff_json(pair));
  }
  return html_page(page);
}

}  // namespace relayout::cli
