// Compares the derivatives that a model computes with central differences of the original.
#include "relayout/derivative_check.h"

#include <cmath>
#include <numeric>

#include "base/interrupt.h"
#include "base/positions.h"
#include "base/random.h"
#include "base/text.h"
#include "derive/derive.h"
#include "derive/linearizer.h"
#include "model/node.h"
#include "ops/operands.h"
#include "relayout/datum.h"
#include "relayout/derive.h"
#include "relayout/error.h"
#include "relayout/execute.h"
#include "relayout/graph.h"
#include "relayout/tensor.h"
#include "relayout/types.h"
#include "verify/double_form.h"
#include "verify/inputs/free_dims.h"
#include "verify/inputs/inputs.h"

namespace relayout {
namespace {

/// Of the derivative's size. Differences of steps this small are exact to about 1e-9 where the model is smooth; constants of f32 to 1e-7.
constexpr double kDerivativeBound = 1e-6;
/// Steps, relative to the numbers that move: where a kink lies within the longer ones, it seldom lies within the shorter.
constexpr double kDifferenceSteps[] = {1e-6, 1e-7, 1e-8, 1e-9};
constexpr double kShorter = 0.1;
/// Steps so near to another that only rounding tells their differences apart; how many times as far counts as rounding; and from which
/// share of the derivative's size on rounding hides it.
constexpr double kNearSteps[] = {0.997, 0.999, 1.001, 1.003};
constexpr double kFloors = 5, kTelling = 1e-4;
constexpr int kRandomDirections = 3;

/// What the name of an output says.
struct DerivedName {
  enum class Kind { tangent, gradient, product, jacobian, hessian };
  std::string name, y, x;
  Kind kind = Kind::tangent;
  [[nodiscard]] bool is_second() const { return kind == Kind::product || kind == Kind::hessian; }
};

std::optional<DerivedName> read_derived_name(const std::string& name) {
  using enum DerivedName::Kind;
  for (const auto& [word, kind] : {std::pair(".jacobian.", jacobian), std::pair(".hessian.", hessian)}) {
    const std::size_t at = name.find(word);
    if (at != std::string::npos) return DerivedName{name, name.substr(0, at), name.substr(at + std::string_view(word).size()), kind};
  }
  const auto without = [&](std::string_view end) { return name.substr(0, name.size() - end.size()); };
  if (name.ends_with(".tangent")) return DerivedName{name, without(".tangent"), "", tangent};
  if (name.ends_with(".gradient")) return DerivedName{name, "", without(".gradient"), gradient};
  if (name.ends_with(".hvp")) return DerivedName{name, "", without(".hvp"), product};
  return std::nullopt;
}

using Reals = std::vector<double>;

Reals reals_in(const Datum& datum) {
  return reals_of(contiguous(datum.tensor));
}

double product_of_two(const Reals& a, const Reals& b) {
  double out = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) out += a[i] * b[i];
  return out;
}

double length_of(const Reals& a) {
  return std::sqrt(product_of_two(a, a));
}

Datum double_tensor(const Reals& numbers, const Dims& dims) {
  Tensor out(DataType::float64, dims);
  std::ranges::copy(numbers, out.data<double>());
  return out;
}

double distance_of(const Reals& a, const Reals& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  Reals difference(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
  return length_of(difference);
}

/// What a derivative says along some directions and what differences say, beside the size that an error is a share of.
struct Compared {
  Reals made, expected;
  double size = 0;
};
using AllCompared = std::vector<Compared>;

/// A distance as a share of the larger of two sizes.
double share_of(double error, double size) {
  return error == 0 ? 0 : error / std::max(size, std::numeric_limits<double>::min());
}

/// Nothing where the original leaves its range; infinite where the derivative alone does.
std::optional<double> error_of(const AllCompared& all) {
  double out = 0;
  for (const auto& [made, expected, size] : all) {
    const double error = distance_of(made, expected);
    if (!std::isfinite(error) && !std::isfinite(length_of(expected))) return std::nullopt;
    out = std::max(out, std::isfinite(error) ? share_of(error, size) : std::numeric_limits<double>::infinity());
  }
  return out;
}

/// How far differences of two steps are apart.
double distance_of(const AllCompared& a, const AllCompared& b) {
  double out = 0;
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const double distance = distance_of(a[i].expected, b[i].expected);
    out = std::max(out, std::isfinite(distance) ? share_of(distance, a[i].size) : std::numeric_limits<double>::infinity());
  }
  return out;
}

/// A model in double precision that takes what is to be added to some of its values, and gives others besides its outputs.
class MovedModel {
 public:
  MovedModel(std::unique_ptr<Model> model, const std::set<std::string>& moved, const std::set<std::string>& wanted, int threads)
      : model_(std::move(model)) {
    Graph& graph = model_->graph();
    compute_in_double(*model_);
    std::vector<std::pair<Value*, const onnx::TypeProto*>> outputs;
    for (Value* output : graph.outputs()) outputs.emplace_back(output, nullptr);
    onnx::TypeProto any;
    any.mutable_tensor_type()->set_elem_type(static_cast<int>(DataType::float64));
    for (const std::string& name : wanted) add_output(graph, name, any, outputs);
    for (const std::string& name : moved) {
      if (!graph.find(name)->is_input()) add_output(graph, name, any, outputs);
    }
    graph.set_outputs(outputs);
    for (const Value* output : graph.outputs()) names_.push_back(output->name());
    for (const std::string& name : moved) {
      if (!graph.find(name)->is_input() || graph.find(name)->initializer() != nullptr) move(name, any);
    }
    ExecuteOptions execute;
    execute.mode = Mode::reference;
    execute.threads = threads;
    execute.few_runs = true;
    executor_.emplace(graph, execute);
  }

