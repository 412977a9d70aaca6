// Tests the words of convert's options against the library's types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/convert/convert.h"
#include "relayout/convert.h"
#include "relayout/data_file.h"
#include "relayout/error.h"
#include "relayout/layout.h"
#include "relayout/types.h"

namespace relayout::cli {
namespace {

TEST(ConversionWords, NameTheirMeaningBothWays) {
  EXPECT_EQ(layout_of("keep"), WeightsLayout::keep);
  EXPECT_EQ(precision_of(""), DataType::undefined);
  EXPECT_EQ(precision_of("fp16"), DataType::float16);
  for (const char* const word : {"channels-last", "contiguous", "keep"}) EXPECT_EQ(word_of(layout_of(word)), word);
  for (const char* const word : {"", "bf16", "fp16", "fp32"}) EXPECT_EQ(word_of(precision_of(word)), word);
}

TEST(ConversionWords, IoHasAListOfNames) {
  ConvertOptions options;
  read_io("", options);
  EXPECT_FALSE(options.rewrite.export_io);
  read_io("nhwc", options);
  EXPECT_TRUE(options.rewrite.export_io);
  EXPECT_TRUE(options.rewrite.io_names.empty());
  read_io("nhwc:x,,a.b", options);
  EXPECT_THAT(options.rewrite.io_names, testing::ElementsAre("x", "a.b"));
  for (const char* const wrong : {"nchw", "nhwcx", "nhwc,x", ":x"}) EXPECT_THROW(read_io(wrong, options), Error) << wrong;
}

TEST(ConversionWords, ExternalDataHasAThreshold) {
  ConvertOptions options;
  read_external_data("always:4096", options);
  EXPECT_EQ(options.save.external_data, ExternalData::always);
  EXPECT_EQ(options.save.external_threshold, 4096);
  read_external_data("never", options);
  EXPECT_EQ(options.save.external_data, ExternalData::never);
  read_external_data("auto:0", options);
  EXPECT_EQ(options.save.external_data, ExternalData::automatic);
  EXPECT_EQ(options.save.external_threshold, 0);
  for (const char* const wrong : {"", "sometimes", "always:", "always:-1", "always:1k", "always:99999999999999999999", ":5"}) {
    EXPECT_THROW(read_external_data(wrong, options), Error) << wrong;
  }
}

}  // namespace
}  // namespace relayout::cli
