// Writes bodies of linear models, support vector machines and the scaling of their features, with the transforms that scores end with.

#include "ops/bodies/bodies.h"
#include "ops/body.h"
#include "relayout/types.h"

namespace relayout::bodies {

// What all classifiers and regressors share.

Body::Name feature_rows(Body& body, std::size_t input) {
  const auto rank = body.rank(input);
  if (!rank) body.refuse("the rank of its input is not known");
  if (*rank < 1 || *rank > 2) body.reject("its input has rank " + std::to_string(*rank) + ", wanted is 1 or 2");
  return *rank == 1 ? unsqueezed(body, body.input(input), {0}) : body.input(input);
}

Body::Name singles(Body& body, const Body::Name& value, std::size_t input) {
  return body.type(input) == DataType::float32 ? value : body.cast(value, DataType::float32);
}

Body::Name transformed(Body& body, const Body::Name& scores, const std::string& how) {
  const auto like = [&](double value) { return body.like(value, scores); };
  if (how == "NONE") return scores;
  if (how == "SOFTMAX") return body.make("Softmax", {scores}, {{"axis", int64_t{-1}}});
  if (how == "LOGISTIC") return body.make("Sigmoid", {scores});
  if (how == "SOFTMAX_ZERO") {
    // A softmax in which scores of zero remain zero.
    const Body::Name largest = body.make("ReduceMax", {scores, body.integers({-1})});
    const Body::Name counts = body.make("Greater", {body.make("Abs", {scores}), like(1e-7)});
    const Body::Name power = body.make("Exp", {body.make("Sub", {scores, largest})});
    const Body::Name rest = body.make("Mul", {scores, body.make("Exp", {body.make("Neg", {largest})})});
    const Body::Name parts = body.make("Where", {counts, power, rest});
    return body.make("Div", {parts, body.make("ReduceSum", {parts, body.integers({-1})})});
  }
  if (how == "PROBIT") {
    // √2 · erf⁻¹(2x − 1), by Winitzki's approximation, which implementations of this operator share.
    constexpr double kPi = 3.14159, kShare = 0.147, kRoot = 1.41421356;
    const Body::Name y = body.make("Sub", {body.make("Mul", {scores, like(2)}), like(1)});
    const Body::Name both = body.make("Mul", {body.make("Sub", {like(1), y}), body.make("Add", {like(1), y})});
    const Body::Name log = body.make("Log", {both});
    const Body::Name v = body.make("Add", {body.make("Mul", {log, like(0.5)}), like(2 / (kPi * kShare))});
    const Body::Name under = body.make("Sub", {body.make("Mul", {v, v}), body.make("Mul", {log, like(1 / kShare)})});
    const Body::Name size = body.make("Sqrt", {body.make("Sub", {body.make("Sqrt", {under}), v})});
    return body.make("Mul", {body.make("Mul", {body.make("Sign", {y}), size}), like(kRoot)});
  }
  body.reject("post_transform is '" + how + "'");
}

Body::Name two_columns(Body& body, const Body::Name& score, bool is_probability, const std::string& how) {
  if (how != "NONE" && how != "LOGISTIC")
    body.refuse("post_transform " + how + " of one score for two classes, which has no agreed meaning");
  const bool is_complement = is_probability && how == "NONE";
  const Body::Name other = is_complement ? body.make("Sub", {body.like(1, score), score}) : body.make("Neg", {score});
  return transformed(body, body.make("Concat", {other, score}, {{"axis", int64_t{1}}}), how);
}

Body::Name regressed(Body& body, const Body::Name& scores, int64_t targets, const std::string& how) {
  if (targets == 1 && how != "NONE" && how != "PROBIT")
    body.refuse("post_transform " + how + " of one target, which has no agreed meaning");
  return transformed(body, scores, how);
}

ClassLabels::ClassLabels(Body& body, const char* integers) : body_(body) {
  const auto numbers = body.attributes().integers(integers);
  const auto texts = body.attributes().texts("classlabels_strings");
  if (numbers.empty() == texts.empty()) body.reject("one of " + std::string(integers) + " and classlabels_strings must be given");
  count_ = static_cast<int64_t>(std::max(numbers.size(), texts.size()));
  if (count_ < 2) body.refuse("a single class label");
  labels_ = texts.empty() ? body.integers(numbers) : body.make("Constant", {}, {{"value_strings", texts}});
}

Body::Name ClassLabels::at(const Body::Name& indices) {
  return body_.make("Gather", {labels_, indices});
}

Body::Name ClassLabels::of_largest(const Body::Name& scores) {
  return at(body_.make("ArgMax", {scores}, {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}}));
}

