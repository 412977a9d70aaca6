#include "verify/inputs/input_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "relayout/verify.h"
#include "support/temporary_folder.h"
#include "tensors.h"
#include "verify/inputs/port.h"

namespace relayout {
namespace {

using namespace relayout::testing;  // NOLINT(google-build-using-namespace): the words of this file
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Port port_of(DataType type, Dims dims, const std::string& name = "x") {
  Port port;
  port.name = name;
  port.type = type;
  port.has_shape = true;
  port.symbols.assign(dims.size(), "");
  port.dims = std::move(dims);
  return port;
}

std::string bytes_of(const std::vector<float>& values) {
  std::string out(values.size() * sizeof(float), '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = std::bit_cast<uint32_t>(values[i]);
    for (std::size_t k = 0; k < 4; ++k) out[4 * i + k] = static_cast<char>(bits >> (8 * k) & 0xFFU);
  }
  return out;
}

std::string number(uint64_t value, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i) out += static_cast<char>(value >> (8 * i) & 0xFFU);
  return out;
}

std::string deflated(const std::string& bytes) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string in = bytes, out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(in.data());
  stream.avail_in = static_cast<uInt>(in.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// A ZIP archive by the letter of APPNOTE 6.3, with a local extra field as numpy writes it.
std::string zip(const std::vector<std::pair<std::string, std::string>>& files, bool compress) {
  std::string out, directory;
  for (const auto& [name, contents] : files) {
    const std::string data = compress ? deflated(contents) : contents;
    const auto crc = crc32(0, reinterpret_cast<const Bytef*>(contents.data()), static_cast<uInt>(contents.size()));
    const std::string common = number(20, 2) + number(0, 2) + number(compress ? 8 : 0, 2) + number(0, 4) + number(crc, 4);
    const std::string sizes = number(data.size(), 4) + number(contents.size(), 4);
    directory += number(0x02014B50, 4) + number(20, 2) + common + sizes + number(name.size(), 2) + number(0, 2) + number(0, 2) +
                 number(0, 2) + number(0, 2) + number(0, 4) + number(out.size(), 4) + name;
    out += number(0x04034B50, 4) + common + number(0xFFFFFFFF, 4) + number(0xFFFFFFFF, 4) + number(name.size(), 2) + number(20, 2) + name +
           std::string(20, 'e') + data;
  }
  const std::size_t start = out.size();
  return out + directory + number(0x06054B50, 4) + number(0, 2) + number(0, 2) + number(files.size(), 2) + number(files.size(), 2) +
         number(directory.size(), 4) + number(start, 4) + number(0, 2);
}

std::string npy(const std::string& shape, const std::string& data) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01", 7) + std::string(1, '\0') + number(header.size(), 2) + header + data;
}

class InputFile : public ::testing::Test {
 protected:
  Tensor read(const std::string& name, const std::string& bytes, const Port& port) {
    test::write_file(folder_ / name, bytes);
    return read_input_file(folder_ / name, port, options_).tensor;
  }
  ErrorKind refusal(const std::string& name, const std::string& bytes, const Port& port, const std::string& says) {
    try {
      (void)read(name, bytes, port);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr(says));
      EXPECT_THAT(error.what(), HasSubstr(name));
      return error.kind();
    }
    ADD_FAILURE() << "read";
    return ErrorKind::defect;
  }

  test::TemporaryFolder folder_;
  VerifyOptions options_;
};

TEST_F(InputFile, NpzStoredAndDeflated) {
  for (const bool compress : {false, true}) {
    const std::string archive =
        zip({{"other.npy", npy("(1,)", bytes_of({7}))}, {"x.npy", npy("(2, 2)", bytes_of({1, 2, 3, -4}))}}, compress);
    EXPECT_THAT(values_of(read("a.npz", archive, port_of(DataType::float32, {2, 2}))), ElementsAre(1, 2, 3, -4)) << compress;
  }
}

