#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace relayout::test {

/// A legal encoding of one model: y = Conv(x, W), x f32[1,4,8,8], W f32[8,4,3,3] with element i = i, ir_version 8, opset 17.
struct Encoding {
  std::string name;
  std::string bytes;
  bool canonical = false;  ///< the output of protobuf's own writer
  bool comes_back = true;  ///< a change that is reverted after saving gives the same bytes again
};

inline void PrintTo(const Encoding& encoding, std::ostream* out) {  // NOLINT(readability-identifier-naming): GoogleTest's name
  *out << encoding.name;
}

/// Encodings that protobuf's own writer would not produce: other orders, packed and unpacked, unknown fields and groups, padded lengths,
/// fields given twice, messages in pieces.
[[nodiscard]] std::vector<Encoding> encodings();

}  // namespace relayout::test
