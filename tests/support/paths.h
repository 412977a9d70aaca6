#pragma once

#include <string>

namespace relayout {

/// The top folder of the sources, absolute: testdata, the README, scripts.
std::string source_folder();

/// The command-line program that was built with these tests, absolute; or another one, an installed one, that RELAYOUT_PROGRAM names.
std::string program();

}  // namespace relayout
