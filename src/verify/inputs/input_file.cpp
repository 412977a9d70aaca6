// Reads the files that a user gives for inputs: their formats and dims, and the sample that each belongs to.
#include "verify/inputs/input_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/numbers.h"
#include "base/positions.h"
#include "base/text.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/inputs.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/inputs/data_file.h"
#include "verify/inputs/image.h"
#include "verify/inputs/npy.h"
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

/// Dims of a raw file: as declared or given by options; at most one follows from the number of elements.
Dims raw_dims(const Port& port, const InputOptions& options, int64_t elements) {
  Dims dims = port.dims;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto said = options.dims.find(port.symbols[i]);
    if (dims[i] < 0 && said != options.dims.end()) dims[i] = said->second;
  }
  if (const auto shape = options.shapes.find(port.name); shape != options.shapes.end()) {
    dims = shape->second;
  } else if (!port.has_shape) {
    dims = {elements};
  }
  const auto free = std::ranges::find_if(dims, [](int64_t dim) { return dim < 0; });
  if (free != dims.end()) {
    *free = 1;
    if (std::ranges::any_of(dims, [](int64_t dim) { return dim < 0; })) {
      fail(ErrorKind::usage, "a raw file does not tell the free dims of " + type_text(port),
           "--shape " + escape(port.name) + "=… gives them");
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
  const Dims dims = raw_dims(port, options, held / size);
  if (held % size != 0 || element_count(dims) != held / size) {
    fail(ErrorKind::invalid, "has " + format_count(held) + " bytes, " + std::string(name_of(port.type)) + to_string(dims) + " needs " +
                                 format_count(element_count(dims) * size));
  }
  Tensor tensor(port.type, dims);
  if (held > 0) std::memcpy(tensor.bytes(), bytes.data(), bytes.size());
  return tensor;
}

}  // namespace

std::optional<ImageSizes> picture_sizes(const std::filesystem::path& path, const Port& port, const ImageOptions& options) {
  try {
    const std::string bytes = whole_data_file(*File::open(path));
    return image_sizes(std::as_bytes(std::span(bytes)), port, options);
  } catch (const Error&) {
    return std::nullopt;
  }
}

Datum read_input_file(const std::filesystem::path& path, const Port& port, const InputOptions& options) {
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
