// Tests the concatenation of tensors against a copy of each element by its index.

#include <numeric>

#include "exec/draw.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/primitives.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Runs the parts of a team's work in sequence, the last one first.
class OneByOne : public PrimitiveLibrary {
 public:
  [[nodiscard]] std::string version() const override { return {}; }
  [[nodiscard]] std::string isa() const override { return {}; }
  [[nodiscard]] bool fast_plain_convolution() const override { return false; }
  [[nodiscard]] MadePrimitive make(const PrimitiveSpec&) override { return {}; }
  void set_threads(int) override {}
  void parallel(int count, void (*work)(void*, int), void* context) override {
    most_parts = std::max(most_parts, count);
    while (count-- > 0) work(context, count);
  }
  int most_parts = 1;
};

using test::Draw;

/// The axes of a tensor of this rank in any order.
std::vector<std::size_t> draw_axes(Draw& draw, std::size_t rank) {
  std::vector<std::size_t> out(rank);
  std::iota(out.begin(), out.end(), std::size_t{0});
  for (std::size_t i = rank; i > 1; --i) std::swap(out[i - 1], out[static_cast<std::size_t>(draw.from(0, static_cast<int64_t>(i) - 1))]);
  return out;
}

/// Bytes in memory, and the offset of element [0, 0, …] in them.
struct Lying {
  TensorDesc desc;
  std::vector<std::byte> memory;
  int64_t origin = 0;

  [[nodiscard]] std::byte* data() { return memory.data() + origin; }
  [[nodiscard]] std::byte* at(const Dims& index) {
    int64_t offset = 0;
    for (std::size_t i = 0; i < index.size(); ++i) offset += index[i] * desc.strides[i];
    return data() + offset * static_cast<int64_t>(memory_size(desc.type));
  }
};

/// Lays a tensor out in the order of `axes`, outermost first. If `draw` is given, dims may have gaps, go backwards, or repeat one element.
Lying lying(DataType type, const Dims& dims, const std::vector<std::size_t>& axes, Draw* draw) {
  Lying out{{type, dims, Dims(dims.size(), 0)}, {}};
  int64_t size = 1, first = 0;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::size_t axis = axes[i];
    if (draw != nullptr && draw->yes(12)) continue;
    if (draw != nullptr && draw->yes(6)) size += draw->from(1, 5);
    const bool is_backward = draw != nullptr && draw->yes(12);
    out.desc.strides[axis] = is_backward ? -size : size;
    if (is_backward) first += size * (dims[axis] - 1);
    size *= dims[axis];
  }
  const auto element = static_cast<int64_t>(memory_size(type));
  out.memory.resize(static_cast<std::size_t>(size * element));
  out.origin = first * element;
  return out;
}

struct Drawn {
  std::vector<Lying> sources;
  Lying destination;
  std::size_t axis = 0;
};

Drawn draw_case(Draw& draw, int64_t most_elements) {
  constexpr DataType kTypes[] = {DataType::int8, DataType::float16, DataType::float32, DataType::float64, DataType::complex128};
  Drawn out;
  const DataType type = kTypes[draw.from(0, 4)];
  const auto rank = static_cast<std::size_t>(draw.from(1, 4));
  Dims dims;
  int64_t left = most_elements;
  for (std::size_t i = 0; i < rank; ++i) {
    dims.push_back(draw.from(1, std::min<int64_t>(left, most_elements / 8)));
    left /= dims.back();
  }
  const std::vector<std::size_t> axes = draw_axes(draw, rank);
  out.axis = static_cast<std::size_t>(draw.from(0, static_cast<int64_t>(rank) - 1));
  const int64_t count = draw.from(1, 5);
  int64_t length = 0;
  for (int64_t i = 0; i < count; ++i) {
    dims[out.axis] = draw.from(1, std::max<int64_t>(left, 2));
    length += dims[out.axis];
    const bool is_usual = draw.yes(2);
    out.sources.push_back(lying(type, dims, is_usual || draw.yes(2) ? axes : draw_axes(draw, rank), is_usual ? nullptr : &draw));
    for (std::byte& byte : out.sources.back().memory) byte = static_cast<std::byte>(draw.from(0, 255));
  }
  dims[out.axis] = length;
  out.destination = lying(type, dims, axes, nullptr);
  return out;
}

void expect_side_by_side(Drawn& drawn) {
  int64_t begin = 0;
  const std::size_t size = memory_size(drawn.destination.desc.type);
  for (Lying& source : drawn.sources) {
    const Dims& dims = source.desc.dims;
    Dims index(dims.size(), 0);
    for (int64_t i = 0; i < element_count(dims); ++i) {
      Dims target = index;
      target[drawn.axis] += begin;
      ASSERT_EQ(std::memcmp(source.at(index), drawn.destination.at(target), size), 0) << to_string(target);
      for (std::size_t level = dims.size(); level-- > 0;) {
        if (++index[level] < dims[level]) break;
        index[level] = 0;
      }
    }
    begin += dims[drawn.axis];
  }
}

/// Returns the parts in which threads share the work.
int expect_concat(uint64_t seed, int64_t most_elements) {
  Draw draw(seed, "concat");
  Drawn drawn = draw_case(draw, most_elements);
  OneByOne library;
  std::vector<TensorDesc> descs;
  for (const Lying& source : drawn.sources) descs.push_back(source.desc);
  const auto kernel = make_concat_kernel(descs, drawn.destination.desc, drawn.axis, Team{&library, 3});
  for (std::size_t i = 0; i < drawn.sources.size(); ++i) kernel->bind(i, drawn.sources[i].data());
  kernel->bind(drawn.sources.size(), drawn.destination.data());
  kernel->run();
  expect_side_by_side(drawn);
  return library.most_parts;
}

TEST(ConcatKernel, ConcatenatesSourcesOfAnyStrides) {
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    expect_concat(seed, 300);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(ConcatKernel, ThreadsShareTheDestinationInAnyPlaceOfARow) {
  int shared = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    shared += expect_concat(seed, 200'000) > 1 ? 1 : 0;
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  EXPECT_GE(shared, 10);
}

}  // namespace
}  // namespace relayout::exec
