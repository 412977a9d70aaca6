// Compares models: the differences that are chosen, those that fail, and their report.
#include <future>

#include "base/log.h"
#include "base/positions.h"
#include "cli/diff/diff.h"
#include "cli/profile/profile.h"
#include "relayout/model.h"

namespace relayout::cli {
namespace {

using ChangeKinds = std::vector<ChangeKind>;

/// A kind of change in the words of reports.
struct KindWords {
  ChangeKind kind;
  std::string sign;  ///< "=" for changes that leave the function as it is
  Style style;
};
/// In the order of reports.
const std::array kKinds = {KindWords{ChangeKind::changed, "~", Style::warning}, KindWords{ChangeKind::removed, "-", Style::bad},
                           KindWords{ChangeKind::added, "+", Style::good}, KindWords{ChangeKind::explained, "=", Style::faint},
                           KindWords{ChangeKind::renamed, "=", Style::faint}};
constexpr std::array kSubjects = {ChangeSubject::node,  ChangeSubject::initializer, ChangeSubject::input,   ChangeSubject::output,
                                  ChangeSubject::opset, ChangeSubject::function,    ChangeSubject::metadata};

// Choices.

/// The changes that a request selects.
std::vector<const ModelChange*> chosen_changes(const ModelDiff& diff, const DiffRequest& request) {
  const auto names = [](const ModelChange& change) { return std::vector{change.a, change.b}; };
  request.choice.check(diff.changes, names, "difference");
  const auto is_ignored = [&](std::string_view word) { return std::ranges::find(request.ignore, word) != request.ignore.end(); };
  std::vector<const ModelChange*> out;
  for (const ModelChange& change : diff.changes) {
    const bool is_chosen =
        request.choice.has(names(change)) && !is_ignored(to_string(change.kind)) && !is_ignored(to_string(change.subject));
    if (is_chosen) out.push_back(&change);
  }
  return out;
}

/// Reads "added,removed,changed,explained,renamed" of --fail-on; all but the last for --exit-code.
ChangeKinds model_gate(const DiffRequest& request) {
  ChangeKinds out;
  for (const KindWords& words : kKinds) {
    if (request.exit_code && makes_models_differ(words.kind)) out.push_back(words.kind);
  }
  for (const std::string& word : request.fail_on) {
    const auto known = std::ranges::find(kKinds, word, [](const KindWords& words) { return to_string(words.kind); });
    if (known == kKinds.end()) {
      fail(ErrorKind::usage, "--fail-on " + quote(word) + " is none of added, removed, changed, explained, renamed, which models have");
    }
    out.push_back(known->kind);
  }
  return out;
}

/// Error{usage} for a word of --ignore that is neither a kind nor a subject of a change.
void check_ignored(const std::vector<std::string>& words) {
  std::vector<std::string_view> known;
  for (const KindWords& one : kKinds) known.push_back(to_string(one.kind));
  for (const ChangeSubject subject : kSubjects) known.push_back(to_string(subject));
  for (const std::string& word : words) {
    if (std::ranges::find(known, word) != known.end()) continue;
    fail(ErrorKind::usage, "--ignore " + quote(word) + " is none of " + joined(known, ", "));
  }
}

/// The name in the second model, or in the first where the second has none.
const std::string& name_of(const ModelChange& change) {
  return change.b.empty() ? change.a : change.b;
}

/// Two models and the chosen changes between them.
class ModelPair {
 public:
  ModelPair(const ModelDiff& diff, const DiffRequest& request) : diff_(diff), changes_(chosen_changes(diff, request)) {}

  [[nodiscard]] std::string text(std::size_t top, const ReportStyle& style) const;
  [[nodiscard]] Json json() const;
  [[nodiscard]] std::string csv() const;
  [[nodiscard]] std::string markdown(std::size_t top) const;
  [[nodiscard]] std::vector<VerdictPage::Section> sections(bool is_alone) const;
  [[nodiscard]] std::vector<std::string> failed(const ChangeKinds& gate) const;
  /// A case per kind that the gate names, and a case for the whole gate.
  [[nodiscard]] std::vector<GateCase> cases(const ChangeKinds& gate) const;

  /// 0: nothing but names differs, 1: every change is explained, 2: different.
  [[nodiscard]] int rank() const {
    if (std::ranges::none_of(changes_, makes_models_differ, &ModelChange::kind)) return 0;
    return count(ChangeKind::changed) + count(ChangeKind::added) + count(ChangeKind::removed) == 0 ? 1 : 2;
  }

 private:
  [[nodiscard]] int64_t count(ChangeKind kind) const {
    return std::ranges::count_if(changes_, [&](const ModelChange* change) { return change->kind == kind; });
  }
  /// The first `most` changes of a kind (0: all).
  [[nodiscard]] std::vector<const ModelChange*> first_of(ChangeKind kind, std::size_t most) const {
    std::vector<const ModelChange*> out;
    for (const ModelChange* change : changes_) {
      if (change->kind == kind && (most == 0 || out.size() < most)) out.push_back(change);
    }
    return out;
  }
  [[nodiscard]] std::string summary() const;

