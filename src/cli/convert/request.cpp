// Reads the words of a conversion's options, and names the result of each of its models.

#include "cli/common/input_options.h"
#include "cli/convert/convert.h"
#include "relayout/data_file.h"

namespace relayout::cli {
namespace {

template <class Meaning>
using WordFor = std::pair<std::string_view, Meaning>;

constexpr std::array<WordFor<WeightsLayout>, 3> kLayouts = {
    {{"channels-last", WeightsLayout::channels_last}, {"contiguous", WeightsLayout::contiguous}, {"keep", WeightsLayout::keep}}};
constexpr std::array<WordFor<DataType>, 4> kPrecisions = {
    {{"", DataType::undefined}, {"bf16", DataType::bfloat16}, {"fp16", DataType::float16}, {"fp32", DataType::float32}}};
constexpr std::array<WordFor<ExternalData>, 3> kExternalData = {
    {{"auto", ExternalData::automatic}, {"always", ExternalData::always}, {"never", ExternalData::never}}};

constexpr std::array<WordFor<FileFormat>, 5> kFormats = {{{"auto", FileFormat::automatic},
                                                          {"onnx", FileFormat::binary},
                                                          {"onnxtxt", FileFormat::onnx_text},
                                                          {"textproto", FileFormat::proto_text},
                                                          {"json", FileFormat::json}}};

/// The matching entry, or else the first one.
const auto& entry_of(const auto& words, auto wanted, auto member) {
  const auto found = std::ranges::find(words, wanted, member);
  return found != words.end() ? *found : words.front();
}

}  // namespace

WeightsLayout layout_of(std::string_view word) noexcept {
  return entry_of(kLayouts, word, &WordFor<WeightsLayout>::first).second;
}

std::string word_of(WeightsLayout layout) {
  return std::string(entry_of(kLayouts, layout, &WordFor<WeightsLayout>::second).first);
}

LayoutChoice choice_of(const std::string& word) {
  if (word == "always") return LayoutChoice::always;
  return word == "never" ? LayoutChoice::never : LayoutChoice::automatic;
}

DataType precision_of(std::string_view word) noexcept {
  return entry_of(kPrecisions, word, &WordFor<DataType>::first).second;
}

std::string word_of(DataType precision) {
  return std::string(entry_of(kPrecisions, precision, &WordFor<DataType>::second).first);
}

FileFormat format_of(std::string_view word) noexcept {
  return entry_of(kFormats, word, &WordFor<FileFormat>::first).second;
}

void read_io(std::string_view text, ConvertOptions& options) {
  constexpr std::string_view kWord = "nhwc";
  options.rewrite.export_io = !text.empty();
  if (text.empty()) return;
  if (!text.starts_with(kWord) || (text.size() > kWord.size() && text[kWord.size()] != ':')) {
    fail(ErrorKind::usage, "--io " + quote(text) + ": nhwc, or nhwc:NAME,NAME…");
  }
  for (const std::string& name : split(text.substr(std::min(text.size(), kWord.size() + 1)), ',')) {
    if (!name.empty()) options.rewrite.io_names.push_back(name);
  }
}

void read_external_data(std::string_view text, ConvertOptions& options) {
  const std::size_t colon = text.find(':');
  const std::string_view word = text.substr(0, colon);
  const auto known = std::ranges::find(kExternalData, word, &WordFor<ExternalData>::first);
  if (known == kExternalData.end()) {
    fail(ErrorKind::usage, "external data " + quote(text) + ": auto, always or never, each with :BYTES if wanted");
  }
  options.save.external_data = known->second;
  if (colon == std::string_view::npos) return;
  const std::string_view digits = text.substr(colon + 1);
  const auto threshold = whole_number(digits);
  if (!threshold || *threshold < 0) {
    fail(ErrorKind::usage, "external data " + quote(text) + ": " + quote(digits) + " is no number of bytes");
  }
  options.save.external_threshold = *threshold;
}

namespace {

/// "x:0=N"
std::map<std::pair<std::string, int64_t>, std::string> free_dims_of(const Assignments& words) {
  std::map<std::pair<std::string, int64_t>, std::string> out;
  for (const auto& [place, symbol] : words) {
    const std::size_t colon = place.rfind(':');
    const auto axis = colon == std::string::npos ? std::nullopt : whole_number(std::string_view(place).substr(colon + 1));
    if (!axis || symbol.empty())
      fail(ErrorKind::usage, "--free-dim " + quote(std::string(place).append("=").append(symbol)) + ": NAME:AXIS=N, as in x:0=N");
    out[{place.substr(0, colon), *axis}] = symbol;
  }
  return out;
}

/// "doc", "metadata", "metadata:GLOB"
Annotations annotations_of(const std::vector<std::string>& words) {
  constexpr std::string_view kMetadata = "metadata";
  Annotations out;
  for (const std::string& word : words) {
    if (word == "doc") {
      out.descriptions = true;
    } else if (word == kMetadata) {
      out.metadata.emplace_back("*");
    } else if (word.starts_with(std::string(kMetadata) + ":") && word.size() > kMetadata.size() + 1) {
      out.metadata.push_back(word.substr(kMetadata.size() + 1));
    } else {
      fail(ErrorKind::usage, "--strip " + quote(word) + ": doc, metadata or metadata:GLOB");
    }
  }
  return out;
}

}  // namespace

void read_words(ConvertRequest& request) {
  ConvertOptions& options = request.options;
  options.make_folders = !request.out_dir.empty();
  options.verification.dims = dims_of(request.dims);
  options.verification.shapes = shapes_of(request.shapes);
  options.rewrite.sizes = {options.verification.dims, options.verification.shapes};
  options.rewrite.dims = {dims_of(request.set_dims, "--set-dim"), shapes_of(request.set_shapes, "--set-shape"),
                          free_dims_of(request.free_dims)};
  options.rewrite.bytes = byte_images_of(request.pixels, "--");
  options.rewrite.output_bytes = byte_images_of(request.output_pixels, "--output-");
  options.rewrite.strip = annotations_of(request.strip);
  options.rewrite.renames = {request.renames.begin(), request.renames.end()};
  if (request.scramble >= 0) options.rewrite.scramble = static_cast<uint64_t>(request.scramble);
  options.rewrite.choice = choice_of(request.when);
  options.rewrite.layout = layout_of(request.layout);
  options.rewrite.precision = precision_of(request.precision);
  options.rewrite.export_transposes = !request.emit.empty();
  if (request.precision.empty()) options.rewrite.io_precision = false;  // of a configuration file, for other calls
  read_io(request.io, options);
  read_external_data(request.external_data, options);
  options.load.format = format_of(request.format);
  options.save.format = format_of(request.output_format);
}

// Names of results.
namespace {

namespace fs = std::filesystem;

/// Every model of a tree, converted into the same relative folder below --out-dir.
std::vector<ConvertJob> jobs_of_tree(const ConvertRequest& request) {
  std::error_code ignored;
  const fs::path tree = request.cases.tree, out = request.out_dir;
  if (fs::equivalent(tree, out, ignored)) {
    fail(ErrorKind::usage, "--suite and --out-dir are one folder: the next run would take results for originals");
  }
  const std::vector<std::string> names = find_models(tree, out);
  if (names.empty()) fail(ErrorKind::invalid, escape(tree.string()) + ": no .onnx file below it");
  std::vector<ConvertJob> jobs;
  std::set<std::string> outputs;
  for (const std::string& name : chosen_part(names, request.cases)) {
    const fs::path input = tree / name;
    const fs::path folder = (out / name).parent_path();
    jobs.push_back({input.string(), (folder / default_output(input).filename()).string()});
    if (!outputs.insert(jobs.back().output).second) fail(ErrorKind::usage, "two models would become " + quote(jobs.back().output));
  }
  return jobs;
}

}  // namespace

std::vector<ConvertJob> jobs_of(const ConvertRequest& request) {
  if (!request.out_dir.empty() && fs::exists(request.out_dir) && !fs::is_directory(request.out_dir)) {
    fail(ErrorKind::io, escape(request.out_dir) + ": is not a folder");
  }
  if (!request.cases.tree.empty()) return jobs_of_tree(request);
  std::vector<ConvertJob> jobs;
  std::set<std::string> outputs;
  for (const std::string& input : request.inputs) {
    ConvertJob job{input, request.output};
    if (job.output.empty()) job.output = request.options.save.in_place ? input : default_output(input).string();
    if (!request.out_dir.empty()) {
      job.output = (fs::path(request.out_dir) / fs::path(job.output).filename()).string();
    }
    if (!outputs.insert(job.output).second) fail(ErrorKind::usage, "two models would become " + quote(job.output));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

}  // namespace relayout::cli
