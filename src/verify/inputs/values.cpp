// Generates the contents of an input at random, by its purpose, and differently from sample to sample.

#include <cmath>
#include <numeric>

#include "base/positions.h"
#include "base/random.h"
#include "ops/bounds.h"
#include "ops/loops/dtypes.h"
#include "ops/operands.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/inputs/inputs.h"
#include "verify/inputs/roles.h"
#include "verify/run/elements.h"

namespace relayout {
namespace {

constexpr double kSmoothStep = 12;             ///< elements between the points of low-pass noise
constexpr int kSpatialAxes = 3;                ///< maximum number of trailing axes along which low-pass noise is smooth
constexpr int64_t kSecond = int64_t{1} << 40;  ///< offset of the index for a second random number of the same element

/// Every how many elements a number at which the model decides stands.
constexpr int64_t kWordPeriod = 3;

/// Whether a condition holds in a sample: over four samples in one of either size, so that both branches have both.
constexpr bool holds_in(int sample) {
  return sample % 4 == 0 || sample % 4 == 3;
}

/// Number of samples with such numbers before a sample: the second of four has none.
constexpr int64_t word_turn(int sample) {
  return sample - (sample + 2) / 4;
}

constexpr auto kWords = std::to_array<std::string_view>({"", "a", "The", "quick brown fox", "relayout", "\xC3\xA9t\xC3\xA9", "42", " b "});

/// Fills a tensor in chunks: make(first, values) computes the elements from index `first` on.
template <class Domain, class F>
void fill_chunks(const Tensor& tensor, F&& make) {
  std::array<Domain, kElementChunk> buffer;
  const int64_t count = tensor.element_count(), stride = element_stride(tensor.type());
  for (int64_t first = 0; first < count; first += kElementChunk) {
    const int64_t size = std::min(kElementChunk, count - first);
    make(first, std::span(buffer.data(), as_size(size)));
    store<Domain>(tensor.type(), tensor.bytes() + first * stride, 1, size, buffer.data());
  }
}

template <class Domain, class F>
void fill(const Tensor& tensor, F&& value) {
  fill_chunks<Domain>(tensor, [&](int64_t first, std::span<Domain> values) {
    for (Domain& each : values) each = value(first++);
  });
}

/// Low-pass noise in [0, 1): random values on a coarse grid over up to three trailing axes from the third on, with linear interpolation
/// between them. Each plane has a separate grid. With at most two axes, the grid is over the last.
class SmoothNoise {
 public:
  SmoothNoise(const RandomStream& random, const Dims& dims) : random_(&random) {
    const std::size_t first =
        dims.size() > 2 ? std::max<std::size_t>(2, dims.size() - kSpatialAxes) : dims.size() - std::min<std::size_t>(dims.size(), 1);
    axes_.assign(dims.begin() + static_cast<std::ptrdiff_t>(first), dims.end());
    grid_ = 1;
    for (const int64_t dim : axes_) grid_ *= static_cast<uint64_t>(static_cast<double>(dim) / kSmoothStep) + 2;
  }

  double operator()(int64_t flat) const {
    std::array<uint64_t, kSpatialAxes> cell{};
    std::array<double, kSpatialAxes> part{};
    int64_t rest = flat;
    for (std::size_t k = axes_.size(); k-- > 0;) {
      const double at = static_cast<double>(rest % axes_[k]) / kSmoothStep;
      rest /= axes_[k];
      cell[k] = static_cast<uint64_t>(at);
      part[k] = at - std::floor(at);
    }
    double sum = 0;
    for (unsigned corner = 0; corner < (1U << axes_.size()); ++corner) {
      double weight = 1;
      uint64_t point = 0;
      for (std::size_t k = 0; k < axes_.size(); ++k) {
        const bool upper = (corner >> k & 1U) != 0;
        weight *= upper ? part[k] : 1 - part[k];
        point = point * (static_cast<uint64_t>(static_cast<double>(axes_[k]) / kSmoothStep) + 2) + cell[k] + (upper ? 1 : 0);
      }
      if (weight > 0) sum += weight * random_->uniform(static_cast<uint64_t>(rest) * grid_ + point);
    }
    return sum;
  }

