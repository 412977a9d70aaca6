#include "verify/inputs/free_dims.h"

#include <gtest/gtest.h>

#include "relayout/model.h"
#include "relayout/types.h"
#include "support/network.h"
#include "verified.h"
#include "verify/inputs/inputs.h"
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
  // The attention mask as text-generation exports declare it.
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

TEST(FreeDims, NamesDetermineTheKindOfADim) {
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

TEST(FreeDims, TheLastAttemptsHaveABatchOfOneAndALargeOne) {
  const FreeDims dims({port("x", {-1, 3}, {"N", ""})}, {{}}, {}, {});
  EXPECT_EQ(dims.attempts(), 3);
  EXPECT_EQ(dims_of(dims, 0, 1).at("N"), 1);
  EXPECT_EQ(dims_of(dims, 0, 2).at("N"), 8);
  EXPECT_EQ(dims_of(dims, 1, 2).at("N"), 11);
  EXPECT_FALSE(dims.are_guessed());
}

/// Sizes of the dims of a model's inputs in the first two samples.
std::pair<std::map<std::string, int64_t>, std::map<std::string, int64_t>> chosen_for(test::Network network) {
  const testing::Folder folder;
  const auto model = Model::load(folder.write("model.onnx", network.bytes()));
  const InputMaker maker(model->graph(), {}, nullptr, {false, {}, true});
  return {dims_of(maker.dims(0), 0), dims_of(maker.dims(1), 1)};
}

TEST(FreeDims, OfUnspecifiedMatricesTakeAnySizesThatFit) {
  const auto product = [](const std::string& op_type, const std::string& attribute, const std::vector<std::string>& weight) {
    test::Network n(1);
    n.input("x", {"N", "M"}).input("w", weight).output("y", {"N", "V"});
    n.node(op_type, {"x", "w"}, {"y"}, attribute.empty() ? std::vector<std::string>{} : std::vector<std::string>{attribute});
    return n;
  };
  for (const auto& [op_type, attribute] :
       std::vector<std::pair<std::string, std::string>>{{"Einsum", "equation='ij,jk->ik'"}, {"MatMul", ""}}) {
    const auto [even, odd] = chosen_for(product(op_type, attribute, {"K", "V"}));
    EXPECT_EQ(even.at("M"), even.at("K")) << op_type;
    EXPECT_EQ(odd.at("M"), odd.at("K")) << op_type;
    EXPECT_NE(even.at("V"), odd.at("V")) << op_type << ": a shortcut for one size would not show";
    EXPECT_EQ(even.at("N"), 2);
  }
  // The other factor of a matrix may have a size.
  EXPECT_EQ(chosen_for(product("Einsum", "equation='ij,jk->ik'", {"6", "V"})).second.at("M"), 6);
  // The diagonal of a batch: only equal sizes of batch and columns fit.
  test::Network square(1);
  square.input("x", {"N", "M"}).output("y", {"N"}).node("Einsum", {"x"}, {"y"}, {"equation='ii->i'"});
  const auto [even, odd] = chosen_for(square);
  EXPECT_EQ(even.at("N"), even.at("M"));
  EXPECT_EQ(odd.at("N"), odd.at("M"));
}

TEST(FreeDims, NamesForUnknownBindNothing) {
  for (const std::string name : {"?", "", "-1", "None", "unk__12", "unknown", "??"}) {
    InputOptions options;
    options.shapes["x"] = {1, 3, 48, 192};
    const FreeDims dims({port("x", {-1, 3, -1, -1}, {name, "", name, name}, DataType::float32)}, {{}}, options, {});
    EXPECT_EQ(dims.assign({0, 4}).shapes.at("x"), (Dims{1, 3, 48, 192})) << name;
  }
  // A size given for such a name is that of all dims that have it.
  InputOptions options;
  options.dims["?"] = 5;
  const FreeDims dims({port("x", {-1, 3, -1}, {"?", "", "?"}, DataType::float32)}, {{}}, options, {});
  EXPECT_EQ(dims.assign({1, 4}).shapes.at("x"), (Dims{5, 3, 5}));
}

TEST(FreeDims, OtherNamesBindTheirDims) {
  for (const std::string name : {"N", "s0", "dim_1", "length", "DynamicDimension.0", "unknown_length"}) {
    InputOptions options;
    options.shapes["x"] = {2, 4};
    const FreeDims dims({port("x", {-1, 4}, {name, ""}, DataType::float32), port("y", {-1, 3}, {name, ""}, DataType::float32)}, {{}, {}},
                        options, {});
    EXPECT_EQ(dims.assign({1, 4}).shapes.at("y"), (Dims{2, 3})) << name;
  }
}

/// The network that reshapes f32 [N, M] to rows of 8 numbers.
test::Network rows_of_eight() {
  test::Network n(1);
  n.input("x", {"N", "M"}).output("y", {"R", "8"}).integers("s", {2}, {-1, 8}).node("Reshape", {"x", "s"}, {"y"});
  return n;
}

TEST(FreeDims, FallbackSizesDifferBetweenSamples) {
  const auto [even, odd] = chosen_for(rows_of_eight());
  EXPECT_EQ(even.at("M") * even.at("N") % 8, 0);
  EXPECT_EQ(odd.at("M") * odd.at("N") % 8, 0);
  EXPECT_NE(even.at("M"), odd.at("M"));
  // Sequences, for which attempts have sizes.
  const FreeDims dims({port("x", {-1, -1}, {"N", "seq"})}, {{}}, {}, {});
  for (int attempt = 0; attempt < dims.attempts(); ++attempt) {
    EXPECT_NE(dims_of(dims, 0, attempt).at("seq"), dims_of(dims, 1, attempt).at("seq")) << attempt;
  }
}

}  // namespace
}  // namespace relayout
