// Writes whole Jacobians and Hessians: products with vectors, batched over the vectors of a basis.
#include <numeric>

#include "derive/batcher.h"
#include "derive/samples.h"
#include "derive/sizes.h"
#include "derive/transform.h"
#include "derive/writer.h"
#include "relayout/error.h"
#include "relayout/graph.h"
#include "relayout/types.h"

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

Name Transform::by_each(const Value& source, const Name& result, const Value& like, bool is_per_sample) {
  if (result.empty()) {
    erase_input(source);
    return {};
  }
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
  const Value& made = *graph_.find(result);
  batch.run({&made});
  const Name out = batch.stacked(made);
  erase_input(source);
  return out;
}

void Transform::for_each_pair(void (Transform::*write)(const Value& y, const Value& x)) {
  const Values of = of_, wrt = wrt_;
  for (const Value* y : of) {
    for (const Value* x : wrt) {
      look_again();
      of_ = {y};
      wrt_ = {x};
      (this->*write)(*y, *x);
    }
  }
}

void Transform::give_whole(DataType type, const Shape& shape, Name made, std::size_t place, std::size_t rank, const std::string& name) {
  if (!made.empty()) {
    Writer w(graph_);
    w.name_after(name);
    if (place > 0) made = w.transpose(made, first_moved_to(place, rank));
    made = w.reshape(made, dims_of(shape));
  }
  give(type, shape, made, name);
}

void Transform::jacobian() {
  for_each_pair(&Transform::jacobian);
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
    const Value& tangent = *forward({&x}, ".tangent", false).front();
    made = by_each(tangent, linear_->tangent(y), x, is_per_sample);
  } else {
    const Value& cotangent = add_input(y, ".cotangent", false);
    made = by_each(cotangent, backward({cotangent.name()}).front().second, y, is_per_sample);
  }
  const std::size_t rank = is_forward ? shape_y.size() : begin + shape_x.size();
  give_whole(sizes_->type(y), whole, made, is_forward ? rank : begin, 1 + rank, y.name() + ".jacobian." + x.name());
}

void Transform::hessian() {
  if (of_.size() != 1) fail(ErrorKind::usage, "a Hessian is of one output: --of names it");
  for_each_pair(&Transform::hessian);
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
    const Value& vector = *forward({&x}, ".vector", false).front();
    made = by_each(vector, linear_->tangent(slope), x, is_per_sample);
  }
  give_whole(sizes_->type(x), whole, made, rank, rank + 1, y.name() + ".hessian." + x.name());
}

}  // namespace relayout::derive
