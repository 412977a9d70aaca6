#include "verify/inputs/free_dims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "relayout/types.h"
#include "verify/inputs/port.h"
#include "verify/inputs/roles.h"

namespace relayout {
namespace {

Port port(const std::string& name, Dims dims, std::vector<std::string> symbols, DataType type = DataType::int64) {
  Port out;
  out.name = name;
  out.type = type;
  out.has_shape = true;
  out.dims = std::move(dims);
  out.symbols = std::move(symbols);
  return out;
}

/// Values of every dim of two samples out of four.
std::map<std::string, int64_t> dims_of(const FreeDims& dims, int sample, int attempt = 0) {
  return dims.assign({sample, 4, attempt}).dims;
}

TEST(FreeDims, SumsOfSymbolsAddUp) {
  // As text-generation exports declare their attention mask.
  const FreeDims dims({port("ids", {-1, -1}, {"batch_size", "sequence_length"}),
                       port("mask", {-1, -1}, {"batch_size", "past_sequence_length + sequence_length"}),
                       port("past", {-1, 4, -1, 8}, {"batch_size", "", "past_sequence_length", ""}, DataType::float32),
                       port("one", {-1}, {"sequence_length + 1"})},
                      {{}, {}, {}, {}}, {}, {});
  EXPECT_EQ(dims.assign({0, 4, 0}).shapes.at("mask"), (Dims{2, 22}));
  EXPECT_EQ(dims.assign({1, 4, 0}).shapes.at("mask"), (Dims{3, 32}));
  EXPECT_EQ(dims.assign({0, 4, 0}).shapes.at("past"), (Dims{2, 4, 11, 8}));
  EXPECT_EQ(dims.assign({0, 4, 0}).shapes.at("one"), (Dims{12}));
}

TEST(FreeDims, NamesSayWhatADimIs) {
  const FreeDims dims({port("x", {-1, -1, -1}, {"T", "N", "w"}, DataType::float32)}, {{}}, {}, {});
  EXPECT_EQ(dims_of(dims, 0), (std::map<std::string, int64_t>{{"N", 2}, {"T", 11}, {"w", 96}}));
  EXPECT_EQ(dims_of(dims, 1), (std::map<std::string, int64_t>{{"N", 3}, {"T", 16}, {"w", 160}}));
}

TEST(FreeDims, UnevenSizesShowRoundingAtEveryDepth) {
  for (const auto spatial : {std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
    Dims shape(2 + spatial, -1);
    shape[1] = 3;
    std::vector<std::string> symbols = {"N", "", "H", "W", "D"};
    symbols.resize(shape.size());
    InputUse image;
    image.role = InputRole::image;
    const FreeDims dims({port("x", shape, symbols, DataType::float32)}, {image}, {}, {});
    EXPECT_EQ(dims.assign({0, 4, 0, true}).dims, dims_of(dims, 0));
    Dims up = dims.assign({1, 4, 0, true}).shapes.at("x");
    up.erase(up.begin(), up.begin() + 2);
    Dims down = up;
    const auto is_odd = [](int64_t size) { return size % 2 == 1; };
    for (int depth = 0; depth < 4; ++depth) {
      if (spatial > 1) {
        EXPECT_TRUE(std::ranges::any_of(up, is_odd) && std::ranges::any_of(down, is_odd)) << spatial << " at depth " << depth;
        EXPECT_TRUE(depth == 0 || !std::ranges::all_of(up, is_odd)) << spatial << " at depth " << depth;
        EXPECT_TRUE(depth == 0 || !std::ranges::all_of(down, is_odd)) << spatial << " at depth " << depth;
      }
      for (int64_t& size : up) size = (size + 1) / 2;
      for (int64_t& size : down) size /= 2;
    }
  }
}

TEST(FreeDims, NamelessBatchesAgree) {
  const FreeDims dims({port("x", {-1, 3}, {"", ""}), port("y", {-1, 5}, {"", ""})}, {{}, {}}, {}, {});
  for (int sample = 0; sample < 4; ++sample) {
    const auto values = dims_of(dims, sample);
    EXPECT_EQ(values.at("x[0]"), values.at("y[0]"));
  }
}

TEST(FreeDims, TheLastAttemptsHaveABatchOfOne) {
  const FreeDims dims({port("x", {-1, 3}, {"N", ""})}, {{}}, {}, {});
  EXPECT_EQ(dims.attempts(), 2);
  EXPECT_EQ(dims_of(dims, 0, 1).at("N"), 1);
  EXPECT_FALSE(dims.are_guessed());
}

}  // namespace
}  // namespace relayout
