// Writes whole Jacobians and Hessians: products with vectors, batched over the vectors of a basis.
#include <numeric>

#include "derive/batcher.h"
#include "derive/samples.h"
#include "derive/sizes.h"
#include "derive/transform.h"
#include "derive/writer.h"
#include "relayout/error.h"
#include "relayout/graph.h"

namespace relayout::derive {
namespace {

/// The axes of a tensor with the first one at another place.
std::vector<int64_t> first_moved_to(std::size_t place, std::size_t rank) {
  std::vector<int64_t> out(rank);
  std::iota(out.begin(), out.end(), 0);
  std::rotate(out.begin(), out.begin() + 1, out.begin() + static_cast<std::ptrdiff_t>(place) + 1);
  return out;
}

}  // namespace

/// Whether sample n of y, along its first axis, depends on sample n of x alone.
bool Transform::keeps_samples(const Value& x, const Value& y) {
  const std::size_t rank_x = sizes_->rank(x).value_or(0), rank_y = sizes_->rank(y).value_or(0);
  if (rank_x == 0 || rank_y == 0 || x.initializer() != nullptr || !sizes_->is_same(x, 0, y, 0)) return false;
  // A single axis of known size is that of one vector.
  if (sizes_->dim(x, 0) >= 0 && (rank_x == 1 || rank_y == 1)) return false;
  const Samples::State state = Samples(graph_, *sizes_, {&x}).of(y);
  return state == Samples::State::none || state == Samples::State::apart;
}

int64_t Transform::count_of(const Shape& shape) {
  int64_t out = 1;
  for (const auto& [value, axis] : shape) {
    const int64_t size = sizes_->dim(*value, axis);
    if (size < 0) return -1;
    out *= size;
  }
  return out;
}

Name Transform::by_each(const Value& source, const Value& result, const Value& like, bool is_per_sample) {
  const Shape shape = shape_of(like, is_per_sample ? 1 : 0);
  const int64_t count = count_of(shape);
  Writer w(graph_);
  w.name_after(like.name() + ".basis");
  // The unit matrix: a row for each element.
  const Name side = count >= 0 ? w.integers({count}) : w.make("ReduceProd", {w.shape(dims_of(shape))}, {{"keepdims", int64_t{1}}});
  const Name square = w.make("ConstantOfShape", {w.make("Concat", {side, side}, {{"axis", int64_t{0}}})});
  const Name unit = w.make("EyeLike", {square}, {{"dtype", static_cast<int64_t>(sizes_->type(like))}});
  const Dim each = count >= 0 ? Dim(count) : Dim(-1, unit, 0);
  std::vector<Dim> form{each}, whole{each};
  if (is_per_sample) form.emplace_back(1);
  for (const Dim& dim : dims_of(shape)) form.push_back(dim);
  for (const Dim& dim : dims_of(shape_of(like))) whole.push_back(dim);
  const Name basis = w.reshape(unit, form);
  Sizes sizes(graph_, {{&source, &like}}, sizes_.get());
  Batcher batch(graph_, sizes, each);
  batch.seed(source, Form::stacked, is_per_sample ? w.make("Expand", {basis, w.shape(whole)}) : basis);
  batch.run({&result});
  const Name out = batch.stacked(result);
  erase_input(source);
  return out;
}

void Transform::jacobian() {
  const Values of = of_, wrt = wrt_;
  for (const Value* y : of) {
    for (const Value* x : wrt) {
      look_again();
      of_ = {y};
      wrt_ = {x};
      jacobian(*y, *x);
    }
  }
}

void Transform::jacobian(const Value& y, const Value& x) {
  const bool is_per_sample = keeps_samples(x, y);
  const std::size_t begin = is_per_sample ? 1 : 0;
  const Shape shape_y = shape_of(y), shape_x = shape_of(x, begin);
  Shape whole = shape_y;
  whole.insert(whole.end(), shape_x.begin(), shape_x.end());
  const int64_t count_x = count_of(shape_x), count_y = count_of(shape_of(y, begin));
  const bool is_forward = count_y < 0 || (count_x >= 0 && count_x <= count_y);
  Name made;
  if (is_forward) {
    const Values tangents = forward({&x}, ".tangent", false);
    const Name tangent = linear_->tangent(y);
    if (tangent.empty()) {
      erase_input(*tangents.front());
    } else {
      made = by_each(*tangents.front(), *graph_.find(tangent), x, is_per_sample);
    }
  } else {
    const Value& cotangent = add_input(y, ".cotangent", false);
    const Name gradient = backward({cotangent.name()}).front().second;
    if (gradient.empty()) {
      erase_input(cotangent);
    } else {
      made = by_each(cotangent, *graph_.find(gradient), y, is_per_sample);
    }
  }
  if (!made.empty()) {
    Writer w(graph_);
    w.name_after(y.name() + ".jacobian." + x.name());
    const std::size_t place = is_forward ? shape_y.size() : begin;
    if (place > 0) made = w.transpose(made, first_moved_to(place, 1 + (is_forward ? shape_y.size() : begin + shape_x.size())));
    made = w.reshape(made, dims_of(whole));
  }
  give(sizes_->type(y), whole, made, y.name() + ".jacobian." + x.name());
}

void Transform::hessian() {
  if (of_.size() != 1) fail(ErrorKind::usage, "a Hessian is of one output: --of names it");
  const Value& y = *of_.front();
  const Values wrt = wrt_;
  for (const Value* x : wrt) {
    look_again();
    of_ = {&y};
    wrt_ = {x};
    hessian(y, *x);
  }
}

void Transform::hessian(const Value& y, const Value& x) {
  const bool is_per_sample = keeps_samples(x, y);
  const Name gradient = gradients_of_sum(y).front().second;
  Shape whole = shape_of(x);
  const Shape second = shape_of(x, is_per_sample ? 1 : 0);
  const std::size_t rank = whole.size();
  whole.insert(whole.end(), second.begin(), second.end());
  Name made;
  if (!gradient.empty()) {
    look_again();
    const Value& slope = *graph_.find(gradient);
    of_ = {&slope};
    const Values vectors = forward({&x}, ".vector", false);
    const Name tangent = linear_->tangent(slope);
    if (tangent.empty()) {
      erase_input(*vectors.front());
    } else {
      made = by_each(*vectors.front(), *graph_.find(tangent), x, is_per_sample);
      Writer w(graph_);
      w.name_after(y.name() + ".hessian." + x.name());
      if (rank > 0) made = w.transpose(made, first_moved_to(rank, rank + 1));
      made = w.reshape(made, dims_of(whole));
    }
  }
  give(sizes_->type(x), whole, made, y.name() + ".hessian." + x.name());
}

}  // namespace relayout::derive
