// Reads the equation of an Einsum, with the result that it may leave out.
#include "derive/einsum.h"

namespace relayout::derive {

EinsumTerms einsum_terms(const Row& row) {
  const std::string equation = row.attributes.text("equation", "");
  if (equation.find('.') != std::string::npos) row.refuse("an ellipsis");
  return einsum_terms(equation);
}

EinsumTerms einsum_terms(std::string equation) {
  std::erase(equation, ' ');
  const std::size_t arrow = equation.find("->");
  EinsumTerms out;
  out.operands.emplace_back();
  std::map<char, int> counts;
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',') {
      out.operands.emplace_back();
    } else {
      out.operands.back() += c;
      ++counts[c];
    }
  }
  if (arrow != std::string::npos) {
    out.result = equation.substr(arrow + 2);
    return out;
  }
  for (const auto& [letter, count] : counts) {
    if (count == 1) out.result += letter;
  }
  return out;
}

}  // namespace relayout::derive
