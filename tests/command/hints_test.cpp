// Tests that every command that a report suggests runs in a shell as it is printed.
#include <sstream>

#include "command/command_test.h"

namespace relayout::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Hints : public CommandTest {
 protected:
  Hints() { save_model(conv_batch_norm(), folder_ / "net.onnx"); }

  /// Converts, runs all commands that the report suggests, and returns them.
  std::string follow(const std::vector<std::string>& arguments, const ProcessOptions& options = {}) {
    const ProcessResult converted = run(arguments, options);
    EXPECT_EQ(converted.code, 0) << converted.err << converted.out;
    const std::string path = fs::path(program()).parent_path().string() + ":/usr/bin:/bin";
    std::string all, text;
    for (const char c : converted.out) text += c == '\r' ? "" : std::string(1, c);  // a terminal ends lines with both
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      std::string command;
      for (const std::string title : {"Next: ", "Before quantizing or pruning: "}) {
        if (line.starts_with(title)) command = line.substr(title.size());
      }
      if (command.empty()) continue;
      while (command.ends_with('\\') && std::getline(lines, line)) command += "\n" + line;
      const ProcessResult result = run_process({"/bin/sh", "-c", command}, {.directory = folder_.path(), .environment = {{"PATH", path}}});
      EXPECT_EQ(result.code, 0) << command << "\n" << result.out << result.err;
      all += command + "\n";
    }
    return all;
  }
};

TEST_F(Hints, OfAPlainConversion) {
  const std::string commands = follow({"convert", "net.onnx"});
  EXPECT_THAT(commands, HasSubstr("relayout verify net.onnx net.cl.onnx\n"));
  EXPECT_THAT(commands, HasSubstr("--layout contiguous net.cl.onnx"));
  EXPECT_TRUE(fs::exists(folder_ / "net.cl.contiguous.onnx") || fs::exists(folder_ / "net.contiguous.onnx"));
}

TEST_F(Hints, OfSeveralModelsIsOneCommand) {
  for (const char* const folder : {"in", "in/deep er", "out"}) fs::create_directory(folder_ / folder);
  for (const char* const name : {"in/a.onnx", "in/it's.onnx", "in/deep er/c.onnx", "second.onnx"}) {
    fs::copy_file(folder_ / "net.onnx", folder_ / name);
  }
  EXPECT_EQ(follow({"convert", "in/a.onnx", "in/it's.onnx", "--out-dir", "out"}),
            "relayout verify --original 'in/{stem}.onnx' out/a.cl.onnx 'out/it'\\''s.cl.onnx'\n");
  EXPECT_EQ(follow({"convert", "net.onnx", "second.onnx", "--out-dir", "out", "--io", "nhwc"}),
            "relayout verify --io nhwc --original './{stem}.onnx' out/net.cl.onnx out/second.cl.onnx\n");
  fs::create_directory(folder_ / "tree");
  EXPECT_EQ(follow({"convert", "--suite", "in", "--out-dir", "tree"}), "relayout verify --suite in --against tree\n");
  EXPECT_EQ(follow({"convert", "--suite", "in", "--out-dir", "out"}), "");  // which has results of other models too
  // No command is suggested for a folder whose name would be a pattern, for originals in several folders, or for a part of a tree only.
  fs::copy(folder_ / "in", folder_ / "in{x}", fs::copy_options::recursive);
  EXPECT_EQ(follow({"convert", "in{x}/a.onnx", "in{x}/it's.onnx", "--out-dir", "out"}), "");
  EXPECT_EQ(follow({"convert", "net.onnx", "in/a.onnx", "--out-dir", "out"}), "");
  EXPECT_EQ(follow({"convert", "--suite", "in", "--out-dir", "out", "--case", "a.onnx", "--case", "deep er/c.onnx"}), "");
}

