// Bodies of Gelu (com.microsoft), BiasGelu, FastGelu and QuickGelu: by the error function, by tanh, by a logistic function; with a bias
// added first.

#include <string>

#include "ops/bodies/bodies.h"
#include "ops/body.h"

namespace relayout::bodies {
namespace {

Body::Name biased(Body& body) {
  return body.has(1) ? body.make("Add", {body.input(0), body.input(1)}) : body.input(0);
}

}  // namespace

void gelu(Body& body) {
  body.give(0, body.make("Gelu", {body.input(0)}));
}

void bias_gelu(Body& body) {
  body.give(0, body.make("Gelu", {biased(body)}));
}

void fast_gelu(Body& body) {
  body.give(0, body.make("Gelu", {biased(body)}, {{"approximate", std::string("tanh")}}));
}

void quick_gelu(Body& body) {
  body.give(0, body.make("Swish", {body.input(0)}, {{"alpha", body.attributes().real("alpha", 1.702F)}}));
}

}  // namespace relayout::bodies
