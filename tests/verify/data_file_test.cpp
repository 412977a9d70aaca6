#include "verify/inputs/data_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx-data_pb.h>
#include <onnx/onnx_pb.h>
#include <unistd.h>

#include <fstream>
#include <ios>

#include "relayout/datum.h"
#include "relayout/error.h"
#include "relayout/types.h"
#include "tensors.h"
#include "verify/inputs/port.h"
#include "verify/run/distance.h"

namespace relayout {
namespace {

using ::testing::ElementsAre;
using testing::floats;
using ::testing::HasSubstr;
using testing::integers_of;
using testing::values_of;

/// A file of this test, removed with the object.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& bytes, const std::string& extension)
      : path_(std::filesystem::temp_directory_path() / ("relayout-data-file-test-" + std::to_string(::getpid()) + extension)) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Datum read(const std::string& bytes, Datum::Kind kind = Datum::Kind::tensor, const std::string& extension = ".pb") {
  const TemporaryFile file(bytes, extension);
  return read_data_file(file.path(), kind);
}

ErrorKind refusal(const std::string& bytes, const std::string& extension = ".pb", Datum::Kind kind = Datum::Kind::tensor) {
  try {
    (void)read(bytes, kind, extension);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("relayout-data-file-test-"));
    return error.kind();
  }
  ADD_FAILURE() << "read";
  return ErrorKind::defect;
}

onnx::TensorProto float_message(std::vector<int64_t> dims, const std::vector<float>& values) {
  onnx::TensorProto message;
  message.set_data_type(onnx::TensorProto::FLOAT);
  for (const int64_t dim : dims) message.add_dims(dim);
  message.set_raw_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
  return message;
}

/// A file in the format of numpy.lib.format.
std::string npy(const std::string& header, const std::string& data, char version = 1) {
  const std::string padded = header + std::string(63 - (header.size() + 10) % 64, ' ') + "\n";
  std::string out = "\x93NUMPY";
  out += version;
  out += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) out += static_cast<char>(padded.size() >> (8 * i) & 0xFFU);
  return out + padded + data;
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

TEST(DataFile, ReadsTensorsInRawAndTypedForm) {
  EXPECT_THAT(values_of(read(float_message({2, 1}, {1.5F, -2}).SerializeAsString()).tensor), ElementsAre(1.5, -2));
  onnx::TensorProto typed;
  typed.set_data_type(onnx::TensorProto::INT64);
  typed.add_dims(2);
  typed.add_int64_data(-5);
  typed.add_int64_data(7);
  EXPECT_THAT(integers_of(read(typed.SerializeAsString()).tensor), ElementsAre(-5, 7));
  onnx::TensorProto text;
  text.set_data_type(onnx::TensorProto::STRING);
  text.add_dims(1);
  text.add_string_data("word");
  EXPECT_EQ(*read(text.SerializeAsString()).tensor.data<std::string>(), "word");
}

TEST(DataFile, ReadsSequencesAndOptionals) {
  onnx::SequenceProto list;
  list.set_elem_type(onnx::SequenceProto::TENSOR);
  *list.add_tensor_values() = float_message({1}, {1});
  *list.add_tensor_values() = float_message({2}, {2, 3});
  const Datum sequence = read(list.SerializeAsString(), Datum::Kind::sequence);
  EXPECT_EQ(describe(sequence), "sequence of 2: f32[1], f32[2]");

  onnx::OptionalProto some;
  some.set_elem_type(onnx::OptionalProto::SEQUENCE);
  *some.mutable_sequence_value() = list;
  const Datum optional = read(some.SerializeAsString(), Datum::Kind::optional);
  EXPECT_EQ(describe(optional), "optional sequence of 2: f32[1], f32[2]");
  EXPECT_EQ(describe(read("", Datum::Kind::optional)), "nothing");
}

TEST(DataFile, RefusesNonTensors) {
  EXPECT_EQ(refusal("certainly not protobuf"), ErrorKind::invalid);
  EXPECT_EQ(refusal(float_message({3}, {1, 2}).SerializeAsString()), ErrorKind::invalid);
  onnx::TensorProto negative = float_message({-1}, {});
  EXPECT_EQ(refusal(negative.SerializeAsString()), ErrorKind::invalid);
  onnx::TensorProto untyped;
  EXPECT_EQ(refusal(untyped.SerializeAsString()), ErrorKind::invalid);
}

TEST(DataFile, MarksOfTheLoaderInAFileAreIgnored) {
  // Fields 536870910 and 536870911 as varints: the marks that the walk leaves in a model's skeleton.
  const std::string marks("\xF0\xFF\xFF\xFF\x0F\x7F\xF8\xFF\xFF\xFF\x0F\x7F", 12);
  EXPECT_THAT(values_of(read(float_message({1}, {4}).SerializeAsString() + marks).tensor), ElementsAre(4));
}

TEST(DataFile, MissingFilesAreIoErrors) {
  try {
    (void)read_data_file("/nowhere/input_0.pb");
    ADD_FAILURE() << "read";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_EQ(std::string(error.what()).find("/nowhere/input_0.pb"), std::string(error.what()).rfind("/nowhere/input_0.pb"));
  }
}

TEST(Npy, ReadsBothOrdersOfElementsAndBytes) {
  const std::string data = bytes_of<float>({1, 2, 3, 4, 5, 6});
  const Tensor rows = read(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", data), {}, ".npy").tensor;
  EXPECT_EQ(rows.dims(), (Dims{2, 3}));
  EXPECT_THAT(values_of(rows), ElementsAre(1, 2, 3, 4, 5, 6));
  const Tensor columns = read(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", data), {}, ".npy").tensor;
  EXPECT_EQ(columns.dims(), (Dims{2, 3}));
  EXPECT_THAT(values_of(columns), ElementsAre(1, 3, 5, 2, 4, 6));
  const Tensor big =
      read(npy("{'descr': '>i2', 'fortran_order': False, 'shape': (2,), }", std::string("\x01\x02\xFF\xFE", 4)), {}, ".npy").tensor;
  EXPECT_EQ(big.type(), DataType::int16);
  EXPECT_THAT(integers_of(big), ElementsAre(258, -2));
}

TEST(Npy, ReadsScalarsAndEveryVersion) {
  for (const char version : {'\1', '\2', '\3'}) {
    const Tensor scalar =
        read(npy("{'descr': '<f8', 'fortran_order': False, 'shape': (), }", bytes_of<double>({0.1}), version), {}, ".npy").tensor;
    EXPECT_EQ(scalar.dims(), Dims{});
    EXPECT_THAT(values_of(scalar), ElementsAre(0.1));
  }
  const Tensor empty = read(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (0, 5), }", ""), {}, ".npy").tensor;
  EXPECT_EQ(empty.type(), DataType::boolean);
  EXPECT_EQ(empty.dims(), (Dims{0, 5}));
}

TEST(Npy, ReadsTexts) {
  const Tensor plain = read(npy("{'descr': '|S3', 'fortran_order': False, 'shape': (2,), }", std::string("ab\0cde", 6)), {}, ".npy").tensor;
  EXPECT_EQ(plain.data<std::string>()[0], "ab");
  EXPECT_EQ(plain.data<std::string>()[1], "cde");
  const std::vector<uint32_t> points{0xE9, 0x20AC, 0x1F600, 0};
  const Tensor wide = read(npy("{'descr': '<U4', 'fortran_order': False, 'shape': (1,), }", bytes_of(points)), {}, ".npy").tensor;
  EXPECT_EQ(*wide.data<std::string>(), "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
}

/// Code points that UTF-8 encodes by RFC 3629: all up to U+10FFFF, without the surrogates, which Python's texts may hold alone.
TEST(Npy, RefusesCodePointsThatAreNoCharacters) {
  const auto file = [](uint32_t point, char order) {
    if (order == '>') point = __builtin_bswap32(point);
    return npy(std::string("{'descr': '") + order + "U2', 'fortran_order': False, 'shape': (1,), }", bytes_of<uint32_t>({point, 0}));
  };
  for (const char order : {'<', '>'}) {
    for (const uint32_t point : {0xD7FFU, 0xE000U, 0x10FFFFU}) {
      EXPECT_EQ(read(file(point, order), {}, ".npy").tensor.data<std::string>()->size(), point < 0x10000 ? 3U : 4U);
    }
    for (const uint32_t point : {0xD800U, 0xDBFFU, 0xDC00U, 0xDC80U, 0xDFFFU, 0x110000U, 0xFFFFFFFFU}) {
      EXPECT_EQ(refusal(file(point, order), ".npy"), ErrorKind::invalid) << point;
    }
  }
}

TEST(Npy, RefusesInvalidAndUnsupportedFiles) {
  EXPECT_EQ(refusal("not numpy", ".npy"), ErrorKind::invalid);
  EXPECT_EQ(refusal("\x93NUMPY\x01", ".npy"), ErrorKind::invalid);
  EXPECT_EQ(refusal(std::string("\x93NUMPY\x02\0\xFF\xFF\xFF\xFF", 12), ".npy"), ErrorKind::invalid);
  EXPECT_EQ(refusal(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "1234"), ".npy"), ErrorKind::invalid);
  EXPECT_EQ(refusal(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-3,), }", "1234"), ".npy"), ErrorKind::invalid);
  EXPECT_EQ(refusal(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", "1234"), ".npy"),
            ErrorKind::invalid);
  EXPECT_EQ(refusal(npy("{'descr': '|S0', 'fortran_order': False, 'shape': (1000000000000,), }", ""), ".npy"), ErrorKind::invalid);
  EXPECT_EQ(refusal(npy("{'descr': '<f4', 'fortran_order': False, }", "1234"), ".npy"), ErrorKind::invalid);
  EXPECT_EQ(refusal(npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234"), ".npy"), ErrorKind::invalid);
  EXPECT_EQ(refusal(npy("{'descr': '<f16', 'fortran_order': False, 'shape': (1,), }", std::string(16, ' ')), ".npy"),
            ErrorKind::unsupported);
  EXPECT_EQ(refusal(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "1234"), ".npy"), ErrorKind::unsupported);
}

TEST(DataFile, ChecksThePortsDeclaration) {
  Port port;
  port.name = "x";
  port.type = DataType::float32;
  port.has_shape = true;
  port.dims = {-1, 2};
  port.symbols = {"N", ""};
  EXPECT_NO_THROW(check_fits(floats({5, 2}, std::vector<double>(10)), port, "x"));
  const auto refused = [&](const Datum& datum) { EXPECT_THROW(check_fits(datum, port, "x"), Error); };
  refused(floats({5, 3}, std::vector<double>(15)));
  refused(floats({2}, {1, 2}));
  refused(testing::integers({1, 2}, {1, 2}));
  refused(testing::sequence({}));
}

TEST(DataFile, ChannelsAtTheOtherEndAreHinted) {
  Port port;
  port.name = "x";
  port.type = DataType::float32;
  port.has_shape = true;
  port.symbols = {"N", "", "", ""};
  const auto hint = [&](const Dims& held, const Dims& declared) -> std::string {
    port.dims = declared;
    try {
      check_fits(floats(held, std::vector<double>(static_cast<std::size_t>(element_count(held)))), port, "x");
    } catch (const Error& error) {
      return error.hint();
    }
    return "fits";
  };
  EXPECT_THAT(hint({2, 4, 5, 3}, {-1, 3, 4, 5}), HasSubstr("transpose it by [0, 3, 1, 2]"));
  EXPECT_THAT(hint({2, 3, 4, 5}, {-1, 4, 5, 3}), HasSubstr("transpose it by [0, 2, 3, 1]"));
  EXPECT_THAT(hint({2, 4, 5, 6, 3}, {-1, 3, 4, 5, 6}), HasSubstr("transpose it by [0, 4, 1, 2, 3]"));
  EXPECT_EQ(hint({2, 7, 5, 3}, {-1, 3, 4, 5}), "");
  EXPECT_EQ(hint({2, 3, 4, 5}, {-1, 3, 4, 5}), "fits");
}

}  // namespace
}  // namespace relayout
