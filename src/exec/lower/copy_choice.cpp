// Chooses who copies a tensor in a reorder, a pack or inside a node: oneDNN's reorder (f32 of 3 to 6 dims, more than 16 KiB, more than 4
// channels, no repeated dim), else relayout's kernels/copy_kernel.
#include "exec/lower/copy_choice.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "exec/kernels/kernel.h"
#include "exec/lower/order.h"
#include "exec/primitives.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

/// Copies of no more bytes use relayout's kernel: the library's reorder takes longer to start than they take in all.
constexpr int64_t kSmallCopyBytes = 16384;
/// So do copies of images of at most this many channels, which the library's reorder copies element by element.
constexpr int64_t kFewCopyChannels = 4;

/// Whether the library's reorder, which takes f32 with positive strides, is the faster one.
bool suits_library(const TensorDesc& from, const TensorDesc& to) {
  const std::size_t rank = from.dims.size();
  if (byte_count(to) <= kSmallCopyBytes || from.type != DataType::float32 || rank < 3 || rank > 6) return false;
  return from.dims[1] > kFewCopyChannels && std::ranges::all_of(from.strides, [](int64_t stride) { return stride > 0; });
}

}  // namespace

std::unique_ptr<Kernel> choose_copy(const TensorDesc& from, const TensorDesc& to, Team team) {
  if (team.library != nullptr && suits_library(from, to)) {
    MadePrimitive made = team.library->make(Reorder{from, to});
    if (made.primitive) return make_primitive_kernel(std::move(made.primitive), {{Argument::source, 0}, {Argument::destination, 0}});
  }
  return make_copy_kernel(from, to, team);
}

}  // namespace relayout::exec
