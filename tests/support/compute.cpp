#include "support/compute.h"

#include "relayout/execute.h"

namespace relayout::test {

std::vector<Datum> compute(const Model& model, const std::map<std::string, Datum>& inputs) {
  ExecuteOptions options;
  options.mode = Mode::reference;
  options.threads = 1;
  return Executor(model.graph(), options).run(inputs);
}

}  // namespace relayout::test
