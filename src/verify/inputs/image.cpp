// Reads pictures as inputs, resized and normalized as asked, and refuses damaged ones.
#include "verify/inputs/image.h"

#include <climits>
#include <cmath>

#include "base/positions.h"
#include "base/text.h"
#include "ops/loops/dtypes.h"
#include "relayout/error.h"
#include "relayout/inputs.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/inputs/port.h"

// The decoders of stb (https://github.com/nothings/stb), without file access: bytes come from memory.
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_NO_STDIO
#define STBI_MAX_DIMENSIONS 32768
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wpedantic"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

namespace relayout {
namespace {

/// Rows of pixels of interleaved channels, 0 … 255.
struct Pixels {
  int64_t height = 0, width = 0, channels = 0;
  std::vector<double> values;
  [[nodiscard]] double at(int64_t y, int64_t x, int64_t c) const { return values[as_size((y * width + x) * channels + c)]; }
};

/// Axes of an input by their meaning; -1: none.
struct Axes {
  int64_t batch = -1, channel = -1, height = -1, width = -1;
};

bool may_be_channels(int64_t dim) {
  return dim == 1 || dim == 3 || dim == 4;
}

Axes axes_of(const Port& port) {
  const auto rank = static_cast<int64_t>(port.dims.size());
  if (!port.has_shape || (rank != 3 && rank != 4)) {
    fail(ErrorKind::invalid, "an image needs an input of 3 or 4 dims, this one is " + type_text(port));
  }
  const int64_t first = rank - 3;
  const auto dim = [&](int64_t axis) { return port.dims[as_size(axis)]; };
  const int64_t batch = rank == 4 ? 0 : -1;
  if (may_be_channels(dim(first)) || (dim(first) < 0 && !may_be_channels(dim(rank - 1)))) return {batch, first, first + 1, first + 2};
  if (may_be_channels(dim(rank - 1))) return {batch, rank - 1, first, first + 1};
  fail(ErrorKind::invalid, "an image has 1, 3 or 4 channels, this input is " + type_text(port));
}

/// Most values that one byte of a file can represent: LZW (GIF) writes strings of up to 4,096 in 12 bits, deflate (PNG) 258 in 2 bits.
constexpr int64_t kDensest = 4096;

/// Bytes of a file for the decoders of stb. They continue with zeros after the end of the file; the source records that they did.
class ByteSource {
 public:
  explicit ByteSource(std::span<const std::byte> file) : rest_(file) {}
  int read(char* to, int size) {
    was_read_beyond_ = was_read_beyond_ || rest_.empty();
    const std::size_t count = std::min(as_size(size), rest_.size());
    if (count > 0) std::memcpy(to, rest_.data(), count);
    rest_ = rest_.subspan(count);
    return static_cast<int>(count);
  }
  void skip(int size) { rest_ = rest_.subspan(std::min(as_size(size), rest_.size())); }
  [[nodiscard]] bool is_at_end() const { return rest_.empty(); }
  [[nodiscard]] bool was_read_beyond() const { return was_read_beyond_; }

