// Computes and packs a convolution's weights with what is folded into them, and decides whether they take Winograd's form.

#include "base/machine.h"
#include "base/positions.h"
#include "exec/constant_store.h"
#include "exec/kernels/kernel.h"
#include "exec/kernels/kernels.h"
#include "exec/lower/fuse.h"
#include "exec/lower/lower.h"
#include "exec/lower/lowering.h"
#include "exec/primitives.h"
#include "exec/program.h"
#include "ops/loops/strided.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Scales each output channel of f32 weights of any strides, in double with one rounding.
void scale_weights(Tensor& weights, const Convolution& spec, const std::vector<double>& scale) {
  Dims dims = weights.dims(), places = weights.strides(), channels(dims.size(), 0);
  channels[spec.transposed ? 1 : 0] = 1;
  if (spec.transposed) {
    // Dim 0 holds the inputs of the groups, group by group; each group has dims[1] outputs.
    const int64_t inputs = dims[0] / spec.groups;
    channels.insert(channels.begin(), dims[1]);
    places.insert(places.begin(), places[0] * inputs);
    dims[0] = inputs;
    dims.insert(dims.begin(), spec.groups);
  }
  const Loops loops = simplify(dims, {places, channels}, 0);
  float* const data = weights.data<float>();
  for_each_outer(loops, loops.dims.size(), 0, weights.element_count(), [&](std::span<const int64_t> offsets) {
    float& weight = data[offsets[0]];
    weight = static_cast<float>(static_cast<double>(weight) * element_at(scale, offsets[1]));
  });
}

/// A tensor that may be written: the given one when nothing else holds it, else a copy.
Tensor writable(Tensor tensor, const KnownConstant& constant) {
  if (!constant.is_loaded()) return tensor;
  Tensor copy(TensorDesc{tensor.type(), tensor.dims(), tensor.strides()});
  const auto kernel = make_copy_kernel(tensor.desc(), copy.desc(), {});
  kernel->bind(0, tensor.bytes());
  kernel->bind(1, copy.bytes());
  kernel->run();
  return copy;
}

/// The weights of one term, and their position in the window of the sum.
struct TermWeights {
  std::shared_ptr<KnownConstant> weights;  ///< null: the operand itself, which is a window of one element with weight 1
  std::vector<double> scale;               ///< per output channel
  Dims first;                              ///< per spatial dim of the sum's window
};

TermWeights weights_of(Lowering& lowering, const ConvolutionTerm& term, std::size_t channels) {
  TermWeights out{nullptr, std::vector<double>(channels, 1.0), term.first};
  if (term.convolution != nullptr) out.weights = lowering.facts.state(term.convolution->inputs[1]).constant;
  if (term.affine != nullptr) out.scale = channel_affine_of(lowering.facts, *term.affine)->scale;
  return out;
}

/// Adds a term's weights, scaled, to contiguous f64 sums.
void add_weights(Tensor& sums, const TermWeights& term, const ConstantStore& store) {
  int64_t first = 0;
  for (std::size_t i = 0; i < term.first.size(); ++i) first += term.first[i] * sums.strides()[i + 2];
  double* const to = sums.data<double>() + first;
  if (term.weights == nullptr) {
    for (int64_t channel = 0; channel < sums.dims()[0]; ++channel) {
      to[channel * sums.strides()[0] + channel % sums.dims()[1] * sums.strides()[1]] += element_at(term.scale, channel);
    }
    return;
  }
  const Tensor weights = store.read(*term.weights);
  const float* const from = weights.data<float>();
  Dims channels(weights.dims().size(), 0);
  channels[0] = 1;
  const Loops loops = simplify(weights.dims(), {weights.strides(), sums.strides(), channels}, 1);
  for_each_outer(loops, loops.dims.size(), 0, weights.element_count(), [&](std::span<const int64_t> offsets) {
    to[offsets[1]] += static_cast<double>(from[offsets[0]]) * element_at(term.scale, offsets[2]);
  });
}

std::function<Tensor()> reader_of_sum(Lowering& lowering, const ConvolutionGroup& group) {
  const Dims& dims = lowering.info(group.node->inputs[1]).dims;
  std::vector<TermWeights> terms;
  for (const ConvolutionTerm& term : group.terms) {
    if (term.constant == ValueId::none) terms.push_back(weights_of(lowering, term, as_size(dims[0])));
  }
  if (group.rest.affine) {
    for (TermWeights& term : terms) {
      std::ranges::transform(term.scale, group.rest.affine->scale, term.scale.begin(), std::multiplies<>());
    }
  }
  return [store = &lowering.store(), dims, terms = std::move(terms)] {
    Tensor sums(DataType::float64, dims), weights(DataType::float32, dims);
    const std::span<double> numbers(sums.data<double>(), as_size(sums.element_count()));
    std::ranges::fill(numbers, 0.0);
    for (const TermWeights& term : terms) add_weights(sums, term, *store);
    std::ranges::transform(numbers, weights.data<float>(), [](double sum) { return static_cast<float>(sum); });
    return weights;
  };
}