 private:
  const RandomStream* random_;
  Dims axes_;
  uint64_t grid_;
};

/// Scales all values into a range if some are beyond it: around zero if the range has numbers of both signs, else so that the extremes
/// become its ends.
void scale_into(Bounds range, const Tensor& tensor) {
  std::vector<double> values = reals_of(tensor);
  const auto [least, most] = std::ranges::minmax(values);
  if (least >= range.lowest && most <= range.highest) return;
  if (range.lowest < 0 && range.highest > 0) {
    const double factor = std::min(most > 0 ? range.highest / most : 1, least < 0 ? range.lowest / least : 1);
    for (double& value : values) value *= factor;
  } else {
    const double factor = most > least ? (range.highest - range.lowest) / (most - least) : 0;
    for (double& value : values) value = range.lowest + (value - least) * factor;
  }
  store(tensor.type(), tensor.bytes(), 1, tensor.element_count(), values.data());
}

/// Element values of one input over one sample.
class Values {
 public:
  Values(DataType type, const Dims& dims, const InputUse& use, int64_t limit, const RandomStream& random, SampleKind kind)
      : type_(type),
        dims_(dims),
        use_(use),
        limit_(std::max<int64_t>(limit, 1)),
        random_(random),
        sample_(kind.number),
        deviation_(kind.deviation),
        decides_(kind.decides),
        count_(element_count(dims)) {}

  Tensor make() const {
    Tensor tensor(type_, dims_);
    if (count_ == 0) return tensor;
    if (type_ == DataType::string) {
      for (int64_t i = 0; i < count_; ++i) tensor.data<std::string>()[i] = kWords[random_.below(index(i), kWords.size())];
    } else if (type_ == DataType::complex64 || type_ == DataType::complex128) {
      fill<double>(real_parts(tensor), [&](int64_t i) { return random_.normal(index(i)) * spread(); });
    } else if (use_.role == InputRole::mask) {
      fill_mask(tensor);
    } else if (is_float(type_)) {
      fill_reals(tensor);
      if (use_.range) scale_into(*use_.range, tensor);
    } else if (type_ == DataType::boolean) {
      fill<int64_t>(tensor, [&](int64_t i) {
        return int64_t{use_.role == InputRole::condition ? holds_in(sample_) : (random_.bits(index(i)) & 1U) != 0};
      });
    } else {
      fill_integers(tensor);
    }
    if (takes_words()) put_words(tensor);
    return tensor;
  }

 private:
  static uint64_t index(int64_t i) { return static_cast<uint64_t>(i); }
  /// Standard deviation. That of kind 1 reaches beyond a Clip at 6 and beyond inputs clipped at 3.
  [[nodiscard]] double spread() const { return deviation_ > 0 ? deviation_ : kind() == 1 ? 4 : 1; }
  /// The kind of values of this sample: 0 normal, 1 widely spread, 2 smooth, 3 large whole numbers or many scales.
  [[nodiscard]] int kind() const { return deviation_ > 0 ? 0 : sample_ % 4; }
  [[nodiscard]] double normal(int64_t i) const { return spread() * random_.normal(index(i)); }

  /// Whether the role leaves room for numbers at which the model decides. Mild samples have small numbers only.
  [[nodiscard]] bool takes_words() const {
    using enum InputRole;
    constexpr std::array kFixed{shape, zero, count, condition, mask, ratio, boxes, scale};
    return kNumericTypes.has(type_) && std::ranges::find(kFixed, use_.role) == kFixed.end() && (deviation_ == 0 || !is_float(type_));
  }

