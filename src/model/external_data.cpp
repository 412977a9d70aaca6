// Finds the payload of a tensor in a data file (location, offset, length of external data), and refuses absolute paths and those that lead
// out of the model's folder.

#include <onnx/onnx_pb.h>

#include <charconv>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "model/bytes.h"
#include "model/origin.h"
#include "relayout/error.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;

/// The entries of external_data that locate the payload; `checksum` and unknown entries are preserved but not read.
struct Location {
  std::string path;
  int64_t offset = 0;
  std::optional<int64_t> length;
};

int64_t parse_number(const std::string& key, const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) fail(ErrorKind::invalid, "external " + key + " " + quote(text) + " is beyond 2^63");
  if (error != std::errc() || end != text.data() + text.size() || text.starts_with('-')) {
    fail(ErrorKind::invalid, "external " + key + " " + quote(text) + " is not a number of bytes");
  }
  return value;
}

Location parse_location(const onnx::TensorProto& tensor) {
  Location location;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") location.path = entry.value();
    if (entry.key() == "offset") location.offset = parse_number("offset", entry.value());
    if (entry.key() == "length") location.length = parse_number("length", entry.value());
  }
  return location;
}

void check_location(const std::string& location) {
  const auto refuse = [&](const std::string& why) { fail(ErrorKind::invalid, "external location " + quote(location) + " " + why); };
  if (location.empty()) refuse("is empty");
  if (location.find('\0') != std::string::npos) refuse("contains a NUL character");
  const fs::path path(location);
  if (path.is_absolute()) refuse("is not relative to the model");
  for (const fs::path& part : path) {
    if (part == "..") refuse("leads out of the model's folder");
  }
}

bool is_inside(const fs::path& path, const fs::path& directory) {
  const fs::path relative = path.lexically_relative(directory);
  return !relative.empty() && *relative.begin() != "..";
}

/// Whether symbolic links keep `path` within the model's folder, or within the folder that the model's own link resolves to: hub
/// caches link a model and its data into one store.
bool stays_with_model(const fs::path& path, const ModelOrigin& origin) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) return true;  // opening it will report the error
  const fs::path folder = fs::canonical(origin.directory, error);
  if (!error && is_inside(real, folder)) return true;
  if (origin.source->path().empty()) return false;
  const fs::path model = fs::canonical(origin.source->path(), error);
  return !error && is_inside(real, model.parent_path());
}

}  // namespace

bool is_external(const onnx::TensorProto& tensor) {
  return tensor.data_location() == onnx::TensorProto::EXTERNAL;
}

std::shared_ptr<const File> ModelOrigin::external_file(const std::string& location) const {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const File>& data_file = external_files_[location];
  if (!data_file) {
    check_location(location);
    const fs::path path = directory / location;
    if (!stays_with_model(path, *this)) {
      fail(ErrorKind::invalid, "external location " + quote(location) + " leads out of the model's folder through a symbolic link");
    }
    data_file = File::open(path);
  }
  return data_file;
}

std::unordered_map<std::string, std::shared_ptr<const File>> ModelOrigin::external_files() const {
  const std::lock_guard lock(mutex_);
  return external_files_;
}

Bytes external_bytes(const ModelOrigin& origin, const onnx::TensorProto& tensor, int64_t expected_size) {
  const Location location = parse_location(tensor);
  if (location.length && *location.length != expected_size) {
    fail(ErrorKind::invalid, "external length " + std::to_string(*location.length) + " is not the " + std::to_string(expected_size) +
                                 " bytes of its dims and type");
  }
  std::shared_ptr<const File> file = origin.external_file(location.path);
  if (expected_size > file->size() || location.offset > file->size() - expected_size) {
    fail(ErrorKind::invalid, std::to_string(expected_size) + " bytes at offset " + std::to_string(location.offset) +
                                 " are beyond the end of " + quote(location.path) + " (" + std::to_string(file->size()) + " bytes)");
  }
  return Bytes::of_file(std::move(file), location.offset, expected_size);
}

}  // namespace relayout