TEST_F(Hints, OtherDimsNeedTheOptionThatGivesThem) {
  write_file(folder_ / "flat.onnxtxt", "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2,3] x) => (float[2,3] y) { y = Relu (x) }");
  EXPECT_THAT(run({"convert", "flat.onnxtxt", "--set-dim", "N=4", "-o", "b.onnx"}).err,
              HasSubstr("--set-dim N: no input has a free dimension of this name (--set-shape x=4,3 sets a fixed one)\n"));
  EXPECT_THAT(run({"convert", "flat.onnxtxt", "--dim", "N=4", "-o", "b.onnx"}).err,
              HasSubstr("--dim has no effect without --verify or --emit: --set-dim gives the result a size\n"));
  const std::vector<std::string> other{"convert", "flat.onnxtxt", "--set-shape", "x=4,3", "-o", "b.onnx"};
  EXPECT_THAT(run(other).out, HasSubstr("The original has other dims: the same command with --verify compares both at these.\n"));
  std::vector<std::string> verified = other;
  verified.emplace_back("--verify");
  EXPECT_THAT(run(verified).out, HasSubstr("input 'x': dim 0 is 4, was 2: run at that size\n"));
  // The verdict is the last line.
  EXPECT_THAT(run({"convert", "net.onnx", "--verify"}).out,
              testing::ContainsRegex("Before quantizing[^\n]*\n([^\n]*\n)+same   1 sample[^\n]*   exit 0\n$"));
  // The way that verify names works.
  EXPECT_THAT(run({"verify", "flat.onnxtxt", "b.onnx"}).out,
              HasSubstr("nothing was run; compare B with a copy of A of these dims (convert --pass set-dims --set-shape x=4,3)"));
  EXPECT_EQ(run({"convert", "--pass", "set-dims", "--set-shape", "x=4,3", "flat.onnxtxt", "-o", "copy.onnx"}).code, 0);
  EXPECT_EQ(run({"verify", "copy.onnx", "b.onnx"}).code, 0);
}

TEST_F(Hints, ModelsWithoutImagesAreReported) {
  write_file(folder_ / "flat.onnxtxt", "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) { y = Relu (x) }");
  EXPECT_THAT(run({"convert", "flat.onnxtxt", "-o", "flat.onnx", "--io", "nhwc"}).out, HasSubstr("no input or output is an image"));
  EXPECT_THAT(run({"convert", "flat.onnxtxt", "-o", "back.onnx", "--layout", "contiguous"}).out, testing::Not(HasSubstr("image")));
}

TEST_F(Hints, NamedInputsThatAreNoImagesAreRefused) {
  write_file(folder_ / "flat.onnxtxt", "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2,7] x) => (float[2,7] y) { y = Relu (x) }");
  const ProcessResult result = run({"convert", "flat.onnxtxt", "-o", "flat.onnx", "--io", "nhwc:x"});
  expect_refusal(result, 4, "flat.onnxtxt: --io: input 'x' [2, 7] cannot be handed over channels-last: an image has three dims at least");
  EXPECT_FALSE(fs::exists(folder_ / "flat.onnx"));
}

TEST_F(Hints, OfChangedInterfacesAndBack) {
  EXPECT_THAT(follow({"convert", "net.onnx", "--io", "nhwc", "-o", "io.onnx"}), HasSubstr("verify --io nhwc net.onnx io.onnx\n"));
  // The contiguous model for quantization takes the same images.
  EXPECT_EQ(run({"verify", "io.onnx", "io.contiguous.onnx"}).code, 0);
  EXPECT_THAT(follow({"convert", "io.onnx", "--layout", "contiguous", "-o", "back.onnx"}),
              HasSubstr("verify --io nhwc io.onnx back.onnx\n"));
  EXPECT_THAT(follow({"convert", "net.onnx", "--emit", "transposes", "-o", "emitted.onnx"}), HasSubstr("verify net.onnx emitted.onnx\n"));
}

