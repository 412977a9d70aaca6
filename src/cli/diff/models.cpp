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

Json change_json(const ModelChange& change) {
  const auto name = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  Json out = Json().set("kind", to_string(change.kind)).set("reason", change.reason).set("a", name(change.a)).set("b", name(change.b));
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

/// Two models and the chosen changes between them.
class ModelPair {
 public:
  ModelPair(ModelDiff diff, const DiffRequest& request) : diff_(std::move(diff)), changes_(chosen_changes(diff_, request)) {}

  [[nodiscard]] const ModelDiff& diff() const { return diff_; }
  /// "equal", "2 changed · 1 added · 37 explained (20 folded · 17 permuted)", and the number of equal nodes.
  [[nodiscard]] std::string summary() const {
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

  /// The two files.
  [[nodiscard]] Table head() const {
    Table out;
    const auto add = [&](const char* name, const DiffSide& side) {
      const std::string opset = side.opset > 0 ? " · opset " + std::to_string(side.opset) : "";
      out.row({name, {escape(side.path), Style::strong}, counted(side.nodes, "node") + opset});
    };
    add("A", diff_.a);
    add("B", diff_.b);
    out.line("");
    return out;
  }

  /// A line for each change, at most `top` of a kind (0: all).
  [[nodiscard]] Table lines(std::size_t top) const {
    Table out;
    for (const auto& [kind, sign, style] : kKinds) {
      const std::vector<const ModelChange*> shown = first_of(kind, top);
      for (const ModelChange* change : shown) out.line({{sign, style}, " " + change->text});
      const int64_t rest = count(kind) - std::ssize(shown);
      if (rest > 0) out.line("  … " + format_count(rest) + " more " + std::string(to_string(kind)));
    }
    if (!changes_.empty()) out.line("");
    return out;
  }

  /// The changes of a kind, at most `top` (0: all), for pages and Markdown.
  [[nodiscard]] Table table(ChangeKind kind, std::size_t top) const {
    const std::string& sign = std::ranges::find(kKinds, kind, &KindWords::kind)->sign;
    Table out;
    out.head({"change", "what", "why"});
    for (const ModelChange* change : first_of(kind, top)) {
      out.row({sign + " " + change->text, std::string(to_string(change->subject)), change->reason});
    }
    return out;
  }

  /// "Changed: 2,345, the first 2,000"
  [[nodiscard]] std::string title(ChangeKind kind, std::size_t top) const {
    const int64_t all = count(kind);
    std::string out(to_string(kind));
    out.front() = static_cast<char>(out.front() - 'a' + 'A');
    return out + ": " + format_count(all) + (top > 0 && as_size(all) > top ? ", the first " + format_count(static_cast<int64_t>(top)) : "");
  }

  [[nodiscard]] Json json() const {
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

  [[nodiscard]] std::string csv() const {
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

  [[nodiscard]] std::vector<std::string> failed(const ChangeKinds& gate) const {
    std::vector<std::string> out;
    for (const ModelChange* change : changes_) {
      if (std::ranges::find(gate, change->kind) != gate.end()) out.push_back(name_of(*change));
    }
    return out;
  }

  /// A case per kind that the gate names, and a case for the whole gate.
  [[nodiscard]] std::vector<GateCase> cases(const ChangeKinds& gate) const {
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

  ModelDiff diff_;
  std::vector<const ModelChange*> changes_;
};

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

/// The sections of a pair's report. Pages and Markdown have no more rows than people read; the data of the page has all changes.
std::vector<Section> sections_of(const std::shared_ptr<const ModelPair>& pair, const DiffRequest& request) {
  constexpr std::size_t kMostRows = 2000;
  const auto top = as_size(request.top);
  std::vector<Section> out;
  out.push_back({Form::text, "", [pair](auto&) { return pair->head(); }});
  out.push_back({Form::text, "", [pair, top](auto&) { return pair->lines(top); }});
  out.push_back({Form::quiet | Form::every, request.files.size() == 2 ? "" : pair->diff().b.path,
                 [pair](auto&) { return Table().line(pair->summary()); }});
  for (const Form form : {Form::page, Form::markdown}) {
    const std::size_t most = form == Form::page ? kMostRows : top;
    for (const KindWords& words : kKinds) {
      const auto table = [pair, most, kind = words.kind](auto&) { return pair->table(kind, most); };
      out.push_back({form, pair->title(words.kind, most), table});
    }
  }
  return out;
}

FileDiff compared(ModelDiff diff, std::size_t number, const DiffRequest& request, const ChangeKinds& gate) {
  const std::array<Cell, 3> verdicts = {Cell("equal", Style::good), Cell("explained", Style::good), Cell("different", Style::warning)};
  const auto pair = std::make_shared<const ModelPair>(std::move(diff), request);
  FileDiff out{.a = pair->diff().a.path, .b = pair->diff().b.path, .verdict = verdicts[as_size(pair->rank())], .rank = pair->rank()};
  out.sections = sections_of(pair, request);
  out.csv = [pair] { return pair->csv(); };
  out.data = [pair] { return pair->json(); };
  out.failed = pair->failed(gate);
  if (!request.report.junit.empty()) out.gate = pair->cases(gate);
  if (request.profiles.empty()) return out;
  const auto times = std::make_shared<const ProfileComparison>(compare_times(request, number, pair->diff()));
  TableChoice table;
  table.top = as_size(request.top);
  out.data = [pair, times, table] { return pair->json().set("time", comparison_json(*times, table, std::nullopt)); };
  const auto text = [times, table](auto& style) { return "\n" + text_of(comparison_report(*times, table, std::nullopt), style); };
  out.sections.push_back({Form::text | Form::quiet, "", text});
  return out;
}

}  // namespace

std::vector<FileDiff> diff_of_models(const DiffRequest& request) {
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
    out.push_back(compared(diff_models(*first, *other), i, request, gate));
  }
  return out;
}

}  // namespace relayout::cli
