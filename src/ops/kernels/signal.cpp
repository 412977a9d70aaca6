// Transforms signals to frequencies, and makes the windows and filters for it.

#include <cmath>
#include <complex>
#include <numbers>

#include "base/positions.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/kernels/window.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::kernels {
namespace {

using Complex = std::complex<double>;

/// Product of finite numbers: the standard library's operator tests for infinities first.
Complex product(const Complex& a, const Complex& b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Discrete Fourier transform of any length: Cooley and Tukey's factorization (An algorithm for the machine calculation of complex Fourier
/// series, 1965) by the prime factors of the length.
class Fourier {
 public:
  Fourier(int64_t length, bool inverse) : length_(length) {
    for (int64_t k = 0; k < length; ++k) {
      const double angle = (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
      roots_.emplace_back(std::cos(angle), std::sin(angle));
    }
  }
  [[nodiscard]] std::vector<Complex> operator()(const std::vector<Complex>& signal) const {
    std::vector<Complex> result(signal.size());
    if (length_ > 0) transform(signal.data(), 1, length_, result.data());
    return result;
  }

 private:
  void transform(const Complex* in, int64_t stride, int64_t count, Complex* out) const {
    if (count == 1) {
      out[0] = in[0];
      return;
    }
    int64_t prime = 2;
    while (prime * prime <= count && count % prime != 0) ++prime;
    if (count % prime != 0) prime = count;
    const int64_t part = count / prime, step = length_ / count;
    for (int64_t r = 0; r < prime; ++r) transform(in + r * stride, stride * prime, part, out + r * part);
    if (prime == 2) {
      for (int64_t k = 0; k < part; ++k) {
        const Complex even = out[k], odd = product(out[part + k], element_at(roots_, k * step));
        out[k] = even + odd;
        out[part + k] = even - odd;
      }
      return;
    }
    std::vector<Complex> column(as_size(prime));
    for (int64_t k = 0; k < part; ++k) {
      for (int64_t r = 0; r < prime; ++r) element_at(column, r) = out[r * part + k];
      for (int64_t q = 0; q < prime; ++q) {
        const int64_t frequency = k + q * part;
        Complex sum = column[0];
        int64_t turn = 0;  // frequency · r, modulo `count`
        for (int64_t r = 1; r < prime; ++r) {
          turn += frequency;
          if (turn >= count) turn -= count;
          sum += product(element_at(column, r), element_at(roots_, turn * step));
        }
        out[frequency] = sum;
      }
    }
  }
  int64_t length_;
  std::vector<Complex> roots_;
};

/// Reads a line of a tensor [.., 1 or 2], real or complex numbers, by its offset and the stride of one axis.
void read_line(const Tensor& x, int64_t offset, int64_t stride, int64_t count, std::vector<Complex>& line) {
  const std::byte* const from = x.bytes() + offset * element_stride(x.type());
  std::vector<double> part(as_size(count));
  load(x.type(), from, stride, count, part.data());
  for (std::size_t i = 0; i < part.size(); ++i) line[i] = part[i];
  if (x.dims().back() < 2) return;
  load(x.type(), from + x.strides().back() * element_stride(x.type()), stride, count, part.data());
  for (std::size_t i = 0; i < part.size(); ++i) line[i] += Complex(0, part[i]);
}

void write_line(const Tensor& out, int64_t offset, int64_t stride, int64_t count, const std::vector<Complex>& line) {
  std::vector<double> part(as_size(count));
  for (int64_t component = 0; component < out.dims().back(); ++component) {
    for (std::size_t i = 0; i < part.size(); ++i) part[i] = component == 0 ? line[i].real() : line[i].imag();
    store(out.type(), out.bytes() + (offset + component * out.strides().back()) * element_stride(out.type()), stride, count, part.data());
  }
}

constexpr int64_t kAxisInputOpset = 20;
constexpr int64_t kLengthLimit = int64_t{1} << 31;

struct Transform {
  std::size_t axis = 0;
  int64_t length = 0;
  bool inverse = false, onesided = false;
};

/// The transform, or nothing when dft_length or axis is not known yet.
std::optional<Transform> transform_of(const OpCall& call, InputInfos inputs) {
  const DatumInfo& x = tensor_info(call, inputs, 0, kRealTypes);
  if (x.dims.size() < 2 || x.dims.back() < 1 || x.dims.back() > 2)
    reject(call, "dims " + to_string(x.dims) + " are not of numbers of one or two parts");
  Transform transform;
  transform.inverse = call.attributes.integer("inverse", 0) != 0;
  transform.onesided = call.attributes.integer("onesided", 0) != 0;
  int64_t axis = call.opset < kAxisInputOpset ? call.attributes.integer("axis", 1) : -2;
  if (call.opset >= kAxisInputOpset) {
    if (const DatumInfo* info = optional_tensor_info(call, inputs, 2, kIndexTypes)) {
      if (info->value == nullptr) return std::nullopt;
      axis = integer_of(call, *info->value);
    }
  }
  transform.axis = normal_axis(call, axis, x.dims.size());
  if (transform.axis + 1 == x.dims.size()) reject(call, "axis " + std::to_string(axis) + " is that of the parts");
  const int64_t size = x.dims[transform.axis];
  transform.length = transform.inverse && transform.onesided ? 2 * (size - 1) : size;
  if (const DatumInfo* info = optional_tensor_info(call, inputs, 1, kIndexTypes)) {
    if (info->value == nullptr) return std::nullopt;
    transform.length = integer_of(call, *info->value);
  }
  if (transform.length < 1 || transform.length >= kLengthLimit) reject(call, "dft_length is " + std::to_string(transform.length));
  return transform;
}

struct Frames {
  int64_t step = 0, length = 0, count = 0;
  bool onesided = true;
};

std::optional<Frames> frames_of(const OpCall& call, InputInfos inputs) {
  const DatumInfo& signal = tensor_info(call, inputs, 0, kRealTypes);
  if (signal.dims.size() != 3 || signal.dims[2] < 1 || signal.dims[2] > 2) reject(call, "the signal has dims " + to_string(signal.dims));
  const DatumInfo& step = tensor_info(call, inputs, 1, kIndexTypes);
  const DatumInfo* window = optional_tensor_info(call, inputs, 2, kRealTypes);
  const DatumInfo* length = optional_tensor_info(call, inputs, 3, kIndexTypes);
  if (window != nullptr && window->dims.size() != 1) reject(call, "the window has dims " + to_string(window->dims));
  if (step.value == nullptr || (length != nullptr && length->value == nullptr)) return std::nullopt;
  Frames frames;
  frames.step = integer_of(call, *step.value);
  frames.length = length != nullptr ? integer_of(call, *length->value) : window != nullptr ? window->dims[0] : signal.dims[1];
  frames.onesided = call.attributes.integer("onesided", 1) != 0;
  if (frames.step < 1 || frames.length < 1 || frames.length > signal.dims[1])
    reject(call, "frame_step or frame_length do not fit the signal");
  if (window != nullptr && window->dims[0] != frames.length) reject(call, "window and frame_length differ");
  if (frames.onesided && signal.dims[2] == 2) reject(call, "onesided needs a real signal");
  frames.count = (signal.dims[1] - frames.length) / frames.step + 1;
  return frames;
}

}  // namespace

Inferred infer_dft(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 3);
  const auto transform = transform_of(call, inputs);
  if (!transform) return std::nullopt;
  Dims dims = inputs[0]->dims;
  dims[transform->axis] = transform->onesided && !transform->inverse ? transform->length / 2 + 1 : transform->length;
  dims.back() = transform->onesided && transform->inverse ? 1 : 2;
  return one(call, inputs[0]->type, std::move(dims));
}

/// One-sided: only the frequencies up to the middle are output or, for the inverse, input; the others are their conjugates.
void dft(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor &x = tensor_at(inputs, 0), &out = outputs[0]->tensor;
  const Transform transform = *transform_of(call, KnownInfos(inputs).get());
  const Fourier fourier(transform.length, transform.inverse);
  Dims lines = out.dims();
  lines[transform.axis] = lines.back() = 1;
  const int64_t taken = std::min(x.dims()[transform.axis], transform.length);
  for_each_index(lines, [&](const Dims& index) {
    int64_t from = 0, to = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      from += index[i] * x.strides()[i];
      to += index[i] * out.strides()[i];
    }
    std::vector<Complex> line(as_size(transform.length));
    read_line(x, from, x.strides()[transform.axis], taken, line);
    if (transform.inverse && transform.onesided) {
      const std::size_t length = line.size();
      for (std::size_t k = length / 2 + 1; k < length; ++k) line[k] = std::conj(line[length - k]);
    }
    line = fourier(line);
    if (transform.inverse) {
      for (Complex& value : line) value /= static_cast<double>(transform.length);
    }
    write_line(out, to, out.strides()[transform.axis], out.dims()[transform.axis], line);
  });
}

