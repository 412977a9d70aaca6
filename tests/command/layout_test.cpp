// inspect --layout as a page and as a graph of files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "command/browser.h"
#include "command/command_test.h"
#include "support/process.h"
#include "support/text_model.h"

namespace relayout::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class LayoutPage : public CommandTest {
 protected:
  LayoutPage() {
    write_file(
        folder_ / "net.onnx",
        TextModel("g (float[1,3,96,96] x) => (float[1,16,96,96] y, float[1,16,96,96] z) <float[16,3,3,3] W, float[16,1,3,3] V> { a = "
                  "Conv <pads = [1,1,1,1]> (x, W)  b = Conv <pads = [1,1,1,1], group = 16> (a, V)  y = Trilu (b)  z = Relu (b) }")
            .name_nodes()
            .bytes());
  }
};

TEST_F(LayoutPage, ReordersOfOperatorsAndOfTheCallerAreMarked) {
  ASSERT_EQ(run({"inspect", "net.onnx", "--layout", "--html", "page.html"}).code, 0);
  const std::string page = read_file(folder_ / "page.html");
  std::size_t marks = 0;
  const std::string rows = page.substr(page.find("<tbody>"));
  for (std::size_t at = rows.find("class=\"re\""); at != std::string::npos; at = rows.find("class=\"re\"", at + 1)) ++marks;
  EXPECT_EQ(marks, 3U) << "the input's, the barrier's, the output's";
  EXPECT_THAT(page, Not(HasSubstr("://")));
  ASSERT_EQ(run({"inspect", "net.onnx", "--layout", "--dot", "net.dot"}).code, 0);
  const std::string dot = read_file(folder_ / "net.dot");
  std::size_t edges = 0;
  for (std::size_t at = dot.find("label=\"reorder "); at != std::string::npos; at = dot.find("label=\"reorder ", at + 1)) ++edges;
  EXPECT_EQ(edges, 3U) << dot;
}

TEST_F(LayoutPage, IsDrawnByABrowserWideAndNarrow) {
  ASSERT_EQ(run({"inspect", "net.onnx", "--layout", "--html", "page.html"}).code, 0);
  expect_drawn(folder_, "page.html");
}

}  // namespace
}  // namespace relayout::test
