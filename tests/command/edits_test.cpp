// Tests conversions that change sizes, names, weights or versions as users run them, and their verification.

#include "command/command_test.h"
#include "support/process.h"
#include "support/temporary_folder.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::HasSubstr;

class Edits : public CommandTest {
 protected:
  Edits() {
    write_file(folder_ / "net.onnx",
               TextModel("g (float[1,2,6,6] x) => (float[1,3] y) <float[4,2,3,3] W, float[3,4] F, int64[2] t = {1, 4}> "
                         "{ c = Conv (x, W)  r = Relu (c)  p = GlobalAveragePool (r)  f = Reshape (p, t)  y = Gemm <transB = 1> (f, F) }")
                   .name_nodes()
                   .bytes());
    write_file(folder_ / "last.onnx",
               TextModel("g (float[2,3,4] x) => (float[3,4] y) <int64 i = {1}> { y = Gather (x, i) }").name_nodes().bytes());
    write_file(folder_ / "free.onnx", TextModel("g (float[N,3] x) => (float[N,3] y) { y = Sigmoid (x) }").name_nodes().bytes());
  }

  /// Runs convert, which must succeed, and returns its output.
  std::string convert(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "convert");
    const ProcessResult result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.out << result.err;
    return result.out;
  }
};

TEST_F(Edits, AFreeBatchIsVerifiedAtSeveralSizes) {
  EXPECT_THAT(convert({"net.onnx", "-o", "out.onnx", "--free-dim", "x:0=N", "--verify"}), HasSubstr("set-dims"));
  EXPECT_EQ(run({"verify", "net.onnx", "out.onnx"}).code, 0);
  // Copies of the original for other sizes are made by the same options.
  convert({"net.onnx", "-o", "three.onnx", "--set-shape", "x=3,2,6,6", "--verify"});
  EXPECT_EQ(run({"verify", "three.onnx", "out.onnx"}).code, 0);
  EXPECT_EQ(run({"verify", "out.onnx", "three.onnx", "--allow-interface"}).code, 0);
  convert({"out.onnx", "-o", "one.onnx", "--set-dim", "N=1", "--verify"});
  EXPECT_EQ(run({"verify", "net.onnx", "one.onnx"}).code, 0);
  convert({"free.onnx", "-o", "fixed.onnx", "--set-dim", "N=4", "--verify"});
}

TEST_F(Edits, TheNodeThatFixesASizeIsNamed) {
  expect_refusal(run({"convert", "last.onnx", "-o", "out.onnx", "--free-dim", "x:0=N"}), 4,
                 "last.onnx: --free-dim x:0=N: node 'Gather_0' (Gather) fixes the size: ");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out.onnx"));
  expect_refusal(run({"convert", "net.onnx", "--free-dim", "x=N"}), 2, "NAME:AXIS=N");
  expect_refusal(run({"convert", "net.onnx", "--free-dim", "x:4=N"}), 2, "the input has 4 dims");
  expect_refusal(run({"convert", "net.onnx", "--set-dim", "N=1"}), 2, "N");
  expect_refusal(run({"convert", "net.onnx", "--set-shape", "x=1,2"}), 2, "the input has 4 dims");
  expect_refusal(run({"convert", "free.onnx", "--free-dim", "x:0=M"}), 2, "free already");
}

TEST_F(Edits, NamesOfOneCallAreThoseOfTheGivenFile) {
  const std::string said = convert({"net.onnx", "-o", "out.onnx", "--rename", "x=images", "--rename", "y=scores", "--free-dim", "x:0=N",
                                    "--io", "nhwc:x", "--share-weights", "--verify"});
  EXPECT_THAT(said, HasSubstr("rename"));
  EXPECT_THAT(said, HasSubstr("same"));
  convert({"net.onnx", "-o", "named.onnx", "--rename", "x=images", "--verify"});
  EXPECT_EQ(run({"verify", "net.onnx", "named.onnx", "--rename", "x=images"}).code, 0);
  expect_refusal(run({"convert", "net.onnx", "--rename", "x=r"}), 4, "the model has a value 'r' already");
  expect_refusal(run({"convert", "net.onnx", "--rename", "z=q"}), 2, "no input, output or dim 'z'");
}

TEST_F(Edits, TokensInThirtyTwoBitsAreProved) {
  write_file(folder_ / "words.onnx", TextModel("g (int64[N,5] ids) => (float[N,5,2] y) <float[9,2] W> { y = Gather (W, ids) }").bytes());
  EXPECT_THAT(convert({"words.onnx", "-o", "out.onnx", "--int32", "--verify"}), HasSubstr("nothing unexplained"));
  EXPECT_THAT(convert({"words.onnx", "-o", "out.onnx", "--int32", "--rename", "ids=tokens"}), HasSubstr("--allow-interface"));
  EXPECT_EQ(run({"verify", "words.onnx", "out.onnx", "--rename", "ids=tokens", "--allow-interface"}).code, 0);
  const ProcessResult other = run({"verify", "words.onnx", "out.onnx", "--rename", "ids=tokens"});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.out, HasSubstr("i32"));
  EXPECT_EQ(run({"verify", "words.onnx", "out.onnx", "--rename", "ids=tokens", "--precision", "fp16"}).code, 1);
  expect_refusal(run({"convert", "words.onnx", "--int32", "--skip", "narrow-integers"}), 2, "has no effect");
}

