#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/data_file.h"
#include "relayout/findings.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "relayout/verify.h"

namespace relayout {

struct ConvertOptions {
  LoadOptions load = {};
  std::vector<std::string> passes = {};  ///< empty: the default pipeline; {"none"}: identity
  std::vector<std::string> skip = {};    ///< dropped from the pipeline
  WeightsLayout layout = WeightsLayout::channels_last;
  bool export_io = false;                       ///< graph inputs and outputs are handed over channels-last
  bool export_transposes = false;               ///< the borders of the layout plan are written into the model
  LayoutChoice when = LayoutChoice::automatic;  ///< of that plan
  DataType precision = DataType::undefined;     ///< float16, bfloat16 or float32: type to compute in; undefined: as it is
  std::vector<std::string> io_names = {};       ///< these, with `export_io`; empty: all images
  ShapeOptions sizes = {};                      ///< for that plan
  bool io_precision = false;                    ///< graph inputs and outputs too
  bool fold = true;
  bool simplify = false;  ///< fold-constants and remove-identity too
  bool include_1d = false, freeze = false;
  std::vector<std::string> only = {}, exclude = {};
  bool require_all_folded = false, dry_run = false;
  bool make_folders = false;  ///< folders that the output needs are made when it is written
  /// The result is verified against the input before it gets its name; one that is not the same is withheld. It is written to the
  /// folder for temporary files first.
  bool verify = false;
  VerifyOptions verification = {};
  FileFormat output_format = FileFormat::automatic;
  ExternalData external_data = ExternalData::automatic;
  int64_t external_threshold = kExternalThreshold;  ///< bytes from which on a weight goes into the data file
  bool share_data = false;                          ///< unchanged external tensors stay in the data files of the input
  bool in_place = false, sync = false, stamp = false;
  int64_t stop_after = -1;
  int threads = 0;  ///< 0: 2, or the CPUs available when fewer
  std::function<void(int64_t done, int64_t total)> progress = {};
};

/// The outcome of a conversion, or with dry_run of one that would be done; the report is printed from this.
struct ConvertResult {
  std::filesystem::path input, output;
  std::vector<std::string> passes;                      ///< that ran, in order
  WeightsLayout layout = WeightsLayout::channels_last;  ///< as in the options
  DataType precision = DataType::undefined;             ///< as in the options
  /// Nested graphs and functions included.
  int64_t nodes_before = 0, nodes_after = 0, initializers_before = 0, initializers_after = 0;
  int64_t bytes_before = 0;                ///< of the model and its external data
  int64_t bytes_after = 0;                 ///< of the result and all data files that it refers to; 0 when nothing was written
  std::vector<DataFile> data = {};         ///< that the result refers to
  std::vector<DataFile> left_behind = {};  ///< in place: data files of the input that the result no longer needs
  double seconds = 0;
  Findings findings;
  bool written = false;
  bool all_folded = true;  ///< no BatchNormalization is left
  std::optional<VerifyResult> verification;
};

/// The exit code of a result: that of the verification, else 1 when a BatchNormalization was left and none was to be, else 0.
[[nodiscard]] int exit_code(const ConvertResult& result, const ConvertOptions& options) noexcept;

/// Load, passes, save. With require_all_folded and a BatchNormalization left, nothing is written. Throws Error; a request that makes no
/// sense (an unknown pass, options that exclude each other) is Error{usage} before anything is read.
[[nodiscard]] ConvertResult convert(const std::filesystem::path& input, const std::filesystem::path& output, const ConvertOptions& options);

/// A pass as a user may pick it.
struct PassInfo {
  std::string_view name, summary;
  bool on_by_default;
};
/// All passes, in running order.
[[nodiscard]] std::vector<PassInfo> available_passes();

/// IN with ".cl.onnx" in place of its extension.
[[nodiscard]] std::filesystem::path default_output(const std::filesystem::path& input);
/// The extension that says how a model is stored, with its dot: ".onnx", ".json" …; empty when the name has none of these.
[[nodiscard]] std::string model_extension(const std::filesystem::path& path);

/// The format that a model's file name says: binary for every extension that no textual form has.
[[nodiscard]] FileFormat format_by_name(const std::filesystem::path& path);

}  // namespace relayout
