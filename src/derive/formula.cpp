// Writes the formula of a row, as text in the usual notation, as nodes of standard operators.
#include <cctype>
#include <cstdlib>

#include "derive/row.h"
#include "derive/writer.h"
#include "relayout/error.h"
#include "relayout/types.h"

namespace relayout::derive {
namespace {

/// Formulas are written in this program: a mistake in one is a defect.
class FormulaParser {
 public:
  FormulaParser(std::string_view text, const FormulaScope& scope) : text_(text), left_(text), scope_(scope) {}

  Name whole() {
    Name out = comparison();
    skip_spaces();
    if (!left_.empty()) wrong();
    return out;
  }

 private:
  [[noreturn]] void wrong() const { fail(ErrorKind::defect, "formula '" + std::string(text_) + "' at '" + std::string(left_) + "'"); }

  void skip_spaces() {
    while (left_.starts_with(' ')) left_.remove_prefix(1);
  }

  bool take(std::string_view word) {
    skip_spaces();
    if (!left_.starts_with(word)) return false;
    left_.remove_prefix(word.size());
    return true;
  }

  void expect(std::string_view word) {
    if (!take(word)) wrong();
  }

  Name comparison() {
    Name left = sum();
    for (const auto& [sign, op] : {std::pair(">=", "GreaterOrEqual"), std::pair("<=", "LessOrEqual"), std::pair(">", "Greater"),
                                   std::pair("<", "Less"), std::pair("==", "Equal")}) {
      if (!take(sign)) continue;
      const Name right = sum();
      return scope_.w.make(op, {left, right});
    }
    return left;
  }

  Name sum() {
    Name out = product();
    for (;;) {
      if (take("+")) {
        out = binary("Add", out, product());
      } else if (take("-")) {
        out = binary("Sub", out, product());
      } else {
        return out;
      }
    }
  }

  Name product() {
    Name out = factor();
    for (;;) {
      if (take("*")) {
        out = binary("Mul", out, factor());
      } else if (take("/")) {
        out = binary("Div", out, factor());
      } else {
        return out;
      }
    }
  }

  Name factor() {
    if (take("-")) return scope_.w.make("Neg", {factor()});
    if (take("(")) {
      Name out = comparison();
      expect(")");
      return out;
    }
    if (take("{")) return attribute();
    skip_spaces();
    if (!left_.empty() && (std::isdigit(left_.front()) != 0)) return scope_.w.real(number(), scope_.type);
    const std::string name = word();
    return take("(") ? call(name) : scope_.value(name);
  }

  Name call(const std::string& op) {
    Names operands;
    do operands.push_back(comparison());
    while (take(","));
    expect(")");
    // 1 for what is true, or not 0.
    if (op == "Real") return scope_.w.cast(scope_.w.cast(operands.front(), DataType::boolean), scope_.type);
    return scope_.w.make(op, operands);
  }

  Name attribute() {
    const std::string name = word();
    expect("=");
    const double otherwise = number();
    expect("}");
    return scope_.w.real(scope_.attribute(name, otherwise), scope_.type);
  }

  double number() {
    skip_spaces();
    const std::string digits(left_.substr(0, left_.find_first_not_of("0123456789.")));
    if (digits.empty()) wrong();
    left_.remove_prefix(digits.size());
    return std::strtod(digits.c_str(), nullptr);
  }

  std::string word() {
    skip_spaces();
    std::size_t length = 0;
    while (length < left_.size() && (std::isalnum(left_[length]) != 0 || left_[length] == '_')) ++length;
    if (length == 0) wrong();
    std::string out(left_.substr(0, length));
    left_.remove_prefix(length);
    return out;
  }

  /// Operands are written from left to right.
  Name binary(const char* op, const Name& left, const Name& right) { return scope_.w.make(op, {left, right}); }

  std::string_view text_, left_;
  const FormulaScope& scope_;
};

}  // namespace

Name write_formula(std::string_view text, const FormulaScope& scope) {
  return FormulaParser(text, scope).whole();
}

}  // namespace relayout::derive
