#include "support/compute.h"

#include "support/evaluate.h"

namespace relayout::test {

std::vector<Datum> compute(const Model& model, const std::map<std::string, Datum>& inputs) {
  return relayout::testing::evaluate(model.graph(), inputs);
}

}  // namespace relayout::test
