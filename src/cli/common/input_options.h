#pragma once

#include <string>
#include <vector>

#include "cli/common/option_rules.h"
#include "cli/common/options.h"
#include "relayout/inputs.h"
#include "relayout/merge.h"
#include "relayout/pass_options.h"

namespace relayout::cli {

class OptionSet;

struct MergeWords {
  std::vector<std::string> combine, map;
};

/// --combine, which is for these forms (0: all), and --map.
void declare_merge_words(OptionSet& options, MergeWords& words, Forms of_ensembles, Forms of_chains);
/// Error{usage} for words that mean nothing.
void read_merge_words(const MergeWords& words, ModelMergeOptions& options);

/// Parses "1,3,224,224".
[[nodiscard]] std::vector<int64_t> parse_dims(const std::string& what, std::string_view text);
/// Parses the values of --dim, N=2, and of --shape, NAME=1,3,224,224, or of other options with such values.
[[nodiscard]] std::map<std::string, int64_t> dims_of(const Assignments& words, const std::string& option = "--dim");
[[nodiscard]] std::map<std::string, std::vector<int64_t>> shapes_of(const Assignments& words, const std::string& option = "--shape");

/// The options that say what the bytes of images stand for, as words.
struct PixelWords {
  std::vector<std::string> byte_ports, mean, deviation;
  std::optional<double> scale;
  bool swaps_channels = false;
};

/// The options for a model's inputs, as words.
struct InputWords {
  Assignments dims, shapes, files;
  int64_t seed = 1;
  std::string resize;
  PixelWords pixels;
};

/// The forms of a command for which these options are; 0: all.
struct InputForms {
  Forms seed = 0, sizes = 0;
  Forms files = 0;                  ///< --input, and what is said of its images
  std::optional<Forms> bytes = {};  ///< --input-u8, and what is said of its images; nothing: the command has no such option
};

/// Declares --seed, --input, --shape, --dim, --resize, --mean and --std, and the options of inputs that take bytes.
void declare_input_options(OptionSet& options, InputWords& words, const InputForms& forms = {});

/// Declares --input-u8, --scale and --swap-channels.
void declare_byte_options(OptionSet& options, PixelWords& words, Forms forms);
/// Declares --mean and --std, which need one of these options.
void declare_mean_options(OptionSet& options, PixelWords& words, Forms forms, std::initializer_list<std::string_view> needed);
/// Declares --output-u8 and what is said of its images: --output-mean, --output-std, --output-scale, --output-swap-channels.
void declare_byte_outputs(OptionSet& options, PixelWords& words, Forms forms);
/// The inputs or outputs that are bytes, and what these stand for. `prefix` is that of options: "--" or "--output-".
[[nodiscard]] ByteImages byte_images_of(const PixelWords& words, const std::string& prefix);
/// The same as arguments of a command, quoted for a shell; `naming` is the option that names the inputs or outputs.
[[nodiscard]] std::vector<std::string> arguments_of(const ByteImages& bytes, const std::string& prefix, const std::string& naming);

/// Reads all of them except --dim, which has a list of sizes in profile, and those of inputs that take bytes.
void read_inputs(const InputWords& words, InputOptions& options);

}  // namespace relayout::cli