  using Values = std::map<std::string, Datum>;
  /// All values at inputs, and at places beside them.
  Values at(const Inputs& inputs, const std::map<std::string, Reals>& moves = {}, double step = 0) {
    check_interrupt();
    Inputs own = inputs;
    for (const auto& [name, delta] : deltas_) {
      const auto found = moves.find(name);
      own[delta] = found == moves.end() ? double_tensor({0}, {}) : double_tensor(scaled(found->second, step), dims_.at(name));
    }
    for (const auto& [name, by] : moves) {
      if (deltas_.contains(name)) continue;
      Reals numbers = reals_in(own.at(name));
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] += step * by.at(i);
      own[name] = double_tensor(numbers, own.at(name).tensor.dims());
    }
    const Outputs made = executor_->run(own);
    Values out;
    for (std::size_t i = 0; i < made.size(); ++i) out[names_[i]] = made[i];
    for (const auto& [name, datum] : out) dims_[name] = datum.tensor.dims();
    return out;
  }

 private:
  static Reals scaled(Reals numbers, double step) {
    for (double& one : numbers) one *= step;
    return numbers;
  }

  static void add_output(Graph& graph, const std::string& name, const onnx::TypeProto& type,
                         std::vector<std::pair<Value*, const onnx::TypeProto*>>& outputs) {
    Value* const value = graph.find(name);
    const auto is_it = [&](const auto& one) { return one.first == value; };
    if (std::ranges::none_of(outputs, is_it)) outputs.emplace_back(value, &type);
  }

  /// name = its source + an input
  void move(const std::string& name, const onnx::TypeProto& type) {
    Graph& graph = model_->graph();
    Value& value = *graph.find(name);
    const std::string delta = model_->unique_name(name + ".delta");
    (void)derive::add_graph_input(*model_, delta, type);
    Node* const maker = value.producer();
    const auto place = maker == nullptr ? graph.nodes().begin() : std::next(graph.position_of(*maker));
    const Value& source = graph.detach(value, model_->unique_name(name + ".source"));
    graph.insert_before(place, node_message("Add", {source.name(), delta}, {name}));
    deltas_[name] = delta;
  }

  std::unique_ptr<Model> model_;
  std::optional<Executor> executor_;
  std::vector<std::string> names_;
  std::map<std::string, std::string> deltas_;
  std::map<std::string, Dims> dims_;
};

