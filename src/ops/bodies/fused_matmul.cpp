// Body of FusedMatMul: transA, transB, transBatchA, transBatchB as one Einsum equation, and the factor alpha.

#include <string>

#include "ops/bodies/bodies.h"
#include "ops/body.h"

namespace relayout::bodies {
namespace {

/// The dims of an operand as letters of an Einsum equation, with `row` and `column` of the matrix that is multiplied. transBatch moves the
/// batch dims between the two.
std::string term(char row, char column, bool transposes, bool moves_batch) {
  const char first = transposes ? column : row, last = transposes ? row : column;
  return moves_batch ? std::string{first} + "..." + last : "..." + std::string{first, last};
}

}  // namespace

void fused_matmul(Body& body) {
  const auto flag = [&](const char* name) { return body.attributes().integer(name, 0) != 0; };
  const bool is_plain = !flag("transA") && !flag("transB") && !flag("transBatchA") && !flag("transBatchB");
  const std::string equation =
      term('i', 'k', flag("transA"), flag("transBatchA")) + "," + term('k', 'j', flag("transB"), flag("transBatchB")) + "->...ij";
  Body::Name product = is_plain ? body.make("MatMul", {body.input(0), body.input(1)})
                                : body.make("Einsum", {body.input(0), body.input(1)}, {{"equation", equation}});
  if (const float alpha = body.attributes().real("alpha", 1); alpha != 1) product = body.make("Mul", {product, body.like(alpha, product)});
  body.give(0, product);
}

}  // namespace relayout::bodies
