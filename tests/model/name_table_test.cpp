// Tests the table of values by name against a std::map, through random insertions, lookups and erasures.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "model/model_builder.h"

namespace relayout {
namespace {

struct Thing {
  std::string text;
  [[nodiscard]] const std::string& name() const noexcept { return text; }
};

TEST(NameTable, BehavesAsAMap) {
  std::mt19937 random(1);
  for (const std::size_t names : {1U, 5U, 40U, 700U}) {
    NameTable<Thing> table;
    std::map<std::string, Thing*> expected;
    std::deque<Thing> things;
    if (names == 40) table.reserve(100);
    for (int step = 0; step < 5000; ++step) {
      const std::string name = "v" + std::to_string(random() % names);
      const auto known = expected.find(name);
      Thing* const there = known == expected.end() ? nullptr : known->second;
      ASSERT_EQ(table.find(name), there);
      if (random() % 2 == 0) {
        Thing& thing = things.emplace_back(Thing{name});
        ASSERT_EQ(table.insert(thing), there);
        expected.emplace(name, &thing);
      } else {
        table.erase(name);
        expected.erase(name);
      }
    }
    for (std::size_t i = 0; i < names; ++i) {
      const std::string name = "v" + std::to_string(i);
      const auto known = expected.find(name);
      EXPECT_EQ(table.find(name), known == expected.end() ? nullptr : known->second);
    }
  }
}

TEST(NameTable, AnEmptyTableFindsNothing) {
  NameTable<Thing> table;
  EXPECT_EQ(table.find("x"), nullptr);
  table.erase("x");
  Thing nameless;
  EXPECT_EQ(table.insert(nameless), nullptr);
  EXPECT_EQ(table.find(""), &nameless);
}

}  // namespace
}  // namespace relayout
