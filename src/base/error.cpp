// Throws errors, and gives each kind its exit code.
#include "relayout/error.h"

#include <algorithm>
#include <array>
#include <utility>

namespace relayout {

int exit_code(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::usage:
      return 2;
    case ErrorKind::invalid:
      return 3;
    case ErrorKind::unsupported:
      return 4;
    case ErrorKind::io:
      return 5;
    case ErrorKind::defect:
      return 70;
    case ErrorKind::interrupted:
      return 130;
    case ErrorKind::terminated:
      return 143;
  }
  return 70;
}

int worse_code(int a, int b) noexcept {
  constexpr std::array kOrder = {0, 1, 2, 4, 3, 5, 70, 143, 130};
  const auto rank = [&](int code) { return std::ranges::find(kOrder, code) - kOrder.begin(); };
  return rank(a) >= rank(b) ? a : b;
}

void fail(ErrorKind kind, const std::string& message, std::string hint) {
  throw Error(kind, message, std::move(hint));
}

}  // namespace relayout
