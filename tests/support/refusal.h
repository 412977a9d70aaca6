#pragma once

#include <gtest/gtest.h>

#include <string>

#include "relayout/error.h"

namespace relayout::test {

/// The message of the Error that `work` throws, which must be of `kind`; "accepted" when it throws none.
template <typename Work>
std::string refusal_of(ErrorKind kind, const Work& work) {
  try {
    static_cast<void>(work());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return "accepted";
}

}  // namespace relayout::test
