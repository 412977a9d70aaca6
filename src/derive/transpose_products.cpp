// Transposes products: matrix products, convolutions by either operand, windows of sums, and interpolation as a product with its own
// matrix.
#include <numeric>

#include "derive/row.h"
#include "derive/writer.h"
#include "ops/einsum.h"
#include "ops/kernels/window.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::derive {
namespace {

/// A value with its last two axes exchanged.
Name with_last_two_exchanged(Writer& w, const Name& value, std::size_t rank) {
  std::vector<int64_t> permutation(rank);
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[rank - 1], permutation[rank - 2]);
  return w.transpose(value, permutation);
}

void matmul(TransposeRow& row) {
  Writer& w = row.w;
  const std::size_t rank_a = row.rank(0), rank_b = row.rank(1);
  // Vectors as matrices of one row or column.
  const auto a = [&] { return rank_a == 1 ? w.unsqueeze(row.x(0), {0}) : row.x(0); };
  const auto b = [&] { return rank_b == 1 ? w.unsqueeze(row.x(1), {1}) : row.x(1); };
  std::vector<int64_t> missing;
  if (rank_a == 1) missing.push_back(rank_b == 1 ? 0 : -2);
  if (rank_b == 1) missing.push_back(rank_a == 1 ? 1 : -1);
  const Name ct = w.unsqueeze(row.ct(), missing);
  const std::size_t batch = std::max<std::size_t>(std::max(rank_a, rank_b), 2) - 2;
  const auto own = [&](const Name& full, std::size_t input, std::size_t rank) {
    const Name kept = rank == 1 ? w.make("Squeeze", {full, w.integers({input == 0 ? int64_t{-2} : int64_t{-1}})}) : full;
    row.give(row.summed(kept, batch, input, std::min<std::size_t>(rank, 2)), input);
  };
  if (row.is_linear(1) && rank_a > 1 && rank_b == 2) {
    // All rows at once, without a product for each batch.
    const auto rows = [&](const Name& value, const Dim& width) { return rank_a == 2 ? value : w.reshape(value, {-1, width}); };
    row.give(w.make("MatMul", {w.transpose(rows(row.x(0), row.dim(1, 0)), {1, 0}), rows(ct, row.dim(1, 1))}), 1);
  } else if (row.is_linear(1)) {
    own(w.make("MatMul", {with_last_two_exchanged(w, a(), std::max<std::size_t>(rank_a, 2)), ct}), 1, rank_b);
  }
  if (row.is_linear(0)) own(w.make("MatMul", {ct, with_last_two_exchanged(w, b(), std::max<std::size_t>(rank_b, 2))}), 0, rank_a);
}

void gemm(TransposeRow& row) {
  Writer& w = row.w;
  const int64_t trans_a = row.attributes.integer("transA", 0), trans_b = row.attributes.integer("transB", 0);
  const float alpha = row.attributes.real("alpha", 1), beta = row.attributes.real("beta", 1);
  const auto product = [&](const Name& left, bool trans_left, const Name& right, bool trans_right) {
    return w.make("Gemm", {left, right}, {{"alpha", alpha}, {"transA", int64_t{trans_left}}, {"transB", int64_t{trans_right}}});
  };
  const Name ct = row.ct();
  if (row.is_linear(0)) {
    row.give(trans_a == 0 ? product(ct, false, row.x(1), trans_b == 0) : product(row.x(1), trans_b != 0, ct, true), 0);
  }
  if (row.is_linear(1)) {
    row.give(trans_b == 0 ? product(row.x(0), trans_a == 0, ct, false) : product(ct, true, row.x(0), trans_a != 0), 1);
  }
  if (row.is_linear(2)) {
    row.give_summed(beta == 1 ? ct : w.make("Mul", {ct, w.real(beta, row.type(2))}), 2);
  }
}

