// Fuzzes load and check: any bytes are refused, or give a model that is saved byte for byte and loads again in its changed form.

#include <onnx/onnx_pb.h>

#include <cstdlib>

#include "base/log.h"
#include "model/origin.h"
#include "model/save.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  using namespace relayout;
  set_log_level(LogLevel::quiet);
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  std::unique_ptr<Model> model;
  try {
    model = Model::from_bytes(bytes, "fuzz");
  } catch (const Error& error) {
    // Data files that a location names may be missing.
    if (error.kind() == ErrorKind::defect || error.kind() == ErrorKind::usage) std::abort();
    return 0;
  }
  try {
    if (!origin_of(*model).walk.has_external && to_bytes(*model) != bytes) std::abort();
    for (Node& node : model->graph().nodes()) model->graph().edit(node).set_doc_string("changed");
    (void)Model::from_bytes(to_bytes(*model), "changed");
  } catch (const Error&) {
    std::abort();
  }
  return 0;
}