/// An image input whose first convolution pads, or does not, in a small classifier.
std::string classifier(bool pads) {
  return TextModel("g (float[N,3,8,8] image) => (float[N,5] scores) <float[4,3,3,3] W, float[4] B, float[5,4] F> { c = Conv " +
                   std::string(pads ? "<pads = [1, 1, 1, 1]>" : "") +
                   " (image, W, B)  r = Relu (c)  p = GlobalAveragePool (r)  f = Flatten (p)  scores = Gemm <transB = 1> (f, F) }")
      .name_nodes()
      .bytes();
}

TEST_F(Edits, ImagesAsBytesAreVerifiedByTheirMap) {
  const std::vector<std::string> map{"--input-u8", "image", "--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225", "--swap-channels"};
  const auto with = [](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  for (const bool pads : {false, true}) {
    write_file(folder_ / "a.onnx", classifier(pads));
    EXPECT_THAT(convert(with({"a.onnx", "-o", "b.onnx", "--io", "nhwc", "--rename", "image=camera", "--verify"}, map)), HasSubstr("same"));
    const std::vector<std::string> rest{"a.onnx", "b.onnx", "--io", "nhwc", "--rename", "image=camera"};
    const ProcessResult same = run(with(with({"verify"}, map), rest));
    EXPECT_EQ(same.code, 0) << same.out;
    EXPECT_THAT(same.out, HasSubstr("nothing unexplained"));
    // Another map is another function.
    const std::vector<std::vector<std::string>> others{
        {"--input-u8", "image", "--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225"},
        {"--input-u8", "image", "--mean", "0.485,0.456,0.41", "--std", "0.229,0.224,0.225", "--swap-channels"},
        {"--input-u8", "image", "--mean", "0.485,0.456,0.406", "--std", "0.229,0.224,0.225", "--swap-channels", "--scale", "0.0039"}};
    for (const std::vector<std::string>& other : others) EXPECT_EQ(run(with(with({"verify"}, other), rest)).code, 1) << other.back();
  }
}

TEST_F(Edits, OutputsAsBytesAreVerifiedByTheirMapAndUndone) {
  write_file(folder_ / "a.onnx",
             TextModel("g (float[1,3,8,9] x) => (float[1,3,8,9] y) <float[3,3,3,3] W, float[3] B> { c = Conv <pads = [1, "
                       "1, 1, 1]> (x, W, B)  y = Tanh (c) }")
                 .name_nodes()
                 .bytes());
  const std::vector<std::string> map{"--output-u8", "y", "--output-mean", "0.5,0.4,0.6", "--output-std", "0.5", "--output-swap-channels"};
  const auto with = [](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  EXPECT_THAT(convert(with({"a.onnx", "-o", "b.onnx", "--io", "nhwc", "--rename", "y=screen", "--verify"}, map)), HasSubstr("same"));
  const std::vector<std::string> rest{"a.onnx", "b.onnx", "--io", "nhwc", "--rename", "y=screen"};
  const ProcessResult same = run(with(with({"verify"}, map), rest));
  EXPECT_EQ(same.code, 0) << same.out;
  EXPECT_THAT(same.out, HasSubstr("nothing unexplained"));
  // Another map is another function.
  const std::vector<std::vector<std::string>> others{
      {"--output-u8", "y", "--output-mean", "0.5,0.4,0.6", "--output-std", "0.5"},
      {"--output-u8", "y", "--output-mean", "0.6,0.4,0.5", "--output-std", "0.5", "--output-swap-channels"},
      {"--output-u8", "y", "--output-mean", "0.5,0.4,0.6", "--output-std", "0.49", "--output-swap-channels"}};
  for (const std::vector<std::string>& other : others) EXPECT_EQ(run(with(with({"verify"}, other), rest)).code, 1) << other.back();

  const std::vector<std::string> plain{"--output-u8", "y", "--output-std", "0.5"};
  EXPECT_THAT(convert(with({"a.onnx", "-o", "c.onnx", "--io", "nhwc"}, plain)),
              HasSubstr("verify --output-u8 y --output-std 0.5 --io nhwc a.onnx c.onnx"));
  EXPECT_THAT(convert(with({"c.onnx", "-o", "d.onnx", "--layout", "contiguous", "--undo-io"}, plain)),
              HasSubstr("verify --output-u8 y --output-std 0.5 --io nhwc d.onnx c.onnx"));
  EXPECT_EQ(run({"verify", "a.onnx", "d.onnx", "--proof"}).code, 0);
  EXPECT_EQ(run(with({"convert", "c.onnx", "-o", "e.onnx", "--undo-io", "--rename", "y=z"}, plain)).code, 2);
}

TEST_F(Edits, TheNextStepHasTheMapOfBytes) {
  write_file(folder_ / "a.onnx", classifier(true));
  const std::string said =
      convert({"a.onnx", "-o", "b.onnx", "--io", "nhwc", "--input-u8", "image", "--mean", "104,117,123", "--scale", "1"});
  EXPECT_THAT(said, HasSubstr("--input-u8 image --mean 104,117,123 --scale 1 --io nhwc"));
  EXPECT_EQ(run({"verify", "--input-u8", "image", "--mean", "104,117,123", "--scale", "1", "--io", "nhwc", "a.onnx", "b.onnx"}).code, 0);
  // Without the map, and of files without bytes.
  const ProcessResult bare = run({"verify", "--io", "nhwc", "a.onnx", "b.onnx"});
  EXPECT_EQ(bare.code, 1);
  EXPECT_THAT(bare.out, HasSubstr("--input-u8 image computes A's from bytes"));
  EXPECT_EQ(run({"verify", "--input-u8", "image", "a.onnx", "a.onnx"}).code, 1);
  expect_refusal(run({"verify", "--input-u8", "image", "b.onnx", "b.onnx"}), 4, "b.onnx: --input-u8 'image': it takes bytes already");
}

TEST_F(Edits, WhatIsNoImageIsRefused) {
  write_file(folder_ / "a.onnx", classifier(true));
  const auto refused = [&](std::vector<std::string> words, int code, const std::string& why) {
    words.insert(words.begin(), {"convert", "a.onnx", "-o", "b.onnx"});
    expect_refusal(run(words), code, why);
    EXPECT_FALSE(std::filesystem::exists(folder_ / "b.onnx"));
  };
  refused({"--input-u8", "picture"}, 2, "a.onnx: --input-u8 'picture': the model has no such input");
  refused({"--input-u8", "image", "--mean", "1,2"}, 4, "--mean has 2 numbers for 3 channels");
  refused({"--input-u8", "image", "--std", "0"}, 2, "--std 0: must be more than 0");
  refused({"--input-u8", "image", "--std", "nan"}, 2, "--std: 'nan' is not a number");
  refused({"--input-u8", "image", "--mean", "inf"}, 2, "--mean: 'inf' is not a number");
  refused({"--input-u8", "image", "--scale", "0"}, 2, "--scale 0: must be more than 0");
  refused({"--mean", "0.5"}, 2, "--mean has no effect without --input-u8");
  refused({"--input-u8", "image", "--pass", "fold-affine"}, 2, "--input-u8 has no effect: pass 'byte-input' does not run");
  convert({"a.onnx", "-o", "u8.onnx", "--input-u8", "image"});
  expect_refusal(run({"convert", "u8.onnx", "-o", "b.onnx", "--input-u8", "image"}), 4,
                 "u8.onnx: --input-u8 'image': it takes bytes already");
  EXPECT_THAT(convert({"a.onnx", "-o", "half.onnx", "--input-u8", "image", "--mean", "0.5", "--precision", "fp16", "--verify"}),
              HasSubstr("same"));
  convert({"a.onnx", "-o", "half.onnx", "--precision", "fp16", "--io-precision"});
  expect_refusal(run({"convert", "half.onnx", "-o", "b.onnx", "--input-u8", "image"}), 4,
                 "half.onnx: --input-u8 'image': it is f16, and only f32 is computed from bytes");
}

TEST_F(Edits, ScrambledWeightsComputeSomethingElse) {
  convert({"net.onnx", "-o", "out.onnx", "--scramble", "3"});
  EXPECT_EQ(run({"verify", "net.onnx", "out.onnx"}).code, 1);
  expect_refusal(run({"convert", "net.onnx", "--scramble", "3", "--verify"}), 2, "--scramble");
}

TEST_F(Edits, OpsetsAreConvertedAndVerified) {
  EXPECT_THAT(convert({"net.onnx", "-o", "out.onnx", "--opset", "20"}), HasSubstr("same"));
  EXPECT_THAT(run({"inspect", "out.onnx"}).out, HasSubstr("20"));
  EXPECT_THAT(convert({"net.onnx", "-o", "again.onnx", "--opset", "17", "--ir-version", "9"}), HasSubstr("same"));
  expect_refusal(run({"convert", "net.onnx", "-o", "no.onnx", "--opset", "99"}), 4, "--opset 99");
  expect_refusal(run({"convert", "net.onnx", "-o", "no.onnx", "--ir-version", "3"}), 4,
                 "initializers that are no inputs need IR version 4");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "no.onnx"));
}

}  // namespace
}  // namespace relayout::test
