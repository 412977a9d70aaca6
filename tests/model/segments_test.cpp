// Tests output files as lists of pieces: the pieces that join, and that their bytes are unchanged.
#include "model/segments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "model/tensor_data.h"

namespace relayout {
namespace {

std::string bytes_of(const Segments& segments) {
  std::string out;
  for (const Segment& segment : segments.list()) {
    if (const auto* const literal = std::get_if<std::string>(&segment.content)) {
      out += *literal;
    } else {
      const auto& bytes = std::get<Bytes>(segment.content);
      std::string part(static_cast<std::size_t>(bytes.size()), '\0');
      bytes.read(0, std::as_writable_bytes(std::span(part)));
      out += part;
    }
  }
  EXPECT_EQ(segments.size(), static_cast<int64_t>(out.size()));
  return out;
}

class SegmentsOfAFile : public testing::Test {
 protected:
  const std::string text_ = std::string(1000, 'a') + std::string(1000, 'b');
  const std::shared_ptr<const File> file_ = File::from_bytes(text_, "file");
};

TEST_F(SegmentsOfAFile, NeighboursOfTheFileAreOnePiece) {
  Segments segments;
  segments.copy(file_, 0, 700);
  segments.copy(file_, 700, 1500);
  EXPECT_THAT(segments.list(), testing::SizeIs(1));
  EXPECT_TRUE(segments.is_copy(file_, 0, 1500));
  EXPECT_EQ(bytes_of(segments), text_.substr(0, 1500));
}

TEST_F(SegmentsOfAFile, AFewBytesOfTheFileBetweenLiteralsJoinThem) {
  Segments segments;
  segments.literal("<");
  segments.copy(file_, 990, 1010);
  EXPECT_THAT(segments.list(), testing::SizeIs(2)) << "it may go on";
  segments.literal(">");
  EXPECT_THAT(segments.list(), testing::SizeIs(1));
  EXPECT_EQ(bytes_of(segments), "<" + text_.substr(990, 20) + ">");
}

TEST_F(SegmentsOfAFile, ManyBytesOfTheFileStayThere) {
  Segments segments;
  segments.literal("<");
  segments.copy(file_, 0, 1500);
  segments.literal(">");
  EXPECT_THAT(segments.list(), testing::SizeIs(3));
  EXPECT_EQ(bytes_of(segments), "<" + text_.substr(0, 1500) + ">");
}

TEST_F(SegmentsOfAFile, ListsJoinAtTheirBorder) {
  Segments all, more;
  all.literal("<");
  all.copy(file_, 5, 10);
  more.literal("|");
  more.copy(file_, 20, 30);
  all.append(std::move(more));
  all.literal(">");
  EXPECT_THAT(all.list(), testing::SizeIs(1));
  EXPECT_EQ(bytes_of(all), "<aaaaa|aaaaaaaaaa>");
}

TEST_F(SegmentsOfAFile, LongLiteralsAreNotJoined) {
  const std::string half(40'000, 'x');
  Segments segments;
  segments.literal(half);
  segments.copy(file_, 0, 1);
  segments.literal(half);
  EXPECT_EQ(bytes_of(segments), half + "a" + half);
  EXPECT_THAT(segments.list(), testing::SizeIs(testing::Le(3U)));
}

}  // namespace
}  // namespace relayout