Body::Name ClassLabels::of_sign(const Body::Name& score, bool is_first_positive) {
  const Body::Name column = body_.make("Squeeze", {score, body_.integers({1})});
  const char* const test = is_first_positive ? "LessOrEqual" : "Greater";
  return at(body_.cast(body_.make(test, {column, body_.real(0)}), DataType::int64));
}

namespace {

std::string post_transform(const Body& body) {
  return body.attributes().text("post_transform", "NONE");
}

/// Attribute `name` as a matrix of `rows` rows.
Body::Name matrix_attribute(Body& body, const char* name, int64_t rows) {
  const std::vector<float> values = body.attributes().reals(name);
  const auto count = static_cast<int64_t>(values.size());
  if (rows <= 0 || count == 0 || count % rows != 0) {
    body.reject(std::string(name) + " has " + std::to_string(count) + " numbers for " + std::to_string(rows) + " rows");
  }
  return body.reals(values, {rows, count / rows});
}

/// x · wᵀ + shift, a score per row of attribute `coefficients`; `shift` may be empty.
Body::Name linear_scores(Body& body, const Body::Name& x, int64_t rows, const Body::Name& shift) {
  return body.make("Gemm", {x, matrix_attribute(body, "coefficients", rows), shift}, {{"transB", int64_t{1}}});
}

Body::Name intercepts(Body& body, int64_t count) {
  const std::vector<float> values = body.attributes().reals("intercepts");
  if (values.empty()) return {};
  if (static_cast<int64_t>(values.size()) != count) body.reject(std::to_string(values.size()) + " intercepts for " + std::to_string(count));
  return body.reals(values);
}

}  // namespace

void linear_regressor(Body& body) {
  const int64_t targets = body.attributes().integer("targets", 1);
  const Body::Name x = singles(body, feature_rows(body, 0), 0);
  body.give(0, regressed(body, linear_scores(body, x, targets, intercepts(body, targets)), targets, post_transform(body)));
}

/// A single row of coefficients scores the second of two classes.
void linear_classifier(Body& body) {
  ClassLabels labels(body, "classlabels_ints");
  const auto given = static_cast<int64_t>(body.attributes().reals("intercepts").size());
  const int64_t rows = given > 0 ? given : labels.count();
  if (rows != labels.count() && (rows != 1 || labels.count() != 2)) body.reject("intercepts and class labels differ in number");
  const Body::Name x = singles(body, feature_rows(body, 0), 0);
  const Body::Name scores = linear_scores(body, x, rows, intercepts(body, rows));
  body.give(0, rows == 1 ? labels.of_sign(scores, false) : labels.of_largest(scores));
  body.give(1, rows == 1 ? two_columns(body, scores, true, post_transform(body)) : transformed(body, scores, post_transform(body)));
}

void scaler(Body& body) {
  const std::vector<float> offset = body.attributes().reals("offset"), scale = body.attributes().reals("scale");
  if (offset.empty() || offset.size() != scale.size()) body.reject("offset and scale must have the same number of elements");
  const auto rank = body.rank(0);
  if (offset.size() > 1 && (!rank || *rank > 2)) body.refuse("an input that is not known to have rank 1 or 2");
  const bool is_double = body.type(0) == DataType::float64;
  const auto constant = [&](const std::vector<float>& values) {
    return is_double ? body.cast(body.reals(values), DataType::float64) : body.reals(values);
  };
  const Body::Name x = is_double ? body.input(0) : singles(body, body.input(0), 0);
  const Body::Name y = body.make("Mul", {body.make("Sub", {x, constant(offset)}), constant(scale)});
  body.give(0, is_double ? body.cast(y, DataType::float32) : y);
}

/// Divides each row by its largest number or a norm of it; rows of zero remain.
void normalizer(Body& body) {
  const std::string norm = body.attributes().text("norm", "MAX");
  const char* const reduction = norm == "MAX" ? "ReduceMax" : norm == "L1" ? "ReduceL1" : norm == "L2" ? "ReduceL2" : nullptr;
  if (reduction == nullptr) body.reject("norm is '" + norm + "'");
  const auto rank = body.rank(0);
  if (!rank || *rank < 1 || *rank > 2) body.refuse("an input that is not known to have rank 1 or 2");
  const Body::Name x = singles(body, body.input(0), 0);
  const Body::Name divisor = body.make(reduction, {x, body.integers({-1})});
  const Body::Name is_zero = body.make("Equal", {divisor, body.real(0)});
  body.give(0, body.make("Div", {x, body.make("Where", {is_zero, body.real(1), divisor})}));
}

