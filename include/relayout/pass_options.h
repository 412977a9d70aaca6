#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "relayout/layout.h"
#include "relayout/types.h"

namespace relayout {

/// Dims of inputs to be changed, by the names in the given file.
struct DimEdits {
  std::map<std::string, int64_t> sizes = {};                         ///< of free dims, by symbol
  std::map<std::string, Dims> shapes = {};                           ///< of inputs; -1: as it is
  std::map<std::pair<std::string, int64_t>, std::string> free = {};  ///< symbols for input and axis (from the back if negative)
  [[nodiscard]] bool any() const noexcept { return !sizes.empty() || !shapes.empty() || !free.empty(); }
};

/// Inputs or outputs of images that are bytes, where (byte · scale − mean) / deviation is what the model was made for.
struct ByteImages {
  std::vector<std::string> names = {};
  std::vector<double> mean = {}, deviation = {};  ///< for all channels or for each, in the model's order; empty: 0 and 1
  double scale = 1.0 / 255;
  bool swaps_channels = false;  ///< bytes have the three channels in the reverse order
};

/// Annotations that do not change what a model computes.
struct Annotations {
  bool descriptions = false;               ///< doc_string
  std::vector<std::string> metadata = {};  ///< entries of metadata_props, by globs over their keys
  [[nodiscard]] bool any() const noexcept { return descriptions || !metadata.empty(); }
};

/// The options of a conversion's passes.
struct PassOptions {
  bool fold = true;       ///< fold BatchNormalization and other affines into linear operators
  bool simplify = false;  ///< evaluate nodes that depend on constants only, remove nodes without effect
  WeightsLayout layout = WeightsLayout::channels_last;
  bool include_1d = false;                        ///< reorder weights of 1-D convolutions, too
  bool export_io = false;                         ///< make graph inputs and outputs channels-last
  bool undo_io = false;                           ///< take back what `export_io`, `bytes` and `output_bytes` did to the file
  std::vector<std::string> io_names = {};         ///< inputs and outputs for `export_io`; empty: all images
  bool export_transposes = false;                 ///< write the borders of the layout plan into the model as Transposes
  LayoutChoice choice = LayoutChoice::automatic;  ///< choice of that plan
  ShapeOptions sizes = {};                        ///< sizes for that plan
  DataType precision = DataType::undefined;  ///< type to compute in: float16, bfloat16, or float32 instead of both; undefined: unchanged
  bool io_precision = false;                 ///< apply `precision` to graph inputs and outputs, too
  bool narrow_integers = false;              ///< compute in 32-bit integers what stays exact there, inputs too
  DimEdits dims = {};                        ///< sizes of inputs to set, or to make free
  ByteImages bytes = {};                     ///< inputs that take bytes of images instead of numbers
  ByteImages output_bytes = {};              ///< outputs that give bytes of images instead of numbers
  std::map<std::string, std::string> renames = {};   ///< new names of inputs, outputs and free dims
  Annotations strip = {};                            ///< annotations to remove
  bool share_weights = false;                        ///< store equal initializers once
  std::optional<uint64_t> scramble = {};             ///< seed of random numbers that replace the weights
  bool freeze = false;                               ///< turn overridable initializers into constants before the first pass
  std::vector<std::string> only = {}, exclude = {};  ///< globs over node names (output names for unnamed nodes)
  int64_t stop_after = -1;                           ///< maximum number of rewrites; -1: no limit
  int threads = 2;                                   ///< convert() sets its own
};

}  // namespace relayout
