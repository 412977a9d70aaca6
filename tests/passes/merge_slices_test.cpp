#include <gmock/gmock.h>

#include "relayout/model.h"
#include "relayout/tensor.h"
#include "support/fold_models.h"
#include "support/pass_fixture.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::ElementsAre;

const std::string kPass = "merge-slices";

/// Two Slices of x with the lists a, b (starts), c, d (ends), e, f (axes) and g, h (steps).
TextModel two(const std::string& x, const std::array<std::string, 8>& lists, const std::string& rest = "") {
  std::string constants;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const auto count = std::ranges::count(lists[i], ',') + 1;
    constants += (i > 0 ? ", int64[" : "int64[") + std::to_string(count) + "] " + static_cast<char>('a' + i) + " = {" + lists[i] + "}";
  }
  return "g (" + x + ") => (y) <" + constants + "> { m = Slice (x, a, c, e, g)  n = Slice (m, b, d, f, h)  y = Neg (n)" + rest + " }";
}

std::vector<int64_t> integers(const PassResult& result, std::size_t index) {
  const Node& node = result.model->graph().nodes().front();
  if (node.input(index) == nullptr) return {};
  const Tensor tensor = node.input(index)->initializer()->data->load();
  return {tensor.data<int64_t>(), tensor.data<int64_t>() + tensor.element_count()};
}

PassResult merged(const std::string& x, const std::array<std::string, 8>& lists) {
  return expect_rewrite(kPass, two(x, lists),
                        "g (" + x + ") => (y) <int64[1] b, int64[1] d, int64[1] f> { n = Slice (x, b, d, f)  y = Neg (n) }");
}

TEST(MergeSlices, OfTwoAxes) {
  const auto result = run({kPass}, two("float[N,9,7] x", {"0", "1", "5", "6", "1", "-1", "1", "2"}));
  ASSERT_EQ(result.count("Slice"), 1);
  EXPECT_THAT(integers(result, 1), ElementsAre(0, 1));
  EXPECT_THAT(integers(result, 2), ElementsAre(5, 6));
  EXPECT_THAT(integers(result, 3), ElementsAre(1, 2));
  EXPECT_THAT(integers(result, 4), ElementsAre(1, 2));
}

/// Of x[2:8][1:4] are x[3:6], of x[2:8][1:100] are x[3:8].
TEST(MergeSlices, OfOneAxis) {
  const auto result = merged("float[N,9] x", {"2", "1", "8", "4", "1", "1", "1", "1"});
  EXPECT_THAT(integers(result, 1), ElementsAre(3));
  EXPECT_THAT(integers(result, 2), ElementsAre(6));
  EXPECT_THAT(integers(merged("float[N,9] x", {"2", "1", "8", "100", "1", "1", "1", "1"}), 2), ElementsAre(8));
  EXPECT_THAT(integers(merged("float[9,N] x", {"2", "1", "1125899906842624", "3", "0", "0", "1", "1"}), 2), ElementsAre(5));
  (void)merged("float[N,9] x", {"8", "3", "20", "9", "1", "1", "1", "1"});
}

TEST(MergeSlices, ThoseThatStay) {
  const auto count = [](const TextModel& model) { return run({kPass}, model).count("Slice"); };
  EXPECT_EQ(count(two("float[N,9] x", {"-5", "1", "-1", "3", "1", "1", "1", "1"})), 2) << "counted from the end";
  EXPECT_EQ(count(two("float[N,9] x", {"0", "-3", "6", "-1", "1", "1", "1", "1"})), 2);
  EXPECT_EQ(count(two("float[N,9] x", {"0", "1", "8", "3", "1", "1", "2", "1"})), 2) << "with a step";
  EXPECT_EQ(count(two("float[N,9] x", {"0", "1", "8", "3", "1", "0", "1", "1"}, "  z = Abs (m)")), 2) << "another reader";
  EXPECT_EQ(count(two("float[N,9] x", {"0", "1", "8", "3", "1", "0", "1", "1"}, "  z = Abs (a)")), 2) << "lists that stay";
}

}  // namespace
}  // namespace relayout::test