void einsum(TransposeRow& row) {
  const EinsumEquation terms = read_einsum(row.attributes.text("equation", ""));
  if (terms.has_ellipsis()) row.refuse("an ellipsis");
  for (std::size_t i = 0; i < terms.operands.size(); ++i) {
    if (!row.is_linear(i)) continue;
    std::string others = terms.letters_of_result();
    Names operands{row.ct()};
    for (std::size_t k = 0; k < terms.operands.size(); ++k) {
      if (k == i) continue;
      others += "," + terms.operands[k];
      operands.push_back(row.x(k));
    }
    for (const char letter : terms.operands[i]) {
      if (std::ranges::count(terms.operands[i], letter) > 1) row.refuse("a diagonal");
      if (others.find(letter) == std::string::npos) row.refuse("a sum over an index of one operand alone");
    }
    row.give(row.w.make("Einsum", operands, {{"equation", others + "->" + terms.operands[i]}}), i);
  }
}

// Convolutions.

/// A window that moves over the axes after batch and channels of `large` and makes those of `small`.
struct Window {
  std::vector<int64_t> kernel, strides, dilations, begins, ends;
  int64_t group = 1;

  [[nodiscard]] std::vector<int64_t> pads() const {
    std::vector<int64_t> out = begins;
    out.insert(out.end(), ends.begin(), ends.end());
    return out;
  }
  [[nodiscard]] int64_t reach(std::size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }
};

Window window_of(const TransposeRow& row, const Value& large, const Value& small, const Value* weight) {
  Window out;
  const std::size_t axes = row.rank_of(&large) - 2;
  const auto or_ones = [&](std::string_view name) {
    const std::vector<int64_t> given = row.attributes.integers(name);
    return given.empty() ? std::vector<int64_t>(axes, 1) : given;
  };
  out.kernel = row.attributes.integers("kernel_shape");
  for (std::size_t i = 0; weight != nullptr && out.kernel.size() < axes; ++i) out.kernel.push_back(row.sizes.dim(*weight, i + 2));
  if (std::ranges::any_of(out.kernel, [](int64_t size) { return size < 0; })) row.refuse("the size of its window is not known");
  out.strides = or_ones("strides");
  out.dilations = or_ones("dilations");
  out.group = row.attributes.integer("group", 1);
  std::vector<int64_t> pads = row.attributes.integers("pads");
  pads.resize(2 * axes, 0);
  const std::string automatic = row.attributes.text("auto_pad", "NOTSET");
  for (std::size_t i = 0; i < axes; ++i) {
    out.begins.push_back(pads[i]);
    out.ends.push_back(pads[i + axes]);
    if (!automatic.starts_with("SAME")) continue;
    const int64_t from = row.sizes.dim(large, i + 2), to = row.sizes.dim(small, i + 2);
    if (out.strides[i] > 1 && (from < 0 || to < 0)) row.refuse("auto_pad with strides and free dims");
    const int64_t total = out.strides[i] == 1 ? out.reach(i) - 1 : std::max<int64_t>((to - 1) * out.strides[i] + out.reach(i) - from, 0);
    out.begins[i] = automatic == "SAME_LOWER" ? total - total / 2 : total / 2;
    out.ends[i] = total - out.begins[i];
  }
  return out;
}

/// The weights of a convolution's transpose as one: windows turned about, channels exchanged within each group.
Name turned_weight(const TransposeRow& row, const Name& weight, const Window& window) {
  Writer& w = row.w;
  const std::size_t axes = window.kernel.size();
  const int64_t group = window.group, outputs = row.size(1, 0) / group, channels = row.size(1, 1);
  const auto with_kernel = [&](std::vector<int64_t> dims) {
    dims.insert(dims.end(), window.kernel.begin(), window.kernel.end());
    return w.integers(dims);
  };
  Name out = weight;
  if (outputs > 1 || channels > 1) {
    std::vector<int64_t> order(axes + 3);
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[1], order[2]);
    out = w.make("Reshape", {out, with_kernel({group, outputs, channels})});
    out = w.make("Reshape", {w.transpose(out, order), with_kernel({group * channels, outputs})});
  }
  if (std::ranges::all_of(window.kernel, [](int64_t size) { return size == 1; })) return out;
  std::vector<int64_t> back(axes, -1), places(axes);
  std::iota(places.begin(), places.end(), 2);
  return w.make("Slice", {out, w.integers(back), w.integers(std::vector<int64_t>(axes, INT64_MIN)), w.integers(places), w.integers(back)});
}