  /// Whether a number suits the role and both models' types.
  [[nodiscard]] bool suits(double word) const {
    constexpr double kMostOfHalf = 65504;
    const Bounds held = bounds_of_type(type_), range = use_.range.value_or(Bounds{});
    if (word < std::max(held.lowest, range.lowest) || word > std::min(held.highest, range.highest)) return false;
    if (is_float(type_) && std::fabs(word) > kMostOfHalf && (use_.narrow || traits(type_).bits <= 16)) return false;
    const auto limit = static_cast<double>(limit_);
    switch (use_.role) {
      case InputRole::ids:
        return word < limit && word >= (use_.negative_ids ? -limit : 0);
      case InputRole::length:
        return word >= 1 && word <= limit;
      case InputRole::unit:
        return word >= 0 && word <= 1;
      case InputRole::symmetric:
        return std::fabs(word) <= 1;
      case InputRole::above_one:
        return word >= 1;
      case InputRole::positive:
        return word > 0;
      case InputRole::nonzero:
        return word != 0;
      default:
        return true;
    }
  }

  /// Puts numbers at which the model decides in place of others: a single element holds one in the first sample, none in the second, then
  /// the others, and where all have been, in every other sample; of several, every third does, each place in other samples. The second of
  /// four samples has none.
  void put_words(const Tensor& tensor) const {
    std::vector<double> words;
    std::ranges::copy_if(use_.words, std::back_inserter(words), [this](double word) { return suits(word); });
    const auto wanted = static_cast<int64_t>(words.size());
    const bool is_without = count_ == 1 ? sample_ == 1 : sample_ % 4 == 1;
    if (wanted == 0 || (is_without && !decides_)) return;
    const auto put = [&](int64_t i, int64_t word) {
      store_one(type_, tensor.bytes() + i * element_stride(type_), words[as_size(word % wanted)]);
    };
    if (count_ == 1) {
      const int64_t turn = decides_ ? sample_ : std::max(sample_ - 1, 0);
      const bool rests = turn >= wanted && (sample_ + int{use_.shifts_words}) % 2 == 0;
      if (decides_ || !rests) put(0, turn);
      return;
    }
    const int64_t period = std::min<int64_t>(count_, kWordPeriod), turn = word_turn(sample_), row = dims_.back();
    const int64_t kept = use_.role == InputRole::ids && use_.direct && sample_ < 2 ? 2 + static_cast<int64_t>(use_.preferred.size()) : 0;
    for (int64_t i = kept; i < count_; ++i) {
      if ((i % row + i / row + turn) % period == 0) put(i, i / period + turn * ((count_ + period - 1) / period));
    }
  }

  void fill_reals(const Tensor& tensor) const {
    const double floor = 0.1;
    switch (use_.role) {
      case InputRole::positive:
        return fill<double>(tensor, [&](int64_t i) { return std::fabs(normal(i)) + floor; });
      case InputRole::above_one:
        return fill<double>(tensor, [&](int64_t i) { return 1 + std::fabs(normal(i)); });
      case InputRole::nonzero:
        return fill<double>(tensor, [&](int64_t i) { return std::copysign(std::fabs(normal(i)) + floor, normal(i)); });
      case InputRole::unit:
        return fill<double>(tensor, [&](int64_t i) { return random_.uniform(index(i)); });
      case InputRole::symmetric:
        return fill<double>(tensor, [&](int64_t i) { return 2 * random_.uniform(index(i)) - 1; });
      case InputRole::scale:
        return fill<double>(tensor, [&](int64_t i) { return 0.01 + 0.1 * random_.uniform(index(i)); });
      case InputRole::ratio:
        return fill<double>(tensor, [&](int64_t /*i*/) { return sample_ % 2 == 0 ? 0.5 : 0.1; });
      case InputRole::boxes:
        return fill<double>(tensor, [&](int64_t i) { return corner(i); });
      case InputRole::bytes:
        return fill_bytes(tensor);
      case InputRole::image:
        return fill_image(tensor);
      default:
        return fill_numbers(tensor);
    }
  }

  /// A coordinate of a box. The second corner is beyond the first.
  [[nodiscard]] double corner(int64_t i) const {
    const int64_t first = i - i % 4 + i % 2;
    const double low = 8 * random_.uniform(index(first));
    return i % 4 < 2 ? low : low + 0.5 + 8 * random_.uniform(index(i));
  }

