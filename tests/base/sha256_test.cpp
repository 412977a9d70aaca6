#include "base/sha256.h"

#include <gtest/gtest.h>

#include "base/file.h"

namespace relayout {
namespace {

std::string hash(std::string_view text, bool portable, std::size_t piece = 1U << 20U) {
  Sha256 sha(portable);
  for (std::size_t at = 0; at < text.size(); at += piece) sha.update(std::as_bytes(std::span(text.substr(at, piece))));
  return to_hex(sha.finish());
}

class Sha256Both : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Implementations, Sha256Both, testing::Values(true, false),
                         [](const auto& chosen) { return std::string(chosen.param ? "Portable" : "Chosen"); });

// Examples of NIST for FIPS 180-4 (csrc.nist.gov: SHA-256 and the additional ones of SHA-2) and of FIPS 180-2 appendix B.
TEST_P(Sha256Both, NistVectors) {
  const auto of = [&](std::string_view text) { return hash(text, GetParam()); };
  EXPECT_EQ(of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(of("\xbd"), "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b");
  EXPECT_EQ(of("\xc9\x8c\x8e\x55"), "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504");
  EXPECT_EQ(of(std::string(55, '\0')), "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7");
  EXPECT_EQ(of(std::string(56, '\0')), "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb");
  EXPECT_EQ(of(std::string(57, '\0')), "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785");
  EXPECT_EQ(of(std::string(64, '\0')), "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b");
  EXPECT_EQ(of(std::string(1000, '\0')), "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53");
  EXPECT_EQ(of(std::string(1000, 'A')), "c2e686823489ced2017f6059b8b239318b6364f6dcd835d0a519105a1eadd6e4");
  EXPECT_EQ(of(std::string(1005, 'U')), "f4d62ddec0f3dd90ea1380fa16a5ff8dc4c54b21740650f24afc4120903552b0");
  EXPECT_EQ(of(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_P(Sha256Both, PiecesDoNotMatter) {
  std::string text;
  for (int i = 0; i < 777; ++i) text += static_cast<char>(i * 31 % 251);
  const std::string whole = hash(text, GetParam());
  for (const std::size_t piece : {1U, 3U, 63U, 64U, 65U, 128U, 200U}) EXPECT_EQ(hash(text, GetParam(), piece), whole) << piece;
  text[400] ^= 1;
  EXPECT_NE(hash(text, GetParam()), whole);
}

TEST(Sha256OfText, IsThatOfItsBytes) {
  EXPECT_EQ(to_hex(digest_of("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256OfFile, ReadsItAll) {
  EXPECT_EQ(sha256_of(*File::from_bytes(std::string(1000000, 'a'), "a")),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(sha256_of(*File::from_bytes("", "empty")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace
}  // namespace relayout
