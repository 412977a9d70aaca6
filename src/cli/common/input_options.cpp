// Declares and reads options that commands share: for the inputs of a model, and for merging models.

#include "cli/common/input_options.h"

#include "base/numbers.h"
#include "base/text.h"
#include "cli/common/options.h"
#include "relayout/inputs.h"
#include "relayout/merge.h"
#include "relayout/pass_options.h"
#include "report/table.h"

namespace relayout::cli {
namespace {

/// Numbers for all channels or for each.
std::vector<double> numbers_of(const std::string& option, const std::vector<std::string>& words) {
  std::vector<double> out;
  for (const std::string& word : words) out.push_back(parse_real(option, word));
  return out;
}

std::vector<double> deviations_of(const PixelWords& words, const std::string& option) {
  std::vector<double> out = numbers_of(option, words.deviation);
  const auto bad = std::ranges::find_if_not(out, [](double value) { return value > 0; });
  if (bad == out.end()) return out;
  fail(ErrorKind::usage, option + " " + escape(words.deviation[static_cast<std::size_t>(bad - out.begin())]) + ": must be more than 0");
}

/// --resize, and --mean and --std where pictures are meant.
ImageOptions image_options(const InputWords& words) {
  ImageOptions images;
  if (!words.resize.empty()) {
    const std::vector<int64_t> sizes = parse_dims("--resize", words.resize);
    if (sizes.size() > 2 || std::ranges::any_of(sizes, [](int64_t size) { return size < 1; })) {
      fail(ErrorKind::usage, "--resize " + escape(words.resize) + ": one size, or height and width");
    }
    images.resize = {sizes.front(), sizes.back()};
  }
  if (!words.pixels.byte_ports.empty()) return images;  // an input that takes bytes gets those of a picture as they are
  images.mean = numbers_of("--mean", words.pixels.mean);
  images.deviation = deviations_of(words.pixels, "--std");
  return images;
}

}  // namespace

std::vector<int64_t> parse_dims(const std::string& what, std::string_view text) {
  std::vector<int64_t> dims;
  if (text.empty()) return dims;
  for (const std::string& dim : split(text, ',')) dims.push_back(parse_integer(what, dim, 0));
  return dims;
}

std::map<std::string, int64_t> dims_of(const Assignments& words, const std::string& option) {
  std::map<std::string, int64_t> out;
  for (const auto& [name, value] : words) out[name] = parse_integer(option + " " + escape(name), value, 1);
  return out;
}

std::map<std::string, std::vector<int64_t>> shapes_of(const Assignments& words, const std::string& option) {
  std::map<std::string, std::vector<int64_t>> out;
  for (const auto& [name, value] : words) out[name] = parse_dims(option + " " + escape(name), value);
  return out;
}

void declare_input_options(OptionSet& options, InputWords& words, const InputForms& forms) {
  options.integer("--seed", "S", 0, words.seed, "draw inputs with this seed (default: 1)").only(forms.seed);
  options
      .assignments("--input", "NAME=FILE", words.files,
                   "read an input: .npy, .npz, .pb, raw bytes (.bin, .raw), an image, or numbers (sr=16000); verify also takes a folder, a "
                   "file per sample")
      .only(forms.files);
  options.assignments("--shape", "NAME=1,3,224,224", words.shapes, "set the dims of an input").only(forms.sizes);
  options.assignments("--dim", "N=2", words.dims, "set the size of a named dimension").only(forms.sizes);
  options.text("--resize", "H,W", words.resize, "resize an image where the input leaves its size open (one number: a square)")
      .only(forms.files)
      .needs({"--input"});
  if (!forms.bytes) return declare_mean_options(options, words.pixels, forms.files, {"--input"});
  declare_byte_options(options, words.pixels, *forms.bytes);
  declare_mean_options(options, words.pixels, forms.files | *forms.bytes, {"--input", "--input-u8"});
}

void declare_byte_options(OptionSet& options, PixelWords& words, Forms forms) {
  options
      .list("--input-u8", "NAME", words.byte_ports, "take images of input NAME as bytes, of which the model gets (byte / 255 − mean) / std")
      .only(forms);
  options.real("--scale", "X", words.scale, "multiply bytes by X (default: 1/255) before --mean").only(forms).needs({"--input-u8"});
  options
      .flag("--swap-channels", words.swaps_channels,
            "take the three channels in reverse: BGR for a model of RGB, whose --mean and --std stay")
      .only(forms)
      .needs({"--input-u8"});
}

void declare_mean_options(OptionSet& options, PixelWords& words, Forms forms, std::initializer_list<std::string_view> needed) {
  options.list("--mean", "X,…", words.mean, "subtract from an image's values 0 … 1, for all channels or for each", ',')
      .only(forms)
      .needs(needed);
  options.list("--std", "X,…", words.deviation, "divide an image's values after --mean", ',').only(forms).needs(needed);
}

void declare_byte_outputs(OptionSet& options, PixelWords& words, Forms forms) {
  constexpr std::string_view kNaming = "--output-u8";
  options
      .list("--output-u8", "NAME", words.byte_ports,
            "give images of output NAME as bytes: (the model's value · std + mean) · 255, limited to 0 … 255 and rounded")
      .only(forms);
  options.real("--output-scale", "X", words.scale, "divide by X (default: 1/255) after --output-mean").only(forms).needs({kNaming});
  options.list("--output-mean", "X,…", words.mean, "add to the values, for all channels or for each", ',').only(forms).needs({kNaming});
  options.list("--output-std", "X,…", words.deviation, "multiply the values before --output-mean", ',').only(forms).needs({kNaming});
  options.flag("--output-swap-channels", words.swaps_channels, "give the three channels in reverse: BGR of a model of RGB")
      .only(forms)
      .needs({kNaming});
}

ByteImages byte_images_of(const PixelWords& words, const std::string& prefix) {
  if (words.byte_ports.empty()) return {};
  ByteImages out{.names = words.byte_ports,
                 .mean = numbers_of(prefix + "mean", words.mean),
                 .deviation = deviations_of(words, prefix + "std"),
                 .swaps_channels = words.swaps_channels};
  if (words.scale) out.scale = *words.scale;
  if (!(out.scale > 0)) fail(ErrorKind::usage, prefix + "scale " + shortest(out.scale) + ": must be more than 0");
  return out;
}

std::vector<std::string> arguments_of(const ByteImages& bytes, const std::string& prefix, const std::string& naming) {
  std::vector<std::string> out;
  const auto add = [&](const char* word, const std::vector<double>& values) {
    const std::string text = joined(values, ",", [](double value) { return shortest(value); });
    if (!text.empty()) out.insert(out.end(), {prefix + word, text});
  };
  for (const std::string& name : bytes.names) out.insert(out.end(), {naming, shell_word(name)});
  add("mean", bytes.mean);
  add("std", bytes.deviation);
  if (bytes.scale != ByteImages().scale) add("scale", {bytes.scale});
  if (bytes.swaps_channels) out.push_back(prefix + "swap-channels");
  return out;
}

void read_inputs(const InputWords& words, InputOptions& options) {
  options.seed = static_cast<uint64_t>(words.seed);
  options.shapes = shapes_of(words.shapes);
  for (const auto& [name, file] : words.files) options.inputs[name] = file;
  options.images = image_options(words);
}

// How models are merged.
namespace {

std::vector<Combine> combinations_of(const std::vector<std::string>& words) {
  std::vector<Combine> out;
  for (const std::string& word : words) {
    const auto found = std::ranges::find(kCombinations, word, &decltype(kCombinations)::value_type::first);
    std::vector<std::string> known;
    for (const auto& [name, how] : kCombinations) known.emplace_back(name);
    if (found == kCombinations.end()) fail(ErrorKind::usage, "--combine " + quote(word) + did_you_mean(word, known, "; "));
    if (std::ranges::find(out, found->second) == out.end()) out.push_back(found->second);
  }
  return out;
}

}  // namespace

void declare_merge_words(OptionSet& options, MergeWords& words, Forms of_ensembles, Forms of_chains) {
  options
      .list("--combine", "HOW,…", words.combine,
            "what an ensemble makes of equal outputs: mean (default), sum, max, vote (of classes along axis 1), stack, variance, std; "
            "the first one keeps their names",
            ',')
      .only(of_ensembles);
  options
      .list("--map", "OUT=IN,…", words.map,
            "outputs of the first model of a chain, and the inputs of the second that read them (default: those of equal names)", ',')
      .only(of_chains);
}

void read_merge_words(const MergeWords& words, ModelMergeOptions& options) {
  if (!words.combine.empty()) options.combine = combinations_of(words.combine);
  for (const std::string& pair : words.map) {
    const std::size_t sign = pair.find('=');
    if (sign == std::string::npos) fail(ErrorKind::usage, "--map " + quote(pair) + ": write OUT=IN");
    options.map.emplace_back(pair.substr(0, sign), pair.substr(sign + 1));
  }
}

}  // namespace relayout::cli
