// Deals the files that a user gives for inputs to the samples, in order and with equal numbers for all inputs.
#include "verify/inputs/given_inputs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
#include "verify/inputs/image.h"
#include "verify/inputs/input_file.h"
#include "verify/inputs/port.h"

namespace relayout {
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
