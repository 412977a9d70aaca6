#pragma once

namespace relayout {

/// A number at any address: payloads lie wherever the file has them.
template <class T>
struct [[gnu::packed]] Unaligned {
  T value;
};

}  // namespace relayout
