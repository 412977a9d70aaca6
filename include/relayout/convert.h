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
  int64_t opset = 0;       ///< of the default domain, by ONNX's own converter, before the passes; the result is verified. 0: as it is
  int64_t ir_version = 0;  ///< of the result; 0: as it is
  bool require_all_folded = false, dry_run = false;
  bool make_folders = false;  ///< create missing folders of the output path when the result is written
  bool stamp = false;         ///< record versions and passes in the metadata of the result
  /// Verify the result against the input before it gets its final name. The result is first written to the folder for temporary files; it
  /// is withheld if the exit code of the verification is not 0.
  bool verify = false;
  VerifyOptions verification = {};
  int threads = 0;  ///< of the whole conversion; 0: 2, or fewer if fewer CPUs are available
};

/// The outcome of a conversion, or with `dry_run` the outcome that it would have. The printed report is generated from this.
struct ConvertResult {
  std::filesystem::path input, output;
  std::vector<std::string> passes;                      ///< passes that ran, in order
  WeightsLayout layout = WeightsLayout::channels_last;  ///< as in the options
  DataType precision = DataType::undefined;             ///< as in the options
  /// Counts include nested graphs and functions.
  int64_t nodes_before = 0, nodes_after = 0, initializers_before = 0, initializers_after = 0;
  int64_t bytes_before = 0;                ///< of the model and its external data
  int64_t bytes_after = 0;                 ///< of the result and all its data files; 0 when nothing was written
  std::vector<DataFile> data = {};         ///< data files of the result
  std::vector<DataFile> left_behind = {};  ///< in-place conversion: data files of the input that the result no longer uses
  double seconds = 0;
  Findings findings;
  bool written = false;
  bool all_folded = true;  ///< no BatchNormalization remains
  std::optional<VerifyResult> verification;
};

/// The exit code of a result: 1 when `require_all_folded` is set and a BatchNormalization remains, else that of the verification, else 0.
[[nodiscard]] int exit_code(const ConvertResult& result, const ConvertOptions& options) noexcept;

/// Loads a model, runs the passes, and saves the result. Writes nothing when `require_all_folded` is set and a BatchNormalization remains.
/// Throws Error. An invalid request (an unknown pass, options that exclude each other) throws Error{usage} before anything is read.
[[nodiscard]] ConvertResult convert(const std::filesystem::path& input, const std::filesystem::path& output, const ConvertOptions& options);

/// A pass that users can select by name.
struct PassInfo {
  std::string_view name, summary;
  bool on_by_default;
};
/// All passes, in the order in which they run.
[[nodiscard]] std::vector<PassInfo> available_passes();

/// The input path with its extension replaced by ".cl.onnx".
[[nodiscard]] std::filesystem::path default_output(const std::filesystem::path& input);
/// The extension that denotes the file format, with its dot: ".onnx", ".json" …; empty when the name has no such extension.
[[nodiscard]] std::string model_extension(const std::filesystem::path& path);

/// The format that the extension of a model's file denotes: binary unless it is the extension of a textual format.
[[nodiscard]] FileFormat format_by_name(const std::filesystem::path& path);

}  // namespace relayout
