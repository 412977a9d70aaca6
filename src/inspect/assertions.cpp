// Tests statements about the contents of a model.

#include <cctype>
#include <fstream>
#include <set>
#include <sstream>

#include "base/numbers.h"
#include "base/text.h"
#include "ops/op.h"
#include "relayout/error.h"
#include "relayout/inspect.h"

namespace relayout {
namespace {

[[noreturn]] void refuse_statement(const std::string& statement, const std::string& why) {
  fail(ErrorKind::usage, "assertion " + quote(statement) + ": " + why,
       "as in 'BatchNormalization=0', 'opset<=17', 'bytes<=20MB' or 'ops in FILE'");
}

std::string trimmed(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  const auto begin = std::ranges::find_if_not(text, is_space);
  const auto end = std::find_if_not(text.rbegin(), std::make_reverse_iterator(begin), is_space).base();
  return {begin, end};
}

/// "20MB" → 20,000,000
std::optional<int64_t> number_with_unit(std::string_view text) {
  constexpr auto kUnits = std::to_array<std::pair<std::string_view, int64_t>>({{"KiB", 1 << 10},
                                                                               {"MiB", 1 << 20},
                                                                               {"GiB", 1 << 30},
                                                                               {"kB", 1'000},
                                                                               {"KB", 1'000},
                                                                               {"MB", 1'000'000},
                                                                               {"GB", 1'000'000'000},
                                                                               {"k", 1'000},
                                                                               {"M", 1'000'000},
                                                                               {"G", 1'000'000'000}});
  int64_t factor = 1;
  for (const auto& [unit, size] : kUnits) {
    if (factor != 1 || !text.ends_with(unit)) continue;
    factor = size;
    text.remove_suffix(unit.size());
  }
  const auto number = whole_number(trimmed(text));
  int64_t out = 0;
  return number && !__builtin_mul_overflow(*number, factor, &out) ? std::optional(out) : std::nullopt;
}

/// What a name in a statement stands for; nothing for a number of the model that is not known.
std::optional<int64_t> measured(const InspectResult& model, const std::string& name, const std::string& statement) {
  const std::pair<std::string_view, std::optional<int64_t>> known[] = {{"opset", model.opset},
                                                                       {"ir", model.ir_version},
                                                                       {"bytes", model.file_bytes},
                                                                       {"nodes", model.nodes},
                                                                       {"functions", model.functions},
                                                                       {"inputs", std::ssize(model.inputs)},
                                                                       {"outputs", std::ssize(model.outputs)},
                                                                       {"parameters", model.parameters},
                                                                       {"macs", model.macs}};
  for (const auto& [word, value] : known) {
    if (word == name) return value;
  }
  if (const auto found = model.op_counts.find(name); found != model.op_counts.end()) return found->second;
  const bool is_operator = name.find(':') != std::string::npos || find_op(name) != nullptr;
  if (!is_operator) refuse_statement(statement, quote(name) + " is no operator, and nothing that a model has");
  return 0;
}

bool compares(int64_t found, std::string_view relation, int64_t limit) {
  if (relation == "=" || relation == "==") return found == limit;
  if (relation == "!=") return found != limit;
  if (relation == "<=") return found <= limit;
  if (relation == ">=") return found >= limit;
  return relation == "<" ? found < limit : found > limit;
}

/// "ops in FILE"
Assertion check_operators(const InspectResult& model, const std::string& statement, const std::string& file) {
  std::ifstream in(file);
  if (!in) fail(ErrorKind::io, escape(file) + ": cannot be read");
  std::set<std::string> allowed;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;) allowed.insert(word);
  }
  std::string others;
  for (const auto& [name, count] : model.op_counts) {
    if (!allowed.contains(name)) others += (others.empty() ? "" : ", ") + name;
  }
  return {statement, others.empty() ? "no others" : "also " + others, others.empty()};
}

Assertion check_one(const InspectResult& model, const std::string& statement) {
  constexpr std::string_view kRelations = "=!<>";
  constexpr std::string_view kOperators = "ops in ";
  const std::string text = trimmed(statement);
  if (text.starts_with(kOperators)) return check_operators(model, statement, trimmed(std::string_view(text).substr(kOperators.size())));
  const std::size_t begin = text.find_first_of(kRelations);
  const std::size_t end = begin == std::string::npos ? begin : text.find_first_not_of(kRelations, begin);
  if (end == std::string::npos) refuse_statement(statement, "a name, one of = != < <= > >=, and a number");
  const std::string relation = text.substr(begin, end - begin);
  constexpr auto kKnown = std::to_array<std::string_view>({"=", "==", "!=", "<", "<=", ">", ">="});
  const auto limit = number_with_unit(trimmed(std::string_view(text).substr(end)));
  if (std::ranges::find(kKnown, relation) == kKnown.end() || !limit)
    refuse_statement(statement, "a name, one of = != < <= > >=, and a number");
  const auto found = measured(model, trimmed(std::string_view(text).substr(0, begin)), statement);
  if (!found) return {statement, "not known", false};
  return {statement, format_count(*found), compares(*found, relation, *limit)};
}

}  // namespace

std::vector<Assertion> check_assertions(const InspectResult& model, const std::vector<std::string>& statements) {
  std::vector<Assertion> out;
  for (const std::string& statement : statements) out.push_back(check_one(model, statement));
  return out;
}

}  // namespace relayout
