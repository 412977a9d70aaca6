// Computes Einsum, as products of matrices where that is possible.

#include "ops/einsum.h"

#include <map>
#include <set>

#include "base/positions.h"
#include "ops/call.h"
#include "ops/kernels/kernels.h"
#include "ops/kernels/matmul.h"
#include "ops/loops/dtypes.h"
#include "ops/loops/strided.h"
#include "ops/operands.h"
#include "relayout/tensor.h"
#include "relayout/types.h"

namespace relayout {

bool EinsumEquation::has_ellipsis() const {
  const auto has_dots = [](const std::string& term) { return term.find('.') != std::string::npos; };
  return std::ranges::any_of(operands, has_dots) || (result && has_dots(*result));
}

std::string EinsumEquation::letters_of_result() const {
  if (result) return *result;
  std::map<char, int> counts;
  for (const std::string& term : operands) {
    for (const char letter : term) ++counts[letter];
  }
  std::string out;
  for (const auto& [letter, count] : counts) {
    if (count == 1) out += letter;
  }
  return out;
}

EinsumEquation read_einsum(std::string equation) {
  std::erase(equation, ' ');
  EinsumEquation out;
  if (const std::size_t arrow = equation.find("->"); arrow != std::string::npos) {
    out.result = equation.substr(arrow + 2);
    equation.resize(arrow);
  }
  std::size_t begin = 0;
  for (std::size_t comma = 0; comma != std::string::npos; begin = comma + 1) {
    comma = equation.find(',', begin);
    out.operands.push_back(equation.substr(begin, comma == std::string::npos ? comma : comma - begin));
  }
  return out;
}

}  // namespace relayout

namespace relayout::kernels {
namespace {

/// A letter, or a dim of the ellipsis counted from its end: kEllipsis + i.
using Label = int;
using Labels = std::vector<Label>;
constexpr Label kEllipsis = 256;

/// Labels of a term; the ellipsis is `ellipsis_rank` dims.
Labels labels_of(const OpCall& call, const std::string& term, std::size_t ellipsis_rank) {
  Labels labels;
  bool seen = false;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term.compare(i, 3, "...") == 0 && !seen) {
      for (std::size_t k = ellipsis_rank; k-- > 0;) labels.push_back(kEllipsis + static_cast<int>(k));
      seen = true;
      i += 2;
    } else if ((term[i] >= 'a' && term[i] <= 'z') || (term[i] >= 'A' && term[i] <= 'Z')) {
      labels.push_back(term[i]);
    } else {
      reject(call, "the equation has a term that is not letters and at most one ellipsis");
    }
  }
  return labels;
}

bool has_ellipsis(const std::string& term) {
  return term.find("...") != std::string::npos;
}

struct Plan {
  std::vector<Labels> operands;
  Labels output;
  std::map<Label, int64_t> sizes;
};

Plan plan_of(const OpCall& call, const std::vector<Dims>& dims) {
  const EinsumEquation equation = read_einsum(call.attributes.text("equation", ""));
  if (equation.operands.size() != dims.size())
    reject(call, std::to_string(equation.operands.size()) + " terms for " + std::to_string(dims.size()) + " operands");
  Plan plan;
  std::size_t widest = 0;
  std::map<Label, int> occurrences;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::size_t letters = equation.operands[i].size() - (has_ellipsis(equation.operands[i]) ? 3 : 0);
    if (letters > dims[i].size()) reject(call, "term " + std::to_string(i) + " has more labels than the operand dims");
    const std::size_t rest = has_ellipsis(equation.operands[i]) ? dims[i].size() - letters : 0;
    widest = std::max(widest, rest);
    plan.operands.push_back(labels_of(call, equation.operands[i], rest));
    if (plan.operands.back().size() != dims[i].size())
      reject(call, "term " + std::to_string(i) + " has fewer labels than the operand dims");
    for (std::size_t k = 0; k < dims[i].size(); ++k) {
      const Label label = plan.operands.back()[k];
      ++occurrences[label];
      int64_t& size = plan.sizes.try_emplace(label, 1).first->second;
      if (size == 1)
        size = dims[i][k];
      else if (dims[i][k] != 1 && dims[i][k] != size)
        reject(call, "operands disagree about the size of a label");
    }
  }
  if (equation.result) {
    plan.output = labels_of(call, *equation.result, widest);
  } else {
    for (std::size_t k = widest; k-- > 0;) plan.output.push_back(kEllipsis + static_cast<int>(k));
    for (const auto& [label, count] : occurrences) {
      if (label < kEllipsis && count == 1) plan.output.push_back(label);
    }
  }
  std::set<Label> once;
  for (const Label label : plan.output) {
    if (!plan.sizes.contains(label) || !once.insert(label).second) reject(call, "an output label is unknown or given twice");
  }
  return plan;
}

/// A tensor with one label per dim, all different.
struct Labelled {
  Tensor tensor;
  Labels labels;
};

