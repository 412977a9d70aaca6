#pragma once

namespace relayout {

/// A number at any address, as payloads in files have no alignment.
template <class T>
struct [[gnu::packed]] Unaligned {
  T value;
};

}  // namespace relayout
