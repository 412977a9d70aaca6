// Tests that errors name the file that they are about, once.
#include <gtest/gtest.h>

#include "base/file.h"
#include "relayout/error.h"

namespace relayout {
namespace {

std::string named_message(const std::string& name, const std::string& message) {
  try {
    named(name, [&] { fail(ErrorKind::io, message, "advice"); });
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
    EXPECT_EQ(error.hint(), "advice");
    return error.what();
  }
  return {};
}

TEST(Named, ErrorsNameTheFileOnce) {
  EXPECT_EQ(named_message("net", "too large"), "net: too large");
  EXPECT_EQ(named_message("net", "net: too large"), "net: too large");
  EXPECT_EQ(named_message("a\nb", "a\\x0ab: too large"), "a\\x0ab: too large");
}

TEST(Named, OtherFilesMayBeginLikeTheName) {
  EXPECT_EQ(named_message("net", "net.data: too small"), "net: net.data: too small");
  EXPECT_EQ(named_message("net", "net:12: too small"), "net: net:12: too small");
}

TEST(Named, ResultsArePassedOn) {
  EXPECT_EQ(named("net", [] { return 7; }), 7);
}

}  // namespace
}  // namespace relayout
