#include "relayout/findings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <set>
#include <vector>

#include "support/paths.h"

namespace relayout::passes {
namespace {

/// Enumerators of Reason in the order of the header.
std::vector<std::string> enumerators() {
  std::ifstream header(source_folder() + "/include/relayout/findings.h");
  std::vector<std::string> out;
  bool is_inside = false;
  for (std::string line; std::getline(header, line);) {
    if (line.starts_with("};")) is_inside = false;
    const std::size_t begin = line.find_first_not_of(' ');
    if (is_inside && line.compare(begin, 2, "//") != 0) out.push_back(line.substr(begin, line.find(',') - begin));
    if (line.starts_with("enum class Reason")) is_inside = true;
  }
  return out;
}

TEST(Findings, ReasonsArePrintedAsTheyAreNamed) {
  const std::vector<std::string> names = enumerators();
  ASSERT_EQ(names.size(), static_cast<std::size_t>(Reason::count_) + 1);
  for (int i = 0; i < static_cast<int>(Reason::count_); ++i) {
    std::string name = names[static_cast<std::size_t>(i)];
    std::ranges::replace(name, '_', '-');
    EXPECT_EQ(to_string(static_cast<Reason>(i)), name);
  }
}

TEST(Findings, EachReasonHasItsOwnCodeAndText) {
  std::set<std::string_view> codes, texts;
  for (int i = 0; i < static_cast<int>(Reason::count_); ++i) {
    const auto reason = static_cast<Reason>(i);
    EXPECT_TRUE(codes.insert(to_string(reason)).second) << to_string(reason);
    EXPECT_TRUE(texts.insert(text(reason)).second) << text(reason);
    EXPECT_FALSE(to_string(reason).empty());
    EXPECT_FALSE(text(reason).empty());
    EXPECT_EQ(to_string(reason).find('_'), std::string_view::npos) << "codes are spelled with dashes";
  }
  EXPECT_TRUE(to_string(Reason::count_).empty());
}

TEST(Findings, CodesOfTheClosedSet) {
  // Reason codes: readers of the JSON rely on them.
  EXPECT_EQ(to_string(Reason::not_constant), "not-constant");
  EXPECT_EQ(to_string(Reason::operator_output_shared), "operator-output-shared");
  EXPECT_EQ(to_string(Reason::affine_output_shared), "affine-output-shared");
  EXPECT_EQ(to_string(Reason::no_linear_neighbour), "no-linear-neighbour");
  EXPECT_EQ(to_string(Reason::unknown_op_between), "unknown-op-between");
  EXPECT_EQ(to_string(Reason::pads_with_shift), "pads-with-shift");
  EXPECT_EQ(to_string(Reason::non_finite), "non-finite");
  EXPECT_EQ(to_string(Verdict::not_applicable), "not-applicable");
}

}  // namespace
}  // namespace relayout::passes
