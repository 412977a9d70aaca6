// Tells the format of a given file by its name, and the dims of numbers that state none.
#include "verify/inputs/input_file.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/numbers.h"
#include "base/text.h"
#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/inputs.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/inputs/data_file.h"
#include "verify/inputs/image.h"
#include "verify/inputs/port.h"
#include "verify/inputs/zip.h"

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

}  // namespace relayout