/// Equal keys mean equal weights.
std::string key_of_weights(Lowering& lowering, const ConvolutionGroup& group) {
  if (group.terms.empty()) return lowering.store().key_of(*lowering.constant(group.node->inputs[1])) + group.rest.affine_key;
  std::string key = "sum";
  for (const ConvolutionTerm& term : group.terms) {
    key += " " + relayout::to_string(term.first);
    if (term.convolution != nullptr) key += lowering.store().key_of(*lowering.constant(term.convolution->inputs[1]));
    if (term.affine != nullptr) key += key_of_affine(lowering, *term.affine);
  }
  return key + group.rest.affine_key;
}

void apply_affine(const ChannelAffine& affine, std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = (values[i] - affine.mean[i]) * affine.scale[i] + affine.bias[i];
}

/// The values that a term adds to the channels; nothing if it has no bias, constant or affine.
std::optional<std::vector<double>> bias_of(const ValueFacts& facts, const ConvolutionTerm& term, std::size_t channels) {
  const ValueId value = term.convolution == nullptr ? term.constant : term.convolution->input(2);
  auto bias = small_constant(facts, value);
  if (bias && bias->size() == 1) bias->resize(channels, bias->front());
  if (term.affine == nullptr) return bias;
  if (!bias) bias.emplace(channels, 0.0);
  apply_affine(*channel_affine_of(facts, *term.affine), *bias);
  return bias;
}

}  // namespace

std::string key_of_affine(Lowering& lowering, const ProgramNode& node) {
  std::string key = "affine" + std::to_string(reinterpret_cast<uintptr_t>(node.node));
  for (std::size_t i = 1; i < node.inputs.size(); ++i) key += ' ' + lowering.store().key_of(*lowering.constant(node.inputs[i]));
  return key;
}

std::function<Tensor()> reader_of_weights(Lowering& lowering, const ConvolutionGroup& group) {
  if (!group.terms.empty()) return reader_of_sum(lowering, group);
  std::vector<double> scale;
  if (group.rest.affine) scale = group.rest.affine->scale;
  return [store = &lowering.store(), constant = lowering.facts.state(group.node->inputs[1]).constant, spec = group.spec,
          scale = std::move(scale)] {
    Tensor weights = store->read(*constant);
    if (scale.empty()) return weights;
    weights = writable(std::move(weights), *constant);
    scale_weights(weights, spec, scale);
    return weights;
  };
}

Place pack_weights(Lowering& lowering, const ConvolutionGroup& group, const WeightsFormat& format, const std::string& kind,
                   const std::function<Tensor(Tensor)>& change) {
  const auto make = [&](std::byte* target) {
    const Tensor weights = change(reader_of_weights(lowering, group)());
    lowering.library().set_threads(lowering.settings.threads);
    format.pack(weights.desc(), weights.bytes(), target);
  };
  lowering.steps.count_packed(format.bytes());
  const std::string key = key_of_weights(lowering, group) + kind + format.key();
  return lowering.steps.fixed_place(lowering.store().share(key, format.bytes(), make).memory, format.bytes());
}

Place pack_weights(Lowering& lowering, const ConvolutionGroup& group, const WeightsFormat& format) {
  // A weight may belong to a convolution and to a transposed one, with the same dims when they have as many inputs as outputs.
  const std::string kind = group.spec.transposed ? "transposed" : "";
  return pack_weights(lowering, group, format, kind, [](Tensor weights) { return weights; });
}

std::optional<Place> make_bias(Lowering& lowering, const ConvolutionGroup& group) {
  const ValueId value = group.node->input(2);
  if (group.terms.empty() && !group.rest.affine) {
    return value == ValueId::none ? std::nullopt : std::optional(lowering.places.dense(value, Order::contiguous));
  }
  const int64_t channels = element_at(lowering.info(group.node->output(0)).dims, 1);
  std::vector<double> sums(as_size(channels), 0.0);
  bool has_bias = group.rest.affine.has_value();
  const std::vector<ConvolutionTerm> alone{{group.node}};
  for (const ConvolutionTerm& term : group.terms.empty() ? alone : group.terms) {
    const auto bias = bias_of(lowering.facts, term, sums.size());
    if (!bias) continue;
    has_bias = true;
    std::ranges::transform(sums, *bias, sums.begin(), std::plus<>());
  }
  if (!has_bias) return std::nullopt;
  if (group.rest.affine) apply_affine(*group.rest.affine, sums);
  Tensor bias(DataType::float32, {channels});
  std::ranges::transform(sums, bias.data<float>(), [](double sum) { return static_cast<float>(sum); });
  return lowering.steps.fixed_place(bias);
}