TEST_F(InputFile, NpzOfOneArrayNeedsNoName) {
  const std::string archive = zip({{"arr_0.npy", npy("(2,)", bytes_of({5, 6}))}}, true);
  EXPECT_THAT(values_of(read("a.npz", archive, port_of(DataType::float32, {2}))), ElementsAre(5, 6));
  const std::string two = zip({{"p.npy", npy("(1,)", bytes_of({5}))}, {"q.npy", npy("(1,)", bytes_of({5}))}}, true);
  EXPECT_EQ(refusal("a.npz", two, port_of(DataType::float32, {1}), "has 2 arrays, none of them 'x'"), ErrorKind::invalid);
}

TEST_F(InputFile, DamagedArchivesAreRefused) {
  const Port port = port_of(DataType::float32, {2});
  const std::string good = zip({{"x.npy", npy("(2,)", bytes_of({5, 6}))}}, true);
  EXPECT_EQ(refusal("a.npz", "no archive", port, "not a ZIP archive"), ErrorKind::invalid);
  EXPECT_EQ(refusal("a.npz", "", port, "not a ZIP archive"), ErrorKind::invalid);
  for (std::size_t i = 0; i < good.size(); ++i) {
    // Any byte may be wrong: the result is an error or other values, never a crash.
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x55);
    test::write_file(folder_ / "bad.npz", bad);
    try {
      (void)read_input_file(folder_ / "bad.npz", port, options_);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("bad.npz"));
    }
    test::write_file(folder_ / "bad.npz", good.substr(0, i));
    EXPECT_THROW((void)read_input_file(folder_ / "bad.npz", port, options_), Error) << "cut at " << i;
  }
}

