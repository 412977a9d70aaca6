#include "cli/common/terminal.h"

#include <gtest/gtest.h>

namespace relayout::cli {
namespace {

TEST(Printable, EscapesControlCharactersOnly) {
  EXPECT_EQ(printable("m.onnx: a\nb\x1b[2J\x7f\t'größe' → x"), "m.onnx: a\\x0ab\\x1b[2J\\x7f\\x09'größe' → x");
}

TEST(Color, FollowsTheChoice) {
  set_color(ColorChoice::always);
  EXPECT_TRUE(output_has_colors());
  set_color(ColorChoice::never);
  EXPECT_FALSE(output_has_colors());
  set_color(ColorChoice::automatic);
}

}  // namespace
}  // namespace relayout::cli