/// Merges repeated labels into one dim along the diagonal; dims of size 1 broadcast to the label's size.
Labelled diagonal(const Tensor& tensor, const Labels& labels, const std::map<Label, int64_t>& sizes) {
  Labels distinct;
  Dims dims, strides;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto found = std::ranges::find(distinct, labels[i]);
    const int64_t stride = tensor.dims()[i] == 1 ? 0 : tensor.strides()[i];
    if (found != distinct.end()) {
      element_at(strides, found - distinct.begin()) += stride;
      continue;
    }
    distinct.push_back(labels[i]);
    dims.push_back(sizes.at(labels[i]));
    strides.push_back(stride);
  }
  return {tensor.view(std::move(dims), std::move(strides)), std::move(distinct)};
}

/// Puts the dims into the order of `order`, which has some or all of the labels.
Tensor ordered(const Labelled& value, const Labels& order) {
  Dims dims, strides;
  for (const Label label : order) {
    const auto at = find_position(value.labels, label);
    dims.push_back(value.tensor.dims()[at]);
    strides.push_back(value.tensor.strides()[at]);
  }
  return value.tensor.view(std::move(dims), std::move(strides));
}

int64_t size_of(const Labels& labels, const std::map<Label, int64_t>& sizes) {
  int64_t size = 1;
  for (const Label label : labels) size *= sizes.at(label);
  return size;
}

Dims dims_of(const Labels& labels, const std::map<Label, int64_t>& sizes) {
  Dims dims;
  for (const Label label : labels) dims.push_back(sizes.at(label));
  return dims;
}

bool has(const Labels& labels, Label label) {
  return std::ranges::find(labels, label) != labels.end();
}

Labels joined(std::initializer_list<const Labels*> parts) {
  Labels all;
  for (const Labels* each : parts) all.insert(all.end(), each->begin(), each->end());
  return all;
}

/// The labels of two operands by their role in the product.
struct ProductLabels {
  Labels batch, rows, columns, sums;  ///< of both operands and the result; of a and the result; of b and the result; of both operands only
  Labels left_only, right_only;       ///< of one operand only
  [[nodiscard]] Labels made() const { return joined({&batch, &rows, &columns}); }
};

ProductLabels product_labels(const Labels& a, const Labels& b, const std::set<Label>& needed) {
  ProductLabels out;
  for (const Label label : a) {
    if (has(b, label))
      (needed.contains(label) ? out.batch : out.sums).push_back(label);
    else
      (needed.contains(label) ? out.rows : out.left_only).push_back(label);
  }
  for (const Label label : b) {
    if (!has(a, label)) (needed.contains(label) ? out.columns : out.right_only).push_back(label);
  }
  return out;
}

/// A tensor as a batch of matrices: a view where strides allow it, else a copy.
Tensor as_matrices(const Tensor& tensor, const Dims& dims) {
  if (const auto strides = reshape_strides(tensor.desc(), dims)) return tensor.view(dims, *strides);
  const Tensor dense(tensor.type(), tensor.dims());
  copy_elements(1, dense, tensor);
  return dense.view(dims, contiguous_strides(dims));
}

class Contraction {
 public:
  /// `type`: the type of sums, float64 or int64.
  Contraction(const OpCall& call, const std::map<Label, int64_t>& sizes, DataType type) : call_(call), sizes_(sizes), type_(type) {}

  /// target = the product of a and b; its dims are labels.made() in that order.
  void multiply(const Labelled& a, const Labelled& b, const ProductLabels& labels, const Tensor& target) const {
    const Labels left = joined({&labels.batch, &labels.rows, &labels.sums}), right = joined({&labels.batch, &labels.sums, &labels.columns});
    const Labelled x = summed(a, left, labels.left_only), y = summed(b, right, labels.right_only);
    if (labels.sums.empty()) return multiply_each(spread(x, labels.made()), spread(y, labels.made()), target);
    const int64_t n = size_of(labels.batch, sizes_), m = size_of(labels.rows, sizes_), k = size_of(labels.sums, sizes_),
                  p = size_of(labels.columns, sizes_);
    const Tensor matrices_x = as_matrices(x.tensor, {n, m, k}), matrices_y = as_matrices(y.tensor, {n, k, p});
    if (const auto strides = reshape_strides(target.desc(), {n, m, p})) {
      return multiply_tensors(call_, matrices_x, matrices_y, target.view({n, m, p}, *strides));
    }
    const Tensor dense(target.type(), target.dims());
    multiply_tensors(call_, matrices_x, matrices_y, dense.view({n, m, p}, {m * p, p, 1}));
    copy_elements(call_.threads, target, dense);
  }

 private:
  /// Sums out the axes that only one operand has, as a product with ones.
  [[nodiscard]] Labelled summed(const Labelled& value, const Labels& keep, const Labels& gone) const {
    if (gone.empty()) return {ordered(value, keep), keep};
    const int64_t kept = size_of(keep, sizes_), lost = size_of(gone, sizes_);
    const Tensor ones(type_, {lost});
    with_wide_domain(type_, [&]<class Domain>(Domain) { std::fill_n(ones.data<Domain>(), lost, Domain{1}); });
    const Tensor result(type_, dims_of(keep, sizes_));
    const Tensor rows = as_matrices(ordered(value, joined({&gone, &keep})), {lost, kept});
    multiply_tensors(call_, ones.view({1, lost}, {lost, 1}), rows, result.view({1, kept}, {kept, 1}));
    return {result, keep};
  }