/// Each input is cut, or padded with zeros, to its number of columns.
void feature_vectorizer(Body& body) {
  const auto columns = body.attributes().integers("inputdimensions");
  Body::Names parts;
  for (std::size_t i = 0; i < columns.size() && body.has(i); ++i) {
    const Body::Name x = singles(body, feature_rows(body, i), i);
    const Body::Name wanted = body.integers({columns[i]}), axis = body.integers({1});
    const Body::Name cut = body.make("Slice", {x, body.integers({0}), wanted, axis});
    const Body::Name missing = body.make("Sub", {wanted, dim_of(body, cut, 1)});
    parts.push_back(body.make("Pad", {cut, body.make("Concat", {body.integers({0}), missing}, {{"axis", int64_t{0}}}), "", axis}));
  }
  if (parts.empty() || body.has(parts.size())) body.reject("inputdimensions and inputs differ in number");
  body.give(0, body.make("Concat", parts, {{"axis", int64_t{1}}}));
}

void array_feature_extractor(Body& body) {
  const auto rank = body.rank(0);
  if (!rank) body.refuse("the rank of its input is not known");
  const Body::Name indices = body.make("Reshape", {body.input(1), body.integers({-1})});
  const Body::Name x = *rank == 1 ? unsqueezed(body, body.input(0), {0}) : body.input(0);
  body.give(0, body.make("Gather", {x, indices}, {{"axis", int64_t{-1}}}));
}

// Support vector machines.
namespace {

/// The kernel of each row of x with each support vector.
Body::Name kernel_products(Body& body, const Body::Name& x, int64_t vectors) {
  const std::string kernel = body.attributes().text("kernel_type", "LINEAR");
  std::vector<float> parameters = body.attributes().reals("kernel_params");
  parameters.resize(std::max<std::size_t>(parameters.size(), 3));
  const Body::Name support = matrix_attribute(body, "support_vectors", vectors);
  if (kernel == "RBF") {
    const Body::Name apart = body.make_own("SquaredDistances", {x, support}, 1, {}).front();
    return body.make("Exp", {body.make("Mul", {apart, body.real(-parameters[0])})});
  }
  const Body::Name product = body.make("Gemm", {x, support}, {{"transB", int64_t{1}}});
  if (kernel == "LINEAR") return product;
  const Body::Name moved = body.make("Add", {body.make("Mul", {product, body.real(parameters[0])}), body.real(parameters[1])});
  if (kernel == "POLY") return body.make("Pow", {moved, body.real(parameters[2])});
  if (kernel == "SIGMOID") return body.make("Tanh", {moved});
  body.reject("kernel_type is '" + kernel + "'");
}

std::vector<float> required_reals(const Body& body, const char* name, std::size_t least) {
  std::vector<float> out = body.attributes().reals(name);
  if (out.size() < least)
    body.reject(std::string(name) + " has " + std::to_string(out.size()) + " numbers, fewer than " + std::to_string(least));
  return out;
}

/// Classifiers of each pair of classes, in order: (0, 1), (0, 2), … Those of one pair use the support vectors of both classes.
struct ClassPairs {
  int64_t classes;
  std::vector<int64_t> first_vector;  ///< of each class, and the number of all

  [[nodiscard]] int64_t count() const { return classes * (classes - 1) / 2; }

