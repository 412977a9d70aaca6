#pragma once

#include <string>

#include "relayout/error.h"

namespace relayout::exec {

/// The types within a file contradict each other: it is invalid whatever its inputs are. Other invalid operands may be those of one run.
class TypeError : public Error {
 public:
  explicit TypeError(const std::string& message) : Error(ErrorKind::invalid, message) {}
};

}  // namespace relayout::exec
