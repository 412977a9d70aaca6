#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"

namespace relayout {

/// SHA-256 (FIPS 180-4) of bytes given in pieces.
class Sha256 {
 public:
  using Digest = std::array<uint8_t, 32>;

  /// Uses the processor's SHA instructions where available, unless `portable`.
  explicit Sha256(bool portable = false);
  void update(std::span<const std::byte> bytes);
  /// The digest of all bytes so far; the object must not be used afterwards.
  [[nodiscard]] Digest finish();

 private:
  using State = std::array<uint32_t, 8>;
  static constexpr std::size_t kBlock = 64;
  static void compress(State& state, const std::byte* blocks, std::size_t count);
  static void compress_accelerated(State& state, const std::byte* blocks, std::size_t count);
  [[nodiscard]] static bool has_acceleration();

  State state_;
  std::array<std::byte, kBlock> pending_{};  ///< the first size_ % kBlock of them
  uint64_t size_ = 0;
  void (*compress_)(State& state, const std::byte* blocks, std::size_t count);
};

/// 64 lower-case hexadecimal digits, as sha256sum prints.
[[nodiscard]] std::string to_hex(const Sha256::Digest& digest);
/// The digest of the bytes of a text.
[[nodiscard]] Sha256::Digest digest_of(std::string_view text);
/// The digest of a whole file, read through a small buffer. Errors of File::read(); Error{interrupted} after a signal.
[[nodiscard]] std::string sha256_of(const File& file);

/// The cache key of a result that depends only on texts and files: a digest of these in order, with their boundaries.
class ContentKey {
 public:
  void add(std::string_view text);
  /// Adds the bytes of a file. Errors of File::open() and File::read().
  void add_file(const std::filesystem::path& path);
  /// The key in hexadecimal digits; the object must not be used afterwards.
  [[nodiscard]] std::string finish();

 private:
  Sha256 digest_;
};

}  // namespace relayout