  /// The tensor with the dims of `order`, broadcast along those that it lacks.
  [[nodiscard]] Tensor spread(const Labelled& value, const Labels& order) const {
    Dims strides;
    for (const Label label : order) {
      const auto at = find_position(value.labels, label);
      strides.push_back(at < value.labels.size() ? value.tensor.strides()[at] : 0);
    }
    return value.tensor.view(dims_of(order, sizes_), std::move(strides));
  }

  /// Elementwise product, rounded once in every domain.
  void multiply_each(const Tensor& a, const Tensor& b, const Tensor& target) const {
    const bool is_wide = a.type() == DataType::float64 || b.type() == DataType::float64;
    with_exact_domain(is_wide ? DataType::float64 : target.type(), [&]<class Domain>(Domain) {
      using Factor = std::conditional_t<std::is_integral_v<Domain>, uint64_t, Domain>;
      const auto product = [](Domain x, Domain y) { return static_cast<Domain>(static_cast<Factor>(x) * static_cast<Factor>(y)); };
      map_elements<Domain, Domain>(call_.threads, target, product, a, b);
    });
  }

  const OpCall& call_;
  const std::map<Label, int64_t>& sizes_;
  DataType type_;
};

}  // namespace

Inferred infer_einsum(const OpCall& call, InputInfos inputs) {
  if (inputs.empty()) reject(call, "no inputs");
  std::vector<Dims> dims;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    dims.push_back(tensor_info(call, inputs, i, kNumericTypes).dims);
    require_same_type(call, *inputs[0], *inputs[i]);
  }
  const Plan plan = plan_of(call, dims);
  Dims result, all;
  for (const Label label : plan.output) result.push_back(plan.sizes.at(label));
  for (const auto& [label, size] : plan.sizes) all.push_back(size);
  checked_count(call, all);
  return one(call, inputs[0]->type, std::move(result));
}

/// Contracts the operands one after the other, each contraction a batch of matrix products.
void einsum(const OpCall& call, InputData inputs, OutputData outputs) {
  const Tensor& out = outputs[0]->tensor;
  std::vector<Dims> dims;
  for (std::size_t i = 0; i < inputs.size(); ++i) dims.push_back(tensor_at(inputs, i).dims());
  const Plan plan = plan_of(call, dims);
  if (out.element_count() == 0) return;
  const DataType type = traits(out.type()).is_float ? DataType::float64 : DataType::int64;
  // Starts with a scalar 1, so that a single operand is summed like the others.
  Labelled result{Tensor(type, {}), {}};
  store_one(type, result.tensor.bytes(), int64_t{1});
  const Contraction contraction(call, plan.sizes, type);
  std::size_t first = 0;
  if (inputs.size() > 1) {
    result = diagonal(tensor_at(inputs, 0), plan.operands[0], plan.sizes);
    first = 1;
  }
  for (std::size_t i = first; i < inputs.size(); ++i) {
    std::set<Label> needed(plan.output.begin(), plan.output.end());
    for (std::size_t k = i + 1; k < inputs.size(); ++k) needed.insert(plan.operands[k].begin(), plan.operands[k].end());
    const Labelled next = diagonal(tensor_at(inputs, i), plan.operands[i], plan.sizes);
    const ProductLabels labels = product_labels(result.labels, next.labels, needed);
    const bool is_last = i + 1 == inputs.size();
    const Tensor target = is_last ? ordered({out, plan.output}, labels.made()) : Tensor(type, dims_of(labels.made(), plan.sizes));
    contraction.multiply(result, next, labels, target);
    result = {target, labels.made()};
  }
}

}  // namespace relayout::kernels

namespace relayout {

std::optional<EinsumProduct> einsum_product(const OpCall& call, const TensorDesc& a, const TensorDesc& b) {
  using namespace kernels;
  const Plan plan = plan_of(call, {a.dims, b.dims});
  const Labelled left = diagonal(Tensor(a, nullptr, nullptr), plan.operands[0], plan.sizes),
                 right = diagonal(Tensor(b, nullptr, nullptr), plan.operands[1], plan.sizes);
  const ProductLabels labels = product_labels(left.labels, right.labels, {plan.output.begin(), plan.output.end()});
  if (labels.sums.empty() || !labels.left_only.empty() || !labels.right_only.empty()) return std::nullopt;
  EinsumProduct product{ordered(left, joined({&labels.batch, &labels.rows, &labels.sums})).desc(),
                        ordered(right, joined({&labels.batch, &labels.sums, &labels.columns})).desc(),
                        size_of(labels.batch, plan.sizes),
                        size_of(labels.rows, plan.sizes),
                        size_of(labels.sums, plan.sizes),
                        size_of(labels.columns, plan.sizes),
                        dims_of(labels.made(), plan.sizes),
                        {}};
  const Labels made = labels.made();
  for (const Label label : plan.output) product.output.push_back(find_position(made, label));
  return product;
}

}  // namespace relayout
