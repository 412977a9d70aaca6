// Reports many models, each against the original that a pattern derives from its name. Hooks and CI jobs pass their list of changed files
// and need no loop.

#include <algorithm>

#include "cli/verify/report.h"
#include "relayout/suite.h"

namespace relayout::cli {
namespace {

std::string word_of(const PairOutcome& pair) {
  if (!pair.result) return "failed";
  return verdict_word(*pair.result);
}

Style verdict_style(const PairOutcome& pair) {
  return pair.result && pair.result->defect.empty() ? style_of(pair.result->outcome) : Style::bad;
}

std::string indented(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1);
    out += "  " + text.substr(at, end + 1 - at);
    at = end + 1;
  }
  return out;
}

/// "3 models: 2 same, 1 different"
std::string summary(const std::vector<PairOutcome>& pairs) {
  std::string out = counted(static_cast<int64_t>(pairs.size()), "model") + ":";
  for (const char* const word : {"same", "different", "inconclusive", "not supported", "defect", "failed"}) {
    const auto count = std::ranges::count(pairs, std::string(word), word_of);
    if (count > 0) out += (out.ends_with(':') ? " " : ", ") + format_count(count) + " " + word;
  }
  return out;
}

Json failure_json(const PairOutcome& pair) {
  Json out = Json::object();
  out.set("a", Json::object().set("path", pair.original)).set("b", Json::object().set("path", pair.model));
  out.set("verdict", Json()).set("reason", pair.failure->line());
  return std::move(out.set("exit_code", pair.failure->code));
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

std::string pairs_text(const std::vector<PairOutcome>& pairs, bool allow_inconclusive, const ReportStyle& style) {
  std::string out;
  for (const PairOutcome& pair : pairs) {
    Table head({.color = style.color, .width = style.width});
    const std::string against = pair.original.empty() ? "" : "against " + escape(pair.original);
    head.row({{word_of(pair), verdict_style(pair)}, {escape(pair.model), Style::strong}, {against, Style::faint}});
    out += head.text();
    if (!pair.result) {
      out += "  " + escape(pair.failure->message) + "\n";
    } else if (style.verbose || style.layers || pair.result->outcome != Outcome::same || !pair.result->defect.empty()) {
      out += indented(verify_text(*pair.result, allow_inconclusive, style));
    }
  }
  const int code = exit_code(pairs, allow_inconclusive);
  Table verdict({.color = style.color, .width = style.width});
  verdict.row({{summary(pairs), code == 0 ? Style::good : Style::bad}, "exit " + std::to_string(code)});
  return style.quiet ? verdict.text() : out + verdict.text();
}

Json pairs_json(const std::vector<PairOutcome>& pairs, bool allow_inconclusive) {
  Json out = Json::object(), list = Json::array();
  out.set("schema", "relayout.verify-pairs/1").set("tool", Json::object().set("version", kVersion));
  for (const PairOutcome& pair : pairs) list.add(pair.result ? verify_json(*pair.result, allow_inconclusive) : failure_json(pair));
  return std::move(out.set("pairs", std::move(list)).set("exit_code", exit_code(pairs, allow_inconclusive)));
}

std::vector<JunitSuite> junit_suites(const std::vector<PairOutcome>& pairs, bool allow_inconclusive) {
  std::vector<JunitSuite> out;
  for (const PairOutcome& pair : pairs) {
    out.push_back(pair.result ? junit_suite(*pair.result, allow_inconclusive) : junit_suite(pair.model, *pair.failure));
  }
  return out;
}

}  // namespace relayout::cli