/// One comparison of two files.
class DerivativeComparison {
 public:
  DerivativeComparison(const std::filesystem::path& a, const std::filesystem::path& d, const DerivativeCheckOptions& options)
      : a_(a), options_(options), original_(Model::load(a, options.load)), derived_(Model::load(d, options.load)) {
    result_.model = a;
    result_.derivative = d;
    result_.bound = kDerivativeBound;
    read_names();
  }

  DerivativeCheckResult run() {
    const InputMaker maker(original_->graph(), options_, nullptr, {false, {}, true});
    // A Hessian is the Jacobian of gradients, which are compared first.
    std::vector<std::string> losses = losses_;
    if (!is_second_) losses = {""};
    DerivativeCheckResult best;
    for (const std::string& loss : losses) {
      loss_ = loss;
      DerivativeCheckResult made = with_loss(maker);
      const bool holds = exit_code(made) == 0;
      if (best.derivatives.empty() || holds) best = std::move(made);
      if (holds) break;
    }
    return best;
  }

 private:
  void read_names() {
    const auto is_of = [](const Graph& graph, const std::string& name) { return graph.find(name) != nullptr; };
    for (const Value* output : original_->graph().outputs()) old_outputs_.insert(output->name());
    for (const Value* output : derived_->graph().outputs()) {
      if (old_outputs_.contains(output->name())) continue;
      const auto derived = read_derived_name(output->name());
      const bool is_known = derived && (derived->x.empty() || is_of(original_->graph(), derived->x)) &&
                            (derived->y.empty() || is_of(original_->graph(), derived->y));
      if (!is_known) fail(ErrorKind::usage, "output " + quote(output->name()) + " is no derivative of a value of the original by its name");
      derivatives_.push_back(*derived);
      is_second_ = is_second_ || derived->is_second();
      if (!derived->x.empty()) xs_.insert(derived->x);
      if (!derived->y.empty()) ys_.insert(derived->y);
    }
    if (derivatives_.empty()) fail(ErrorKind::usage, "it has no derivatives among its outputs");
    for (const Value* input : derived_->graph().inputs()) {
      const std::string& name = input->name();
      for (const auto& [end, set] :
           {std::pair(".tangent", &tangents_), std::pair(".vector", &vectors_), std::pair(".cotangent", &cotangents_)}) {
        if (!name.ends_with(end)) continue;
        const std::string value = name.substr(0, name.size() - std::string_view(end).size());
        if (is_of(original_->graph(), value)) set->insert(value);
      }
    }
    xs_.insert(tangents_.begin(), tangents_.end());
    xs_.insert(vectors_.begin(), vectors_.end());
    ys_.insert(cotangents_.begin(), cotangents_.end());
    for (const DerivedName& one : derivatives_) {
      is_per_sample_ = is_per_sample_ || (one.kind == DerivedName::Kind::gradient && cotangents_.empty());
    }
    const bool is_loss_known = !is_per_sample_ && std::ranges::none_of(derivatives_, [](const DerivedName& one) {
      return one.kind == DerivedName::Kind::product;
    });
    for (const Value* output : original_->graph().outputs()) {
      const auto declared = output->declared();
      if (declared && is_float(declared->type)) losses_.push_back(output->name());
    }
    if (is_second_ && is_loss_known) losses_.assign(ys_.begin(), ys_.end());
    if (is_per_sample_) ys_.insert(losses_.begin(), losses_.end());
  }

  DerivativeCheckResult with_loss(const InputMaker& maker) {
    DerivativeCheckResult result = result_;
    for (const DerivedName& one : derivatives_) result.derivatives.push_back({.name = one.name});
    auto base = Model::load(a_, options_.load);
    derive::enter_calls(*base);
    std::set<std::string> wanted = ys_;
    if (is_second_) {
      DeriveOptions gradient;
      gradient.wrt.assign(xs_.begin(), xs_.end());
      gradient.of = {loss_};
      DeriveResult names;
      derive::add_derivative(*base, Derivative::vjp, gradient, names);
      wanted.clear();
      for (const std::string& x : xs_) wanted.insert(x + ".gradient");
    }
    probe_ = std::make_unique<MovedModel>(std::move(base), xs_, wanted, options_.threads);
    auto derived = Model::load(result_.derivative, options_.load);
    derive::enter_calls(*derived);
    subject_ = std::make_unique<MovedModel>(std::move(derived), std::set<std::string>(), std::set<std::string>(), options_.threads);
    const FreeDims::Assignment assignment = maker.first_accepted([&](const Inputs& inputs) { (void)at_place(inputs); });
    for (int sample = 0; sample < options_.samples; ++sample) judge(maker.make(assignment, sample), sample, result);
    for (CheckedDerivative& one : result.derivatives) one.holds = one.is_told && one.error <= one.bound;
    result.samples = options_.samples;
    return result;
  }

