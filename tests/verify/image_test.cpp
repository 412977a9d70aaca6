#include "verify/inputs/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <initializer_list>

#include "relayout/error.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "tensors.h"
#include "verify/inputs/port.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

Port port_of(DataType type, Dims dims) {
  Port port;
  port.name = "x";
  port.type = type;
  port.has_shape = true;
  port.symbols.assign(dims.size(), "");
  port.dims = std::move(dims);
  return port;
}

std::vector<double> read(const std::string& file, DataType type, Dims dims, const ImageOptions& options = {}) {
  const Port port = port_of(type, std::move(dims));
  return values_of(image_tensor(std::span(reinterpret_cast<const std::byte*>(file.data()), file.size()), port, options));
}

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int value : values) out += static_cast<char>(value);
  return out;
}

std::string big_endian(uint64_t value, int size) {
  std::string out;
  for (int i = size - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * static_cast<unsigned>(i)) & 0xFFU);
  return out;
}

std::string chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  return big_endian(data.size(), 4) + body +
         big_endian(crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())), 4);
}

/// A PNG (ISO/IEC 15948) around filtered rows; `colour` 0: grey, 2: RGB, 3: palette, 6: RGBA.
std::string png(uint32_t width, uint32_t height, int depth, int colour, const std::string& rows, const std::string& palette = "") {
  std::string packed(compressBound(rows.size()), '\0');
  uLongf size = packed.size();
  compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()), rows.size());
  packed.resize(size);
  std::string out = "\x89PNG\r\n\x1A\n" + chunk("IHDR", big_endian(width, 4) + big_endian(height, 4) + bytes({depth, colour, 0, 0, 0}));
  if (!palette.empty()) out += chunk("PLTE", palette);
  return out + chunk("IDAT", packed) + chunk("IEND", "");
}

int paeth(int left, int above, int corner) {
  const int guess = left + above - corner;
  const int to_left = std::abs(guess - left), to_above = std::abs(guess - above), to_corner = std::abs(guess - corner);
  if (to_left <= to_above && to_left <= to_corner) return left;
  return to_above <= to_corner ? above : corner;
}

/// Rows of interleaved pixels, which use the five filters in turn.
std::string filtered(const std::vector<int>& pixels, int width, int channels) {
  const int stride = width * channels;
  std::string out;
  for (int y = 0; y * stride < static_cast<int>(pixels.size()); ++y) {
    const int filter = y % 5;
    out += static_cast<char>(filter);
    for (int i = 0; i < stride; ++i) {
      const auto at = [&](int row, int column) {
        return row < 0 || column < 0
                   ? 0
                   : pixels.at(static_cast<std::size_t>(row) * static_cast<std::size_t>(stride) + static_cast<std::size_t>(column));
      };
      const int left = at(y, i - channels), above = at(y - 1, i), corner = i < channels ? 0 : at(y - 1, i - channels);
      const int guesses[] = {0, left, above, (left + above) / 2, paeth(left, above, corner)};
      out += static_cast<char>(at(y, i) - guesses[filter]);
    }
  }
  return out;
}

TEST(Image, PngOfEveryFilter) {
  constexpr int kWidth = 4, kHeight = 6;  // every filter once, and one more line
  std::vector<int> pixels;
  for (int i = 0; i < kWidth * kHeight * 3; ++i) pixels.push_back(i * i * 7 % 256);
  const std::string file = png(kWidth, kHeight, 8, 2, filtered(pixels, kWidth, 3));
  EXPECT_THAT(read(file, DataType::uint8, {1, kHeight, kWidth, 3}), ElementsAreArray(pixels));
  const std::vector<double> planes = read(file, DataType::float32, {1, 3, kHeight, kWidth});
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const std::size_t pixel = i / 3, channel = i % 3;
    EXPECT_FLOAT_EQ(static_cast<float>(planes[channel * kWidth * kHeight + pixel]), static_cast<float>(pixels[i]) / 255.0F);
  }
}

