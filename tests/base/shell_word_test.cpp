#include <gtest/gtest.h>

#include "base/text.h"

namespace relayout {
namespace {

TEST(ShellWord, QuotesShellSyntax) {
  EXPECT_EQ(shell_word("a/b-c_1.onnx"), "a/b-c_1.onnx");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("größe"), "'größe'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(file_word("-d.onnx"), "./-d.onnx");
  EXPECT_EQ(file_word("-d e/f.onnx"), "'./-d e/f.onnx'");
  EXPECT_EQ(file_word("d-.onnx"), "d-.onnx");
}

}  // namespace
}  // namespace relayout
