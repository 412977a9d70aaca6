// Words what failed for people: in one line with a hint, for several models, and the nodes that cannot run.
#include "cli/common/failure.h"

#include <exception>
#include <new>

#include "base/numbers.h"
#include "base/text.h"
#include "cli/common/terminal.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/verify.h"
#include "report/json.h"
#include "report/table.h"

namespace relayout::cli {
namespace {

/// Part of the line, not of the hint, so that it appears wherever the line does.
constexpr char kDefectWords[] = " (a defect in relayout: please report it, with the model and the command line)";

/// A line that explains how to report a defect in relayout itself.
Failure defect_failure(const std::string& message) {
  return {exit_code(ErrorKind::defect), message + kDefectWords, ""};
}

}  // namespace

std::string Failure::line() const {
  return hint.empty() ? message : message + " (" + hint + ")";
}

bool Failure::is_interruption() const {
  return code == exit_code(ErrorKind::interrupted) || code == exit_code(ErrorKind::terminated);
}

Failure current_failure() {
  try {
    throw;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::defect) return defect_failure(error.what());
    return {exit_code(error.kind()), error.what(), error.hint()};
  } catch (const std::bad_alloc&) {
    return {exit_code(ErrorKind::io), "out of memory", ""};
  } catch (const std::filesystem::filesystem_error& error) {
    return {exit_code(ErrorKind::io), error.what(), ""};
  } catch (const std::exception& error) {
    return defect_failure(std::string("internal error: ") + error.what());
  } catch (...) {
    return defect_failure("internal error of unknown type");
  }
}

void print_failure(const Failure& failure, bool verbose) {
  const bool has_second_line = (verbose || error_is_terminal()) && !failure.hint.empty();
  std::string text = "relayout: " + printable(has_second_line ? failure.message : failure.line()) + "\n";
  if (has_second_line) text += "hint: " + printable(failure.hint) + "\n";
  write_error(fit_lines(text, error_width()));
}

void Failures::print(const Failure& failure) {
  if (is_alone_) return print_failure(failure, verbose_);
  print_failure({failure.code, failure.message, ""}, verbose_);
  if (!failure.hint.empty() && std::ranges::find(hints_, failure.hint) == hints_.end()) hints_.push_back(failure.hint);
}

void Failures::print_hints() const {
  for (const std::string& hint : hints_) write_error(fit_lines("hint: " + printable(hint) + "\n", error_width()));
}

Json error_json(const Failure& failure) {
  Json out = Json().set("exit", failure.code).set("message", failure.message);
  if (!failure.hint.empty()) out.set("hint", failure.hint);
  return out;
}

// Nodes that cannot run.
namespace {

constexpr std::size_t kGroupsNamed = 3;

/// Nodes that cannot run for the same reason.
struct UnsupportedGroup {
  std::string text;                ///< one: "'roi' (MaxUnpool: indices)"; several: "com.acme:Foo × 5, com.acme:Bar (unknown domain)"
  std::vector<std::string> nodes;  ///< several: "'roi' (MaxUnpool)"

  friend bool operator==(const UnsupportedGroup&, const UnsupportedGroup&) = default;
};

/// The entry of a list that `is_it` finds, or a new one at its end.
template <class List, class IsIt>
auto& entry_of(List& list, const IsIt& is_it) {
  const auto known = std::ranges::find_if(list, is_it);
  return known == list.end() ? list.emplace_back() : *known;
}

/// "com.acme:Foo × 5, com.acme:Bar" for nodes that cannot run for the same reason, in the order of first occurrence.
std::string operators_of(const std::vector<const Unsupported*>& nodes) {
  std::vector<std::pair<std::string, int64_t>> counts;
  for (const Unsupported* node : nodes) {
    auto& [name, count] = entry_of(counts, [&](const auto& known) { return known.first == node->operator_name(); });
    name = node->operator_name();
    ++count;
  }
  return joined(counts, ", ", [](const auto& one) { return one.first + (one.second > 1 ? " × " + format_count(one.second) : ""); });
}

/// Groups nodes by reason, in the order of each reason's first node.
std::vector<UnsupportedGroup> unsupported_groups(const std::vector<Unsupported>& nodes) {
  std::vector<std::vector<const Unsupported*>> groups;
  for (const Unsupported& node : nodes) {
    entry_of(groups, [&](const auto& group) { return group.front()->why == node.why; }).push_back(&node);
  }
  std::vector<UnsupportedGroup> out;
  for (const auto& group : groups) {
    const Unsupported& first = *group.front();
    UnsupportedGroup& one = out.emplace_back();
    one.text = group.size() == 1 ? first.text() : operators_of(group) + " (" + first.why + ")";
    if (group.size() == 1) continue;
    for (const Unsupported* node : group) one.nodes.push_back(quote(node->node) + " (" + node->operator_name() + ")");
  }
  return out;
}

/// "net.onnx: cannot run 181 nodes: com.microsoft.nchwc:Conv × 52 (unknown domain), 'roi' (MaxUnpool: indices) …": the number of nodes, and
/// the first three groups.
Failure cannot_run(const std::string& model, const std::vector<Unsupported>& nodes) {
  const std::vector<UnsupportedGroup> groups = unsupported_groups(nodes);
  const std::span first = std::span(groups).first(std::min(groups.size(), kGroupsNamed));
  const std::string text = escape(model) + ": cannot run " + counted(std::ssize(nodes), "node") + ": " +
                           joined(first, ", ", &UnsupportedGroup::text) + (groups.size() > kGroupsNamed ? " …" : "");
  return {exit_code(ErrorKind::unsupported), text, ""};
}

}  // namespace

std::string unsupported_lines(const VerifyResult& result, bool verbose) {
  const auto of_a = unsupported_groups(result.unsupported_a), of_b = unsupported_groups(result.unsupported_b);
  const auto is_in = [](const auto& groups, const auto& group) { return std::ranges::find(groups, group) != groups.end(); };
  const auto lines = [&](const std::string& models, const UnsupportedGroup& group) {
    const std::string nodes = verbose ? joined(group.nodes, "", [](const std::string& node) { return "  " + node + "\n"; }) : "";
    return models + ": cannot run " + group.text + "\n" + nodes;
  };
  const std::string both = result.b != result.a ? ", " + escape(result.b) : "";
  return joined(of_a, "", [&](const auto& group) { return lines(escape(result.a) + (is_in(of_b, group) ? both : ""), group); }) +
         joined(of_b, "", [&](const auto& group) { return is_in(of_a, group) ? "" : lines(escape(result.b), group); });
}

Json unsupported_json(const std::vector<Unsupported>& nodes, const char* side) {
  return Json::list(nodes, [&](const Unsupported& node) {
    Json out;
    out.set("side", side).set("node", node.node).set("op_type", node.op_type).set("domain", node.domain).set("opset", node.opset);
    return std::move(out.set("why", node.why));
  });
}

std::optional<Failure> failure_of(const DataResult& result) {
  if (result.unsupported.empty()) return std::nullopt;
  return cannot_run(result.model, result.unsupported);
}

std::optional<Failure> failure_of(const VerifyResult& result) {
  if (!result.defect.empty()) return defect_failure(result.defect);
  if (!result.is_blocked()) return std::nullopt;
  if (!result.unsupported_a.empty()) return cannot_run(result.a, result.unsupported_a);
  if (!result.unsupported_b.empty()) return cannot_run(result.b, result.unsupported_b);
  return std::nullopt;
}

}  // namespace relayout::cli