TEST(Image, PngOfOtherColours) {
  // Two rows each, so that no axis looks like channels. Black and white of one bit each, eight to the byte: 1010 0000.
  const std::string bits = png(4, 2, 1, 0, bytes({0, 0xA0, 0, 0x10}));
  EXPECT_THAT(read(bits, DataType::uint8, {1, 1, 2, 4}), ElementsAre(255, 0, 255, 0, 0, 0, 0, 255));
  EXPECT_THAT(read(png(1, 2, 1, 0, bytes({0, 0x80, 0, 0})), DataType::uint8, {1, 2, 1, 3}), ElementsAre(255, 255, 255, 0, 0, 0));
  const std::string palette = png(1, 2, 8, 3, bytes({0, 1, 0, 0}), bytes({1, 2, 3, 250, 128, 0}));
  EXPECT_THAT(read(palette, DataType::uint8, {1, 2, 1, 3}), ElementsAre(250, 128, 0, 1, 2, 3));
  const std::string with_alpha = png(1, 2, 8, 6, bytes({0, 9, 8, 7, 100, 0, 6, 5, 4, 255}));
  EXPECT_THAT(read(with_alpha, DataType::uint8, {1, 2, 1, 4}), ElementsAre(9, 8, 7, 100, 6, 5, 4, 255));
  EXPECT_THAT(read(with_alpha, DataType::uint8, {1, 2, 1, 3}), ElementsAre(9, 8, 7, 6, 5, 4)) << "alpha is left out";
  const std::string deep = png(1, 2, 16, 2, bytes({0, 0xAB, 0xCD, 0x12, 0x34, 0xFF, 0xFF, 0, 1, 0, 2, 0, 3, 0}));
  EXPECT_THAT(read(deep, DataType::uint8, {1, 2, 1, 3}), ElementsAre(0xAB, 0x12, 0xFF, 1, 2, 3)) << "the upper eight of sixteen bits";
}

std::string marker(int code, const std::string& data) {
  return bytes({0xFF, code}) + big_endian(data.size() + 2, 2) + data;
}

/// A baseline JPEG (ITU-T T.81) of blocks that contain only their mean. Coefficients are in steps of 8: means that differ by 1 are 1 apart
/// in the samples. Sizes of differences, 1 to 7 bits, have codes of three bits.
class FlatJpeg {
 public:
  explicit FlatJpeg(int components) : components_(components), last_(static_cast<std::size_t>(components), 0) {}

  /// Adds the next block, of the next component in turn.
  void block(int value) {
    const std::size_t component = blocks_++ % last_.size();
    const int difference = value - 128 - last_[component];
    last_[component] = value - 128;
    int size = 1;
    while (std::abs(difference) >= 1 << size) ++size;
    put(size - 1, 3);
    put(difference < 0 ? difference + (1 << size) - 1 : difference, size);
    put(0, 1);  // end of block
  }

  [[nodiscard]] std::string file(int width, int height) const {
    std::string table(64, '\1');
    table[0] = 8;
    std::string frame = bytes({8}) + big_endian(static_cast<uint64_t>(height), 2) + big_endian(static_cast<uint64_t>(width), 2);
    std::string scan = bytes({components_});
    frame += bytes({components_});
    for (int i = 1; i <= components_; ++i) {
      frame += bytes({i, 0x11, 0});
      scan += bytes({i, 0});
    }
    const auto huffman = [](int kind, std::vector<int> counts, const std::string& symbols) {
      counts.resize(16);
      std::string out = bytes({kind});
      for (const int count : counts) out += static_cast<char>(count);
      return marker(0xC4, out + symbols);
    };
    std::string coded;
    std::string padded = bits_;
    while (padded.size() % 8 != 0) padded += '1';
    for (std::size_t i = 0; i < padded.size(); i += 8) {
      coded += static_cast<char>(std::stoi(padded.substr(i, 8), nullptr, 2));
      if (coded.back() == '\xFF') coded += '\0';
    }
    return bytes({0xFF, 0xD8}) + marker(0xDB, bytes({0}) + table) + marker(0xC0, frame) +
           huffman(0x00, {0, 0, 7}, bytes({1, 2, 3, 4, 5, 6, 7})) + huffman(0x10, {1}, bytes({0})) +
           marker(0xDA, scan + bytes({0, 63, 0})) + coded + bytes({0xFF, 0xD9});
  }

 private:
  void put(int value, int size) {
    for (int bit = size - 1; bit >= 0; --bit) bits_ += (value >> bit & 1) != 0 ? '1' : '0';
  }

  int components_;
  std::vector<int> last_;
  std::size_t blocks_ = 0;
  std::string bits_;
};

TEST(Image, JpegGrey) {
  FlatJpeg jpeg(1);
  jpeg.block(178);
  jpeg.block(78);
  const std::vector<double> values = read(jpeg.file(16, 8), DataType::uint8, {1, 1, 8, 16});
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], i % 16 < 8 ? 178 : 78) << i;
}