// Winograd's minimal filtering.
namespace {

constexpr std::size_t kImageRank = 4, kVolumeRank = 5;

bool has_windows_of_nine(const Convolution& spec, const Dims& w) {
  const auto is_one = [](int64_t value) { return value == 1; };
  const bool has_rank = w.size() == kImageRank || w.size() == kVolumeRank;
  return !spec.transposed && has_rank && w.back() == 3 && w[w.size() - 2] == 3 && std::ranges::all_of(spec.strides, is_one) &&
         std::ranges::all_of(spec.dilations, is_one);
}

/// Part of the elements under the windows along a dim that are not padding: in the direct form the library skips the padding.
double inside(int64_t size, int64_t outputs, int64_t window, int64_t pad) {
  int64_t count = 0;
  for (int64_t o = 0; o < outputs; ++o) count += std::max<int64_t>(std::min(o - pad + window, size) - std::max<int64_t>(o - pad, 0), 0);
  return static_cast<double>(count) / static_cast<double>(outputs * window);
}

/// Expected time of the direct form over that of Winograd's. A tile of 2 × 2 outputs takes 36 multiplications for each pair of channel and
/// output, or 16 in matrix products, which run at 0.9 of the rate. Then 16 numbers are written and read for each channel and for each
/// output. Weights, 9 or 16 numbers for each pair, come from memory. Rates were fitted to 355 convolutions of 19 networks (Xeon of 2023 at
/// one thread, with and without AVX-512, oneDNN 3.7.2, 2026-11-26): the wrong form is chosen for 75 of 710, at a loss of 1 % of the time.
double expected_gain(const WinogradConvolution& shape, int threads) {
  const double multiplications = instruction_set() == InstructionSet::avx512 ? 70 : 42;  // a nanosecond
  constexpr double kProducts = 0.9, kNumber = 0.25, kStreamed = 0.14;                    // part of that rate; nanoseconds for a number
  const double images = static_cast<double>(shape.images), channels = static_cast<double>(shape.channels);
  const double tiles = static_cast<double>(shape.tiles()), results = static_cast<double>(shape.outputs);
  const double filled = images * static_cast<double>(shape.output_height * shape.output_width) / (4 * tiles);
  const double used = filled * inside(shape.height, shape.output_height, 3, shape.pad_top) *
                      inside(shape.width, shape.output_width, 3, shape.pad_left) *
                      inside(shape.depth, shape.output_depth, shape.window_depth, shape.pad_front);
  const double planes = static_cast<double>(shape.window_depth * shape.output_depth);  // of products
  const double moved = static_cast<double>(shape.planes()) / planes / results + 1 / channels;
  const double rows = static_cast<double>(shape.block(threads) * shape.output_depth);  // of a product
  const double direct = 36 * used / multiplications + 9 * kStreamed / rows;
  return direct / (16 / (kProducts * multiplications) + 16 * kNumber * moved + 16 * kStreamed / rows);
}

}  // namespace

std::optional<WinogradConvolution> winograd_of(const Convolution& spec, const Dims& x, const Dims& w, const Dims& y, int threads) {
  constexpr double kLeastGain = 1.08;
  if (!has_windows_of_nine(spec, w)) return std::nullopt;
  const std::size_t rank = x.size();
  WinogradConvolution out;
  out.images = x[0], out.groups = spec.groups, out.channels = w[1], out.outputs = w[0] / spec.groups;
  out.height = x[rank - 2], out.width = x[rank - 1];
  out.output_height = y[rank - 2], out.output_width = y[rank - 1];
  out.pad_top = spec.pads_begin[rank - 4], out.pad_left = spec.pads_begin[rank - 3];
  if (rank == kVolumeRank) {
    out.depth = x[2], out.output_depth = y[2], out.window_depth = w[2];
    out.pad_front = spec.pads_begin[0];
  }
  if (expected_gain(out, threads) < kLeastGain) return std::nullopt;
  return out;
}

}  // namespace relayout::exec
