#pragma once

#include <string_view>
#include <vector>

namespace relayout {

/// The parts of a node's name that exporters make a path: "/layer1/layer1.0/conv1/Conv" → layer1, layer1.0, conv1, Conv; names without a
/// slash are parted at dots.
[[nodiscard]] std::vector<std::string_view> path_of(std::string_view node);

}  // namespace relayout
