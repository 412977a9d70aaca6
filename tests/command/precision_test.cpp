// Tests convert --precision on the command line, and the verdict of verify on the result.

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "command/command_test.h"
#include "report/json.h"
#include "support/process.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::HasSubstr;

class Precision : public CommandTest {
 protected:
  Precision() {
    write_file(folder_ / "net.onnx",
               TextModel("g (float[2,3,9,9] x) => (float[2,5] y) <float[8,3,3,3] W, float[8] B, float[8,5] V> { c = Conv "
                         "(x, W, B)  r = Relu (c)  p = GlobalAveragePool (r)  f = Flatten (p)  m = MatMul (f, V)  y = "
                         "Softmax (m) }")
                   .name_nodes()
                   .bytes());
  }
};

TEST_F(Precision, ConvertsAndVerifies) {
  const ProcessResult made = run({"convert", "net.onnx", "-o", "half.onnx", "--precision", "fp16"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("in fp16"));
  EXPECT_THAT(made.out, HasSubstr("fragile"));
  EXPECT_THAT(made.out, HasSubstr("exponentials"));
  EXPECT_EQ(run({"verify", "net.onnx", "half.onnx"}).code, 1);  // unless requested
  const ProcessResult same = run({"verify", "net.onnx", "half.onnx", "--precision", "fp16"});
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  const ProcessResult again = run({"convert", "half.onnx", "-o", "twice.onnx", "--precision", "fp16"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_TRUE(read_file(folder_ / "twice.onnx") == read_file(folder_ / "half.onnx"));
}

TEST_F(Precision, ModelsPartlyIn16BitsVerifyToo) {
  write_file(
      folder_ / "mixed.onnx",
      TextModel("g (float[2,3,9,9] x) => (float[2,8,7,7] y) <float[8,3,3,3] W, float[8,8,1,1] V> { h = Cast <to = 10> (x)  f = Cast <to "
                "= 1> (h)  c = Conv (f, W)  r = Relu (c)  y = Conv (r, V) }")
          .name_nodes()
          .bytes());
  ASSERT_EQ(run({"convert", "mixed.onnx", "-o", "half.onnx", "--precision", "fp16"}).code, 0);
  const ProcessResult same = run({"verify", "mixed.onnx", "half.onnx", "--precision", "fp16"});
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  EXPECT_EQ(run({"verify", "half.onnx", "half.onnx", "--run-identical"}).code, 0);
}

/// Weights of a discrete Fourier transform of windows of 256 numbers, at 64 frequencies.
std::vector<double> waves(double (*wave)(double)) {
  constexpr int kWindow = 256;
  std::vector<double> out;
  for (int bin = 1; bin <= 64; ++bin) {
    for (int i = 0; i < kWindow; ++i) {
      const double hann = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * i / kWindow);
      out.push_back(wave(2 * std::numbers::pi * bin * i / kWindow) * hann / kWindow);
    }
  }
  return out;
}

/// Nodes behind the spectrum a + bi of a tone, in most of whose frequencies there is nothing.
class Spectrum : public Precision, public ::testing::WithParamInterface<const char*> {};

TEST_P(Spectrum, OfAToneKeepsItsEmptyFrequencies) {
  write_file(
      folder_ / "spectrum.onnx",
      TextModel(std::string("g (float[N,1,8192] x) => (y) <float[64,1,256] re, float[64,1,256] im, float two = {2}, float eps = {1e-10}> "
                            "{ a = Conv <strides = [128]> (x, re) b = Conv <strides = [128]> (x, im) ") +
                GetParam() + " }")
          .set("re", waves([](double x) { return std::cos(x); }))
          .set("im", waves([](double x) { return std::sin(x); }))
          .name_nodes()
          .bytes());
  std::string tone;
  for (int i = 0; i < 8192; ++i) {
    const double t = 2 * std::numbers::pi * i / 16000;
    const auto number = static_cast<float>(0.3 * std::sin(437 * t) + 0.1 * std::sin(1312 * t));
    tone.append(reinterpret_cast<const char*>(&number), sizeof number);
  }
  write_file(folder_ / "tone.bin", tone);
  for (const std::string type : {"fp16", "bf16"}) {
    ASSERT_EQ(run({"convert", "spectrum.onnx", "-o", "half.onnx", "--precision", type}).code, 0);
    const ProcessResult same =
        run({"verify", "spectrum.onnx", "half.onnx", "--precision", type, "--dim", "N=1", "--input", "x=tone.bin", "--json"});
    EXPECT_EQ(same.code, 0) << same.out << same.err;
    const std::optional<Json> outputs = Json::parse(same.out, "report").find("outputs");
    ASSERT_TRUE(outputs && outputs->at(0));
    EXPECT_LT(outputs->at(0)->find("err")->number().value_or(0), type == "fp16" ? 3e-3 : 2e-2) << type;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, Spectrum,
    ::testing::Values(
        "c = Mul (a, a) d = Mul (b, b) p = Add (c, d) e = Add (p, eps) y = Log (e)",
        "c = Pow (a, two) d = Pow (b, two) p = Add (d, c) e = Add (eps, p) y = Log (e)",
        "c = Mul (a, a) d = Mul (b, b) p = Add (c, d) e = Add (p, eps) r = Sqrt (e) y = Log (r)",
        "s = Concat <axis = 1> (a, b) q = Mul (s, s) c, d = Split <axis = 1> (q) p = Add (c, d) e = Max (p, eps) y = Log (e)"));

TEST_F(Precision, ValuesThatFoldsChangeUnderTheirNamesAreJudgedWithTheirReaders) {
  // The fold moves factor and shift into the convolution, past two Identities that keep the names of their values.
  write_file(folder_ / "named.onnx",
             TextModel("g (float[N,16,H,W] x) => (float[N,32,H,W] y) <float[32,16,1,1] k, float[1] s = {0.3}, float[1] t = {0.7}, "
                       "float[1,32,1,1] b> { r = Relu (x)  m = Mul (s, r)  mi = Identity (m)  a = Add (mi, t)  ai = Identity (a)  c = Conv "
                       "(ai, k)  d = Add (c, b)  di = Identity (d)  y = Relu (di) }")
                 .name_nodes()
                 .bytes());
  ASSERT_EQ(run({"convert", "named.onnx", "-o", "half.onnx", "--precision", "fp16"}).code, 0);
  const ProcessResult same = run({"verify", "named.onnx", "half.onnx", "--precision", "fp16"});
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  // What is wrong is the convolution.
  onnx::ModelProto model = load_model(folder_ / "half.onnx");
  for (onnx::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
    if (tensor.dims_size() != 4 || tensor.dims(0) != 32) continue;
    std::string& bytes = *tensor.mutable_raw_data();
    for (std::size_t i = 1; i < bytes.size(); i += 2) bytes[i] = static_cast<char>(bytes[i] ^ 1);  // a bit of half the numbers' size
  }
  save_model(model, folder_ / "wrong.onnx");
  const ProcessResult different = run({"verify", "named.onnx", "wrong.onnx", "--precision", "fp16"});
  EXPECT_EQ(different.code, 1) << different.out;
}

TEST_F(Precision, ModelsOfIntegersStayTheSame) {
  // Rounding to 16 bits moves numbers to the neighbouring step of a quantizer.
  const std::string integers = "i = ConvInteger (q, w, z) f = Cast <to = 1> (i) y = Mul (f, sc) }";
  for (const std::string& quantizer : {std::string("q, s, z = DynamicQuantizeLinear (c) sc = Mul (s, few) "),
                                       std::string("q = QuantizeLinear (c, step, z) sc = Identity (few) ")}) {
    const bool is_dynamic = quantizer.starts_with("q, s");
    const std::string zero = is_dynamic ? "" : ", uint8 z = {128}, float step = {0.02}";
    write_file(
        folder_ / "integers.onnx",
        TextModel("g (float[N,4,9,9] x) => (y) <float[6,4,3,3] k, float[6] b, int8[5,6,1,1] w = {1,-7,30,-90,12,5,9,-64,127,3,-2,44,8,-19,"
                  "77,-128,61,20,33,-4,-45,6,88,-15,10,-31,52,-73,94,25}, float few = {0.01}" +
                  zero + "> { a = Conv (x, k, b) c = Sigmoid (a) " + quantizer + integers)
            .name_nodes()
            .bytes());
    for (const std::string type : {"fp16", "bf16"}) {
      ASSERT_EQ(run({"convert", "integers.onnx", "-o", "half.onnx", "--precision", type}).code, 0);
      const ProcessResult same = run({"verify", "integers.onnx", "half.onnx", "--precision", type});
      EXPECT_EQ(same.code, 0) << quantizer << type << "\n" << same.out << same.err;
    }
  }
}

TEST_F(Precision, RowsThatAMaskHidesWhollyStayFinite) {
  write_file(
      folder_ / "masked.onnx",
      TextModel("g (float[2,8] x, int64[2,8] attention_mask) => (float[2,4] y) <float[8,8] W, float[8,4] V, float one = {1}, float c = "
                "{-3.4e38}> { s = MatMul (x, W)  f = Cast <to = 1> (attention_mask)  o = Sub (one, f)  w = Mul (o, c)  a = Add (s, w)  p = "
                "Softmax (a)  y = MatMul (p, V) }")
          .name_nodes()
          .bytes());
  // The first row sees every key, the second none.
  std::string mask;
  for (int i = 0; i < 16; ++i) mask += static_cast<char>(i < 8) + std::string(sizeof(int64_t) - 1, '\0');
  write_file(folder_ / "mask.bin", mask);
  ASSERT_EQ(run({"convert", "masked.onnx", "-o", "half.onnx", "--precision", "fp16"}).code, 0);
  const ProcessResult same = run({"verify", "masked.onnx", "half.onnx", "--precision", "fp16", "--input", "attention_mask=mask.bin"});
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  EXPECT_THAT(same.out, testing::Not(HasSubstr("infinite")));
}

TEST_F(Precision, AWrongWeightIsFound) {
  ASSERT_EQ(run({"convert", "net.onnx", "-o", "half.onnx", "--precision", "fp16", "--layout", "keep"}).code, 0);
  onnx::ModelProto message;
  ASSERT_TRUE(message.ParseFromString(read_file(folder_ / "half.onnx")));
  for (auto& tensor : *message.mutable_graph()->mutable_initializer()) {
    if (tensor.name() != "W") continue;
    ASSERT_EQ(tensor.data_type(), onnx::TensorProto::FLOAT16);
    // One filter changes its sign.
    for (std::size_t i = 1; i < 54; i += 2) (*tensor.mutable_raw_data())[i] = static_cast<char>((*tensor.mutable_raw_data())[i] ^ 0x80);
  }
  write_file(folder_ / "wrong.onnx", message.SerializeAsString());
  const ProcessResult result = run({"verify", "net.onnx", "wrong.onnx", "--precision", "fp16"});
  EXPECT_EQ(result.code, 1) << result.out;
}

TEST_F(Precision, ChoicesBetweenScoresThatRoundingMakesEqualAreTies) {
  TextModel before(
      "g (float[1,3,64,64] x) => (int64[1,1,64,64] y) <float[16,3,3,3] W, float[5,16,3,3] V> { a = Conv <pads = [1,1,1,1]> "
      "(x, W)  r = Relu (a)  s = Conv <pads = [1,1,1,1]> (r, V)  y = ArgMax <axis = 1> (s) }");
  write_file(folder_ / "classes.onnx", before.bytes());
  ASSERT_EQ(run({"convert", "classes.onnx", "-o", "half.onnx", "--precision", "fp16", "--layout", "keep"}).code, 0);
  const ProcessResult same = run({"verify", "classes.onnx", "half.onnx", "--precision", "fp16"});
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  EXPECT_THAT(same.out, HasSubstr("tie")) << "the test's network has close scores";
  onnx::ModelProto message;
  ASSERT_TRUE(message.ParseFromString(read_file(folder_ / "half.onnx")));
  // The last of five filters scores less.
  for (auto& tensor : *message.mutable_graph()->mutable_initializer()) {
    if (tensor.name() != "V") continue;
    for (std::size_t i = tensor.raw_data().size() * 4 / 5; i < tensor.raw_data().size(); ++i) (*tensor.mutable_raw_data())[i] = 0;
  }
  write_file(folder_ / "wrong.onnx", message.SerializeAsString());
  EXPECT_EQ(run({"verify", "classes.onnx", "wrong.onnx", "--precision", "fp16"}).code, 1);
}

TEST_F(Precision, BackAndForth) {
  ASSERT_EQ(run({"convert", "net.onnx", "-o", "half.onnx", "--precision", "fp16"}).code, 0);
  const ProcessResult back = run({"convert", "half.onnx", "-o", "back.onnx", "--precision", "fp32", "--layout", "contiguous"});
  EXPECT_EQ(back.code, 0) << back.err;
  EXPECT_THAT(back.out, HasSubstr("bits that 16-bit types dropped stay 0"));
  const ProcessResult same = run({"verify", "half.onnx", "back.onnx"});
  EXPECT_EQ(same.code, 0) << same.out << same.err;
}

TEST_F(Precision, ChangedTypesOfTheInterfaceAreVerified) {
  EXPECT_EQ(run({"convert", "net.onnx", "-o", "half.onnx", "--precision", "fp16", "--io-precision", "--verify"}).code, 0);
  EXPECT_EQ(run({"convert", "half.onnx", "-o", "back.onnx", "--precision", "fp32", "--io-precision", "--verify"}).code, 0);
}

TEST_F(Precision, AModelWithoutTheTypeNamesItsOwnType) {
  write_file(folder_ / "f16.onnx", TextModel("g (float16[2,8] x) => (float16[2,8] y) { y = Relu (x) }").bytes());
  expect_refusal(run({"convert", "f16.onnx", "-o", "brain.onnx", "--precision", "bf16"}), 4,
                 "f16.onnx: --precision: nothing is in f32; tensors in f16 keep their type (--precision fp32 first)");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "brain.onnx"));
  EXPECT_THAT(run({"convert", "f16.onnx", "-o", "same.onnx", "--precision", "fp16"}).out, HasSubstr("the model is in f16 already"));
}

TEST_F(Precision, Usage) {
  expect_refusal(run({"convert", "net.onnx", "--io-precision"}), 2, "--precision");
  expect_refusal(run({"convert", "net.onnx", "--pass", "precision"}), 2, "pass 'precision' needs --precision");
  EXPECT_EQ(run({"convert", "net.onnx", "--precision", "fp8"}).code, 2);
  const ProcessResult brain = run({"convert", "net.onnx", "-o", "brain.onnx", "--precision", "bf16"});
  EXPECT_EQ(brain.code, 0) << brain.err;
  EXPECT_THAT(brain.out, HasSubstr("Conv takes bf16 from opset 22 on"));
  EXPECT_THAT(brain.out, HasSubstr("Most operators take bf16 from a later opset on"));
}

}  // namespace
}  // namespace relayout::test
