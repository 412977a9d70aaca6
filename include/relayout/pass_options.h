#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "relayout/layout.h"
#include "relayout/types.h"

namespace relayout {

/// The options of a conversion's passes.
struct PassOptions {
  bool fold = true;       ///< BatchNormalization and other affines into linear operators
  bool simplify = false;  ///< evaluate constant expressions, remove nodes that have no effect
  WeightsLayout layout = WeightsLayout::channels_last;
  bool include_1d = false;                           ///< weights of 1-D convolutions too
  bool export_io = false;                            ///< graph inputs and outputs are handed over channels-last
  std::vector<std::string> io_names = {};            ///< these, with `export_io`; empty: all images
  bool export_transposes = false;                    ///< the borders of the layout plan are written into the model
  LayoutChoice choice = LayoutChoice::automatic;     ///< of that plan
  ShapeOptions sizes = {};                           ///< for that plan
  DataType precision = DataType::undefined;          ///< to compute in: float16, bfloat16, or float32 instead of both; undefined: as it is
  bool io_precision = false;                         ///< graph inputs and outputs too
  bool freeze = false;                               ///< overridable initializers become constants before the first pass
  std::vector<std::string> only = {}, exclude = {};  ///< globs over node names (output names of nodes without one)
  int64_t stop_after = -1;                           ///< rewrites; -1: no limit
  int threads = 2;                                   ///< convert() sets its own
};

}  // namespace relayout
