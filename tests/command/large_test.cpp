// Tests files larger than memory. Inputs are mostly holes, so that only writing takes time.

#include <cstring>
#include <fstream>
#include <ios>

#include "command/command_test.h"
#include "model/tensor_data.h"
#include "relayout/graph.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "support/process.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kFloat = 4;
constexpr int64_t kMostKib = 256 << 10;
constexpr int64_t kSpace = int64_t{8} << 30;  ///< on the disk, so that a test may run

/// y0 = Conv (x, W0) … with equal weights.
class SlowLarge : public CommandTest {
 protected:
  void SetUp() override {
    if (fs::space(folder_.path()).available < static_cast<std::uintmax_t>(kSpace)) GTEST_SKIP() << "less than 8 GiB on the disk";
  }

  static onnx::ModelProto network(int weights, const Dims& dims) {
    onnx::ModelProto model;
    model.set_ir_version(8);
    model.add_opset_import()->set_version(17);
    auto& graph = *model.mutable_graph();
    graph.set_name("g");
    auto& input = *graph.add_input();
    input.set_name("x");
    auto& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    for (const int64_t dim : {int64_t{1}, dims[1], dims[2], dims[3]}) type.mutable_shape()->add_dim()->set_dim_value(dim);
    for (int i = 0; i < weights; ++i) {
      auto& node = *graph.add_node();
      node.set_op_type("Conv");
      node.add_input("x");
      node.add_input("W" + std::to_string(i));
      node.add_output("y" + std::to_string(i));
      graph.add_output()->set_name("y" + std::to_string(i));
    }
    return model;
  }
  static void describe(onnx::TensorProto& tensor, const std::string& name, const Dims& dims) {
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    for (const int64_t dim : dims) tensor.add_dims(dim);
  }
  static void put(std::fstream& file, int64_t at, float value) {
    file.seekp(at);
    file.write(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  static float get(std::ifstream& file, int64_t at) {
    float value = 0;
    file.seekg(at);
    file.read(reinterpret_cast<char*>(&value), sizeof(value));
    return value;
  }
  /// Element [o, i, h, w] of a contiguous weight, and of one stored as [O, k…, I].
  static int64_t place(const Dims& dims, const Dims& at) { return ((at[0] * dims[1] + at[1]) * dims[2] + at[2]) * dims[3] + at[3]; }
  static int64_t place_last(const Dims& dims, const Dims& at) { return ((at[0] * dims[2] + at[2]) * dims[3] + at[3]) * dims[1] + at[1]; }
  /// Some elements of a weight and their values.
  static std::vector<std::pair<Dims, float>> marks(const Dims& dims, float first) {
    return {{{0, 0, 0, 0}, first},
            {{1, 2, 1, 1}, first + 1},
            {{dims[0] / 2, dims[1] - 1, 0, dims[3] - 1}, first + 2},
            {{dims[0] - 1, dims[1] - 1, dims[2] - 1, dims[3] - 1}, first + 3}};
  }

  /// Writes a model file of one weight whose contents are a hole. Returns the offset of the contents.
  int64_t write_single(const std::string& name, const Dims& dims) {
    onnx::ModelProto model = network(1, dims);
    onnx::GraphProto graph = model.graph();
    model.clear_graph();
    onnx::TensorProto header;
    describe(header, "W0", dims);
    const auto varint = [](uint64_t value) {
      std::string out;
      for (; value >= 0x80; value >>= 7U) out += static_cast<char>(value | 0x80U);
      return out + static_cast<char>(value);
    };
    const auto field = [&](int number, int64_t length) {
      return varint(static_cast<uint64_t>(number) << 3U | 2U) + varint(static_cast<uint64_t>(length));
    };
    const int64_t bytes = element_count(dims) * kFloat;
    const std::string tensor = header.SerializeAsString() + field(onnx::TensorProto::kRawDataFieldNumber, bytes);
    const std::string initializer = field(onnx::GraphProto::kInitializerFieldNumber, static_cast<int64_t>(tensor.size()) + bytes) + tensor;
    const std::string nodes = graph.SerializeAsString();
    const std::string start = model.SerializeAsString() +
                              field(onnx::ModelProto::kGraphFieldNumber, static_cast<int64_t>(nodes.size() + initializer.size()) + bytes) +
                              nodes + initializer;
    write_file(folder_ / name, start);
    fs::resize_file(folder_ / name, start.size() + static_cast<std::uintmax_t>(bytes));
    return static_cast<int64_t>(start.size());
  }

  /// Compares two files of the same size, a piece at a time.
  static bool are_equal(const fs::path& first, const fs::path& second) {
    constexpr std::size_t kPiece = std::size_t{16} << 20;
    std::ifstream a(first, std::ios::binary), b(second, std::ios::binary);
    std::vector<char> of_a(kPiece), of_b(kPiece);
    while (a && b) {
      a.read(of_a.data(), kPiece);
      b.read(of_b.data(), kPiece);
      const auto count = static_cast<std::size_t>(a.gcount());
      if (a.gcount() != b.gcount() || std::memcmp(of_a.data(), of_b.data(), count) != 0) return false;
    }
    return a.eof() && b.eof();
  }

  void expect_converted(const std::string& name, const Dims& dims) {
    const int64_t start = write_single(name, dims);
    {
      std::fstream file(folder_ / name, std::ios::in | std::ios::out | std::ios::binary);
      for (const auto& [at, value] : marks(dims, 1)) put(file, start + place(dims, at) * kFloat, value);
    }
    const ProcessResult result = run({"convert", name, "-o", "out.onnx"}, {.timeout = 600});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_LT(result.peak_kib, kMostKib);
    const auto model = Model::load(folder_ / "out.onnx");
    const Initializer& stored = model->graph().initializers().front();
    EXPECT_EQ(stored.value->name(), "W0.channels_last");
    std::ifstream file(folder_ / "out.onnx", std::ios::binary);
    const int64_t begin = stored.data->source().file_offset();
    for (const auto& [at, value] : marks(dims, 1)) EXPECT_EQ(get(file, begin + place_last(dims, at) * kFloat), value) << to_string(at);
    const ProcessResult back = run({"convert", "out.onnx", "-o", "back.onnx", "--layout", "contiguous"}, {.timeout = 600});
    ASSERT_EQ(back.code, 0) << back.err;
    EXPECT_EQ(fs::file_size(folder_ / "back.onnx"), fs::file_size(folder_ / name));
    EXPECT_TRUE(are_equal(folder_ / name, folder_ / "back.onnx"));
  }
};

TEST_F(SlowLarge, L52TwoAndAHalfGibibytesOfExternalData) {
  constexpr int kWeights = 20;
  const Dims dims{256, 1024, 8, 16};
  const int64_t bytes = element_count(dims) * kFloat;
  onnx::ModelProto model = network(kWeights, dims);
  fs::create_directory(folder_ / "in");
  {
    write_file(folder_ / "in/w.bin", "");
    fs::resize_file(folder_ / "in/w.bin", static_cast<std::uintmax_t>(kWeights * bytes));
    std::fstream file(folder_ / "in/w.bin", std::ios::in | std::ios::out | std::ios::binary);
    for (int i = 0; i < kWeights; ++i) {
      auto& tensor = *model.mutable_graph()->add_initializer();
      describe(tensor, "W" + std::to_string(i), dims);
      tensor.set_data_location(onnx::TensorProto::EXTERNAL);
      for (const auto& [key, value] :
           {std::pair{"location", std::string("w.bin")}, {"offset", std::to_string(i * bytes)}, {"length", std::to_string(bytes)}}) {
        auto& entry = *tensor.add_external_data();
        entry.set_key(key);
        entry.set_value(value);
      }
      for (const auto& [at, value] : marks(dims, static_cast<float>(10 * i + 1))) put(file, i * bytes + place(dims, at) * kFloat, value);
    }
  }
  write_file(folder_ / "in/model.onnx", model.SerializeAsString());
  const ProcessResult result = run({"convert", "in/model.onnx", "-o", "out.onnx"}, {.timeout = 600});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_LT(result.peak_kib, 3 * bytes / 1024) << "three times the largest tensor";
  const auto made = Model::load(folder_ / "out.onnx");
  int number = 0;
  for (const Initializer& stored : made->graph().initializers()) {
    EXPECT_EQ(stored.data->source().file_offset() % 4096, 0);
    std::ifstream file(folder_ / "out.onnx.data", std::ios::binary);
    const int64_t begin = stored.data->source().file_offset();
    for (const auto& [at, value] : marks(dims, static_cast<float>(10 * number + 1))) {
      EXPECT_EQ(get(file, begin + place_last(dims, at) * kFloat), value) << number << " " << to_string(at);
    }
    ++number;
  }
  EXPECT_EQ(number, kWeights);
}

TEST_F(SlowLarge, L52OneFileJustBelowTwoGigabytes) {
  expect_converted("large.onnx", {475, 1000, 100, 10});
}

TEST_F(SlowLarge, L53OneWeightOfOneAndAFifthGigabytes) {
  expect_converted("weight.onnx", {3, 1000, 1000, 100});
}

/// y = x · W0 · W1 · …, each weight of 16 MiB in a hole of a file but for its first number, which is 2.
TEST_F(CommandTest, PartsOfALargeModelNeedTheMemoryOfAFewWeights) {
  constexpr int kWeights = 16, kSize = 2048;
  [[maybe_unused]] constexpr int64_t kMostOfParts = 64 << 10;
  constexpr int64_t kBytes = kFloat * kSize * kSize;
  std::string nodes, weights;
  for (int i = 0; i < kWeights; ++i) {
    const std::string number = std::to_string(i), before = i == 0 ? "x" : "y" + std::to_string(i - 1);
    nodes += " y" + number + " = MatMul (" + before + ", W" + number + ")";
    weights += (i == 0 ? "" : ", ") + std::string("float[2048, 2048] W") + number + " = [\"location\": \"w.bin\", \"offset\": \"" +
               std::to_string(i * kBytes) + "\", \"length\": \"" + std::to_string(kBytes) + "\"]";
  }
  write_file(folder_ / "model.onnxtxt", "<ir_version: 8, opset_import: [\"\" : 17]>\ng (float[1, 2048] x) => (float[1, 2048] y15) <" +
                                            weights + "> {" + nodes + " }\n");
  write_file(folder_ / "w.bin", "");
  fs::resize_file(folder_ / "w.bin", static_cast<std::uintmax_t>(kWeights * kBytes));
  std::fstream file(folder_ / "w.bin", std::ios::in | std::ios::out | std::ios::binary);
  for (int i = 0; i < kWeights; ++i) {
    constexpr float kFirst = 2;
    file.seekp(i * kBytes);
    file.write(reinterpret_cast<const char*>(&kFirst), sizeof(kFirst));
  }
  file.close();
  for (const std::vector<std::string>& command : {
           std::vector<std::string>{"run", "model.onnxtxt", "--input", "x=1", "--tensors", "y9", "--stats", "--json"},
           {"run", "model.onnxtxt", "--input", "x=1", "--tensors", "y9", "--stats", "--json", "--as", "fp16"},
           {"run", "model.onnxtxt", "--input", "x=1", "--tensors", "y9", "--stats", "--json", "--mode", "reference"},
           {"extract", "model.onnxtxt", "--from", "y2", "--to", "y12", "-o", "part.onnx", "--json"},
       }) {
    const ProcessResult result = run(command);
    ASSERT_EQ(result.code, 0) << result.err;
    if (command.front() == "run") {
      EXPECT_THAT(result.out, testing::HasSubstr("\"max\": 1024.0,"));  // 2 ^ 10
    }
#if defined(NDEBUG)
    EXPECT_LT(result.peak_kib, kMostOfParts) << command.back();
#endif
  }
  EXPECT_EQ(fs::file_size(folder_ / "part.onnx.data"), static_cast<std::uintmax_t>(10 * kBytes));
}

}  // namespace
}  // namespace relayout::test