/// The transpose of a convolution as a convolution, of `ct` with zeros between its elements: runtimes convolve faster, above all single
/// channels. Empty where sizes that this needs are not known, or where most products would be with zeros.
Name turned_about(const TransposeRow& row, const Name& ct, const Name& weight, const Window& window, const Value& large,
                  const Value& small) {
  Writer& w = row.w;
  const int64_t outputs = row.size(1, 0);
  const bool is_single = row.size(1, 1) == 1 && window.group > 1;
  if (outputs < 0 || row.size(1, 1) < 0) return {};
  std::vector<int64_t> begins, ends, split{0, outputs}, gaps{0, 0}, merged{0, outputs};
  bool has_gaps = false;
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    const int64_t size = row.sizes.dim(large, i + 2), count = row.sizes.dim(small, i + 2), stride = window.strides[i];
    if (stride > 1 && (size < 0 || count < 0 || !is_single)) return {};
    const int64_t rest = stride == 1 ? 0 : (size + window.begins[i] + window.ends[i] - window.reach(i)) % stride;
    begins.push_back(window.reach(i) - 1 - window.begins[i]);
    ends.push_back(window.reach(i) - window.ends[i] + rest - stride);
    if (begins.back() < 0 || ends.back() < 0) return {};
    has_gaps = has_gaps || stride > 1;
    split.insert(split.end(), {count, 1});
    gaps.insert(gaps.end(), {0, stride - 1});
    merged.push_back(count * stride);
  }
  Name data = ct;
  if (has_gaps) {
    if (std::ranges::any_of(merged, [](int64_t size) { return size < 0; })) return {};
    std::vector<int64_t> pads(gaps.size(), 0);
    pads.insert(pads.end(), gaps.begin(), gaps.end());
    data = w.make("Reshape", {w.make("Pad", {w.make("Reshape", {ct, w.integers(split)}), w.integers(pads)}), w.integers(merged)});
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  return w.make("Conv", {data, turned_weight(row, weight, window)},
                {{"dilations", window.dilations}, {"group", window.group}, {"pads", begins}});
}

/// The transpose of a convolution of pictures with strides: a convolution that makes all elements between two steps as channels, which
/// become neighbours. For pictures of few channels, which runtimes do not convolve transposed as fast; else empty.
Name by_phases(const TransposeRow& row, const Name& ct, const Name& weight, const Window& window, const Value& large, const Value& small) {
  constexpr int64_t kMostChannels = 4;
  Writer& w = row.w;
  const int64_t outputs = row.size(1, 0), channels = row.size(1, 1), stride = window.strides.front();
  const bool is_picture = window.kernel.size() == 2 && window.group == 1 && window.strides[1] == stride && outputs > 0;
  if (!is_picture || channels < 0 || channels > kMostChannels || window.dilations != std::vector<int64_t>{1, 1}) return {};
  std::vector<int64_t> behind(8, 0), split{outputs, channels}, merged{channels * stride * stride, outputs}, pads, begins, ends;
  for (std::size_t i = 0; i < 2; ++i) {
    const int64_t size = row.sizes.dim(large, i + 2), count = row.sizes.dim(small, i + 2), begin = window.begins[i];
    if (size < 0 || count < 0 || begin < 0) return {};
    const int64_t steps = (window.kernel[i] + stride - 1) / stride, all = std::max((begin + size + stride - 1) / stride, count);
    behind[6 + i] = steps * stride - window.kernel[i];
    split.insert(split.end(), {steps, stride});
    merged.push_back(steps);
    pads.insert(pads.begin() + static_cast<std::ptrdiff_t>(i), steps - 1);
    pads.push_back(all - count);
    begins.push_back(begin);
    ends.push_back(begin + size);
  }
  const Name back = w.integers({-1, -1}), whole = w.make("Reshape", {w.make("Pad", {weight, w.integers(behind)}), w.integers(split)});
  const Name turned = w.make("Slice", {whole, back, w.integers({INT64_MIN, INT64_MIN}), w.integers({2, 4}), back});
  const Name phases = w.make("Reshape", {w.transpose(turned, {1, 3, 5, 0, 2, 4}), w.integers(merged)});
  const Name made =
      w.make("DepthToSpace", {w.make("Conv", {ct, phases}, {{"pads", pads}})}, {{"blocksize", stride}, {"mode", std::string("CRD")}});
  return w.make("Slice", {made, w.integers(begins), w.integers(ends), w.integers({2, 3})});
}

