#pragma once

#include <cstdint>
#include <string_view>

namespace relayout {

/// The classes of processors whose kernels differ in kind, weakest first.
enum class InstructionSet : uint8_t { sse41, avx2, avx512 };

/// What oneDNN will use here without opening it: what the processor has, at most what the environment's ONEDNN_MAX_CPU_ISA (or
/// DNNL_MAX_CPU_ISA) names.
[[nodiscard]] InstructionSet instruction_set();
/// The class of a name that oneDNN knows ("AVX2_VNNI", in any case); avx512 for those that set no limit.
[[nodiscard]] InstructionSet instruction_set_of(std::string_view name);

}  // namespace relayout
