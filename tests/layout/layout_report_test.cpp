#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/layout.h"
#include "relayout/model.h"
#include "relayout/types.h"
#include "support/many.h"
#include "support/network.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kNet[] =
    "g (float[1,3,96,96] x) => (float[1,16,48,48] y) <float[16,3,3,3] W, float[16,1,3,3] V> { a = Conv <pads = [1,1,1,1]> (x, W)  b = Conv "
    "<pads = [1,1,1,1], group = 16> (a, V)  y, i = MaxPool <kernel_shape = [2,2], strides = [2,2], storage_order = 1> (b)  j = Cast <to = "
    "1> (i)  k = Neg (j) "
    "}";

TEST(LayoutReport, NamesReordersLossesAndRegions) {
  const auto model = TextModel(kNet)
                         .edit([](onnx::ModelProto& message) {
                           *message.mutable_graph()->add_output() = message.graph().output(0);
                           message.mutable_graph()->mutable_output(1)->set_name("k");
                         })
                         .load();
  const LayoutReport report = report_layout(model->graph(), {.compare = true});
  ASSERT_EQ(report.reorders.size(), 2U);
  EXPECT_EQ(report.reorders[0].to, "channels-last");
  EXPECT_FALSE(report.reorders[0].inner);
  EXPECT_TRUE(report.reorders[1].inner);
  EXPECT_EQ(report.reorders[1].bytes, 16 * 96 * 96 * 4);
  EXPECT_THAT(report.reorders[1].readers, ElementsAre("y"));
  EXPECT_THAT(report.reorders[1].reason, HasSubstr("indices"));
  const auto losing = std::ranges::find(report.operators, true, &OperatorLayout::loses);
  ASSERT_NE(losing, report.operators.end());
  EXPECT_EQ(losing->op_type, "MaxPool");
  ASSERT_EQ(report.regions.size(), 1U);
  EXPECT_EQ(report.regions[0].convolutions, 2);
  EXPECT_EQ(report.regions[0].bytes, 2 * 16 * 96 * 96 * 4);
  EXPECT_EQ(report.convolutions, 2);
  EXPECT_TRUE(report.thrashes) << "the reordered tensor is more than a twentieth of all";
  ASSERT_TRUE(report.propagation);
  EXPECT_EQ(report.propagation->reorders, 2);
}

TEST(LayoutReport, L91AlwaysWarns) {
  const auto model =
      TextModel(
          "g (float[1,64,512,512] x) => (float[1,64,512,512] y) <float[64,64,1,1] W> { t = Trilu (x)  c = Conv (t, W)  y = Trilu (c) }")
          .load();
  const LayoutReport report = report_layout(model->graph(), {.choice = LayoutChoice::always});
  EXPECT_EQ(report.reorders.size(), 2U);
  EXPECT_THAT(report.thrash_reason, HasSubstr("contiguous would be faster"));
  EXPECT_THAT(report_layout(model->graph()).reorders, IsEmpty());
}

TEST(LayoutReport, UnknownShapesAndOperatorsAreBarriers) {
  const auto model = TextModel("g (float[] x) => (y) <float[16,3,3,3] W> { a = Conv (x, W)  y = com.other.Thing (a) }",
                               R"(<ir_version: 8, opset_import: ["" : 17, "com.other" : 1]>)")
                         .load();
  const LayoutReport report = report_layout(model->graph());
  EXPECT_THAT(report.reorders, IsEmpty());
  EXPECT_EQ(report.tensors.front().type, DataType::undefined);
}

/// A TopK without a name that is used for its indices only: its first output is absent.
TEST(LayoutReport, NamesANodeByItsFirstPresentOutput) {
  const auto model = TextModel("g (float[1,8] x, int64[1] k) => (int64[1,2] i) { v, i = TopK (x, k) }")
                         .edit([](onnx::ModelProto& message) { message.mutable_graph()->mutable_node(0)->set_output(0, ""); })
                         .load();
  const LayoutReport report = report_layout(model->graph());
  ASSERT_EQ(report.operators.size(), 1U);
  EXPECT_EQ(report.operators[0].node, "i");
}

/// Sizes beyond any memory are treated as unknown, and nothing overflows.
TEST(LayoutReport, AbsurdSizes) {
  const auto model = TextModel("g (float[4611686018427387904,3,4611686018427387904,2] x) => (y) { y = Relu (x) }").load();
  EXPECT_EQ(report_layout(model->graph()).activation_bytes, 0);
}

/// 100,000 nodes: chains with residuals, blocks that concatenate everything before them.
TEST(LayoutReport, L95HundredThousandNodes) {
  constexpr int kNodes = kMany;
  Network network(1);
  network.input("x", {"1", "8", "16", "16"});
  network.normal("W", {8, 8, 3, 3}).normal("V", {8, 1, 3, 3});
  std::string last = "x", block = "x";
  for (int i = 0; i < kNodes; ++i) {
    const std::string name = "v" + std::to_string(i);
    if (i % 5 == 4) {
      network.node("Add", {last, block}, {name});
      block = name;
    } else if (i % 5 == 0) {
      network.node("Conv", {last, "W"}, {name}, {"pads=1,1,1,1"});
    } else if (i % 5 == 2) {
      network.node("Conv", {last, "V"}, {name}, {"pads=1,1,1,1", "group=8"});
    } else {
      network.node(i % 1000 == 3 ? "Trilu" : "Relu", {last}, {name});
    }
    last = name;
  }
  network.output(last, {"1", "8", "16", "16"});
  const auto model = Model::from_bytes(network.bytes());
  const LayoutReport report = report_layout(model->graph());
  EXPECT_EQ(report.operators.size(), static_cast<std::size_t>(kNodes));
  EXPECT_FALSE(report.regions.empty());
  const LayoutReport again = report_layout(model->graph());
  ASSERT_EQ(again.reorders.size(), report.reorders.size());
  for (std::size_t i = 0; i < report.tensors.size(); ++i) ASSERT_EQ(again.tensors[i].layout, report.tensors[i].layout);
}

}  // namespace
}  // namespace relayout::test
