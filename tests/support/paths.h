#pragma once

#include <string>

namespace relayout {

/// The top folder of the sources, absolute: testdata, the README, scripts.
std::string source_folder();

/// The command-line program that was built with these tests, absolute; or the program that RELAYOUT_PROGRAM names, such as an installed
/// one.
std::string program();

}  // namespace relayout
