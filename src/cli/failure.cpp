// Errors as messages for users: one line and a hint, "a defect in relayout", "out of memory", their JSON; the kinds and numbers of exit
// codes are in base/error.cpp.
#include "cli/failure.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "relayout/error.h"
#include "report/json.h"
#include "report/line_breaks.h"

namespace relayout::cli {
namespace {

/// Part of the line, not of the hint, so that it appears wherever the line does.
constexpr char kDefectWords[] = " (a defect in relayout: please report it, with the model and the command line)";

}  // namespace

std::string Failure::line() const {
  return hint.empty() ? message : message + " (" + hint + ")";
}

bool Failure::is_interruption() const {
  return code == exit_code(ErrorKind::interrupted) || code == exit_code(ErrorKind::terminated);
}

Failure defect_failure(const std::string& message) {
  return {exit_code(ErrorKind::defect), message + kDefectWords, ""};
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
  Json out = Json::object();
  out.set("exit", failure.code).set("message", failure.message);
  if (!failure.hint.empty()) out.set("hint", failure.hint);
  return out;
}

}  // namespace relayout::cli
