// Tests Col2Im, MaxUnpool, DeformConv and MaxRoiPool against the operators' specifications, one element at a time.
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "support/op_cases.h"

namespace relayout::test {
namespace {

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed, "unfold") {}
  int64_t from(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_.below(next_++, static_cast<uint64_t>(high - low + 1)));
  }
  std::vector<double> integers(int64_t count) {
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(from(-3, 3)));
    return values;
  }

 private:
  RandomStream random_;
  uint64_t next_ = 0;
};

std::string list(const Dims& dims) {
  return to_string(dims);
}

Tensor shape_of(const Dims& dims) {
  return tensor_of_values(DataType::int64, {static_cast<int64_t>(dims.size())}, std::vector<double>(dims.begin(), dims.end()));
}

/// The index of a flat position.
Dims unravelled(int64_t flat, const Dims& dims) {
  Dims index(dims.size());
  for (std::size_t i = dims.size(); i-- > 0;) {
    index[i] = flat % dims[i];
    flat /= dims[i];
  }
  return index;
}

TEST(Col2Im, AddsEachColumnWhereItCameFrom) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Draw draw(seed);
    const auto rank = static_cast<std::size_t>(draw.from(1, 3));
    Dims image, kernel, strides, dilations, pads(2 * rank), blocks;
    for (std::size_t i = 0; i < rank; ++i) {
      kernel.push_back(draw.from(1, 3));
      strides.push_back(draw.from(1, 3));
      dilations.push_back(draw.from(1, 2));
      pads[i] = draw.from(0, 2);
      pads[rank + i] = draw.from(0, 2);
      const int64_t extent = (kernel[i] - 1) * dilations[i] + 1;
      image.push_back(std::max<int64_t>(draw.from(1, 9), extent - pads[i] - pads[rank + i]));
      blocks.push_back((image[i] + pads[i] + pads[rank + i] - extent) / strides[i] + 1);
    }
    const int64_t channels = draw.from(1, 3), taps = element_count(kernel), columns = element_count(blocks), size = element_count(image);
    const std::vector<double> x = draw.integers(2 * channels * taps * columns);
    std::vector<double> wanted(static_cast<std::size_t>(2 * channels * size), 0.0);
    for (int64_t at = 0; at < static_cast<int64_t>(x.size()); ++at) {
      const Dims k = unravelled(at / columns % taps, kernel), block = unravelled(at % columns, blocks);
      int64_t to = at / columns / taps;
      bool inside = true;
      for (std::size_t i = 0; i < rank; ++i) {
        const int64_t position = block[i] * strides[i] + k[i] * dilations[i] - pads[i];
        inside = inside && position >= 0 && position < image[i];
        to = to * image[i] + position;
      }
      if (inside) wanted[static_cast<std::size_t>(to)] += x[static_cast<std::size_t>(at)];
    }
    const std::string op = "Col2Im <strides = " + list(strides) + ", dilations = " + list(dilations) + ", pads = " + list(pads) + ">";
    const Tensor data = tensor_of_values(DataType::float32, {2, channels * taps, columns}, x);
    EXPECT_EQ(numbers_of(run_one(op, {data, shape_of(image), shape_of(kernel)})), wanted) << op << " " << list(image) << list(kernel);
  }
}

TEST(MaxUnpool, PutsEachElementWhereItsIndexSays) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Draw draw(seed);
    const auto rank = static_cast<std::size_t>(draw.from(1, 3));
    Dims x{2, draw.from(1, 3)}, pooled{2, x[1]}, kernel;
    for (std::size_t i = 0; i < rank; ++i) {
      x.push_back(draw.from(1, 4));
      kernel.push_back(draw.from(1, 3));
      pooled.push_back((x.back() - 1) * kernel.back() + kernel.back());
    }
    Dims given = pooled;
    const bool larger = draw.from(0, 1) == 1;
    if (larger) given.back() += draw.from(1, 3);
    const std::vector<double> values = draw.integers(element_count(x));
    std::vector<double> places, wanted(static_cast<std::size_t>(element_count(given)), 0.0);
    const int64_t total = element_count(pooled);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const int64_t place = static_cast<int64_t>(i) * total / static_cast<int64_t>(values.size());
      places.push_back(static_cast<double>(place));
      int64_t to = 0;
      const Dims index = unravelled(place, pooled);
      for (std::size_t k = 0; k < given.size(); ++k) to = to * given[k] + index[k];
      wanted[static_cast<std::size_t>(to)] = values[i];
    }
    std::vector<Datum> inputs{tensor_of_values(DataType::float32, x, values), tensor_of_values(DataType::int64, x, places)};
    if (larger) inputs.emplace_back(shape_of(given));
    const std::string op = "MaxUnpool <kernel_shape = " + list(kernel) + ", strides = " + list(kernel) + ">";
    EXPECT_EQ(numbers_of(run_one(op, inputs)), wanted) << op << list(x) << list(given);
  }
}

/// Bilinear interpolation of a plane; values outside are 0.
double interpolated(const std::vector<double>& plane, int64_t first, int64_t height, int64_t width, double y, double x) {
  double sum = 0;
  for (int64_t row = 0; row < height; ++row) {
    for (int64_t column = 0; column < width; ++column) {
      const double weight =
          std::max(0.0, 1 - std::fabs(y - static_cast<double>(row))) * std::max(0.0, 1 - std::fabs(x - static_cast<double>(column)));
      sum += weight * plane[static_cast<std::size_t>(first + row * width + column)];
    }
  }
  return sum;
}

