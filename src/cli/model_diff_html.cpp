// Pages of the differences of models: the verdict (equal, explained, different), and a table of the changes of each kind, of at most 2000
// rows.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "base/numbers.h"
#include "cli/model_diff_choice.h"
#include "cli/model_diff_report.h"
#include "relayout/model_diff.h"
#include "relayout/version.h"
#include "report/html_table.h"
#include "report/json.h"
#include "report/table.h"
#include "report/verdict_page.h"

namespace relayout::cli {
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
