#include "ops/op_history.h"

#include <gtest/gtest.h>
#include <onnx/defs/schema.h>

#include <map>

namespace relayout::test {
namespace {

/// The versions of the default domain's operators, by name and number.
std::map<std::string, std::map<int, onnx::OpSchema>> versions() {
  std::map<std::string, std::map<int, onnx::OpSchema>> out;
  for (const auto& schema : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    if (schema.domain().empty()) out[schema.Name()].emplace(schema.since_version(), schema);
  }
  return out;
}

TEST(OpHistory, UnchangedVersionsAreInTheSpecification) {
  constexpr int kNewest = 40;
  const auto all = versions();
  const int known = all.at("Conv").rbegin()->first;  // of the newest opset that the linked library has
  for (const auto& [name, of_name] : all) {
    for (int version = 1; version < kNewest; ++version) {
      if (!is_unchanged(name, version) || version > known) continue;
      EXPECT_TRUE(of_name.contains(version)) << name << "-" << version;
      EXPECT_LT(of_name.begin()->first, version) << name << ": nothing is before its first version";
    }
  }
}

/// A version that removes an attribute or an operand is not equivalent to the previous one.
TEST(OpHistory, UnchangedVersionsRemoveNothing) {
  for (const auto& [name, of_name] : versions()) {
    const onnx::OpSchema* before = nullptr;
    for (const auto& [version, schema] : of_name) {
      if (before != nullptr && is_unchanged(name, version)) {
        const MovedArgument* const moved = moved_argument(name);
        for (const auto& [attribute, definition] : before->attributes()) {
          const bool is_moved = moved != nullptr && moved->version == version && moved->attribute == attribute;
          // BatchNormalization-9 has no `spatial`: nodes with it are valid in earlier versions only.
          const bool is_gone = name == "BatchNormalization" && attribute == "spatial";
          EXPECT_TRUE(schema.attributes().contains(attribute) || is_moved || is_gone) << name << "-" << version << " has no " << attribute;
        }
        EXPECT_GE(schema.max_input(), before->max_input()) << name << "-" << version;
      }
      before = &schema;
    }
  }
}

TEST(OpHistory, ArgumentsMoveWhereTheSchemasSaySo) {
  for (const auto& [name, of_name] : versions()) {
    const MovedArgument* const moved = moved_argument(name);
    if (moved == nullptr) continue;
    const std::string attribute(moved->attribute);
    for (const auto& [version, schema] : of_name) {
      if (version == 1) continue;  // Split-1 had both
      EXPECT_EQ(schema.attributes().contains(attribute), version < moved->version) << name << "-" << version;
      const bool is_operand = schema.inputs().size() > moved->input && schema.inputs()[moved->input].GetName() == attribute;
      EXPECT_EQ(is_operand, version >= moved->version) << name << "-" << version;
    }
  }
  EXPECT_EQ(moved_argument("Relu"), nullptr);
}

TEST(OpHistory, AttributesThatChangedBelongToUnchangedVersions) {
  EXPECT_EQ(attributes_changed("MaxPool", 22).size(), 1U);
  EXPECT_TRUE(attributes_changed("MaxPool", 12).empty());
  for (const auto& [name, of_name] : versions()) {
    for (const auto& [version, schema] : of_name) {
      for (const std::string_view attribute : attributes_changed(name, version)) {
        EXPECT_TRUE(is_unchanged(name, version)) << name << "-" << version;
        EXPECT_TRUE(schema.attributes().contains(std::string(attribute))) << name << "-" << version << " " << attribute;
      }
    }
  }
}

}  // namespace
}  // namespace relayout::test