 private:
  std::span<const std::byte> rest_;
  bool was_read_beyond_ = false;
};

constexpr stbi_io_callbacks kCallbacks = {
    [](void* source, char* to, int size) { return static_cast<ByteSource*>(source)->read(to, size); },
    [](void* source, int size) { static_cast<ByteSource*>(source)->skip(size); },
    [](void* source) { return static_cast<ByteSource*>(source)->is_at_end() ? 1 : 0; },
};

[[noreturn]] void refuse_image(const std::string& why) {
  fail(ErrorKind::invalid, "not an image that can be read: " + why);
}

/// Height and width from the header.
std::pair<int, int> read_size(std::span<const std::byte> file) {
  if (file.size() > INT_MAX) fail(ErrorKind::unsupported, "images of 2 GiB and more are not read");
  const auto size = static_cast<int>(file.size());
  int width = 0, height = 0, held = 0;
  if (stbi_info_from_memory(reinterpret_cast<const stbi_uc*>(file.data()), size, &width, &height, &held) == 0) {
    refuse_image(stbi_failure_reason());
  }
  // A header alone must not cost memory: some decoders fill in missing data.
  if (int64_t{width} * height / kDensest > size) {
    refuse_image(std::to_string(size) + " bytes cannot hold " + std::to_string(width) + " x " + std::to_string(height) + " pixels");
  }
  return {height, width};
}

Pixels decode(std::span<const std::byte> file, int64_t channels) {
  auto [height, width] = read_size(file);
  int held = 0;
  ByteSource source(file);
  const std::unique_ptr<stbi_uc, void (*)(void*)> bytes(
      stbi_load_from_callbacks(&kCallbacks, &source, &width, &height, &held, static_cast<int>(channels)), stbi_image_free);
  if (!bytes) refuse_image(stbi_failure_reason());
  if (source.was_read_beyond()) refuse_image("the file ends before the image does");
  Pixels pixels{height, width, channels, {}};
  pixels.values.assign(bytes.get(), bytes.get() + static_cast<std::ptrdiff_t>(pixels.height * pixels.width * channels));
  return pixels;
}

/// Bilinear; if it shrinks, every pixel of the source counts (a triangle that reaches one step to each side).
Pixels resized(const Pixels& from, int64_t height, int64_t width) {
  if (from.height == height && from.width == width) return from;
  struct Weight {
    int64_t first;
    std::vector<double> of;
  };
  const auto weights = [](int64_t in, int64_t out) {
    std::vector<Weight> all;
    const double step = static_cast<double>(in) / static_cast<double>(out), reach = std::max(step, 1.0);
    for (int64_t i = 0; i < out; ++i) {
      const double center = (static_cast<double>(i) + 0.5) * step;
      const auto first = std::max<int64_t>(0, static_cast<int64_t>(std::floor(center - reach)));
      const auto last = std::min<int64_t>(in - 1, static_cast<int64_t>(std::ceil(center + reach)));
      Weight weight{first, {}};
      double sum = 0;
      for (int64_t k = first; k <= last; ++k) {
        weight.of.push_back(std::max(0.0, 1 - std::fabs(static_cast<double>(k) + 0.5 - center) / reach));
        sum += weight.of.back();
      }
      for (double& w : weight.of) w /= sum;
      all.push_back(std::move(weight));
    }
    return all;
  };
  const auto sum_of = [](const Weight& weight, const auto& pixel_at) {
    double sum = 0;
    for (std::size_t k = 0; k < weight.of.size(); ++k) sum += weight.of[k] * pixel_at(weight.first + static_cast<int64_t>(k));
    return sum;
  };
  Pixels wide{from.height, width, from.channels, {}};
  const auto across = weights(from.width, width), down = weights(from.height, height);
  for (int64_t y = 0; y < from.height; ++y) {
    for (const Weight& weight : across) {
      for (int64_t c = 0; c < from.channels; ++c) wide.values.push_back(sum_of(weight, [&](int64_t x) { return from.at(y, x, c); }));
    }
  }
  Pixels out{height, width, from.channels, {}};
  for (const Weight& weight : down) {
    for (int64_t x = 0; x < width; ++x) {
      for (int64_t c = 0; c < from.channels; ++c) out.values.push_back(sum_of(weight, [&](int64_t y) { return wide.at(y, x, c); }));
    }
  }
  return out;
}

/// Height and width to which an image is resized: the input's, or else those of --resize, or its own.
std::pair<int64_t, int64_t> target_size(const Axes& axes, const Port& port, const ImageOptions& options, std::pair<int, int> held) {
  const auto side = [&](int64_t axis, std::size_t of_resize, int of_image) -> int64_t {
    if (port.dims[as_size(axis)] > 0) return port.dims[as_size(axis)];
    return options.resize ? options.resize->at(of_resize) : of_image;
  };
  return {side(axes.height, 0, held.first), side(axes.width, 1, held.second)};
}

double of_channel(const std::vector<double>& values, int64_t channel, double otherwise) {
  if (values.empty()) return otherwise;
  return values.size() == 1 ? values.front() : values[as_size(channel)];
}

void check_channels(const char* option, const std::vector<double>& values, int64_t channels) {
  if (values.empty() || values.size() == 1 || static_cast<int64_t>(values.size()) == channels) return;
  fail(ErrorKind::usage,
       std::string(option) + " has " + std::to_string(values.size()) + " numbers for " + std::to_string(channels) + " channels");
}

}  // namespace

bool is_image_name(const std::filesystem::path& path) {
  constexpr auto kNames = std::to_array<std::string_view>({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tga", ".ppm", ".pgm", ".psd"});
  return std::ranges::find(kNames, ascii_lower(path.extension().string())) != kNames.end();
}

void check_image_options(std::span<const Port> inputs, const ImageOptions& options) {
  const bool scales = !options.mean.empty() || !options.deviation.empty();
  const std::string scaling = options.mean.empty() ? "--std" : "--mean";
  if (!options.resize && !scales) return;
  if (inputs.empty()) {
    fail(ErrorKind::usage, (options.resize ? "--resize" : scaling) + " has no effect: no --input is an image, by its extension");
  }
  const auto leaves_size_open = [](const Port& port) {
    const Axes axes = axes_of(port);
    return port.dims[as_size(axes.height)] < 0 || port.dims[as_size(axes.width)] < 0;
  };
  if (options.resize && std::ranges::none_of(inputs, leaves_size_open)) {
    fail(ErrorKind::usage, "--resize has no effect: the model fixes height and width of its images");
  }
  const auto takes_reals = [](const Port& port) { return port.type != DataType::undefined && traits(port.type).is_float; };
  if (scales && std::ranges::none_of(inputs, takes_reals)) {
    fail(ErrorKind::usage, scaling + " has no effect on images that are read as integers");
  }
}

ImageSizes image_sizes(std::span<const std::byte> file, const Port& port, const ImageOptions& options) {
  const auto held = read_size(file);
  const auto [height, width] = target_size(axes_of(port), port, options, held);
  return {held.first, held.second, height, width};
}

Tensor image_tensor(std::span<const std::byte> file, const Port& port, const ImageOptions& options) {
  const Axes axes = axes_of(port);
  const auto declared = [&](int64_t axis) { return axis < 0 ? int64_t{-1} : port.dims[as_size(axis)]; };
  const int64_t channels = declared(axes.channel) < 0 ? 3 : declared(axes.channel);
  check_channels("--mean", options.mean, channels);
  check_channels("--std", options.deviation, channels);
  if (!kNumericTypes.has(port.type)) fail(ErrorKind::invalid, "an image needs an input of numbers, this one is " + type_text(port));
  const auto [height, width] = target_size(axes, port, options, read_size(file));
  const Pixels pixels = resized(decode(file, channels), height, width);

  Dims dims(port.dims.size());
  const int64_t batch = std::max<int64_t>(declared(axes.batch), 1);
  if (axes.batch >= 0) dims[as_size(axes.batch)] = batch;
  dims[as_size(axes.channel)] = channels;
  dims[as_size(axes.height)] = height;
  dims[as_size(axes.width)] = width;
  Tensor tensor(port.type, dims);
  const bool real = traits(port.type).is_float;
  std::vector<double> values;
  values.reserve(as_size(tensor.element_count()));
  // Row-major over the dims, whatever their meaning.
  Dims index(dims.size(), 0);
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    const auto at = [&](int64_t axis) { return index[as_size(axis)]; };
    const double byte = pixels.at(at(axes.height), at(axes.width), at(axes.channel));
    const double mean = of_channel(options.mean, at(axes.channel), 0), deviation = of_channel(options.deviation, at(axes.channel), 1);
    values.push_back(real ? (byte / 255 - mean) / deviation : std::round(byte));
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      if (++index[axis] < dims[axis]) break;
      index[axis] = 0;
    }
  }
  store<double>(port.type, tensor.bytes(), 1, tensor.element_count(), values.data());
  return tensor;
}

}  // namespace relayout
