// Names of oneDNN's environment variable.
#include <gtest/gtest.h>

#include "base/machine.h"

namespace relayout {
namespace {

TEST(InstructionSet, IsReadFromTheNamesOfOneDnn) {
  EXPECT_EQ(instruction_set_of("SSE41"), InstructionSet::sse41);
  EXPECT_EQ(instruction_set_of("AVX"), InstructionSet::sse41);
  EXPECT_EQ(instruction_set_of("avx2"), InstructionSet::avx2);
  EXPECT_EQ(instruction_set_of("AVX2_VNNI_2"), InstructionSet::avx2);
  EXPECT_EQ(instruction_set_of("AVX512_CORE"), InstructionSet::avx512);
  EXPECT_EQ(instruction_set_of("AVX512_CORE_AMX"), InstructionSet::avx512);
  EXPECT_EQ(instruction_set_of("ALL"), InstructionSet::avx512);
  EXPECT_EQ(instruction_set_of("DEFAULT"), InstructionSet::avx512);
}

}  // namespace
}  // namespace relayout
