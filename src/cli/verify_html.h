#pragma once

#include <string>

#include "relayout/verify.h"

namespace relayout::cli {

/// A page with the verdict, each output's error relative to floor and bound, its error histogram, errors by depth, and the tables.
[[nodiscard]] std::string verify_html(const VerifyResult& result, bool allow_inconclusive);

}  // namespace relayout::cli
