// Exit codes of the kinds of Error, and fail(), which throws it.
#include "relayout/error.h"

#include <string>
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

void fail(ErrorKind kind, const std::string& message, std::string hint) {
  throw Error(kind, message, std::move(hint));
}

}  // namespace relayout