  /// A row per pair: the coefficients of the vectors of its classes, zero for others.
  [[nodiscard]] std::vector<float> weights(const std::vector<float>& coefficients) const {
    const int64_t vectors = first_vector.back();
    std::vector<float> out(static_cast<std::size_t>(count() * vectors));
    std::size_t row = 0;
    for (int64_t i = 0; i < classes; ++i) {
      for (int64_t j = i + 1; j < classes; ++j, row += static_cast<std::size_t>(vectors)) {
        const auto copy = [&](int64_t of_class, int64_t from) {
          const auto at = static_cast<std::size_t>(of_class);
          for (int64_t v = first_vector[at]; v < first_vector[at + 1]; ++v) {
            out[row + static_cast<std::size_t>(v)] = coefficients[static_cast<std::size_t>(from * vectors + v)];
          }
        };
        copy(i, j - 1);
        copy(j, i);
      }
    }
    return out;
  }
};

ClassPairs class_pairs(const Body& body, int64_t classes, const std::vector<int64_t>& vectors_per_class) {
  if (static_cast<int64_t>(vectors_per_class.size()) != classes) body.reject("vectors_per_class and class labels differ in number");
  ClassPairs out{classes, {0}};
  for (const int64_t vectors : vectors_per_class) {
    if (vectors < 0) body.reject("vectors_per_class has a negative number");
    out.first_vector.push_back(out.first_vector.back() + vectors);
  }
  return out;
}

/// The class with the most votes: a positive score of a pair is one for its first class. Whole numbers, so that ties are exact.
Body::Name vote(Body& body, const Body::Name& scores, const ClassPairs& pairs) {
  std::vector<int64_t> gains, always(static_cast<std::size_t>(pairs.classes));
  for (int64_t i = 0; i < pairs.classes; ++i) {
    for (int64_t j = i + 1; j < pairs.classes; ++j) {
      for (int64_t k = 0; k < pairs.classes; ++k) gains.push_back(k == i ? 1 : k == j ? -1 : 0);
      ++always[static_cast<std::size_t>(j)];
    }
  }
  const Body::Name wins = body.cast(body.make("Greater", {scores, body.real(0)}), DataType::int64);
  const Body::Name matrix = body.make("Reshape", {body.integers(gains), body.integers({pairs.count(), pairs.classes})});
  return body.make("Add", {body.make("MatMul", {wins, matrix}), body.integers(always)});
}

}  // namespace

/// With support vectors, one classifier for each pair of classes votes; without, each class has a linear score.
void svm_classifier(Body& body) {
  ClassLabels labels(body, "classlabels_ints");
  const std::vector<int64_t> per_class = body.attributes().integers("vectors_per_class");
  const std::string how = post_transform(body);
  const Body::Name x = singles(body, feature_rows(body, 0), 0);
  const bool has_vectors = std::ranges::any_of(per_class, [](int64_t vectors) { return vectors != 0; });
  if (!has_vectors) {
    const Body::Name scores = linear_scores(body, x, labels.count(), body.real(required_reals(body, "rho", 1)[0]));
    body.give(0, labels.of_largest(scores));
    return body.give(1, transformed(body, scores, how));
  }
  const ClassPairs pairs = class_pairs(body, labels.count(), per_class);
  const auto pair_count = static_cast<std::size_t>(pairs.count());
  const int64_t vectors = pairs.first_vector.back();
  const auto coefficients = required_reals(body, "coefficients", static_cast<std::size_t>((pairs.classes - 1) * vectors));
  std::vector<float> rho = required_reals(body, "rho", pair_count);
  rho.resize(pair_count);
  const Body::Name weights = body.reals(pairs.weights(coefficients), {pairs.count(), vectors});
  const Body::Name scores = body.make("Gemm", {kernel_products(body, x, vectors), weights, body.reals(rho)}, {{"transB", int64_t{1}}});
  body.give(0, pairs.count() == 1 ? labels.of_sign(scores, true) : labels.of_largest(vote(body, scores, pairs)));
  if (!body.attributes().reals("prob_a").empty()) {
    const Body::Name a = body.reals(required_reals(body, "prob_a", pair_count)), b = body.reals(required_reals(body, "prob_b", pair_count));
    const Body::Name shares = body.make_own("PairwiseProbabilities", {scores, a, b}, 1, {{"classes", pairs.classes}}).front();
    return body.give(1, transformed(body, shares, how));
  }
  body.give(1, pairs.count() == 1 ? two_columns(body, scores, false, how) : transformed(body, scores, how));
}

void svm_regressor(Body& body) {
  if (const std::string how = post_transform(body); how != "NONE") body.refuse("post_transform " + how + ", which other programs ignore");
  const Body::Name x = singles(body, feature_rows(body, 0), 0);
  const int64_t vectors = body.attributes().integer("n_supports", 0);
  const Body::Name rho = body.real(required_reals(body, "rho", 1)[0]);
  const Body::Name score = linear_scores(body, vectors > 0 ? kernel_products(body, x, vectors) : x, 1, rho);
  if (body.attributes().integer("one_class", 0) == 0) return body.give(0, score);
  body.give(0, body.make("Where", {body.make("Greater", {score, body.real(0)}), body.real(1), body.real(-1)}));
}

}  // namespace relayout::bodies