/// The transpose of a convolution by its data: `ct` has the dims of `small`, the result those of `large`.
Name spread(const TransposeRow& row, const Name& ct, const Name& weight, const Window& window, const Value& large) {
  Writer& w = row.w;
  NamedAttributes attributes{{"strides", window.strides}, {"dilations", window.dilations}, {"group", window.group}};
  std::vector<int64_t> rest;
  bool is_known = true;
  for (std::size_t i = 0; i < window.kernel.size(); ++i) {
    const int64_t size = row.sizes.dim(large, i + 2), padded = size + window.begins[i] + window.ends[i] - window.reach(i);
    if (window.strides[i] == 1) {
      rest.push_back(0);
    } else {
      is_known = is_known && size >= 0;
      rest.push_back(size < 0 ? window.strides[i] - 1 : padded % window.strides[i]);
    }
    is_known = is_known && rest.back() < std::max(window.strides[i], window.dilations[i]);
  }
  if (is_known) {
    attributes.emplace_back("pads", window.pads());
    if (std::ranges::any_of(rest, [](int64_t size) { return size != 0; })) attributes.emplace_back("output_padding", rest);
    return w.make("ConvTranspose", {ct, weight}, attributes);
  }
  // A free size: all that the windows reach, with zeros behind it, cut to the size.
  const Name all = w.make("ConvTranspose", {ct, weight}, attributes);
  std::vector<int64_t> zeros(2 * (rest.size() + 2), 0), axes;
  std::vector<Dim> sizes;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    zeros[rest.size() + 4 + i] = rest[i] + std::max<int64_t>(window.ends[i], 0);
    axes.push_back(static_cast<int64_t>(i) + 2);
    sizes.push_back(row.dim(large, i + 2));
  }
  const Name begins = w.integers(window.begins);
  const Name ends = w.make("Add", {begins, w.shape(sizes)});
  return w.make("Slice", {w.make("Pad", {all, w.integers(zeros)}), begins, ends, w.integers(axes)});
}

/// The gradient of the weight of a convolution that makes one channel of each: for each tap of the window, the sum of what it multiplied
/// times the cotangents. Empty where steps over a free size leave a rest.
Name weight_gradient_by_taps(const TransposeRow& row, const Name& data, const Name& ct, const Value& large, const Window& window) {
  Writer& w = row.w;
  const std::size_t axes = window.kernel.size();
  std::vector<int64_t> rest(axes, 0), last(axes), summed{0}, pads(2 * (axes + 2), 0);
  std::iota(last.begin(), last.end(), 2);
  summed.insert(summed.end(), last.begin(), last.end());
  for (std::size_t i = 0; i < axes; ++i) {
    const int64_t size = row.sizes.dim(large, i + 2);
    pads[2 + i] = window.begins[i];
    pads[axes + 4 + i] = window.ends[i];
    if (window.strides[i] == 1) continue;
    if (size < 0) return {};
    rest[i] = (size + window.begins[i] + window.ends[i] - window.reach(i)) % window.strides[i];
  }
  const bool is_padded = std::ranges::any_of(pads, [](int64_t pad) { return pad != 0; });
  const Name padded = is_padded ? w.make("Pad", {data, w.integers(pads)}) : data;
  Names sums;
  for_each_index(window.kernel, [&](const Dims& tap) {
    std::vector<int64_t> begins, ends;
    for (std::size_t i = 0; i < axes; ++i) {
      begins.push_back(tap[i] * window.dilations[i]);
      const int64_t behind = window.reach(i) - 1 - begins.back() + rest[i];
      ends.push_back(behind == 0 ? INT64_MAX : -behind);
    }
    const Name seen = w.make("Slice", {padded, w.integers(begins), w.integers(ends), w.integers(last), w.integers(window.strides)});
    sums.push_back(w.unsqueeze(w.reduce("ReduceSum", w.make("Mul", {seen, ct}), summed, false), {1}));
  });
  std::vector<int64_t> result{0, 1};
  result.insert(result.end(), window.kernel.begin(), window.kernel.end());
  return w.make("Reshape", {w.make("Concat", sums, {{"axis", int64_t{1}}}), w.integers(result)});
}