  void fill_image(const Tensor& tensor) const {
    const SmoothNoise smooth(random_, dims_);
    // 255 overflows the activations of many 16-bit networks, and shows no more than 16 does.
    const double most = use_.narrow || traits(type_).bits <= 16 ? 16 : 256;
    switch (kind()) {
      case 2:
        return fill<double>(tensor, smooth);
      case 3:
        return fill<double>(tensor, [&](int64_t i) { return std::floor(most * random_.uniform(index(i))); });
      default:
        return fill_normals(tensor);
    }
  }

  void fill_normals(const Tensor& tensor) const {
    fill_chunks<double>(tensor, [&](int64_t first, std::span<double> values) {
      random_.normals(index(first), values);
      for (double& value : values) value *= spread();
    });
  }

  void fill_numbers(const Tensor& tensor) const {
    switch (kind()) {
      case 2:
        return fill<double>(tensor, [&](int64_t i) { return random_.uniform(index(i)); });
      case 3:
        return fill<double>(tensor, [&](int64_t i) {
          return random_.normal(index(i)) * std::exp2(static_cast<double>(random_.below(index(kSecond + i), 7)) - 3);
        });
      default:
        return fill_normals(tensor);
    }
  }

  void fill_bytes(const Tensor& tensor) const {
    if (deviation_ > 0 && is_float(type_)) return fill<double>(tensor, [&](int64_t i) { return std::fabs(normal(i)); });
    const SmoothNoise smooth(random_, dims_);
    const auto value = [&](int64_t i) {
      switch (kind()) {
        case 1:
          return (random_.bits(index(i)) & 1U) != 0 ? 255.0 : 0.0;
        case 2:
          return std::floor(256 * smooth(i));
        default:
          return static_cast<double>(random_.below(index(i), 256));
      }
    };
    if (is_float(type_)) return fill<double>(tensor, value);
    fill<int64_t>(tensor, [&](int64_t i) { return static_cast<int64_t>(value(i)); });
  }

  /// By sample: random with both values in every row, all true, or a prefix of every row. Padding is all true or a prefix.
  void fill_mask(const Tensor& tensor) const {
    const int64_t length = dims_.empty() ? 1 : dims_.back();
    const auto is_set = [&](int64_t i) -> int64_t {
      const int64_t row = i / length, at = i % length;
      if (sample_ % 4 == 1) return 1;
      const auto fixed = static_cast<int64_t>(random_.below(index(kSecond + row), static_cast<uint64_t>(length)));
      if (sample_ % 4 == 2 || use_.padding) return at <= fixed - (length > 1 && fixed == length - 1 ? 1 : 0) ? 1 : 0;
      if (length > 1 && at == fixed) return 1;
      if (length > 1 && at == (fixed + 1) % length) return 0;
      return static_cast<int64_t>(random_.bits(index(i)) & 1U);
    };
    if (is_float(type_)) return fill<double>(tensor, [&](int64_t i) { return static_cast<double>(is_set(i)); });
    fill<int64_t>(tensor, is_set);
  }

  void fill_integers(const Tensor& tensor) const {
    switch (use_.role) {
      case InputRole::zero:
        return fill<int64_t>(tensor, [](int64_t) { return 0; });
      case InputRole::count:
        return fill<int64_t>(tensor, [&](int64_t) { return 3 + 2 * (sample_ % 4); });
      case InputRole::condition:
        return fill<int64_t>(tensor, [&](int64_t) { return int64_t{holds_in(sample_)}; });
      case InputRole::ids:
        return fill_ids(tensor);
      case InputRole::length:
        return fill_lengths(tensor);
      case InputRole::image:
        if (type_ == DataType::int8 || traits(type_).bits < 8) return fill<int64_t>(tensor, [&](int64_t i) { return whole_number(i); });
        [[fallthrough]];
      case InputRole::bytes:
        return fill_bytes(tensor);
      case InputRole::nonzero:
        return fill<int64_t>(tensor, [&](int64_t i) { return whole_number(i) == 0 ? 1 : whole_number(i); });
      default:
        return fill<int64_t>(tensor, [&](int64_t i) { return whole_number(i); });
    }
  }