/// The result is [batch, frames, bins, 2]: real and imaginary parts.
Inferred infer_stft(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 2, 4);
  const auto frames = frames_of(call, inputs);
  if (!frames) return std::nullopt;
  return one(call, inputs[0]->type, {inputs[0]->dims[0], frames->count, frames->onesided ? frames->length / 2 + 1 : frames->length, 2});
}

void stft(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor &signal = tensor_at(inputs, 0), &out = outputs[0]->tensor;
  const Frames frames = *frames_of(call, KnownInfos(inputs).get());
  const Fourier fourier(frames.length, false);
  const std::vector<double> window = present(inputs, 2) ? reals_of(tensor_at(inputs, 2)) : std::vector<double>();
  for_each_index({out.dims()[0], frames.count}, [&](const Dims& at) {
    std::vector<Complex> line(as_size(frames.length));
    read_line(signal, at[0] * signal.strides()[0] + at[1] * frames.step * signal.strides()[1], signal.strides()[1], frames.length, line);
    for (std::size_t i = 0; i < window.size(); ++i) line[i] *= window[i];
    write_line(out, at[0] * out.strides()[0] + at[1] * out.strides()[1], out.strides()[2], out.dims()[2], fourier(line));
  });
}

Inferred infer_window(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 1, 1);
  const DatumInfo& size = tensor_info(call, inputs, 0, kIndexTypes);
  const DataType type = type_attribute(call, "output_datatype", DataType::float32, kNumericTypes);
  if (size.value == nullptr) return std::nullopt;
  return one(call, type, {integer_of(call, *size.value)});
}