/// The gradient of a convolution's weight as a product: each window's elements as a column, by a convolution with unit windows.
///
///     [N, g, O/g, small] × [N, g, small, I/g × kernel] → [O, I/g, kernel …], summed over N
///
/// All samples are one product where this moves fewer numbers than the products of each would have.
Name weight_gradient(const TransposeRow& row, const Name& data, const Name& ct, const Value& large, const Value& small,
                     const Window& window) {
  Writer& w = row.w;
  const int64_t group = window.group, outputs = row.size(1, 0), channels = row.size(1, 1) * group;
  if (channels < 0 || outputs < 0) row.refuse("the number of its channels is not known");
  if (group > 1 && group == channels && group == outputs) {
    Name sums = weight_gradient_by_taps(row, data, ct, large, window);
    if (!sums.empty()) return sums;
  }
  const std::size_t axes = window.kernel.size();
  const int64_t taps = std::accumulate(window.kernel.begin(), window.kernel.end(), int64_t{1}, std::multiplies<>());
  int64_t places = 1;
  for (std::size_t i = 0; i < axes; ++i) {
    const int64_t size = row.sizes.dim(small, i + 2);
    places = places < 0 || size < 0 ? -1 : places * size;
  }
  const auto all_are = [](const std::vector<int64_t>& values, int64_t value) {
    return std::ranges::all_of(values, [&](int64_t one) { return one == value; });
  };
  Name columns = data;
  if (taps > 1 || !all_are(window.pads(), 0)) {
    std::vector<int64_t> form{taps, 1}, repeats(axes + 2, 1);
    form.insert(form.end(), window.kernel.begin(), window.kernel.end());
    repeats.front() = channels;
    const auto type = static_cast<int64_t>(row.type());
    const Name unit = w.make("EyeLike", {w.make("ConstantOfShape", {w.integers({taps, taps})})}, {{"dtype", type}});
    const Name windows = w.make("Tile", {w.make("Reshape", {unit, w.integers(form)}), w.integers(repeats)});
    columns = w.make("Conv", {data, windows},
                     {{"strides", window.strides}, {"dilations", window.dilations}, {"pads", window.pads()}, {"group", channels}});
  } else if (!all_are(window.strides, 1)) {
    std::vector<int64_t> last(axes);
    std::iota(last.begin(), last.end(), 2);
    columns = w.make("Slice", {data, w.integers(std::vector<int64_t>(axes, 0)), w.integers(std::vector<int64_t>(axes, INT64_MAX)),
                               w.integers(last), w.integers(window.strides)});
  }
  std::vector<int64_t> result{outputs, channels / group};
  result.insert(result.end(), window.kernel.begin(), window.kernel.end());
  const int64_t rows_of_group = outputs / group, columns_of_group = channels / group * taps;
  const auto grouped = [&](const Name& value, int64_t each) { return w.make("Reshape", {value, w.integers({0, group, each, -1})}); };
  const Name left = grouped(ct, rows_of_group), right = grouped(columns, columns_of_group);
  if (places > 0 && rows_of_group * columns_of_group > (rows_of_group + columns_of_group) * places) {
    const Name all_left = w.make("Reshape", {w.transpose(left, {1, 2, 0, 3}), w.integers({group, rows_of_group, -1})});
    const Name all_right = w.make("Reshape", {w.transpose(right, {1, 0, 3, 2}), w.integers({group, -1, columns_of_group})});
    return w.make("Reshape", {w.make("MatMul", {all_left, all_right}), w.integers(result)});
  }
  const Name product = w.make("MatMul", {left, w.transpose(right, {0, 1, 3, 2})});
  return w.make("Reshape", {w.reduce("ReduceSum", product, {0}, false), w.integers(result)});
}

