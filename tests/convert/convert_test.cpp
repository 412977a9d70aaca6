#include "relayout/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "relayout/error.h"
#include "relayout/findings.h"
#include "support/small_models.h"
#include "support/temporary_folder.h"

namespace relayout {
namespace {

namespace fs = std::filesystem;
using test::conv_batch_norm;
using test::float_tensor;
using test::save_model;
using testing::ElementsAre;
using testing::HasSubstr;

class ConvertTest : public testing::Test {
 protected:
  ConvertTest() { save_model(conv_batch_norm(), folder_ / "in.onnx"); }

  ConvertResult run(const ConvertOptions& options = {}) { return convert(folder_ / "in.onnx", folder_ / "out.onnx", options); }

  test::TemporaryFolder folder_;
};

TEST(DefaultOutput, ReplacesKnownExtensionsOnly) {
  EXPECT_EQ(default_output("a/net.onnx"), "a/net.cl.onnx");
  EXPECT_EQ(default_output("net.onnxtxt"), "net.cl.onnx");
  EXPECT_EQ(default_output("net.textproto"), "net.cl.onnx");
  EXPECT_EQ(default_output("net.v1.2"), "net.v1.2.cl.onnx");
  EXPECT_EQ(default_output("net"), "net.cl.onnx");
  EXPECT_EQ(default_output("net.cl.onnx"), "net.cl.onnx");
}

TEST_F(ConvertTest, ReportsItsChanges) {
  const ConvertResult result = run();
  EXPECT_TRUE(result.written);
  EXPECT_TRUE(result.all_folded);
  EXPECT_EQ(result.nodes_before, 3);
  EXPECT_EQ(result.initializers_before, 6);
  EXPECT_EQ(result.bytes_before, static_cast<int64_t>(fs::file_size(folder_ / "in.onnx")));
  EXPECT_EQ(result.bytes_after, static_cast<int64_t>(fs::file_size(folder_ / "out.onnx")));
  // Conv + Relu, and the Transpose that gives the weight its logical order.
  EXPECT_EQ(result.nodes_after, 3);
  EXPECT_EQ(result.initializers_after, 2);
  EXPECT_EQ(test::load_model(folder_ / "out.onnx").graph().initializer_size(), 2);
}

TEST_F(ConvertTest, DryRunGivesTheSameFindingsAndNoFile) {
  const ConvertResult dry = run({.dry_run = true});
  EXPECT_FALSE(dry.written);
  EXPECT_THAT(folder_.entries(), ElementsAre("in.onnx"));
  const ConvertResult wet = run();
  ASSERT_EQ(dry.findings.size(), wet.findings.size());
  for (std::size_t i = 0; i < dry.findings.size(); ++i) {
    EXPECT_EQ(dry.findings[i].node, wet.findings[i].node);
    EXPECT_EQ(dry.findings[i].verdict, wet.findings[i].verdict);
  }
  EXPECT_EQ(dry.nodes_after, wet.nodes_after);
}

/// Multiplies one element of a tensor.
void multiply_element(onnx::TensorProto& tensor, std::size_t index, float factor) {
  std::string& bytes = *tensor.mutable_raw_data();
  float value = 0;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  value *= factor;
  std::memcpy(bytes.data() + index * sizeof value, &value, sizeof value);
}

// Weights are examined while they are written: a wrong assumption about one is revoked, with all its consequences.
TEST_F(ConvertTest, AFoldThatLeavesTheRangeIsTakenBackWhenItsWeightIsWritten) {
  onnx::ModelProto model = conv_batch_norm();
  multiply_element(test::initializer(model, "W"), 30, 1e37F);
  multiply_element(test::initializer(model, "scale"), 1, 1e10F);
  model.add_opset_import()->set_version(1);
  model.mutable_opset_import(1)->set_domain("com.example");
  test::add_node(*model.mutable_graph(), "Thing", {"y"}, {"z"}).set_domain("com.example");
  save_model(model, folder_ / "in.onnx");
  testing::internal::CaptureStderr();
  const ConvertResult result = run();
  const std::string warnings = testing::internal::GetCapturedStderr();
  EXPECT_EQ(warnings.find("unknown operators"), warnings.rfind("unknown operators")) << warnings;
  EXPECT_THAT(warnings, HasSubstr("unknown operators"));
  EXPECT_FALSE(result.all_folded);
  ASSERT_FALSE(result.findings.empty());
  EXPECT_EQ(result.findings[0].reason, Reason::overflow);
  EXPECT_EQ(result.findings[0].detail, "channel 1");
  const onnx::ModelProto written = test::load_model(folder_ / "out.onnx");
  EXPECT_TRUE(
      std::ranges::any_of(written.graph().node(), [](const onnx::NodeProto& node) { return node.op_type() == "BatchNormalization"; }));
  fs::remove(folder_ / "out.onnx");
  EXPECT_FALSE(run({.require_all_folded = true}).written);
  EXPECT_THAT(folder_.entries(), ElementsAre("in.onnx"));
}

TEST_F(ConvertTest, AnUnexaminedBatchNormalizationCountsAsUnfolded) {
  EXPECT_FALSE(run({.rewrite = {.fold = false}}).all_folded);
  fs::remove(folder_ / "out.onnx");
  EXPECT_THROW((void)run({.rewrite = {.fold = false}, .require_all_folded = true}), Error);
  EXPECT_THAT(folder_.entries(), ElementsAre("in.onnx"));
}

TEST_F(ConvertTest, AFileThatContradictsItsOwnTypesIsRefused) {
  onnx::ModelProto model = conv_batch_norm();
  auto& info = *model.mutable_graph()->add_value_info();
  info.set_name(model.graph().node(0).output(0));
  info.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
  save_model(model, folder_ / "in.onnx");
  try {
    (void)run();
    FAIL() << "converted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid);
    EXPECT_THAT(error.what(), HasSubstr("in.onnx: node "));
    EXPECT_THAT(error.what(), HasSubstr("is f32, the file declares i64"));
  }
  EXPECT_FALSE(fs::exists(folder_ / "out.onnx"));
}

TEST_F(ConvertTest, NonsenseIsRefusedBeforeAnythingIsRead) {
  for (const ConvertOptions& options : {ConvertOptions{.passes = {"no-such-pass"}}, ConvertOptions{.skip = {"no-such-pass"}},
                                        ConvertOptions{.rewrite = {.io_precision = true}}}) {
    try {
      (void)convert(folder_ / "missing.onnx", folder_ / "out.onnx", options);
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
    }
  }
}

/// A model large enough that saving reports progress more than once.
void write_large(const fs::path& path) {
  onnx::ModelProto model = conv_batch_norm();
  auto& graph = *model.mutable_graph();
  for (int i = 0; i < 8; ++i) {
    const std::string weight = "W" + std::to_string(i), out = "y" + std::to_string(i);
    *graph.add_initializer() = float_tensor(weight, {256, 256, 3, 3}, static_cast<uint64_t>(i));
    test::add_node(graph, "Conv", {"image", weight.c_str()}, {out.c_str()});
    test::set_tensor_type(*graph.add_output(), out, 1, {1, 256, 6, 6});
  }
  test::set_tensor_type(*graph.add_input(), "image", 1, {1, 256, 8, 8});
  save_model(model, path);
}

TEST_F(ConvertTest, B6AFileThatShrinksWhileItIsReadIsAnInputError) {
  write_large(folder_ / "in.onnx");
  bool cut = false;
  const auto shrink = [&](int64_t, int64_t) {
    if (!cut) fs::resize_file(folder_ / "in.onnx", 1 << 20);
    cut = true;
  };
  try {
    (void)run({.save = {.progress = shrink}, .threads = 1});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io) << error.what();
    EXPECT_THAT(error.what(), HasSubstr("in.onnx"));
  }
  EXPECT_TRUE(cut);
  EXPECT_THAT(folder_.entries(), ElementsAre("in.onnx"));
}

TEST_F(ConvertTest, B6AFileThatChangesWhileItIsReadIsAnInputError) {
  write_large(folder_ / "in.onnx");
  const auto touch = [&](int64_t, int64_t) {
    fs::last_write_time(folder_ / "in.onnx", fs::file_time_type::clock::now() + std::chrono::hours(1));
  };
  EXPECT_THROW((void)run({.save = {.progress = touch}, .threads = 1}), Error);
  EXPECT_THAT(folder_.entries(), ElementsAre("in.onnx"));
}

}  // namespace
}  // namespace relayout