  /// Runs the original once, at the inputs themselves.
  MovedModel::Values at_place(const Inputs& inputs) {
    here_ = wide(inputs);
    if (is_second_) {
      // The loss has a cotangent of ones, of the dims that it has: a run tells them.
      const Dims dims = loss_dims(here_);
      here_[loss_ + ".cotangent"] = double_tensor(Reals(as_size(element_count(dims)), 1), dims);
    }
    return probe_->at(here_);
  }

  [[nodiscard]] Dims loss_dims(const Inputs& inputs) const {
    auto plain = Model::load(a_, options_.load);
    MovedModel probe(std::move(plain), {}, {loss_}, options_.threads);
    return probe.at(inputs).at(loss_).tensor.dims();
  }

  static Inputs wide(const Inputs& inputs) {
    Inputs out;
    for (const auto& [name, datum] : inputs) {
      const bool is_real = datum.kind == Datum::Kind::tensor && is_float(datum.tensor.type());
      out[name] = is_real ? double_tensor(reals_in(datum), datum.tensor.dims()) : datum;
    }
    return out;
  }

  Reals direction(const std::string& name, const Datum& like, int number) const {
    const Reals numbers = reals_in(like);
    const double scale = numbers.empty() ? 0 : length_of(numbers) / std::sqrt(static_cast<double>(numbers.size()));
    const RandomStream random(options_.seed, name, static_cast<uint64_t>(number));
    Reals out(numbers.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = random.normal(i) * (scale > 0 ? scale : 1);
    return out;
  }

  /// (f(p + h u) − f(p − h u)) / 2h
  Reals difference(const Inputs& inputs, const std::string& y, const std::map<std::string, Reals>& moves, double step) {
    const Reals after = reals_in(probe_->at(inputs, moves, step).at(y));
    Reals out = reals_in(probe_->at(inputs, moves, -step).at(y));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = (after[i] - out[i]) / (2 * step);
    return out;
  }

  void judge(const Inputs& inputs, int sample, DerivativeCheckResult& result) {
    const MovedModel::Values at = at_place(inputs);
    moves_.clear();
    const auto datum_of = [&](const std::string& name) { return here_.contains(name) ? here_.at(name) : at.at(name); };
    for (const std::string& x : xs_) moves_[x] = direction(x, datum_of(x), sample);
    Inputs added = wide(inputs);
    for (const auto& [set, end] : {std::pair(&tangents_, ".tangent"), std::pair(&vectors_, ".vector")}) {
      for (const std::string& x : *set) added[x + end] = double_tensor(moves_.at(x), datum_of(x).tensor.dims());
    }
    factors_.clear();
    for (const std::string& y : cotangents_) {
      factors_[y] = direction(y, datum_of(y), sample + 1000);
      added[y + ".cotangent"] = double_tensor(factors_[y], datum_of(y).tensor.dims());
    }
    const MovedModel::Values made = subject_->at(added);
    for (const std::string& output : old_outputs_) {
      const auto found = made.find(output);
      if (found == made.end() || !at.contains(output)) continue;
      Reals one = reals_in(at.at(output)), other = reals_in(found->second);
      for (std::size_t i = 0; i < one.size() && i < other.size(); ++i) {
        if (!std::isfinite(one[i]) && !std::isfinite(other[i])) one[i] = other[i] = 0;
      }
      const bool is_same = share_of(distance_of(one, other), length_of(one)) <= kDerivativeBound;  // not where one alone is NaN
      if (!is_same && std::ranges::find(result.different_outputs, output) == result.different_outputs.end()) {
        result.different_outputs.push_back(output);
      }
    }
    for (std::size_t i = 0; i < derivatives_.size(); ++i) {
      const Judged found = judged(derivatives_[i], made.at(derivatives_[i].name));
      CheckedDerivative& checked = result.derivatives[i];
      if (!found.error) continue;
      checked.is_told = true;
      if (*found.error / found.bound < checked.error / checked.bound) continue;
      checked.error = *found.error;
      checked.bound = found.bound;
    }
  }

  /// An error, and what it may be; nothing where rounding hides it.
  struct Judged {
    std::optional<double> error;
    double bound = kDerivativeBound;
  };

  /// Of gradients per sample by the loss that they fit best.
  Judged judged(const DerivedName& one, const Datum& made) {
    if (!is_per_sample_) return judged(one, made, "");
    Judged best;
    for (const std::string& loss : losses_) {
      const Judged found = judged(one, made, loss);
      if (found.error && (!best.error || *found.error < *best.error)) best = found;
    }
    return best;
  }

  /// By the longest step within which no kink lies: a shorter one gives the same but for rounding, which is measured.
  Judged judged(const DerivedName& one, const Datum& made, const std::string& loss) {
    bool is_open = false;
    std::optional<double> least;
    AllCompared shorter;
    for (const double step : kDifferenceSteps) {
      const AllCompared here = shorter.empty() ? compared(one, made, loss, step) : std::move(shorter);
      const std::optional<double> error = error_of(here);
      if (error && *error <= kDerivativeBound) return {error};
      if (error && !std::isfinite(*error)) return {error};
      is_open = is_open || !error;
      shorter = compared(one, made, loss, step * kShorter);
      if (!error) continue;
      const double floor = floor_of(here, one, made, loss, step);
      if (distance_of(here, shorter) > floor / kShorter) {
        least = std::min(least.value_or(*error), *error);
      } else if (*error > floor && error_of(shorter).value_or(0) <= floor / kShorter) {
        continue;  // a small kink, or rounding of the shorter step, which comes next
      } else if (*error > floor || floor <= kTelling) {
        return {error, std::max(kDerivativeBound, floor)};
      } else {
        is_open = true;
      }
    }
    return is_open ? Judged() : Judged{least};
  }

  /// What rounding does to differences of a step.
  double floor_of(const AllCompared& at, const DerivedName& one, const Datum& made, const std::string& loss, double step) {
    double out = 0;
    for (const double near : kNearSteps) out = std::max(out, kFloors * distance_of(at, compared(one, made, loss, step * near)));
    return out;
  }

  AllCompared compared(const DerivedName& one, const Datum& made, const std::string& loss, double step) {
    using enum DerivedName::Kind;
    switch (one.kind) {
      case tangent:
        return {compared_products(reals_in(made), difference(here_, one.y, moves_of(tangents_), step))};
      case product:
        return {compared_products(reals_in(made), difference(here_, one.x + ".gradient", moves_of(vectors_), step))};
      case jacobian:
        return {compared_matrix(made, difference(here_, one.y, {{one.x, moves_.at(one.x)}}, step), one.x)};
      case hessian:
        return {compared_matrix(made, difference(here_, one.x + ".gradient", {{one.x, moves_.at(one.x)}}, step), one.x)};
      case gradient:
        break;
    }
    return is_per_sample_ ? compared_per_sample(one, made, loss, step) : compared_gradient(one, reals_in(made), step);
  }

  [[nodiscard]] std::map<std::string, Reals> moves_of(const std::set<std::string>& names) const {
    std::map<std::string, Reals> out;
    for (const std::string& name : names) out[name] = moves_.at(name);
    return out;
  }

  static Compared compared_products(Reals made, Reals expected) {
    const double size = std::max(length_of(made), length_of(expected));
    return {std::move(made), std::move(expected), size};
  }

  /// Dims that do not fit.
  static Compared misfit() { return {{std::numeric_limits<double>::infinity()}, {0}}; }

  /// A product of a gradient and a direction, against the size that it has for a random one.
  static Compared compared_slope(const Reals& gradient, const Reals& u, double expected) {
    const double spread = length_of(gradient) * length_of(u) / std::sqrt(static_cast<double>(std::max<std::size_t>(u.size(), 1)));
    return {{product_of_two(gradient, u)}, {expected}, std::max(spread, std::fabs(expected))};
  }

  /// A matrix with all dims of both values, or with the batch in front of both, times a direction.
  Compared compared_matrix(const Datum& made, const Reals& expected, const std::string& x) {
    const Reals matrix = reals_in(made);
    const Reals& u = moves_.at(x);
    const bool is_whole = matrix.size() == expected.size() * u.size();
    const std::size_t samples = is_whole ? 1 : as_size(made.tensor.dims().empty() ? 1 : made.tensor.dims().front());
    if (samples == 0 || matrix.size() * samples != expected.size() * u.size()) return misfit();
    const std::size_t rows = expected.size() / samples, columns = u.size() / samples;
    Reals product(expected.size(), 0);
    for (std::size_t i = 0; i < product.size(); ++i) {
      for (std::size_t k = 0; k < columns; ++k) product[i] += matrix[i * columns + k] * u[i / rows * columns + k];
    }
    return compared_products(std::move(product), expected);
  }

  AllCompared compared_gradient(const DerivedName& one, const Reals& made, double step) {
    AllCompared out;
    for (int k = 0; k < kRandomDirections; ++k) {
      const Reals u = direction(one.x, double_tensor(moves_.at(one.x), {std::ssize(moves_.at(one.x))}), 100 + k);
      if (u.size() != made.size()) return {misfit()};
      double expected = 0;
      for (const std::string& y : cotangents_) expected += product_of_two(factors_.at(y), difference(here_, y, {{one.x, u}}, step));
      out.push_back(compared_slope(made, u, expected));
    }
    return out;
  }

  /// The gradient of each sample against differences of its loss, where it is alone.
  AllCompared compared_per_sample(const DerivedName& one, const Datum& made, const std::string& loss, double step) {
    const Reals all = reals_in(made);
    const Reals& u = moves_.at(one.x);
    const auto samples = made.tensor.dims().empty() ? int64_t{0} : made.tensor.dims().front();
    if (samples == 0 || std::ssize(all) != samples * std::ssize(u)) return {misfit()};
    AllCompared out;
    for (int64_t n = 0; n < samples; ++n) {
      const Reals gradient(all.begin() + n * std::ssize(u), all.begin() + (n + 1) * std::ssize(u));
      const Reals differences = difference(alone(here_, n, samples), loss, {{one.x, u}}, step);
      out.push_back(compared_slope(gradient, u, std::accumulate(differences.begin(), differences.end(), 0.0)));
    }
    return out;
  }

  static Inputs alone(const Inputs& inputs, int64_t n, int64_t samples) {
    Inputs out;
    for (const auto& [name, datum] : inputs) {
      const Tensor all = contiguous(datum.tensor);
      out[name] = datum;
      if (all.dims().empty() || all.dims().front() != samples) continue;
      Dims dims = all.dims();
      dims.front() = 1;
      out[name] = Datum(all.view(dims, all.strides(), n * all.strides().front()));
    }
    return out;
  }

  std::filesystem::path a_;
  DerivativeCheckOptions options_;
  std::unique_ptr<Model> original_, derived_;
  std::unique_ptr<MovedModel> probe_, subject_;
  DerivativeCheckResult result_;
  std::vector<DerivedName> derivatives_;
  std::set<std::string> old_outputs_, xs_, ys_, tangents_, vectors_, cotangents_;
  std::vector<std::string> losses_;  ///< outputs of which second derivatives, or gradients per sample, may be
  std::string loss_;
  bool is_second_ = false, is_per_sample_ = false;
  Inputs here_;                           ///< of the original
  std::map<std::string, Reals> moves_;    ///< directions, by x
  std::map<std::string, Reals> factors_;  ///< cotangents, by y
};

}  // namespace

DerivativeCheckResult check_derivatives(const std::filesystem::path& model, const std::filesystem::path& derivative,
                                        const DerivativeCheckOptions& options) {
  return DerivativeComparison(model, derivative, options).run();
}

int exit_code(const DerivativeCheckResult& result) noexcept {
  return result.different_outputs.empty() && std::ranges::all_of(result.derivatives, &CheckedDerivative::holds) ? 0 : 1;
}

}  // namespace relayout
