#include "cli/failure.h"

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <new>

#include "cli/terminal.h"
#include "relayout/error.h"

namespace relayout::cli {
namespace {

constexpr char kReport[] = "this is a defect in relayout; please report it with the model and the command line";

}  // namespace

Failure current_failure() {
  try {
    throw;
  } catch (const Error& error) {
    const bool is_defect = error.kind() == ErrorKind::defect && error.hint().empty();
    return {exit_code(error.kind()), error.what(), is_defect ? kReport : error.hint()};
  } catch (const std::bad_alloc&) {
    return {exit_code(ErrorKind::io), "out of memory", ""};
  } catch (const std::filesystem::filesystem_error& error) {
    return {exit_code(ErrorKind::io), error.what(), ""};
  } catch (const std::exception& error) {
    return {exit_code(ErrorKind::defect), std::string("internal error: ") + error.what(), kReport};
  } catch (...) {
    return {exit_code(ErrorKind::defect), "internal error of unknown type", kReport};
  }
}

void print_failure(const Failure& failure, bool verbose) {
  std::string text = "relayout: " + printable(failure.message) + "\n";
  // A defect says how to report it wherever it shows.
  const bool with_hint = verbose || error_is_terminal() || failure.code == exit_code(ErrorKind::defect);
  if (with_hint && !failure.hint.empty()) text += "hint: " + printable(failure.hint) + "\n";
  write_error(text);
}

int worse_code(int a, int b) {
  constexpr std::array kOrder = {0, 1, 2, 4, 3, 5, 70, 143, 130};
  const auto rank = [&](int code) { return std::ranges::find(kOrder, code) - kOrder.begin(); };
  return rank(a) >= rank(b) ? a : b;
}

}  // namespace relayout::cli
