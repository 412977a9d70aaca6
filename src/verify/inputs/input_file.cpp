// Reads the files that a user gives for inputs: their formats and dims, and the sample that each belongs to.
#include "verify/inputs/input_file.h"

#include "base/file.h"
#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "ops/loops/dtypes.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/inputs.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/inputs/data_file.h"
#include "verify/inputs/image.h"
#include "verify/inputs/port.h"

namespace relayout {
namespace {

Tensor from_npz(const File& file, const Port& port) {
  const std::vector<ZipEntry> entries = zip_directory(file);
  const auto named = std::ranges::find_if(entries, [&](const ZipEntry& entry) { return entry.name == port.name + ".npy"; });
  if (named == entries.end() && entries.size() != 1) {
    fail(ErrorKind::invalid, "has " + std::to_string(entries.size()) + " arrays, none of them " + quote(port.name));
  }
  const std::string bytes = zip_read(file, named == entries.end() ? entries.front() : *named);
  return parse_npy(std::as_bytes(std::span(bytes)));
}

/// Dims as declared or given by options, -1 where they are free.
Dims stated_dims(const Port& port, const InputOptions& options) {
  if (const auto shape = options.shapes.find(port.name); shape != options.shapes.end()) return shape->second;
  Dims dims = port.dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto said = options.dims.find(port.symbols[i]);
    if (dims[i] < 0 && said != options.dims.end()) dims[i] = said->second;
  }
  return dims;
}

/// Dims of elements without any: at most one that is free follows from their number. `what`: where they are.
Dims dims_of_elements(const Port& port, const InputOptions& options, int64_t elements, const std::string& what) {
  if (!port.has_shape && !options.shapes.contains(port.name)) return {elements};
  Dims dims = stated_dims(port, options);
  const auto free = std::ranges::find_if(dims, [](int64_t dim) { return dim < 0; });
  if (free != dims.end()) {
    *free = 1;
    if (std::ranges::any_of(dims, [](int64_t dim) { return dim < 0; })) {
      fail(ErrorKind::usage, what + " not tell the free dims of " + type_text(port), "--shape " + escape(port.name) + "=… gives them");
    }
    const int64_t others = element_count(dims);
    if (others > 0) *free = elements / others;
  }
  return dims;
}

Tensor from_raw(const File& file, const Port& port, const InputOptions& options) {
  const auto size = static_cast<int64_t>(memory_size(port.type));
  if (size == 0 || traits(port.type).bits < 8) fail(ErrorKind::unsupported, "a raw file cannot hold " + type_text(port));
  const std::string bytes = whole_data_file(file);
  const auto held = static_cast<int64_t>(bytes.size());
  const Dims dims = dims_of_elements(port, options, held / size, "a raw file does");
  if (held % size != 0 || element_count(dims) != held / size) {
    fail(ErrorKind::invalid, "has " + format_count(held) + " bytes, " + std::string(name_of(port.type)) + to_string(dims) + " needs " +
                                 format_count(element_count(dims) * size));
  }
  Tensor tensor(port.type, dims);
  if (held > 0) std::memcpy(tensor.bytes(), bytes.data(), bytes.size());
  return tensor;
}

/// The numbers of "0.5" or "640,480"; empty for any other text.
std::vector<std::string> numbers_in(const std::string& text) {
  std::vector<std::string> out(1);
  for (const char c : text) c == ',' ? void(out.emplace_back()) : void(out.back() += c);
  for (const std::string& word : out) {
    double value = 0;
    const char* const end = word.data() + word.size();
    const auto read = std::from_chars(word.data(), end, value);
    if (read.ec != std::errc() || read.ptr != end) return {};
  }
  return out;
}

/// Writes a number as an element. Error{usage} for one that the type does not have.
void store_number(DataType type, const std::string& word, const std::string& input, std::byte* to) {
  if (traits(type).is_float) {
    double value = 0;
    (void)std::from_chars(word.data(), word.data() + word.size(), value);
    return store_one(type, to, value);
  }
  const auto whole = whole_number(word);
  if (whole) store_one(type, to, *whole);
  const bool is_bit = type != DataType::boolean || (whole && (*whole == 0 || *whole == 1));
  if (!whole || !is_bit || load_one<int64_t>(type, to) != *whole) {
    fail(ErrorKind::usage, "--input " + escape(input + "=" + word) + ": no number of type " + std::string(name_of(type)));
  }
}

/// One number fills an input, free dims of which are 1; several are its elements.
Tensor from_numbers(const std::vector<std::string>& words, const Port& port, const InputOptions& options) {
  if (!(kNumericTypes | kBooleanTypes).has(port.type)) fail(ErrorKind::unsupported, "numbers are no " + type_text(port));
  const bool is_one = words.size() == 1;
  Dims dims = is_one ? stated_dims(port, options) : dims_of_elements(port, options, static_cast<int64_t>(words.size()), "numbers do");
  for (int64_t& dim : dims) dim = dim < 0 ? 1 : dim;
  Tensor tensor(port.type, dims);
  const auto count = as_size(tensor.element_count());
  if (!is_one && count != words.size()) {
    fail(ErrorKind::invalid,
         counted(static_cast<int64_t>(words.size()), "number") + " for " + std::string(name_of(port.type)) + to_string(dims));
  }
  for (std::size_t i = 0; i < count; ++i) {
    store_number(port.type, words[is_one ? 0 : i], port.name, tensor.bytes() + i * memory_size(port.type));
  }
  return tensor;
}

/// Sizes of a picture before it is read as an input; nullopt if reading it will fail.
std::optional<ImageSizes> picture_sizes(const std::filesystem::path& path, const Port& port, const ImageOptions& options) {
  try {
    const std::string bytes = whole_data_file(*File::open(path));
    return image_sizes(std::as_bytes(std::span(bytes)), port, options);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

Datum read_input_file(const std::filesystem::path& path, const Port& port, const InputOptions& options) {
  std::error_code ignored;
  if (port.kind == Datum::Kind::tensor && !std::filesystem::exists(path, ignored)) {
    const std::vector<std::string> numbers = numbers_in(path.string());
    if (!numbers.empty()) return named("--input " + escape(port.name), [&] { return from_numbers(numbers, port, options); });
  }
  const std::string extension = path.extension().string();
  const bool is_raw = extension == ".bin" || extension == ".raw";
  const bool is_tensor = port.kind == Datum::Kind::tensor;
  Datum datum;
  if (is_tensor && (is_raw || extension == ".npz" || is_image_name(path))) {
    datum = named(path.string(), [&] {
      const auto file = File::open(path);
      if (is_raw) return from_raw(*file, port, options);
      if (extension == ".npz") return from_npz(*file, port);
      const std::string bytes = whole_data_file(*file);
      return image_tensor(std::as_bytes(std::span(bytes)), port, options.images);
    });
  } else {
    datum = read_data_file(path, port.kind);
  }
  check_fits(datum, port, escape(path.string()) + ": input " + quote(port.name));
  return datum;
}

// Files dealt to samples.
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code ignored;
  for (const fs::directory_entry& entry : visible_entries(folder)) {
    if (entry.is_regular_file(ignored)) out.push_back(entry.path());
  }
  if (out.empty()) fail(ErrorKind::usage, escape(folder.string()) + ": no file in this folder");
  return out;
}

/// "input 'image': pictures are resized to 224 x 224, bilinear (cat.png is 640 x 480)"; empty if the first ones fit. Files that cannot be
/// read are refused when they are used.
std::string resizing_of(const Port& port, const std::vector<fs::path>& pictures, const ImageOptions& options) {
  constexpr std::size_t kLookedAt = 16;
  const auto size = [](int64_t width, int64_t height) { return std::to_string(width) + " x " + std::to_string(height); };
  for (const fs::path& picture : std::span(pictures).first(std::min(kLookedAt, pictures.size()))) {
    const auto sizes = picture_sizes(picture, port, options);
    if (!sizes || !sizes->is_resized()) continue;
    return "input " + quote(port.name) + ": " + (pictures.size() == 1 ? "the picture is" : "pictures are") + " resized to " +
           size(sizes->new_width, sizes->new_height) + ", bilinear (" + escape(picture.filename().string()) + " is " +
           size(sizes->width, sizes->height) + ")";
  }
  return {};
}

}  // namespace

GivenInputs::GivenInputs(const std::vector<Port>& ports, const InputOptions& options) : options_(options) {
  const std::string* first = nullptr;
  std::vector<Port> images;
  for (const Port& port : ports) {
    const auto found = options.inputs.find(port.name);
    if (found == options.inputs.end()) continue;
    std::error_code ignored;
    std::vector<fs::path> pictures;
    const auto add_image = [&](const fs::path& file) {
      if (port.kind != Datum::Kind::tensor || !is_image_name(file)) return;
      images.push_back(port);
      pictures.push_back(file);
    };
    const auto note_resizing = [&] {
      const std::string text = resizing_of(port, pictures, options.images);
      if (!text.empty()) remarks_.push_back(text);
    };
    if (!fs::is_directory(found->second, ignored)) {
      add_image(found->second);
      files_.emplace(port.name, read_input_file(found->second, port, options));
      note_resizing();
      continue;
    }
    const auto& files = folders_.emplace(port.name, files_of(found->second)).first->second;
    std::ranges::for_each(files, add_image);
    note_resizing();
    const int count = static_cast<int>(files.size());
    if (first != nullptr && count != count_) {
      fail(ErrorKind::usage, "--input " + escape(port.name) + " has " + counted(count, "file") + ", --input " + escape(*first) + " has " +
                                 format_count(count_) + ": a sample takes one of each");
    }
    first = &port.name;
    count_ = count;
  }
  check_image_options(images, options.images);
}

std::optional<Datum> GivenInputs::find(const Port& port, int sample) const {
  if (const auto file = files_.find(port.name); file != files_.end()) return file->second;
  const auto folder = folders_.find(port.name);
  if (folder == folders_.end()) return std::nullopt;
  return read_input_file(folder->second[as_size(sample % count_)], port, options_);
}

std::map<std::string, fs::path> GivenInputs::paths(int sample) const {
  std::map<std::string, fs::path> out;
  for (const auto& [name, files] : folders_) out.emplace(name, files[as_size(sample % count_)]);
  return out;
}

}  // namespace relayout