TEST_F(InputFile, RawBytesOfTheDeclaredShape) {
  EXPECT_THAT(values_of(read("x.bin", bytes_of({1, 2, 3, 4}), port_of(DataType::float32, {2, 2}))), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(read("x.raw", bytes_of({1, 2, 3, 4}), port_of(DataType::float32, {-1, 2})).dims(), (Dims{2, 2})) << "what is free follows";
  EXPECT_EQ(refusal("x.bin", bytes_of({1, 2, 3}), port_of(DataType::float32, {2, 2}), "has 12 bytes, f32[2, 2] needs 16"),
            ErrorKind::invalid);
  EXPECT_EQ(refusal("x.bin", bytes_of({1, 2}), port_of(DataType::float32, {-1, -1}), "does not tell the free dims"), ErrorKind::usage);
  options_.shapes["x"] = {1, 2};
  EXPECT_EQ(read("x.bin", bytes_of({1, 2}), port_of(DataType::float32, {-1, -1})).dims(), (Dims{1, 2}));
}

/// 2 × 2 pixels: red, green / blue, white.
std::string picture() {
  return "P6 2 2 255\n" + std::string("\xFF\x00\x00\x00\xFF\x00\x00\x00\xFF\xFF\xFF\xFF", 12);
}

TEST_F(InputFile, ImagesChannelsFirst) {
  const Tensor tensor = read("cat.ppm", picture(), port_of(DataType::float32, {1, 3, 2, 2}));
  EXPECT_THAT(values_of(tensor), ElementsAre(1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1));
}

TEST_F(InputFile, ImagesChannelsLastAsBytes) {
  const Tensor tensor = read("cat.ppm", picture(), port_of(DataType::uint8, {-1, 2, 2, 3}));
  EXPECT_EQ(tensor.dims(), (Dims{1, 2, 2, 3}));
  EXPECT_THAT(values_of(tensor), ElementsAre(255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255));
}

TEST_F(InputFile, ImagesAreNormalizedAndResized) {
  options_.images.mean = {0.5, 0, 0};
  options_.images.deviation = {0.5};
  EXPECT_THAT(values_of(read("cat.ppm", picture(), port_of(DataType::float32, {3, 2, 2}))),
              ElementsAre(1, -1, -1, 1, 0, 2, 0, 2, 0, 0, 2, 2));
  options_ = {};
  options_.images.resize = {1, 1};
  EXPECT_THAT(values_of(read("cat.ppm", picture(), port_of(DataType::float32, {-1, 3, -1, -1}))), ElementsAre(0.5, 0.5, 0.5));
  const Tensor larger = read("cat.ppm", picture(), port_of(DataType::float32, {2, 3, 4, 6}));
  EXPECT_EQ(larger.dims(), (Dims{2, 3, 4, 6})) << "the input's own size counts more, every image of a batch is this one";
  EXPECT_EQ(values_of(larger)[0], 1) << "a corner keeps its colour";
}

TEST_F(InputFile, ImagesThatAreResizedAreRemarked) {
  test::write_file(folder_ / "cat.ppm", picture());
  options_.inputs = {{"x", folder_ / "cat.ppm"}};
  const auto remarks = [&](const Dims& dims) { return GivenInputs({port_of(DataType::float32, dims)}, options_).remarks(); };
  EXPECT_THAT(remarks({1, 3, 4, 6}), ElementsAre("input 'x': the picture is resized to 6 x 4, bilinear (cat.ppm is 2 x 2)"));
  EXPECT_THAT(remarks({1, 3, 2, 2}), IsEmpty());
  EXPECT_THAT(remarks({1, 3, -1, -1}), IsEmpty());
  options_.images.resize = {8, 2};
  EXPECT_THAT(remarks({1, 3, -1, -1}), ElementsAre(HasSubstr("resized to 2 x 8")));
  // In a folder, the first resized image is named; a file that is no image is refused when its turn comes.
  std::filesystem::create_directory(folder_ / "all");
  test::write_file(folder_ / "all/a.png", "no picture");
  test::write_file(folder_ / "all/b.ppm", picture());
  options_ = {};
  options_.inputs = {{"x", folder_ / "all"}};
  EXPECT_THAT(remarks({1, 3, 4, 6}), ElementsAre("input 'x': pictures are resized to 6 x 4, bilinear (b.ppm is 2 x 2)"));
}

TEST_F(InputFile, ImagesThatDoNotFit) {
  EXPECT_EQ(refusal("cat.png", "no picture", port_of(DataType::float32, {1, 3, 2, 2}), "not an image"), ErrorKind::invalid);
  // A Targa header of 32,382 × 12,926 pixels, without data.
  EXPECT_EQ(
      refusal("huge.png", std::string("\n\0\3~~~~~~~~~~~~2\x10", 17), port_of(DataType::uint8, {1, 3, 2, 2}), "cannot hold 32382 x 12926"),
      ErrorKind::invalid);
  EXPECT_EQ(refusal("cat.ppm", picture(), port_of(DataType::float32, {1, 10}), "3 or 4 dims"), ErrorKind::invalid);
  EXPECT_EQ(refusal("cat.ppm", picture(), port_of(DataType::float32, {1, 8, 2, 2}), "1, 3 or 4 channels"), ErrorKind::invalid);
  options_.images.mean = {0, 0};
  EXPECT_EQ(refusal("cat.ppm", picture(), port_of(DataType::float32, {1, 3, 2, 2}), "--mean has 2 numbers for 3 channels"),
            ErrorKind::usage);
}

TEST_F(InputFile, ShrunkImagesCountEveryPixel) {
  // Half black, half white in stripes of one pixel: grey at half the width.
  std::string stripes = "P5 8 8 255\n";
  for (int i = 0; i < 64; ++i) stripes += i % 2 == 0 ? '\0' : '\xFF';
  for (const double value : values_of(read("s.pgm", stripes, port_of(DataType::float32, {1, 1, 4, 4})))) EXPECT_NEAR(value, 0.5, 0.13);
}

}  // namespace
}  // namespace relayout