  const ModelDiff& diff_;
  std::vector<const ModelChange*> changes_;
};

/// "equal", "2 changed · 1 added · 37 explained (20 folded · 17 permuted)", and the number of equal nodes.
std::string ModelPair::summary() const {
  std::map<std::string, int64_t> reasons;
  for (const ModelChange* change : first_of(ChangeKind::explained, 0)) ++reasons[change->reason];
  const std::string why = joined(reasons, " · ", [](const auto& reason) { return format_count(reason.second) + " " + reason.first; });
  std::string out = joined(kKinds, " · ", [&](const KindWords& words) {
    const int64_t number = count(words.kind);
    const std::string of = format_count(number) + " " + std::string(to_string(words.kind));
    return number == 0 ? "" : words.kind == ChangeKind::explained ? of + " (" + why + ")" : of;
  });
  if (rank() == 0) out = out.empty() ? "equal" : "equal but for names: " + out;
  out += "   " + counted(diff_.nodes_equal, "node is the same", "nodes are the same");
  return diff_.nodes_renamed > 0 ? out + ", " + format_count(diff_.nodes_renamed) + " under another name" : out;
}

std::string ModelPair::text(std::size_t top, const ReportStyle& style) const {
  if (style.quiet) return summary() + "\n";
  Table head({.gap = 3, .color = style.color, .width = style.width});
  const auto add = [&](const char* name, const DiffSide& side) {
    const std::string opset = side.opset > 0 ? " · opset " + std::to_string(side.opset) : "";
    head.row({name, {escape(side.path), Style::strong}, counted(side.nodes, "node") + opset});
  };
  add("A", diff_.a);
  add("B", diff_.b);
  std::string out = head.text() + "\n";
  for (const auto& [kind, sign, sign_style] : kKinds) {
    const std::vector<const ModelChange*> shown = first_of(kind, top);
    for (const ModelChange* change : shown) out += paint(sign, sign_style, style.color) + " " + change->text + "\n";
    const int64_t rest = count(kind) - std::ssize(shown);
    if (rest > 0) out += "  … " + format_count(rest) + " more " + std::string(to_string(kind)) + "\n";
  }
  return out + (changes_.empty() ? "" : "\n") + summary() + "\n";
}

Json change_json(const ModelChange& change) {
  const auto name = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  Json out;
  out.set("kind", to_string(change.kind)).set("reason", change.reason).set("a", name(change.a)).set("b", name(change.b));
  if (!change.op_type.empty()) out.set("op_type", change.op_type);
  if (!change.absorbed.empty()) out.set("absorbed", change.absorbed);
  if (!change.fields.empty()) {
    out.set("fields", Json::list(change.fields, [](const ChangedField& field) {
              return Json().set("name", field.name).set("before", field.before).set("after", field.after);
            }));
  }
  if (change.values > 0) {
    out.set("values", change.values).set("max_absolute_difference", change.max_absolute);
    out.set("max_relative_difference", change.max_relative);
  }
  if (change.ulp) out.set("within_ulp", *change.ulp);
  return std::move(out.set("text", change.text));
}

Json ModelPair::json() const {
  const auto side = [](const DiffSide& one) { return Json().set("file", one.path).set("nodes", one.nodes).set("opset", one.opset); };
  Json out, counts;
  out.set("a", side(diff_.a)).set("b", side(diff_.b)).set("equal", rank() == 0);
  for (const KindWords& words : kKinds) counts.set(to_string(words.kind), count(words.kind));
  out.set("counts", std::move(counts)).set("nodes_equal", diff_.nodes_equal).set("nodes_renamed", diff_.nodes_renamed);
  for (const ChangeSubject subject : kSubjects) {
    Json list = Json::array();
    for (const ModelChange* change : changes_) {
      if (change->subject == subject) list.add(change_json(*change));
    }
    out.set(std::string(to_string(subject)) + (subject == ChangeSubject::metadata ? "" : "s"), std::move(list));
  }
  return out;
}

std::string ModelPair::csv() const {
  std::string out;
  const auto number = [](const std::optional<double>& value) { return value ? shortest(*value) : std::string(); };
  for (const ModelChange* change : changes_) {
    out += csv_record(std::array{csv_field(diff_.b.path), std::string(to_string(change->kind)), std::string(to_string(change->subject)),
                                 change->reason, csv_field(change->a), csv_field(change->b), csv_field(change->op_type),
                                 change->values > 0 ? std::to_string(change->values) : "", number(change->max_absolute),
                                 number(change->max_relative), csv_field(change->text)});
  }
  return out;
}

std::string ModelPair::markdown(std::size_t top) const {
  std::string out = "### " + markdown_code(diff_.a.path) + " → " + markdown_code(diff_.b.path) + "\n\n" + summary() + "\n";
  std::string rows;
  for (const KindWords& words : kKinds) {
    for (const ModelChange* change : first_of(words.kind, top)) {
      rows += markdown_row({std::string(to_string(words.kind)), std::string(to_string(change->subject)),
                            markdown_code(escape(name_of(*change))), markdown_code(change->text)});
    }
  }
  return rows.empty() ? out : out + "\n| | kind | name | change |\n|---|---|---|---|\n" + rows;
}

std::vector<VerdictPage::Section> ModelPair::sections(bool is_alone) const {
  constexpr int64_t kMostRows = 2000;  // the data of the page has all changes
  std::vector<VerdictPage::Section> out{{is_alone ? "" : diff_.b.path, html_lines({summary()})}};
  for (const KindWords& words : kKinds) {
    Table table;
    table.head({"change", "what", "why"});
    for (const ModelChange* change : first_of(words.kind, as_size(kMostRows))) {
      table.row({words.sign + " " + change->text, std::string(to_string(change->subject)), change->reason});
    }
    const int64_t all = count(words.kind);
    std::string title(to_string(words.kind));
    title.front() = static_cast<char>(title.front() - 'a' + 'A');
    title += ": " + format_count(all) + (all > kMostRows ? ", the first " + format_count(kMostRows) : "");
    out.push_back({title, table.html()});
  }
  return out;
}

std::vector<std::string> ModelPair::failed(const ChangeKinds& gate) const {
  std::vector<std::string> out;
  for (const ModelChange* change : changes_) {
    if (std::ranges::find(gate, change->kind) != gate.end()) out.push_back(name_of(*change));
  }
  return out;
}

std::vector<GateCase> ModelPair::cases(const ChangeKinds& gate) const {
  std::vector<GateCase> out;
  const auto add = [&](std::string_view name, const ChangeKinds& kinds) {
    GateCase& one = out.emplace_back(GateCase{std::string(name), "", {}});
    for (const ModelChange* change : changes_) {
      if (std::ranges::find(kinds, change->kind) != kinds.end()) one.failed.push_back(change->text);
    }
    if (!one.failed.empty()) one.message = one.failed.front();
  };
  for (const ChangeKind kind : gate) add(to_string(kind), {kind});
  add("whole", gate);
  return out;
}

/// The causes of the difference between two models' times, from their profiles.
ProfileComparison compare_times(const DiffRequest& request, std::size_t number, const ModelDiff& diff) {
  const std::string names = escape(request.profiles.front()) + " and " + escape(request.profiles[number]);
  Profile a = read_profile(request.profiles.front()), b = read_profile(request.profiles[number]);
  if (a.mode != b.mode || a.clock != b.clock) fail(ErrorKind::usage, names + " count different times (--mode, --clock)");
  const ProfileContext &of_a = a.context, &of_b = b.context;
  if (of_a.cpu != of_b.cpu || of_a.isa != of_b.isa || of_a.threads != of_b.threads) {
    log_warning(names + " were measured on different machines or with different numbers of threads");
  }
  return compare_profiles(std::move(a), std::move(b), diff);
}

FileDiff forms_of(const ModelDiff& diff, std::size_t number, const DiffRequest& request, const ChangeKinds& gate,
                  const ReportStyle& style) {
  const std::array<Cell, 3> verdicts = {Cell("equal", Style::good), Cell("explained", Style::good), Cell("different", Style::warning)};
  const ModelPair pair(diff, request);
  FileDiff out{.a = diff.a.path, .b = diff.b.path, .verdict = verdicts[as_size(pair.rank())], .rank = pair.rank()};
  out.failed = pair.failed(gate);
  out.text = pair.text(as_size(request.top), style);
  if (request.json || !request.report.html.empty()) out.data = pair.json();
  if (!request.report.junit.empty()) out.gate = pair.cases(gate);
  if (!request.report.markdown.empty()) out.markdown = pair.markdown(as_size(request.top));
  if (!request.csv.empty()) out.csv = pair.csv();
  if (!request.report.html.empty()) out.sections = pair.sections(request.files.size() == 2);
  if (request.profiles.empty()) return out;
  const ProfileComparison times = compare_times(request, number, diff);
  TableChoice table;
  table.top = as_size(request.top);
  if (request.json) out.data.set("time", comparison_json(times, table, std::nullopt));
  out.text += "\n" + comparison_text(times, table, std::nullopt, style);
  return out;
}

}  // namespace

std::vector<FileDiff> diff_of_models(const DiffRequest& request, const ReportStyle& style) {
  check_ignored(request.ignore);
  const ChangeKinds gate = model_gate(request);
  const auto load = [&](std::size_t i) { return Model::load(request.files[i], request.load); };
  // The first two are read at the same time.
  std::future<std::unique_ptr<Model>> next = std::async(std::launch::async, load, 1);
  const std::unique_ptr<Model> first = load(0);
  std::unique_ptr<Model> other;
  std::vector<FileDiff> out;
  for (std::size_t i = 1; i < request.files.size(); ++i) {
    other.reset();  // frees its memory before the next model is read
    other = i == 1 ? next.get() : load(i);
    out.push_back(forms_of(diff_models(*first, *other), i, request, gate, style));
  }
  return out;
}

}  // namespace relayout::cli