/// The sum over all axes but that of the channels.
Name per_channel_sum(Writer& w, const Name& ct, std::size_t rank) {
  std::vector<int64_t> axes{0};
  for (std::size_t i = 2; i < rank; ++i) axes.push_back(static_cast<int64_t>(i));
  return w.reduce("ReduceSum", ct, axes, false);
}

void conv(TransposeRow& row) {
  const Value& x = row.present(0);
  const Value& y = *row.node.output(0);
  const Window window = window_of(row, x, y, row.node.input(1));
  if (row.is_linear(0)) {
    Name back = turned_about(row, row.ct(), row.x(1), window, x, y);
    if (back.empty()) back = by_phases(row, row.ct(), row.x(1), window, x, y);
    row.give(back.empty() ? spread(row, row.ct(), row.x(1), window, x) : back, 0);
  }
  if (row.is_linear(1)) row.give(weight_gradient(row, row.x(0), row.ct(), x, y, window), 1);
  if (row.is_linear(2)) row.give(per_channel_sum(row.w, row.ct(), row.rank(0)), 2);
}

void conv_transpose(TransposeRow& row) {
  const Value& x = row.present(0);
  const Value& y = *row.node.output(0);
  if (!row.attributes.integers("output_shape").empty()) row.refuse("output_shape");
  if (row.attributes.text("auto_pad", "NOTSET").starts_with("SAME")) row.refuse("auto_pad");
  const Window window = window_of(row, y, x, row.node.input(1));
  const std::vector<int64_t> more = row.attributes.integers("output_padding");
  for (std::size_t i = 0; i < more.size(); ++i) {
    if (more[i] >= window.strides.at(i)) row.refuse("an output_padding of a whole stride");
  }
  if (row.is_linear(0)) {
    row.give(row.w.make("Conv", {row.ct(), row.x(1)},
                        {{"strides", window.strides}, {"dilations", window.dilations}, {"pads", window.pads()}, {"group", window.group}}),
             0);
  }
  if (row.is_linear(1)) row.give(weight_gradient(row, row.ct(), row.x(0), y, x, window), 1);
  if (row.is_linear(2)) row.give(per_channel_sum(row.w, row.ct(), row.rank(0)), 2);
}

