// Declares and reads the options for the inputs of a model, which all commands that run one share.
#include "cli/common/input_options.h"

#include "base/numbers.h"
#include "cli/common/options.h"
#include "relayout/inputs.h"
#include "report/table.h"

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
  const auto of_image = [&](OptionFacts& facts) { facts.only(forms.files).needs({"--input"}); };
  of_image(options.text("--resize", "H,W", words.resize, "resize an image where the input leaves its size open (one number: a square)"));
  of_image(options.list("--mean", "X,…", words.mean, "subtract from an image's values 0 … 1, for all channels or for each", ','));
  of_image(options.list("--std", "X,…", words.deviation, "divide an image's values after --mean", ','));
}

void read_inputs(const InputWords& words, InputOptions& options) {
  options.seed = static_cast<uint64_t>(words.seed);
  options.shapes = shapes_of(words.shapes);
  for (const auto& [name, file] : words.files) options.inputs[name] = file;
  options.images = image_options(words);
}

}  // namespace relayout::cli
