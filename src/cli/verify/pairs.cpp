// Reports many models, each against the original that a pattern derives from its name, and one model against its stored outputs.

#include "cli/verify/report.h"
#include "relayout/suite.h"

namespace relayout::cli {
namespace {

Cell verdict_of(const PairOutcome& pair) {
  return pair.result ? verdict_cell(*pair.result) : Cell("failed", Style::bad);
}

std::string indented(std::string_view text) {
  text.remove_suffix(text.ends_with('\n') ? 1 : 0);
  return joined(split(text, '\n'), "", [](const std::string& line) { return "  " + line + "\n"; });
}

/// "3 models: 2 same, 1 different"
std::string summary(const std::vector<PairOutcome>& pairs) {
  constexpr std::array kWords = {"same", "different", "inconclusive", "not supported", "defect", "failed"};
  return counted(std::ssize(pairs), "model") + ": " + joined(kWords, ", ", [&](const char* word) {
           const auto count = std::ranges::count(pairs, word, [](const PairOutcome& pair) { return verdict_of(pair).text; });
           return count > 0 ? format_count(count) + " " + word : "";
         });
}

/// A line for the pair, and the report of verify where it is not the same.
std::string pair_text(const PairOutcome& pair, bool allow_inconclusive, bool lists_layers, const ReportStyle& style) {
  const std::string against = pair.original.empty() ? "" : "against " + escape(pair.original);
  const std::string out = Table().row({verdict_of(pair), {escape(pair.model), Style::strong}, {against, Style::faint}}).text(style);
  if (!pair.result) return out + "  " + escape(pair.failure->message) + "\n";
  const bool is_told = style.verbose || lists_layers || pair.result->outcome != Outcome::same || !pair.result->defect.empty();
  return is_told ? out + indented(text_of(verify_report(*pair.result, allow_inconclusive, lists_layers), style)) : out;
}

Json pairs_json(const std::vector<PairOutcome>& pairs, bool allow_inconclusive) {
  Json out = Json().set("schema", "relayout.verify-pairs/1").set("tool", Json().set("version", kVersion));
  out.set("pairs", Json::list(pairs, [&](const PairOutcome& pair) {
            if (pair.result) return verify_json(*pair.result, allow_inconclusive);
            Json failed;
            failed.set("a", Json().set("path", pair.original)).set("b", Json().set("path", pair.model)).set("verdict", Json());
            return std::move(failed.set("reason", pair.failure->line()).set("exit_code", pair.failure->code));
          }));
  return std::move(out.set("exit_code", exit_code(pairs, allow_inconclusive)));
}

}  // namespace

std::string original_of(const std::string& pattern, const std::string& model) {
  const std::string original = model_name_of(pattern, model);
  if (std::filesystem::path(original).lexically_normal() == std::filesystem::path(model).lexically_normal()) {
    fail(ErrorKind::usage, escape(model) + ": --original " + quote(pattern) + " leads to the model itself");
  }
  return original;
}

int exit_code(const PairOutcome& pair, bool allow_inconclusive) {
  return pair.result ? relayout::exit_code(*pair.result, allow_inconclusive) : pair.failure->code;
}

int exit_code(const std::vector<PairOutcome>& pairs, bool allow_inconclusive) {
  int worst = 0;
  for (const PairOutcome& pair : pairs) worst = worse_code(worst, exit_code(pair, allow_inconclusive));
  return worst;
}

Report pairs_report(const std::vector<PairOutcome>& pairs, bool allow_inconclusive, bool lists_layers) {
  Report out{.code = exit_code(pairs, allow_inconclusive)};
  for (const PairOutcome& pair : pairs) {
    out.sections.push_back({Form::text, "", [&, allow_inconclusive, lists_layers](auto& style) {
                              return pair_text(pair, allow_inconclusive, lists_layers, style);
                            }});
    out.suites.push_back(pair.result ? junit_suite(*pair.result, allow_inconclusive) : junit_suite(pair.model, *pair.failure));
  }
  out.sections.push_back({Form::text | Form::quiet, "", [&, code = out.code](auto&) {
                            return Table().row({{summary(pairs), code == 0 ? Style::good : Style::bad}, exit_text(code)});
                          }});
  out.document = [&, allow_inconclusive] { return pairs_json(pairs, allow_inconclusive); };
  return out;
}

// One model against stored outputs.
namespace {

/// The limit that decided on a case with stored outputs.
std::string limit_text(const DataCase& one) {
  if (!one.by_tolerance) return "may be " + scientific(one.bound);
  return "each element within rtol " + scientific(one.rtol) + ", atol " + scientific(one.atol);
}

Table cases_table(const DataResult& result) {
  Table table;
  for (const DataCase& one : result.cases) {
    const bool good = one.status == "passed", measured = one.bound > 0 && one.status != "unsupported";
    table.row({one.name, Cell(one.status, good ? Style::good : Style::bad),
               measured ? "error/range " + scientific(one.error) : std::string(), measured ? limit_text(one) : std::string(),
               Cell(seconds_text(one.seconds), Style::faint, Align::right)});
    if (!good && !one.message.empty()) table.line("  " + one.message, Style::bad);
    if (one.flips > 0) {
      table.line("  values moved by one ULP put " + counted(one.flips, "element") +
                 " of quantized tensors on another step, the first at node " + escape(one.flips_node));
    }
  }
  return table;
}

Table verdict_table(const DataResult& result) {
  const int64_t passed = std::ranges::count(result.cases, "passed", &DataCase::status);
  const std::string word = format_count(passed) + " of " + format_count(std::ssize(result.cases)) + " passed";
  return Table().row({Cell(word, result.passed() ? Style::good : Style::bad), exit_text(exit_code(result))});
}

Json data_json(const DataResult& result) {
  Json out, summary;
  out.set("schema", "relayout.verify-data/1").set("model", result.model);
  out.set("cases", Json::list(result.cases, [](const DataCase& one) {
            Json entry = Json().set("name", one.name).set("status", one.status).set("seconds", one.seconds).set("message", one.message);
            entry.set("error", one.error).set("bound", one.bound).set("decided_by", one.by_tolerance ? "tolerance" : "bound");
            entry.set("rtol", one.rtol).set("atol", one.atol);
            return std::move(entry.set("flips", one.flips).set("flips_node", one.flips_node));
          }));
  for (const char* const status : {"passed", "failed", "pass-loose", "unsupported"}) {
    summary.set(status, std::ranges::count(result.cases, std::string(status), &DataCase::status));
  }
  out.set("summary", std::move(summary)).set("unsupported", unsupported_json(result.unsupported, "model"));
  return std::move(out.set("exit_code", exit_code(result)));
}

JunitSuite junit_suite(const DataResult& result) {
  JunitSuite suite{"verify", result.model, junit_now(), {{"relayout", std::string(kVersion)}}, {}};
  for (const DataCase& stored : result.cases) {
    JunitCase& one = suite.cases.emplace_back(verify_case(stored.name, result.model));
    one.seconds = stored.seconds;
    one.message = stored.message.empty() ? stored.status : stored.message;
    if (stored.status == "unsupported") {
      one.status = JunitCase::Status::error;
    } else if (stored.status != "passed") {
      one.status = JunitCase::Status::failed;
    }
  }
  return suite;
}

}  // namespace

Report data_report(const DataResult& result) {
  return {.sections = {{Form::text, "", [&](auto&) { return cases_table(result); }},
                       {Form::text | Form::quiet, "", [&](auto&) { return verdict_table(result); }}},
          .document = [&] { return data_json(result); },
          .suites = {junit_suite(result)},
          .code = exit_code(result)};
}

}  // namespace relayout::cli
