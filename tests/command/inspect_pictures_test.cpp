// Tests the pictures of inspect: a layout plan as a page and as a graph, a model's graph as a drawing and on a page.

#include <cstddef>

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

class Drawing : public CommandTest {
 protected:
  Drawing() {
    write_file(folder_ / "net.onnx",
               TextModel("g (float[1,3,8,8] x) => (float[1,4,8,8] y) <float[4,3,3,3] W> { c = Conv <pads = [1,1,1,1]> (x, W)\n"
                         "r = Relu (c)\n y = Add (r, c) }")
                   .name_nodes()
                   .bytes());
  }
  static std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
  }
};

TEST_F(Drawing, HasABoxPerNodeAndALinePerLink) {
  ASSERT_EQ(run({"inspect", "net.onnx", "--svg", "net.svg"}).code, 0);
  const std::string svg = read_file(folder_ / "net.svg");
  EXPECT_EQ(count_of(svg, "<rect "), 5U) << "input, Conv, Relu, Add, output";
  EXPECT_EQ(count_of(svg, "<path "), 5U);
  EXPECT_THAT(svg, HasSubstr("xmlns='http://www.w3.org/2000/svg'"));
  EXPECT_EQ(run({"inspect", "net.onnx", "net.onnx", "--svg", "net.svg"}).code, 2);
}

TEST_F(Drawing, EscapesNames) {
  write_file(folder_ / "odd.onnx", TextModel("g (float[2] x) => (float[2] y) { y = Relu (x) }")
                                       .edit([](auto& model) { model.mutable_graph()->mutable_node(0)->set_name("<script>&'"); })
                                       .bytes());
  ASSERT_EQ(run({"inspect", "odd.onnx", "--svg", "odd.svg", "--html", "odd.html"}).code, 0);
  EXPECT_THAT(read_file(folder_ / "odd.svg"), Not(HasSubstr("<script>")));
  EXPECT_THAT(read_file(folder_ / "odd.html"), Not(HasSubstr("<script>&")));
}

TEST_F(Drawing, IsOnAPageWithTheNodes) {
  ASSERT_EQ(run({"inspect", "net.onnx", "--html", "page.html"}).code, 0);
  const std::string page = read_file(folder_ / "page.html");
  EXPECT_EQ(count_of(page, "class='link'"), 5U);
  EXPECT_THAT(page, HasSubstr("data-head='op'>Conv</td>"));
  EXPECT_THAT(page, Not(HasSubstr("://"))) << "loads nothing";
  expect_drawn(folder_, "page.html");
}

TEST_F(LayoutPage, IsPrintedWithAllItsRows) {
  std::string nodes;
  constexpr int kNodes = 400;
  for (int i = 0; i < kNodes; ++i) nodes += " v" + std::to_string(i + 1) + " = Relu (v" + std::to_string(i) + ")";
  const std::string last = "v" + std::to_string(kNodes);
  write_file(folder_ / "long.onnx", TextModel("g (float[1,4,8,8] v0) => (float[1,4,8,8] " + last + ") {" + nodes + " }").bytes());
  ASSERT_EQ(run({"inspect", "long.onnx", "--layout", "--html", "page.html"}).code, 0);
  const auto sheets = sheets_printed(folder_, "page.html");
  if (!sheets) GTEST_SKIP() << "no Chromium on this machine: the page is not printed";
  EXPECT_GE(*sheets, kNodes / 100) << "a sheet of A4 has no more than 100 lines";
}

}  // namespace
}  // namespace relayout::test
