#pragma once

#include <string>

#include "relayout/error.h"

namespace relayout::exec {

/// TypeError: the types in a file contradict each other, which makes it invalid for all inputs. Other invalid operands may be those of one
/// run only.
class TypeError : public Error {
 public:
  explicit TypeError(const std::string& message) : Error(ErrorKind::invalid, message) {}
};

}  // namespace relayout::exec
