#include <cmath>

#include "relayout/types.h"
#include "support/random_network.h"

namespace relayout::test {
namespace {

int64_t product(const Dims& dims, std::size_t first) {
  int64_t out = 1;
  for (std::size_t d = first; d < dims.size(); ++d) out *= dims[d];
  return out;
}

double spread(int64_t terms) {
  return 1 / std::sqrt(static_cast<double>(std::max<int64_t>(terms, 1)));
}

}  // namespace

/// The name of a bias, empty for none.
std::string RandomNetwork::bias(int64_t channels) {
  return dice_.one_in(2) ? constant("bias", {channels}, normal_values({channels}, 0.5)) : std::string();
}

void RandomNetwork::convolution(const Entry& x) {
  const std::size_t spatial = x.dims.size() - 2;
  const int64_t channels = x.dims[1];
  std::vector<int64_t> possible{1};
  for (int64_t g = 2; g <= channels; ++g) {
    if (channels % g == 0) possible.push_back(g);
  }
  const int64_t groups = dice_.one_in(2) ? 1 : dice_.pick(possible);
  const int64_t outputs = groups == 1 && dice_.one_in(3) ? channels : groups * dice_.from(1, std::max<int64_t>(1, 6 / groups));
  Dims weight{outputs, channels / groups}, strides, dilations, pads(2 * spatial, 0), out{x.dims[0], outputs};
  const int64_t padding = dice_.from(1, 5);  // 1, 2: none, 3: NOTSET, 4: SAME_UPPER, 5: VALID
  for (std::size_t d = 0; d < spatial; ++d) {
    const int64_t size = x.dims[d + 2];
    const int64_t kernel = dice_.from(1, std::min<int64_t>(3, size));
    const int64_t dilation = kernel > 1 && (kernel - 1) * 2 < size && dice_.one_in(4) ? 2 : 1, stride = dice_.one_in(4) ? 2 : 1;
    if (padding == 3) {
      pads[d] = dice_.from(0, kernel - 1);
      pads[d + spatial] = dice_.from(0, kernel - 1);
    }
    weight.push_back(kernel);
    strides.push_back(stride);
    dilations.push_back(padding == 4 ? 1 : dilation);
    const int64_t reach = (kernel - 1) * dilations.back() + 1;
    out.push_back(padding == 4 ? (size + stride - 1) / stride : (size + pads[d] + pads[d + spatial] - reach) / stride + 1);
  }
  const std::string w = constant("weight", weight, normal_values(weight, spread(product(weight, 1)))), b = bias(outputs), y = fresh();
  std::vector<std::string> inputs{x.name, w};
  if (!b.empty() || dice_.one_in(8)) inputs.push_back(b);
  Attributes attributes{{"group!", {groups}}, {"strides", strides}, {"dilations", dilations}};
  if (padding == 3) attributes.emplace_back("pads", pads);
  auto& convolution = node("Conv", inputs, {y}, attributes);
  if (padding >= 4) text(convolution, "auto_pad", padding == 4 ? "SAME_UPPER" : "VALID");
  made(y, out);
}

void RandomNetwork::deconvolution(const Entry& x) {
  const std::size_t spatial = x.dims.size() - 2;
  const int64_t channels = x.dims[1];
  const int64_t groups = channels % 2 == 0 && dice_.one_in(3) ? 2 : dice_.one_in(4) ? channels : 1;
  const int64_t outputs = groups == 1 && dice_.one_in(2) ? channels : groups * dice_.from(1, std::max<int64_t>(1, 6 / groups));
  Dims weight{channels, outputs / groups}, strides, pads(2 * spatial, 0), out{x.dims[0], outputs};
  const bool is_point = dice_.one_in(4);
  for (std::size_t d = 0; d < spatial; ++d) {
    const int64_t kernel = is_point ? 1 : dice_.from(1, 3), stride = is_point || x.dims[d + 2] > 6 ? 1 : dice_.from(1, 2);
    if (kernel > 1 && x.dims[d + 2] > 1 && dice_.one_in(3)) pads[d] = 1;
    weight.push_back(kernel);
    strides.push_back(stride);
    out.push_back((x.dims[d + 2] - 1) * stride + kernel - pads[d]);
  }
  const std::string w = constant("deconvolution", weight, normal_values(weight, spread(channels / groups))), b = bias(outputs), y = fresh();
  std::vector<std::string> inputs{x.name, w};
  if (!b.empty()) inputs.push_back(b);
  node("ConvTranspose", inputs, {y}, {{"group!", {groups}}, {"strides", strides}, {"pads", pads}});
  made(y, out);
}

void RandomNetwork::gemm(const Entry& x) {
  const bool transposes_a = dice_.one_in(6), transposes_b = dice_.one_in(2);
  const int64_t m = x.dims[transposes_a ? 1 : 0], k = x.dims[transposes_a ? 0 : 1], n = dice_.one_in(3) ? k : dice_.from(1, 6);
  const Dims b_dims = transposes_b ? Dims{n, k} : Dims{k, n};
  std::vector<std::string> inputs{x.name, constant("gemm", b_dims, normal_values(b_dims, spread(k)))};
  if (opset_ < 11 || !dice_.one_in(3)) {
    const Dims c_dims = opset_ < 7 ? Dims{m, n} : dice_.pick<Dims>({{n}, {n}, {1, n}, {m, n}, {m, 1}, {1}, {}});
    inputs.push_back(constant("bias", c_dims, normal_values(c_dims, 0.5)));
  }
  const std::string y = fresh();
  auto& gemm = node("Gemm", inputs, {y}, {{"transA!", {transposes_a ? 1 : 0}}, {"transB!", {transposes_b ? 1 : 0}}});
  if (dice_.one_in(3)) real(gemm, "alpha", 0.75);
  if (dice_.one_in(3)) real(gemm, "beta", dice_.one_in(4) ? 0 : 1.5);
  made(y, {m, n});
}

void RandomNetwork::matmul(const Entry& x) {
  const std::string y = fresh();
  const std::size_t rank = x.dims.size();
  if (rank < 2) return identity(x);
  Dims out = x.dims;
  if (dice_.one_in(4)) {
    const int64_t k = x.dims[rank - 2], n = dice_.one_in(3) ? k : dice_.from(1, 6);
    node("MatMul", {constant("matmul", {n, k}, normal_values({n, k}, spread(k))), x.name}, {y});
    out[rank - 2] = n;
  } else {
    const int64_t k = x.dims[rank - 1], n = dice_.one_in(3) ? k : dice_.from(1, 6);
    node("MatMul", {x.name, constant("matmul", {k, n}, normal_values({k, n}, spread(k)))}, {y});
    out[rank - 1] = n;
  }
  made(y, out);
}

}  // namespace relayout::test