namespace {

/// a − b · cos(2πi / n) + c · cos(4πi / n), where n is the size, minus 1 for a symmetric window. A symmetric window of one element is 1.
void cosine_window(const OpCall& call, OutputData outputs, double a, double b, double c) {
  const Tensor& out = outputs[0]->tensor;
  const int64_t size = out.dims()[0];
  const double length = static_cast<double>(call.attributes.integer("periodic", 1) != 0 ? size : size - 1);
  for (int64_t i = 0; i < size; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / length;
    const double value = length == 0 ? 1 : a - b * std::cos(angle) + c * std::cos(2 * angle);
    store_one(out.type(), out.bytes() + i * out.strides()[0] * element_stride(out.type()), value);
  }
}

}  // namespace

void hann_window(const OpCall& call, InputData, OutputData outputs) {
  cosine_window(call, outputs, 0.5, 0.5, 0);
}
void hamming_window(const OpCall& call, InputData, OutputData outputs) {
  cosine_window(call, outputs, 25.0 / 46, 21.0 / 46, 0);
}
void blackman_window(const OpCall& call, InputData, OutputData outputs) {
  cosine_window(call, outputs, 0.42, 0.5, 0.08);
}

Inferred infer_mel_weight_matrix(const OpCall& call, InputInfos inputs) {
  require_inputs(call, inputs, 5, 5);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (element_count(tensor_info(call, inputs, i, i < 3 ? kIndexTypes : kRealTypes).dims) != 1) reject(call, "an operand is not a scalar");
  }
  const DataType type = type_attribute(call, "output_datatype", DataType::float32, kNumericTypes);
  if (inputs[0]->value == nullptr || inputs[1]->value == nullptr) return std::nullopt;
  const int64_t bins = integer_of(call, *inputs[0]->value), length = integer_of(call, *inputs[1]->value);
  if (bins < 0 || length < 0) reject(call, "a size is negative");
  return one(call, type, {length / 2 + 1, bins});
}

/// Triangles between neighbouring mel frequencies, on the grid of the spectrogram's bins.
void mel_weight_matrix(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& out = outputs[0]->tensor;
  const auto scalar = [&](std::size_t i) { return real_of(call, tensor_at(inputs, i)); };
  const double length = scalar(1), rate = scalar(2);
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const int64_t bins = out.dims()[1];
  const double low = mel(scalar(3)), step = (mel(scalar(4)) - low) / static_cast<double>(bins + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10.0, (low + static_cast<double>(i) * step) / 2595) - 1);
    const double edge = std::floor((length + 1) * hertz / rate);
    if (!(edge >= 0 && edge < static_cast<double>(out.dims()[0]))) reject(call, "a frequency is outside the spectrogram");
    edges.push_back(static_cast<int64_t>(edge));
  }
  fill_zero(out);
  const auto set = [&](int64_t row, int64_t column, double value) {
    store_one(out.type(), out.bytes() + (row * out.strides()[0] + column * out.strides()[1]) * element_stride(out.type()), value);
  };
  for (int64_t i = 0; i < bins; ++i) {
    const int64_t left = element_at(edges, i), center = element_at(edges, i + 1);
    const int64_t right = element_at(edges, i + 2);
    if (left == center) set(center, i, 1);
    for (int64_t j = left; left != center && j <= center; ++j)
      set(j, i, static_cast<double>(j - left) / static_cast<double>(center - left));
    for (int64_t j = center; j < right; ++j) set(j, i, static_cast<double>(right - j) / static_cast<double>(right - center));
  }
}

}  // namespace relayout::kernels
