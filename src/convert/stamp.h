#pragma once

#include <string>
#include <vector>

#include "relayout/model.h"

namespace relayout {

/// --stamp: writes version and passes into the metadata, replacing the entries of an earlier conversion.
void stamp(Model& model, const std::vector<std::string>& passes);

}  // namespace relayout
