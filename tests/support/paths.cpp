#include "support/paths.h"

#include <cstdlib>

namespace relayout {

std::string source_folder() {
  return RELAYOUT_SOURCE_DIR;
}

std::string program() {
  const char* const given = std::getenv("RELAYOUT_PROGRAM");  // NOLINT(concurrency-mt-unsafe): nothing changes it
  return given == nullptr || *given == '\0' ? RELAYOUT_PROGRAM : given;
}

}  // namespace relayout
