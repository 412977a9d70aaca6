#include "report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/json.h"

namespace relayout {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Page, RunsNothingUnlessItHasAScript) {
  EXPECT_THAT(html_page("t", "", "", Json()), AllOf(HasSubstr("default-src 'none'"), Not(HasSubstr("script-src"))));
}

TEST(Page, ItsPolicyNamesItsOwnScript) {
  // printf "alert('Hello, world.');" | openssl dgst -sha256 -binary | base64
  const std::string html = html_page("t", "", "", Json(), "alert('Hello, world.');");
  EXPECT_THAT(html, HasSubstr("script-src 'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"));
  EXPECT_THAT(html, HasSubstr("<script>alert('Hello, world.');</script>"));
}

}  // namespace
}  // namespace relayout