/// Each mean back to the elements of its window, in equal shares: channels as samples of a convolution with ones.
void average_pool(TransposeRow& row) {
  Writer& w = row.w;
  const Value& x = row.present(0);
  const Value& y = *row.node.output(0);
  Window window = window_of(row, x, y, nullptr);
  const bool counts_pads = row.attributes.integer("count_include_pad", 0) != 0;
  const bool has_pads = std::ranges::any_of(window.pads(), [](int64_t pad) { return pad != 0; });
  if (row.attributes.integer("ceil_mode", 0) != 0) {
    // Windows may reach beyond the data. Where they do not, ceil_mode is without effect.
    for (std::size_t i = 0; i < window.kernel.size(); ++i) {
      const int64_t size = row.sizes.dim(x, i + 2);
      const bool fits = size >= 0 && (size + window.begins[i] + window.ends[i] - window.reach(i)) % window.strides[i] == 0;
      if (!fits) row.refuse("ceil_mode with windows beyond the data");
    }
  }
  const double elements = static_cast<double>(std::accumulate(window.kernel.begin(), window.kernel.end(), int64_t{1}, std::multiplies<>()));
  std::vector<int64_t> ones_dims(window.kernel.size() + 2, 1);
  std::ranges::copy(window.kernel, ones_dims.begin() + 2);
  const Name ones = w.make("Expand", {w.real(1, row.type()), w.integers(ones_dims)});
  Name share = w.make("Div", {row.ct(), w.real(elements, row.type())});
  if (has_pads && !counts_pads) {
    // The mean of ones with pads counted is the covered part of each window.
    const Name data = w.make("Expand", {w.real(1, row.type()), row.shape(row.x())});
    NamedAttributes counting{
        {"kernel_shape", window.kernel}, {"strides", window.strides}, {"pads", window.pads()}, {"count_include_pad", int64_t{1}}};
    if (row.node.opset() >= 19) counting.emplace_back("dilations", window.dilations);
    share = w.make("Div", {share, w.make("AveragePool", {data}, counting)});
  }
  std::vector<Dim> alone{-1, 1};
  for (std::size_t i = 2; i < row.rank(); ++i) alone.push_back(row.dim(y, i));
  const Name spread_out = spread(row, w.reshape(share, alone), ones, window, x);
  row.give(w.make("Reshape", {spread_out, row.shape(row.x())}));
}

/// Interpolation along one axis is a product with a matrix: the interpolation of the unit matrix.
void resize(TransposeRow& row) {
  Writer& w = row.w;
  if (!row.attributes.integers("axes").empty()) row.refuse("axes");
  if (row.attributes.text("keep_aspect_ratio_policy", "stretch") != "stretch") row.refuse("keep_aspect_ratio_policy");
  const Value& y = *row.node.output(0);
  const std::size_t rank = row.rank();
  const bool by_scale = row.node.input(2) != nullptr && row.sizes.dim(*row.node.input(2), 0) != 0;
  Name ct = row.ct();
  for (std::size_t i = rank; i-- > 0;) {
    if (row.sizes.is_same(row.present(0), i, y, i)) continue;
    const Name from = w.shape(std::vector<Dim>{row.dim(0, i)}), to = w.shape(std::vector<Dim>{row.dim(y, i)});
    const auto joined = [&](const Names& parts) { return w.make("Concat", parts, {{"axis", int64_t{0}}}); };
    const auto type = static_cast<int64_t>(row.type() == DataType::float64 ? DataType::float64 : DataType::float32);
    const Name unit = w.make("EyeLike", {w.make("ConstantOfShape", {joined({from, from})})}, {{"dtype", type}});
    Names operands{w.unsqueeze(w.cast(unit, row.type()), {0, 1}), "", "", ""};
    if (by_scale) {
      const Name scale = w.make("Gather", {row.x(2), w.integers({static_cast<int64_t>(i)})});
      operands[2] = joined({w.make("Constant", {}, {{"value_floats", std::vector<float>{1, 1, 1}}}), scale});
    } else {
      operands[3] = joined({w.integers({1, 1}), from, to});
    }
    const Name matrix = w.make("Squeeze", {w.make_like(row.node, operands), w.integers({0, 1})});
    std::vector<int64_t> order(rank);
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[i], order[rank - 1]);
    const Name last = i + 1 == rank ? ct : w.transpose(ct, order);
    const Name product = w.make("MatMul", {last, w.transpose(matrix, {1, 0})});
    ct = i + 1 == rank ? product : w.transpose(product, order);
  }
  row.give(ct);
}

constexpr auto kProducts = std::to_array<Transpose>({
    {"AveragePool", average_pool},
    {"Conv", conv},
    {"ConvTranspose", conv_transpose},
    {"Einsum", einsum},
    {"Gemm", gemm},
    {"MatMul", matmul},
    {"Resize", resize},
});

}  // namespace

TransposeRows product_transposes() {
  return kProducts;
}

}  // namespace relayout::derive
