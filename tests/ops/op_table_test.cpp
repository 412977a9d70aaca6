#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <map>

#include "ops/op.h"

namespace relayout {
namespace {

TEST(OpTable, IsSortedByName) {
  const auto table = op_table();
  ASSERT_FALSE(table.empty());
  for (std::size_t i = 1; i < table.size(); ++i) EXPECT_LT(table[i - 1].name, table[i].name);
}

TEST(OpTable, EveryLineIsComplete) {
  for (const Op& op : op_table()) {
    EXPECT_GE(op.since, 1) << op.name;
    EXPECT_GE(op.reviewed, op.since) << op.name;
    EXPECT_EQ(op.infer == nullptr, op.traits.has(Trait::control_flow)) << op.name;
    EXPECT_EQ(op.compute == nullptr, op.traits.has(Trait::control_flow)) << op.name;
    EXPECT_EQ(op.view != nullptr, op.layout == LayoutRule::view) << op.name;
  }
}

TEST(OpTable, FindsByExactName) {
  ASSERT_NE(find_op("Conv"), nullptr);
  EXPECT_EQ(find_op("Conv")->name, "Conv");
  EXPECT_EQ(find_op("Conv")->layout, LayoutRule::wants);
  EXPECT_EQ(find_op("conv"), nullptr);
  EXPECT_EQ(find_op(""), nullptr);
  EXPECT_EQ(find_op("Zzz"), nullptr);
}

TEST(OpTable, EveryOperatorIsKnownFromItsFirstOpset) {
  std::map<std::string, int> first;
  for (const auto& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    if (!schema.domain().empty()) continue;
    int& since = first.try_emplace(schema.Name(), schema.since_version()).first->second;
    since = std::min(since, schema.since_version());
  }
  ASSERT_GT(first.size(), 150U);
  for (const auto& [name, since] : first) {
    const Op* const op = find_op(name);
    EXPECT_EQ(op == nullptr, name == "ImageDecoder") << name;  // needs codecs
    EXPECT_LE(op == nullptr ? 0 : op->since, since) << name;
  }
}

}  // namespace
}  // namespace relayout
