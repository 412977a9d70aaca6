#include "support/paths.h"

#include <string>

namespace relayout {

std::string source_folder() {
  return RELAYOUT_SOURCE_DIR;
}

std::string program() {
  return RELAYOUT_PROGRAM;
}

}  // namespace relayout
