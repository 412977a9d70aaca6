// Places a plan's buffers in one block of memory, where those never in use at the same time overlap, and keeps freed results.
#include "exec/arena.h"

#include <sys/mman.h>

#include <list>
#include <mutex>
#include <new>
#include <numeric>

#include "base/machine.h"
#include "base/positions.h"
#include "ops/loops/dtypes.h"
#include "relayout/error.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
namespace {

constexpr std::size_t kPage = 4096, kHugePage = 2 << 20;  // of x86-64; elsewhere the advice may do nothing
/// A buffer with more neighbours in time than this is placed at the top: keeps planning of huge graphs linear.
constexpr std::size_t kMostNeighbours = 4096;

/// The placed buffers by time: a segment tree over steps, each buffer in the O(log steps) nodes that cover its life.
class Timeline {
 public:
  explicit Timeline(int64_t steps) {
    while (leaves_ < steps) leaves_ *= 2;
    here_.resize(as_size(2 * leaves_));
    below_.resize(here_.size());
  }

  void add(int64_t first, int64_t last, int buffer) {
    visit(1, 0, leaves_ - 1, first, last, [&](std::size_t node) {
      here_[node].push_back(buffer);
      for (std::size_t up = node; up > 0; up /= 2) ++below_[up];
    });
  }

  /// Buffers alive at some step of [first, last], perhaps several times each; stops beyond kMostNeighbours.
  void find(int64_t first, int64_t last, std::vector<int>& out) const {
    out.clear();
    collect(1, 0, leaves_ - 1, first, last, out);
  }

 private:
  template <class Visit>
  void visit(std::size_t node, int64_t low, int64_t high, int64_t first, int64_t last, const Visit& call) {
    if (last < low || high < first) return;
    if (first <= low && high <= last) {
      call(node);
      return;
    }
    const int64_t middle = (low + high) / 2;
    visit(2 * node, low, middle, first, last, call);
    visit(2 * node + 1, middle + 1, high, first, last, call);
  }

  void collect(std::size_t node, int64_t low, int64_t high, int64_t first, int64_t last, std::vector<int>& out) const {
    if (last < low || high < first || below_[node] == 0 || out.size() > kMostNeighbours) return;
    out.insert(out.end(), here_[node].begin(), here_[node].end());
    if (low == high) return;
    const int64_t middle = (low + high) / 2;
    collect(2 * node, low, middle, first, last, out);
    collect(2 * node + 1, middle + 1, high, first, last, out);
  }

  int64_t leaves_ = 1;
  std::vector<std::vector<int>> here_;
  std::vector<int> below_;
};

}  // namespace

ArenaLayout lay_out_arena(std::span<const Lifetime> lifetimes) {
  ArenaLayout layout;
  layout.offsets.resize(lifetimes.size(), 0);
  int64_t steps = 1;
  for (const Lifetime& lifetime : lifetimes) steps = std::max(steps, lifetime.last + 1);
  std::vector<int> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](int a, int b) { return element_at(lifetimes, a).bytes > element_at(lifetimes, b).bytes; });

  Timeline timeline(steps);
  std::vector<int> neighbours;
  for (const int buffer : order) {
    const Lifetime& lifetime = element_at(lifetimes, buffer);
    const int64_t bytes = whole_lines(std::max<int64_t>(lifetime.bytes, 1));
    timeline.find(lifetime.first, lifetime.last, neighbours);
    int64_t offset = 0;
    if (neighbours.size() > kMostNeighbours) {
      offset = layout.bytes;
    } else {
      std::ranges::sort(neighbours, {}, [&](int other) { return element_at(layout.offsets, other); });
      for (const int other : neighbours) {
        const auto index = as_size(other);
        if (layout.offsets[index] >= offset + bytes) break;
        offset = std::max(offset, layout.offsets[index] + whole_lines(std::max<int64_t>(lifetimes[index].bytes, 1)));
      }
    }
    element_at(layout.offsets, buffer) = offset;
    const auto end = checked_add(offset, bytes);
    if (!end) fail(ErrorKind::unsupported, "activations are beyond 2^63 bytes");
    layout.bytes = std::max(layout.bytes, *end);
    timeline.add(lifetime.first, lifetime.last, buffer);
  }
  return layout;
}

ArenaMemory::ArenaMemory(int64_t bytes) {
  require_memory(bytes);
  const std::size_t size = as_size(std::max<int64_t>(bytes, 1));
  const std::size_t alignment = size < kHugePage ? kPage : kHugePage;
  auto* const data = static_cast<std::byte*>(::operator new(size, std::align_val_t{alignment}, std::nothrow));
  if (data == nullptr) fail(ErrorKind::io, "out of memory: " + std::to_string(bytes) + " bytes for activations");
  data_ = {data, Free{alignment}};
  if (alignment == kHugePage) ::madvise(data, size / kHugePage * kHugePage, MADV_HUGEPAGE);
}

void ArenaMemory::Free::operator()(std::byte* data) const noexcept {
  ::operator delete(data, std::align_val_t{alignment});
}

// Memory of results.
namespace {

constexpr std::size_t kMostBlocks = 4;
constexpr int64_t kWorthwhile = 1 << 16;

struct Block {
  TensorDesc desc;
  std::shared_ptr<void> memory;
  std::byte* data = nullptr;
};

}  // namespace

struct Recycler::Blocks {
  std::mutex mutex;
  std::list<Block> unused;  ///< most recently freed first
};

Recycler::Recycler() : blocks_(std::make_shared<Blocks>()) {}

Tensor Recycler::tensor(DataType type, const Dims& dims) {
  if (type == DataType::string || element_count(dims) * element_stride(type) < kWorthwhile) return {type, dims};
  std::list<Block> block;
  {
    const std::scoped_lock lock(blocks_->mutex);
    for (auto each = blocks_->unused.begin(); each != blocks_->unused.end(); ++each) {
      if (each->desc.type != type || each->desc.dims != dims) continue;
      block.splice(block.begin(), blocks_->unused, each);
      break;
    }
  }
  if (block.empty()) {
    const Tensor fresh(type, dims);
    block.push_back({fresh.desc(), fresh.owner(), fresh.bytes()});
  }
  const TensorDesc desc = block.front().desc;
  std::byte* const data = block.front().data;
  // The block is kept in the deleter, so that giving it back allocates nothing.
  const auto give_back = [home = std::weak_ptr(blocks_), waiting = std::make_shared<std::list<Block>>(std::move(block))](void*) {
    const std::shared_ptr<Blocks> blocks = home.lock();
    if (!blocks) return;
    std::list<Block> surplus;
    const std::scoped_lock lock(blocks->mutex);
    blocks->unused.splice(blocks->unused.begin(), *waiting);
    if (blocks->unused.size() > kMostBlocks) surplus.splice(surplus.begin(), blocks->unused, std::prev(blocks->unused.end()));
  };
  return {desc, data, std::shared_ptr<void>(data, give_back)};
}

}  // namespace relayout::exec
