// Tests ids and the containers indexed by them: permitted indices, ids in order, lists per id.
#include "base/indexed.h"

#include <gtest/gtest.h>

#include <string>

namespace relayout {
namespace {

enum class RowId : int { none = -1 };
enum class ColumnId : int { none = -1 };
enum class Unscaled { none, some };
enum Plain : int { none = -1 };

static_assert(ElementId<RowId>);
static_assert(!ElementId<int> && !ElementId<Plain> && !ElementId<Unscaled>);
// An id of one kind does not index a container of another kind.
template <class Container, class Id>
concept indexes = requires(Container container, Id id) { container[id]; };
static_assert(indexes<IdVector<RowId, int>, RowId>);
static_assert(!indexes<IdVector<RowId, int>, ColumnId> && !indexes<IdVector<RowId, int>, int> &&
              !indexes<IdVector<RowId, int>, std::size_t>);
static_assert(!indexes<IdLists<RowId, int>, ColumnId>);

TEST(Indexed, AddedElementsAreFoundByTheirIds) {
  IdVector<RowId, std::string> rows;
  EXPECT_TRUE(rows.empty());
  EXPECT_EQ(rows.end_id(), RowId{0});
  const RowId first = rows.add("first");
  const RowId second = rows.add(3, 'x');
  EXPECT_EQ(rows[first], "first");
  EXPECT_EQ(rows[second], "xxx");
  EXPECT_EQ(rows.back(), "xxx");
  EXPECT_EQ(index_of(second), 1U);
  EXPECT_EQ(id_at<RowId>(1), second);
  EXPECT_EQ(rows.end_id(), RowId{2});
}

TEST(Indexed, IdsAreThoseOfAllElementsInOrder) {
  const IdVector<RowId, int> rows(3, 7);
  std::vector<std::size_t> seen;
  for (const RowId row : rows.ids()) seen.push_back(index_of(row));
  EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1, 2}));
  for (const RowId row : IdVector<RowId, int>().ids()) ADD_FAILURE() << index_of(row);
}

TEST(Indexed, BooleansAreWritten) {
  IdVector<RowId, bool> taken(2);
  taken[RowId{1}] = true;
  EXPECT_FALSE(taken[RowId{0}]);
  EXPECT_TRUE(taken[RowId{1}]);
}

TEST(Indexed, ListsKeepTheOrderInWhichElementsWereNamed) {
  const std::vector<std::pair<RowId, int>> entries{{RowId{2}, 5}, {RowId{0}, 1}, {RowId{2}, 4}, {RowId{0}, 9}, {RowId{2}, 5}};
  const IdLists<RowId, int> lists(4, [&](const auto& add) {
    for (const auto& [row, element] : entries) add(row, element);
  });
  const auto list = [&](int row) {
    const auto elements = lists[RowId{row}];
    return std::vector<int>(elements.begin(), elements.end());
  };
  EXPECT_EQ(list(0), (std::vector<int>{1, 9}));
  EXPECT_EQ(list(1), std::vector<int>{});
  EXPECT_EQ(list(2), (std::vector<int>{5, 4, 5}));
  EXPECT_EQ(list(3), std::vector<int>{});
}

}  // namespace
}  // namespace relayout
