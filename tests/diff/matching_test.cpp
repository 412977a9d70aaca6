// Tests models out of step: inserted and removed nodes are reported as such, and all nodes downstream are equal, whatever their names.
#include "diff/matching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/graph.h"
#include "relayout/model_diff.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Fingerprints, AffinesWithOneConstantAreTransparent) {
  const auto model =
      TextModel(
          "g (float[1,2,4,4] x, float[1,2,4,4] z) => (a, b, c, d, e, f, h) <float[1,2,1,1] s> { a = Sum (x, s)  b = Sum (x, z)"
          "  c = Sum (x, s, s)  d = Mul (s, x)  e = Neg (x)  f = Sub (s, x)  h = Max (x, s) }")
          .load();
  std::string out;
  for (const Node& node : model->graph().nodes()) {
    const Value* const operand = transparent_operand(node);
    out += operand != nullptr ? operand->name() : "-";
  }
  EXPECT_EQ(out, "x--x-x-");
}

/// Layers of equal operators and dims, so that any could match any other. Two Elus in a row compute something else than one.
struct Chain {
  int layers = 8;
  int without_elu = -1;                                      ///< a layer
  int extra_elu = -1, extra_layer = -1, extra_sigmoid = -1;  ///< after this layer
  std::string prefix = {};

  [[nodiscard]] TextModel model() const {
    std::string tensors, nodes, value = "x";
    for (int i = 0; i < layers; ++i) {
      const std::string number = std::to_string(i);
      add_layer(number, tensors, nodes, value, i != without_elu);
      if (i == extra_layer) add_layer("new", tensors, nodes, value, true);
      if (i == extra_elu) add("Elu", "again", nodes, value);
      if (i == extra_sigmoid) add("Sigmoid", "again", nodes, value);
    }
    TextModel out("g (float[1,2,4,4] x) => (float[1,2,4,4] y) <" + tensors + "> {" + nodes + " y = Identity (" + value + ") }");
    // Weights depend on their layer, not on their name.
    for (int i = 0; i < layers; ++i) {
      std::vector<double> values(std::size_t{2} * 2 * 3 * 3);
      for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<double>(i) + 0.125 * static_cast<double>(k);
      out.set(prefix + "w" + std::to_string(i), values);
    }
    return out;
  }

 private:
  void add(const std::string& op, const std::string& name, std::string& nodes, std::string& value) const {
    nodes += " " + prefix + name + " = " + op + " (" + value + ")";
    value = prefix + name;
  }
  void add_layer(const std::string& number, std::string& tensors, std::string& nodes, std::string& value, bool has_elu) const {
    const std::string weight = prefix + "w" + number, made = prefix + "c" + number;
    tensors += (tensors.empty() ? "" : ", ") + std::string("float[2,2,3,3] ") + weight;
    nodes += " " + made + " = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (" + value + ", " + weight + ")";
    value = made;
    if (has_elu) add("Elu", "r" + number, nodes, value);
  }
};

std::vector<std::string> changes_of(const Chain& a, const Chain& b) {
  std::vector<std::string> out;
  for (const ModelChange& change : diff_models(*a.model().load(), *b.model().load()).changes) {
    out.push_back(std::string(to_string(change.kind)) + " " + (change.a.empty() ? "-" : change.a) + " > " +
                  (change.b.empty() ? "-" : change.b));
  }
  return out;
}

class Matching : public testing::TestWithParam<std::string> {};

TEST_P(Matching, EveryLayerFindsItsOwn) {
  EXPECT_THAT(changes_of({}, {.prefix = GetParam()}), IsEmpty());
}

TEST_P(Matching, ANodeAmongItsLike) {
  const std::string other = GetParam();
  EXPECT_THAT(changes_of({}, {.extra_elu = 3, .prefix = other}), ElementsAre("added - > " + other + "again"));
  EXPECT_THAT(changes_of({}, {.extra_sigmoid = 3, .prefix = other}), ElementsAre("added - > " + other + "again"));
  EXPECT_THAT(changes_of({.extra_elu = 3}, {.prefix = other}), ElementsAre("removed again > -"));
  EXPECT_THAT(changes_of({}, {.without_elu = 4, .prefix = other}), ElementsAre("removed r4 > -"));
}

TEST_P(Matching, ALayerAmongItsLike) {
  const std::string other = GetParam();
  EXPECT_THAT(changes_of({}, {.extra_layer = 3, .prefix = other}),
              ElementsAre("added - > " + other + "cnew", "added - > " + other + "rnew"));
  EXPECT_THAT(changes_of({.extra_layer = 0}, {.prefix = other}), ElementsAre("removed cnew > -", "removed rnew > -"));
}

TEST_P(Matching, TwoPlacesAtOnce) {
  const std::string other = GetParam();
  // Either of the two Elus around the new Conv may be the new one.
  EXPECT_THAT(changes_of({.extra_elu = 1}, {.extra_layer = 5, .prefix = other}),
              testing::UnorderedElementsAre("removed again > -", "added - > " + other + "cnew",
                                            testing::AnyOf("added - > " + other + "rnew", "added - > " + other + "r5")));
}

INSTANTIATE_TEST_SUITE_P(Names, Matching, testing::Values("", "renamed_"));

TEST(ModelDiffOfGraphs, LoopsOfReadersEnd) {
  // One value read by many equal nodes: nothing distinguishes them, and each has one partner.
  std::string nodes, sum = "n0";
  for (int i = 0; i < 200; ++i) nodes += " n" + std::to_string(i) + " = Elu (x)";
  for (int i = 1; i < 200; ++i) {
    nodes += " s" + std::to_string(i) + " = Add (" + sum + ", n" + std::to_string(i) + ")";
    sum = "s" + std::to_string(i);
  }
  const TextModel a("g (float[4] x) => (float[4] y) {" + nodes + " y = Exp (" + sum + ") }");
  const TextModel b("g (float[4] x) => (float[4] y) {" + nodes + " y = Log (" + sum + ") }");
  const ModelDiff changed = diff_models(*a.load(), *b.load());
  EXPECT_EQ(changed.changes.size(), 1U);
}

}  // namespace
}  // namespace relayout::test
