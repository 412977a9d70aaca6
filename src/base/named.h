#pragma once

#include <string>

#include "relayout/error.h"

namespace relayout {

/// Throws an error of this kind, message and hint. The message begins with the escaped name of a file and ": ", which are added if it does
/// not begin with both.
[[noreturn]] void fail_named(const std::string& name, const Error& error);

/// Returns what `work` returns. Errors of `work` name the file, see fail_named().
template <class Work>
auto named(const std::string& name, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    fail_named(name, error);
  }
}

}  // namespace relayout
