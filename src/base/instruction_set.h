#pragma once

#include <cstdint>
#include <string_view>

namespace relayout {

/// The classes of processors with different kernels, weakest first.
enum class InstructionSet : uint8_t { sse41, avx2, avx512 };

/// The class that oneDNN will use here, found without loading oneDNN: that of the processor, limited by ONEDNN_MAX_CPU_ISA (or
/// DNNL_MAX_CPU_ISA) in the environment.
[[nodiscard]] InstructionSet instruction_set();
/// The class of one of oneDNN's names ("AVX2_VNNI", case-insensitive); avx512 for names that set no limit.
[[nodiscard]] InstructionSet instruction_set_of(std::string_view name);

}  // namespace relayout
