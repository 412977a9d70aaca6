// Memory of results that callers have given back, kept for the next run: at most 4 blocks, each of at least 64 KiB.
#include "exec/recycler.h"

#include <cstddef>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "ops/loops/dtypes.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout::exec {
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
