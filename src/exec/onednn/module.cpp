// Is the entry point of the oneDNN module, and words oneDNN's errors.
#include <iterator>

#include "exec/onednn/common.h"
#include "exec/primitives.h"
#include "relayout/error.h"

namespace relayout::exec::onednn {
namespace {

/// The table of families: one maker per alternative of PrimitiveSpec, in its order.
template <class Spec>
MadePrimitive make_as(const PrimitiveSpec& spec) {
  return make(std::get<Spec>(spec));
}
using Maker = MadePrimitive (*)(const PrimitiveSpec&);
constexpr Maker kMakers[] = {
    make_as<Convolution>, make_as<Matmul>, make_as<Softmax>, make_as<Reorder>, make_as<Normalization>,
};
static_assert(std::size(kMakers) == std::variant_size_v<PrimitiveSpec>);

std::string name_of_isa() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::sse41:
      return "SSE4.1";
    case dnnl::cpu_isa::avx:
      return "AVX";
    case dnnl::cpu_isa::avx2:
      return "AVX2";
    case dnnl::cpu_isa::avx2_vnni:
      return "AVX2 VNNI";
    case dnnl::cpu_isa::avx2_vnni_2:
      return "AVX2 VNNI 2";
    case dnnl::cpu_isa::avx512_core:
      return "AVX-512";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "AVX-512 VNNI";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "AVX-512 bf16";
    case dnnl::cpu_isa::avx512_core_fp16:
      return "AVX-512 fp16";
    case dnnl::cpu_isa::avx512_core_amx:
      return "AVX-512 AMX";
    case dnnl::cpu_isa::avx512_core_amx_fp16:
      return "AVX-512 AMX fp16";
    default:
      return "default";
  }
}

class Library : public PrimitiveLibrary {
 public:
  [[nodiscard]] std::string version() const override {
    const dnnl_version_t* const version = dnnl_version();
    return std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch);
  }
  [[nodiscard]] std::string isa() const override { return name_of_isa(); }
  [[nodiscard]] bool fast_plain_convolution() const override { return has_avx512(); }

  [[nodiscard]] MadePrimitive make(const PrimitiveSpec& spec) override {
    try {
      return kMakers[spec.index()](spec);
    } catch (const dnnl::error& error) {
      if (error.status == dnnl_out_of_memory) fail(ErrorKind::io, "oneDNN is out of memory");
      return {nullptr, std::string("oneDNN: ") + error.what()};
    }
  }

  void set_threads(int threads) override { set_library_threads(threads); }

  void parallel(int count, void (*work)(void*, int), void* context) override { run_library_parts(count, work, context); }
};

}  // namespace
}  // namespace relayout::exec::onednn

extern "C" __attribute__((visibility("default"))) relayout::exec::PrimitiveLibrary* relayout_onednn_library(
    const relayout::exec::ThreadSource& threads) {
  relayout::exec::onednn::use_threads_of(threads);
  static relayout::exec::onednn::Library library;
  return &library;
}
