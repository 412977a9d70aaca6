#include "base/memory.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "relayout/error.h"

namespace relayout::test {
namespace {

TEST(Memory, WhatNoMachineHasIsNotAskedFor) {
  EXPECT_NO_THROW(require_memory(0));
  EXPECT_NO_THROW(require_memory(1 << 20));
  try {
    require_memory(int64_t{1} << 60);
    FAIL() << "an exabyte";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
  }
}

}  // namespace
}  // namespace relayout::test
