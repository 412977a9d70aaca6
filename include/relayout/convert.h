#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relayout/data_file.h"
#include "relayout/findings.h"
#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/pass_options.h"
#include "relayout/save_options.h"
#include "relayout/types.h"
#include "relayout/verify.h"

namespace relayout {

struct ConvertOptions {
  LoadOptions load = {};
  std::vector<std::string> passes = {};  ///< empty: the default pipeline; {"none"}: identity
  std::vector<std::string> skip = {};    ///< dropped from the pipeline
  PassOptions rewrite = {};
  SaveOptions save = {};
  bool require_all_folded = false, dry_run = false;
  bool make_folders = false;  ///< folders that the output needs are made when it is written
  bool stamp = false;         ///< versions and passes are noted in the metadata of the result
  /// The result is verified against the input before it gets its name; one that is not the same is withheld. It is written to the
  /// folder for temporary files first.
  bool verify = false;
  VerifyOptions verification = {};
  int threads = 0;  ///< of everything that a conversion does; 0: 2, or the CPUs available when fewer
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