TEST(DeformConv, MovesAndWeightsEachTap) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Draw draw(seed);
    const int64_t groups = draw.from(1, 2), offset_groups = draw.from(1, 2), channels = 2 * draw.from(1, 2),
                  outputs = groups * draw.from(1, 3);
    const int64_t height = draw.from(3, 6), width = draw.from(3, 6), kernel = draw.from(1, 3), pad = draw.from(0, 1),
                  stride = draw.from(1, 2);
    const int64_t rows = (height + 2 * pad - kernel) / stride + 1, columns = (width + 2 * pad - kernel) / stride + 1,
                  taps = kernel * kernel;
    const int64_t inputs = channels / groups, per_offset = channels / offset_groups;
    const std::vector<double> x = draw.integers(2 * channels * height * width), w = draw.integers(outputs * inputs * taps);
    std::vector<double> offset = draw.integers(2 * offset_groups * 2 * taps * rows * columns),
                        mask = draw.integers(2 * offset_groups * taps * rows * columns);
    for (double& each : offset) each /= 4;
    std::vector<double> wanted;
    for (int64_t at = 0; at < 2 * outputs * rows * columns; ++at) {
      const Dims o = unravelled(at, {2, outputs, rows, columns});
      double sum = 0;
      for (int64_t c = 0; c < inputs; ++c) {
        const int64_t channel = o[1] / (outputs / groups) * inputs + c, offset_group = channel / per_offset;
        for (int64_t tap = 0; tap < taps; ++tap) {
          const auto moved = [&](int64_t component) {
            return offset[static_cast<std::size_t>((((o[0] * offset_groups + offset_group) * taps + tap) * 2 + component) * rows * columns +
                                                   o[2] * columns + o[3])];
          };
          const double y = static_cast<double>(o[2] * stride - pad + tap / kernel) + moved(0);
          const double left = static_cast<double>(o[3] * stride - pad + tap % kernel) + moved(1);
          const double factor =
              mask[static_cast<std::size_t>(((o[0] * offset_groups + offset_group) * taps + tap) * rows * columns + o[2] * columns + o[3])];
          sum += w[static_cast<std::size_t>((o[1] * inputs + c) * taps + tap)] * factor *
                 interpolated(x, (o[0] * channels + channel) * height * width, height, width, y, left);
        }
      }
      wanted.push_back(sum);
    }
    const std::string op = "DeformConv <group = " + std::to_string(groups) + ", offset_group = " + std::to_string(offset_groups) +
                           ", pads = " + list({pad, pad, pad, pad}) + ", strides = " + list({stride, stride}) + ">";
    const Tensor result = run_one(op, {tensor_of_values(DataType::float64, {2, channels, height, width}, x),
                                       tensor_of_values(DataType::float64, {outputs, inputs, kernel, kernel}, w),
                                       tensor_of_values(DataType::float64, {2, 2 * offset_groups * taps, rows, columns}, offset), Datum(),
                                       tensor_of_values(DataType::float64, {2, offset_groups * taps, rows, columns}, mask)});
    const std::vector<double> got = numbers_of(result);
    ASSERT_EQ(got.size(), wanted.size()) << op;
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-11) << op << " element " << i;
  }
}

/// Girshick's regions: rounded, both ends inside, bins from floor to ceil of equal parts.
TEST(MaxRoiPool, TakesTheLargestOfEachBin) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Draw draw(seed);
    const int64_t height = draw.from(2, 8), width = draw.from(2, 8), rows = draw.from(1, 4), columns = draw.from(1, 4),
                  channels = draw.from(1, 3);
    const std::vector<double> x = draw.integers(2 * channels * height * width);
    std::vector<double> rois, wanted;
    for (int64_t n = 0; n < 3; ++n) {
      const double batch = static_cast<double>(draw.from(0, 1));
      const double left = static_cast<double>(draw.from(0, 2 * width)) / 2, top = static_cast<double>(draw.from(0, 2 * height)) / 2;
      const double right = left + static_cast<double>(draw.from(0, width)), bottom = top + static_cast<double>(draw.from(0, height));
      rois.insert(rois.end(), {batch, left, top, right, bottom});
      for (int64_t at = 0; at < channels * rows * columns; ++at) {
        const Dims o = unravelled(at, {channels, rows, columns});
        const auto bound = [](double begin, double end, int64_t bin, int64_t bins, int64_t size, bool upper) {
          const double part = std::max(std::round(end) - std::round(begin) + 1, 1.0) / static_cast<double>(bins);
          const double edge = upper ? std::ceil(static_cast<double>(bin + 1) * part) : std::floor(static_cast<double>(bin) * part);
          return static_cast<int64_t>(std::clamp(edge + std::round(begin), 0.0, static_cast<double>(size)));
        };
        std::vector<double> seen;
        for (int64_t i = bound(top, bottom, o[1], rows, height, false); i < bound(top, bottom, o[1], rows, height, true); ++i) {
          for (int64_t j = bound(left, right, o[2], columns, width, false); j < bound(left, right, o[2], columns, width, true); ++j) {
            seen.push_back(x[static_cast<std::size_t>(((static_cast<int64_t>(batch) * channels + o[0]) * height + i) * width + j)]);
          }
        }
        wanted.push_back(seen.empty() ? 0 : *std::ranges::max_element(seen));
      }
    }
    const Tensor result =
        run_one("MaxRoiPool <pooled_shape = " + list({rows, columns}) + ">",
                {tensor_of_values(DataType::float32, {2, channels, height, width}, x), tensor_of_values(DataType::float32, {3, 5}, rois)});
    EXPECT_EQ(numbers_of(result), wanted) << seed;
  }
}

}  // namespace
}  // namespace relayout::test