TEST_F(Hints, OfInputsChangedInSeveralConversions) {
  write_file(folder_ / "two.onnxtxt", R"(<ir_version: 8, opset_import: ["" : 17]>
    g (float[1,3,8,6] x, float[1,3,8,6] z) => (float[1,3,8,6] y, float[1,3,8,6] w) { a = Relu (x)  y = Add (a, z)  w = Mul (a, z) })");
  (void)follow({"convert", "two.onnxtxt", "-o", "one.onnxtxt", "--io", "nhwc:x"});
  (void)follow({"convert", "one.onnxtxt", "-o", "both.onnxtxt", "--io", "nhwc:z,w"});
  EXPECT_THAT(follow({"convert", "both.onnxtxt", "-o", "back.onnx", "--layout", "contiguous"}),
              HasSubstr("--io nhwc both.onnxtxt back.onnx"));
  EXPECT_EQ(run({"verify", "two.onnxtxt", "back.onnx", "--strict"}).code, 0);
  for (const std::string layout : {"contiguous", "keep"}) {
    EXPECT_EQ(run({"convert", "one.onnxtxt", "-o", layout + ".onnx", "--layout", layout, "--verify"}).code, 0) << layout;
  }
}

TEST_F(Hints, OfNamesThatNeedQuoting) {
  for (const std::string name : {"-dash.onnx", "two words.onnx", "it's.onnx", "$HOME;ls.onnx", "größe.onnx", "a\\b.onnx", "*.onnx"}) {
    fs::copy_file(folder_ / "net.onnx", folder_ / name);
    EXPECT_THAT(follow({"convert", "--", name}), HasSubstr("relayout verify ")) << name;
  }
  // Names that cannot be printed unchanged cannot be suggested.
  fs::copy_file(folder_ / "net.onnx", folder_ / "line\nbreak.onnx");
  EXPECT_EQ(follow({"convert", "line\nbreak.onnx"}), "");
}

TEST_F(Hints, OfLongNamesInANarrowTerminal) {
  const std::string name(150, 'n');
  fs::copy_file(folder_ / "net.onnx", folder_ / (name + ".onnx"));
  const ProcessOptions terminal{.environment = {{"COLUMNS", "60"}, {"TERM", "dumb"}}, .terminal = true};
  EXPECT_THAT(follow({"convert", name + ".onnx"}, terminal), HasSubstr(name + ".cl.onnx"));
}

TEST_F(Hints, OfOtherFormatsPrecisionsAndOpsets) {
  const std::string json = follow({"convert", "net.onnx", "-o", "net.json"});
  EXPECT_THAT(json, HasSubstr("verify net.onnx net.json\n"));
  EXPECT_THAT(json, HasSubstr("net.json -o net.contiguous.json\n"));
  EXPECT_THAT(follow({"convert", "net.onnx", "-o", "net.cl.pb"}), HasSubstr("net.cl.pb -o net.contiguous.pb\n"));
  EXPECT_THAT(follow({"convert", "net.onnx", "-o", "net.model"}), HasSubstr("net.model -o net.model.contiguous.onnx\n"));
  EXPECT_EQ(follow({"convert", "net.onnx", "-o", "net.dat", "--output-format", "json"}), "");  // verify has no option for the format
  (void)follow({"convert", "net.onnx", "-o", "half.onnx", "--precision", "fp16"});
  EXPECT_THAT(follow({"convert", "net.onnx", "-o", "half_io.onnx", "--precision", "fp16", "--io-precision"}),
              HasSubstr("verify --precision fp16 net.onnx half_io.onnx\n"));
  EXPECT_THAT(follow({"convert", "half_io.onnx", "-o", "wide_io.onnx", "--precision", "fp32", "--io-precision"}),
              HasSubstr("verify --allow-interface half_io.onnx wide_io.onnx\n"));
  onnx::ModelProto newer = conv_batch_norm();
  newer.mutable_opset_import(0)->set_version(99);
  save_model(newer, folder_ / "newer.onnx");
  const ProcessResult converted = run({"convert", "newer.onnx", "--allow-newer-opset"});
  EXPECT_THAT(converted.out, HasSubstr("relayout verify --allow-newer-opset newer.onnx newer.cl.onnx\n"));
}

TEST_F(Hints, NoneWithoutFilesToCompare) {
  EXPECT_EQ(follow({"convert", "net.onnx", "--dry-run"}), "");
  EXPECT_EQ(follow({"convert", "net.onnx", "-o", "verified.onnx", "--verify", "--layout", "keep"}), "");
  EXPECT_EQ(run({"convert", "net.onnx", "-q"}).out.find("Next:"), std::string::npos);
}

}  // namespace
}  // namespace relayout::test
