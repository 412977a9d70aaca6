// Tests B7 to B48: files that every command refuses, and files that only look invalid.
#include <algorithm>
#include <cstddef>

#include "command/command_test.h"
#include "support/bad_models.h"
#include "support/paths.h"
#include "support/process.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

namespace relayout::test {
namespace {

using testing::HasSubstr;

struct Way {
  std::vector<std::string> arguments;
  bool verifies;
};

const std::vector<Way>& ways() {
  static const std::vector<Way> all = {{{"convert", "model.onnx", "-o", "out.onnx"}, false},
                                       {{"inspect", "model.onnx"}, false},
                                       {{"verify", "model.onnx", "model.onnx"}, true},
                                       {{"verify", "../good.onnx", "model.onnx"}, true}};
  return all;
}

std::vector<std::string> all_paths(const std::filesystem::path& folder) {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

/// Each bad model, given to each command.
class BadInput : public testing::TestWithParam<std::size_t> {};

TEST_P(BadInput, IsRefused) {
  const BadModel& bad = bad_models()[GetParam()];
  const TemporaryFolder outer;
  const auto inside = outer / "in";
  std::filesystem::create_directory(inside);
  bad.make(inside);
  save_model(conv_batch_norm(), outer / "good.onnx");
  const std::vector<std::string> before = all_paths(outer.path());
  for (const Way& way : ways()) {
    SCOPED_TRACE(way.arguments[0] + " " + way.arguments[1]);
    std::vector<std::string> command = way.arguments;
    command.insert(command.begin(), program());
    const ProcessResult result = run_process(command, {.directory = inside});
    expect_refusal(result, way.verifies ? bad.verify_code : bad.code, bad.says);
    EXPECT_THAT(result.err, HasSubstr("model.onnx"));
    EXPECT_EQ(all_paths(outer.path()), before);
#if defined(NDEBUG)
    EXPECT_LT(result.peak_kib, 256 * 1024);
#endif
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, BadInput, testing::Range<std::size_t>(0, bad_models().size()),
                         [](const auto& index) { return bad_models()[index.param].name; });

class OddInput : public CommandTest {
 protected:
  /// Convert accepts the model with a warning that contains `says`.
  void expect_converted_with_warning(const onnx::ModelProto& model, const std::string& says) {
    save_model(model, folder_ / "model.onnx");
    const ProcessResult result = run({"convert", "model.onnx"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(result.err.starts_with("relayout: warning: model.onnx: ")) << result.err;
    EXPECT_THAT(result.err, HasSubstr(says));
    EXPECT_TRUE(std::filesystem::exists(folder_ / "model.cl.onnx"));
  }

  /// Verify lists the node on standard output, and in one line on standard error.
  void expect_unsupported(const std::string& node) {
    save_model(conv_batch_norm(), folder_ / "good.onnx");
    const ProcessResult result = run({"verify", "model.onnx", "good.onnx"});
    EXPECT_EQ(result.code, 4) << result.err;
    EXPECT_THAT(result.out, HasSubstr(node));
    EXPECT_THAT(result.err, HasSubstr(node));
    EXPECT_EQ(line_count(result.err), 1U) << result.err;
  }
};

TEST_F(OddInput, B8ArchivesComeWithAHint) {
  write_file(folder_ / "model.onnx", std::string("\x1f\x8b\x08\x00", 4) + "rest");
  EXPECT_THAT(run({"inspect", "model.onnx", "-v"}).err, HasSubstr("\nhint: "));
  EXPECT_EQ(run({"inspect", "model.onnx"}).err, "relayout: model.onnx: compressed by gzip (unpack it first: gunzip)\n");
}

TEST_F(OddInput, B9LfsPointersComeWithAHint) {
  write_file(folder_ / "model.onnx", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n");
  EXPECT_THAT(run({"inspect", "model.onnx", "-v"}).err, AllOf(HasSubstr("\nhint: "), HasSubstr("git lfs pull")));
}

TEST_F(OddInput, B32NodesInAnyOrderAreSortedWithAWarning) {
  onnx::ModelProto model = conv_batch_norm();
  model.mutable_graph()->mutable_node()->SwapElements(0, 2);
  expect_converted_with_warning(model, "order");
}

TEST_F(OddInput, AModelWithoutOutputsComesWithAWarning) {
  onnx::ModelProto model = conv_batch_norm();
  model.mutable_graph()->clear_output();
  expect_converted_with_warning(model, "no outputs");
}

TEST_F(OddInput, ADomainWithoutVersionComesWithAWarning) {
  onnx::ModelProto model = conv_batch_norm();
  add_node(*model.mutable_graph(), "Foo", {"y"}, {"z"}, "foo0").set_domain("com.example");
  set_tensor_type(*model.mutable_graph()->add_output(), "z", 1, {1});
  expect_converted_with_warning(model, "no opset import of domain 'com.example'");
}

TEST_F(OddInput, B37NamesMayHoldAnything) {
  // The names are valid all the same: converted without a warning, and escaped when printed.
  onnx::ModelProto model = conv_batch_norm();
  const std::string name = "norm\n\x1b[2J\xff\xfe" + std::string(1000, 'n');
  model.mutable_graph()->mutable_node(1)->set_name(name);
  model.mutable_graph()->mutable_node(0)->set_name("conv\r");
  save_model(model, folder_ / "model.onnx");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"convert", "model.onnx", "-v"}, {"inspect", "model.onnx", "-v"}, {"inspect", "model.onnx", "--json"}}) {
    const ProcessResult result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ((result.out + result.err).find('\x1b'), std::string::npos);
    EXPECT_EQ((result.out + result.err).find('\r'), std::string::npos);
    EXPECT_EQ(result.out.find('\xff'), std::string::npos);
  }
}

TEST_F(OddInput, B41ANewerIrVersionIsAWarning) {
  onnx::ModelProto model = conv_batch_norm();
  model.set_ir_version(int64_t{1} << 40);
  expect_converted_with_warning(model, "ir_version");
}

TEST_F(OddInput, B41AWarningIsGivenOncePerFile) {
  onnx::ModelProto model = conv_batch_norm();
  model.set_ir_version(77);
  save_model(model, folder_ / "model.onnx");
  const std::string warning = "relayout: warning: model.onnx: ir_version 77 is newer than ";
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"convert", "model.onnx", "--verify"}, {"verify", "model.onnx", "model.onnx", "--run-identical"}}) {
    const ProcessResult result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_TRUE(result.err.starts_with(warning)) << result.err;
    EXPECT_EQ(line_count(result.err), 1U) << result.err;
  }
  EXPECT_EQ(line_count(run({"verify", "model.onnx", "model.cl.onnx"}).err), 2U);
  std::filesystem::copy(folder_ / "model.cl.onnx", folder_ / "again.onnx");
  EXPECT_EQ(line_count(run({"verify", "--original", "model.onnx", "model.cl.onnx", "again.onnx"}).err), 3U);
}

TEST_F(OddInput, B42UnknownOperatorsPassThrough) {
  onnx::ModelProto model = conv_batch_norm();
  add_node(*model.mutable_graph(), "Quux", {"y"}, {"z"}, "quux0");
  set_tensor_type(*model.mutable_graph()->add_output(), "z", 1, {1});
  expect_converted_with_warning(model, "Quux");
  EXPECT_EQ(load_model(folder_ / "model.cl.onnx").graph().output(1).name(), "z");
  expect_unsupported("quux0");
}

TEST_F(OddInput, B42UnknownDomainsPassThrough) {
  onnx::ModelProto model = conv_batch_norm();
  auto& import = *model.add_opset_import();
  import.set_domain("com.example");
  import.set_version(1);
  add_node(*model.mutable_graph(), "Foo", {"y"}, {"z"}, "foo0").set_domain("com.example");
  set_tensor_type(*model.mutable_graph()->add_output(), "z", 1, {1});
  expect_converted_with_warning(model, "com.example:Foo");
  expect_unsupported("foo0");
}

TEST_F(OddInput, B40ANewerOpsetMayBeAllowed) {
  onnx::ModelProto model = conv_batch_norm();
  model.mutable_opset_import(0)->set_version(9999);
  save_model(model, folder_ / "model.onnx");
  expect_refusal(run({"convert", "model.onnx"}), 4, "opset");
  EXPECT_EQ(run({"convert", "model.onnx", "--allow-newer-opset"}).code, 0);
  EXPECT_EQ(run({"inspect", "model.onnx", "--allow-newer-opset"}).code, 0);
}

/// An error about inputs that cannot be generated names the model and the option to add.
TEST_F(OddInput, InputsThatCannotBeGeneratedNameTheOptionThatGivesThem) {
  const auto write = [&](const std::string& name, const std::string& graph) {
    write_file(folder_ / name, "<ir_version: 8, opset_import: [\"\" : 17]> g " + graph);
  };
  write("named.onnxtxt", "(float[batch,features] x) => (float[batch,features] y) { y = Relu (x) }");
  write("nameless.onnxtxt", "(float[4,?] x) => (float[4,?] y) { y = Relu (x) }");
  write("unfit.onnxtxt", "(float[batch,features] x) => (float[7,11,C] y) <int64[3] s = {7, 11, -1}> { y = Reshape (x, s) }");
  write("flat.onnxtxt",
        "(float[N,3,H,W] x) => (float[N,5] y) <float[3,3,1,1] w = {1,2,3,4,5,6,7,8,9}, float[6,5] v = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,"
        "16,17,18,19,20,21,22,23,24,25,26,27,28,29,30}> { c = Conv (x, w)  f = Flatten (c)  y = Gemm (f, v) }");
  write("shape.onnxtxt", "(float[2,6] x, int64[2] shape) => (float[A,B] y) { y = Reshape (x, shape) }");
  struct Case {
    std::string model, says;
    std::vector<std::string> then;
    bool any_fits = false;  ///< verify takes any size, profile needs the one that counts
  };
  const std::vector<Case> cases = {
      {"named",
       "dimension 'features' (axis 1) of input 'x' is free, and no guess is safe (give its size: --dim features=SIZE)",
       {"--dim", "features=5"},
       true},
      {"unfit",
       "dimension 'features' (axis 1) of input 'x' is free, and no guess is safe (give its size: --dim features=SIZE)",
       {"--dim", "features=77"},
       true},
      {"nameless", "dimension 1 of input 'x' is free, and no guess is safe (give its size: --shape x=4,SIZE)", {"--shape", "x=4,5"}, true},
      {"flat", "no size for 'H', 'W' was found that the model takes: node ", {"--dim", "H=1", "--dim", "W=2"}},
      {"shape", "and no guess is safe (give it from a file: --input shape=FILE, .npy or .pb)", {}}};
  for (const Case& one : cases) {
    const std::string file = one.model + ".onnxtxt";
    for (std::vector<std::string> command :
         {std::vector<std::string>{"verify", file, file, "--run-identical"}, {"profile", file, "--repeat", "1"}}) {
      const ProcessResult result = run(command);
      if (one.any_fits && command.front() == "verify") {
        EXPECT_EQ(result.code, 0) << result.err;
        continue;
      }
      expect_refusal(result, 2, one.says);
      EXPECT_TRUE(result.err.starts_with("relayout: " + file + ": ")) << result.err;
      if (one.then.empty()) continue;
      command.insert(command.end(), one.then.begin(), one.then.end());
      EXPECT_EQ(run(command).code, 0) << one.model;
    }
  }
  expect_refusal(run({"verify", "flat.onnxtxt", "flat.onnxtxt", "--run-identical"}), 2, "(give sizes: --dim H=SIZE --dim W=SIZE)");
}

TEST_F(OddInput, InputsThatNoMemoryHoldsAreRefusedWithTheModel) {
  onnx::ModelProto model = conv_batch_norm();
  for (const int64_t size : {int64_t{1} << 18, int64_t{1} << 40}) {
    auto* const dims = model.mutable_graph()->mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    for (int axis = 2; axis < 4; ++axis) dims->mutable_dim(axis)->set_dim_value(size);
    model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
    save_model(model, folder_ / "model.onnx");
    const ProcessResult result = run({"verify", "model.onnx", "model.onnx", "--run-identical"});
    expect_refusal(result, size < int64_t{1} << 40 ? 5 : 3, size < int64_t{1} << 40 ? "out of memory" : "2^63");
    EXPECT_TRUE(result.err.starts_with("relayout: model.onnx: ")) << result.err;
  }
}

TEST_F(OddInput, ErrorsOfOptionsAndFormatsNameTheModel) {
  save_model(conv_batch_norm(), folder_ / "model.onnx");
  expect_refusal(run({"inspect", "model.onnx", "--dim", "Q=2"}), 2,
                 "relayout: model.onnx: --dim Q: no input has a free dimension of this name");
  expect_refusal(run({"convert", "model.onnx", "-o", "model.onnxtxt"}), 4, "relayout: model.onnx: ONNX's textual syntax cannot say ");
}

TEST_F(OddInput, AnInputDeclaredWithADimOf0IsNamed) {
  write_file(folder_ / "zero.onnxtxt", "<ir_version: 8, opset_import: [\"\" : 17]> g (float[0,4] x) => (float[N,4] y) { y = Relu (x) }");
  const ProcessResult result = run({"verify", "zero.onnxtxt", "zero.onnxtxt", "--run-identical"});
  EXPECT_EQ(result.code, 1) << result.err;
  EXPECT_THAT(result.out, HasSubstr("input 'x' is declared f32[0, 4], which has no elements\n"));
  EXPECT_THAT(result.out, HasSubstr("inconclusive: no elements in any sample: nothing was compared\n"));
  write_file(folder_ / "product.onnxtxt",
             "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2,0] x) => (float[2,2] y) <float[1,2] w = {1,2}> { y = MatMul (x, w) }");
  expect_refusal(run({"verify", "product.onnxtxt", "product.onnxtxt", "--run-identical"}), 3,
                 "(input 'x' is declared f32[2, 0], which has no elements)");
}

}  // namespace
}  // namespace relayout::test
