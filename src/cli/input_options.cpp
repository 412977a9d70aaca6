// The options for the inputs of a model, shared by all commands that run one: --seed, --input, --shape, --dim, --resize, --mean, --std, and
// their limits.
#include "cli/input_options.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/options.h"
#include "relayout/error.h"
#include "relayout/inputs.h"

namespace relayout::cli {
namespace {

/// --resize, --mean and --std.
ImageOptions image_options(const InputWords& words) {
  ImageOptions images;
  if (!words.resize.empty()) {
    const std::vector<int64_t> sizes = parse_dims("--resize", words.resize);
    if (sizes.size() > 2 || std::ranges::any_of(sizes, [](int64_t size) { return size < 1; })) {
      fail(ErrorKind::usage, "--resize " + escape(words.resize) + ": one size, or height and width");
    }
    images.resize = {sizes.front(), sizes.back()};
  }
  for (const std::string& word : words.mean) images.mean.push_back(parse_real("--mean", word));
  for (const std::string& word : words.deviation) {
    images.deviation.push_back(parse_real("--std", word));
    if (!(images.deviation.back() > 0)) fail(ErrorKind::usage, "--std " + escape(word) + ": must be more than 0");
  }
  return images;
}

}  // namespace

void declare_input_options(OptionSet& options, InputWords& words) {
  options.integer("--seed", "S", 0, words.seed, "of the generated inputs (default: 1)");
  options.assignments(
      "--input", "NAME=FILE", words.files,
      "contents of an input instead of generated ones: .npy, .npz, .pb, raw bytes (.bin, .raw), an image; in verify also a folder of them, "
      "one for each sample in name order");
  options.assignments("--shape", "NAME=1,3,224,224", words.shapes, "dims of an input");
  options.assignments("--dim", "N=2", words.dims, "size of a named dimension");
  options.text("--resize", "H,W", words.resize, "with an image: its size, where the input leaves it open (one number: a square)");
  options.list("--mean", "X,…", words.mean, "with an image: taken off its values 0 … 1, for all channels or for each", ',');
  options.list("--std", "X,…", words.deviation, "with an image: divides the values after --mean", ',');
  options.rules().needs({"--resize", "--mean", "--std"}, {"--input"});
}

void read_inputs(const InputWords& words, InputOptions& options) {
  options.seed = static_cast<uint64_t>(words.seed);
  options.shapes = shapes_of(words.shapes);
  for (const auto& [name, file] : words.files) options.inputs[name] = file;
  options.images = image_options(words);
}

}  // namespace relayout::cli