  /// Types of up to 8 bits cover their whole range, with the extremes. Wider ones stay near zero, so that sums and products stay small.
  [[nodiscard]] int64_t whole_number(int64_t i) const {
    const int bits = traits(type_).bits;
    const bool is_unsigned = traits(type_).is_integer && !traits(type_).is_signed;
    const int64_t most = bits <= 8          ? (int64_t{1} << (is_unsigned ? bits : bits - 1)) - 1
                         : sample_ % 4 == 1 ? 1000
                         : sample_ % 4 == 2 ? 1
                                            : 63;
    const int64_t least = is_unsigned ? 0 : bits <= 8 ? -most - 1 : sample_ % 4 == 2 ? 0 : -most;
    if (bits <= 8 && sample_ % 4 == 1) return (random_.bits(index(i)) & 1U) != 0 ? most : least;
    return least + static_cast<int64_t>(random_.below(index(i), static_cast<uint64_t>(most - least + 1)));
  }

  /// The first row, the last, the preferred ones, then a walk that visits every row once, continued over all samples. The third and the
  /// fourth sample draw at random instead.
  void fill_ids(const Tensor& tensor) const {
    const auto rows = static_cast<uint64_t>(limit_);
    if (!use_.direct) {
      // Arithmetic may add to an id: stay in the lower half.
      return fill<int64_t>(tensor,
                           [&](int64_t i) { return static_cast<int64_t>(random_.below(index(i), std::max<uint64_t>(rows / 2, 1))); });
    }
    uint64_t step = std::max<uint64_t>(static_cast<uint64_t>(static_cast<double>(rows) * 0.6180339887498949), 1);
    while (std::gcd(step, rows) != 1) ++step;
    fill<int64_t>(tensor, [&](int64_t i) -> int64_t {
      if (sample_ == 2 || sample_ == 3) {
        const auto id = static_cast<int64_t>(random_.below(index(i), rows));
        const bool from_end = use_.negative_ids && sample_ % 4 == 3 && (random_.bits(index(kSecond + i)) & 1U) != 0;
        return from_end ? id - limit_ : id;
      }
      const auto place = index(i + (sample_ < 2 ? sample_ : sample_ - 2) * count_);
      if (place < 2) return place == 0 ? 0 : limit_ - 1;
      if (place - 2 < use_.preferred.size()) return std::min(use_.preferred[place - 2], limit_ - 1);
      __extension__ using Wide = unsigned __int128;
      return static_cast<int64_t>(static_cast<Wide>(place) * step % rows);
    });
  }

  void fill_lengths(const Tensor& tensor) const {
    fill<int64_t>(tensor, [&](int64_t i) -> int64_t {
      if (sample_ % 4 == 1 || i == 0) return limit_;
      if (sample_ % 4 == 2) return 1;
      return 1 + static_cast<int64_t>(random_.below(index(i), static_cast<uint64_t>(limit_)));
    });
  }

  DataType type_;
  const Dims& dims_;
  const InputUse& use_;
  int64_t limit_;
  const RandomStream& random_;
  int sample_;
  double deviation_;
  bool decides_;
  int64_t count_;
};

}  // namespace

Tensor make_values(DataType type, const Dims& dims, const InputUse& use, int64_t limit, uint64_t seed, const std::string& name,
                   SampleKind kind) {
  const RandomStream random(seed, name, static_cast<uint64_t>(kind.number));
  return Values(type, dims, use, limit, random, kind).make();
}

int samples_for_words(const InputUse& use, const Dims& dims) {
  if (use.words.empty()) return 0;  // dims may be beyond all memory
  const int64_t count = element_count(dims), wanted = static_cast<int64_t>(use.words.size());
  if (count == 0) return 0;
  if (count == 1) return static_cast<int>(wanted) + 1;
  const int64_t period = std::min<int64_t>(count, kWordPeriod), each = (count + period - 1) / period;
  int samples = 1;
  while (word_turn(samples) * each < wanted) ++samples;
  return samples;
}

}  // namespace relayout
