#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "relayout/graph.h"
#include "relayout/model.h"
#include "support/model_cache.h"

namespace relayout {
namespace {

TEST(Load, ModelsOfTheCache) {
  const auto models = test::cached_models();
  if (models.empty()) GTEST_SKIP() << test::kNoModels;
  for (const auto& path : models) {
    const auto model = Model::load(path);
    EXPECT_GT(model->graph().nodes().size(), 10U) << path;
  }
}

}  // namespace
}  // namespace relayout