TEST(Image, JpegColours) {
  FlatJpeg jpeg(3);
  for (const int value : {178, 100, 160}) jpeg.block(value);  // Y, Cb, Cr
  // ITU-R BT.601 as JFIF defines it; decoders round in between.
  const double red = 178 + 1.402 * 32, green = 178 + 0.344136 * 28 - 0.714136 * 32, blue = 178 - 1.772 * 28;
  const std::vector<double> values = read(jpeg.file(8, 8), DataType::float32, {1, 3, 8, 8});
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_NEAR(255 * values[i], red, 1) << i;
    EXPECT_NEAR(255 * values[64 + i], green, 1) << i;
    EXPECT_NEAR(255 * values[128 + i], blue, 1) << i;
  }
}

TEST(Image, JpegNormalizedAndResized) {
  FlatJpeg jpeg(1);
  for (const int value : {200, 90}) jpeg.block(value);
  ImageOptions options;
  options.mean = {0.4};
  options.deviation = {0.5};
  const std::vector<double> values = read(jpeg.file(16, 8), DataType::float32, {1, 1, 1, 2}, options);
  EXPECT_GT(values[0], values[1]);
  EXPECT_NEAR(values[0] + values[1], 2 * (145.0 / 255 - 0.4) / 0.5, 1e-3) << "the mean stays";
}

/// Two pixels, black and white, with the palette of the file (GIF89a).
std::string gif() {
  const std::string screen = bytes({2, 0, 1, 0, 0x80, 0, 0}) + bytes({0, 0, 0, 255, 255, 255});
  const std::string frame = ',' + bytes({0, 0, 0, 0, 2, 0, 1, 0, 0});
  // Codes of three bits, the lowest first: clear (4), 0, 1, end (5).
  return "GIF89a" + screen + frame + bytes({2, 2, 0x44, 0x0A, 0}) + ';';
}

/// Two pixels of 24 bits, blue first, and two bytes that fill the row.
std::string bitmap() {
  const auto little = [](int value) { return bytes({value, 0, 0, 0}); };
  return "BM" + little(62) + little(0) + little(54) + little(40) + little(2) + little(1) + bytes({1, 0, 24, 0}) + little(0) + little(8) +
         little(0) + little(0) + little(0) + little(0) + bytes({10, 20, 30, 40, 50, 60, 0, 0});
}

TEST(Image, BytesAfterAnImageAreIgnored) {
  FlatJpeg jpeg(1);
  jpeg.block(178);
  for (const char* trailing : {"", "\n", "another file"}) {
    EXPECT_THAT(read(jpeg.file(8, 8) + trailing, DataType::uint8, {1, 1, 8, 8}), Each(178));
    EXPECT_THAT(read(gif() + trailing, DataType::uint8, {1, 1, 1, 2}), ElementsAre(0, 255));
    EXPECT_THAT(read(bitmap() + trailing, DataType::uint8, {1, 3, 1, 2}), ElementsAre(30, 60, 20, 50, 10, 40));
    EXPECT_THAT(read("P5 2 1 255\n\x07\x09" + std::string(trailing), DataType::uint8, {1, 1, 1, 2}), ElementsAre(7, 9));
  }
}

TEST(Image, CutFilesAreRefused) {
  FlatJpeg jpeg(1);
  jpeg.block(178);
  const std::string bits = bitmap(), frame = gif();
  // The end of a GIF is a separate byte, and the padding of a bitmap's last row is no pixel.
  const std::string pictures[] = {png(2, 2, 8, 2, filtered(std::vector<int>(12, 7), 2, 3)), jpeg.file(8, 8),
                                  frame.substr(0, frame.size() - 1), bits.substr(0, bits.size() - 2), "P5 2 1 255\n\x07\x09"};
  for (const std::string& picture : pictures) {
    EXPECT_EQ(read(picture, DataType::uint8, {1, 2, 2, 3}).size(), 12U) << picture.substr(0, 6);
    for (std::size_t size = 0; size < picture.size(); ++size) {
      try {
        (void)read(picture.substr(0, size), DataType::uint8, {1, 2, 2, 3});
        ADD_FAILURE() << size << " bytes of " << picture.size() << " of " << picture.substr(0, 6);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::invalid) << size;
      }
    }
  }
}

}  // namespace
}  // namespace relayout
