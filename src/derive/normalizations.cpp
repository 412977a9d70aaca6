// Linearizes normalizations: by the numbers that they compute themselves, and by statistics that are given.
#include <numeric>

#include "derive/row.h"
#include "derive/writer.h"
#include "relayout/graph.h"

namespace relayout::derive {
namespace {

/// A vector of one number per channel as [C, 1, …], which broadcasts over a tensor [N, C, …].
Name per_channel(const LinearizeRow& row, const Name& vector) {
  std::vector<int64_t> axes;
  for (std::size_t i = 2; i < row.rank(); ++i) axes.push_back(static_cast<int64_t>(i) - 1);
  return vector.empty() ? vector : row.w.unsqueeze(vector, axes);
}

Name times(Writer& w, const Name& a, const Name& b) {
  return a.empty() || b.empty() ? Name() : w.make("Mul", {a, b});
}

/// y = (x − mean) × scale / √(variance + ε) + shift, with given statistics.
void batch_normalization(LinearizeRow& row) {
  Writer& w = row.w;
  if (row.attributes.integer("training_mode", 0) != 0) row.refuse("training mode mixes the samples of a batch");
  for (const std::size_t parameter : {1UL, 3UL, 4UL}) {
    if (row.type(parameter) != row.type()) row.refuse("parameters of another type");
  }
  const double epsilon = row.attributes.real("epsilon", 1e-5F);
  const Name deviation = w.make("Sqrt", {w.make("Add", {row.x(4), row.number(epsilon)})});
  const Name inverse = w.make("Div", {row.number(1), deviation});
  const Name factor = w.make("Mul", {row.x(1), inverse});
  Name out;
  if (!row.t(0).empty()) {
    // Runtimes make it part of a convolution in front.
    const Name zeros = row.zeros_like(row.x(1), row.type());
    out = w.make("BatchNormalization", {row.t(0), row.x(1), zeros, zeros, row.x(4)}, {{"epsilon", static_cast<float>(epsilon)}});
  }
  Name slope = times(w, row.t(1), inverse), level = row.t(2);
  if (!row.t(4).empty()) {
    const Name by_variance = w.make("Mul", {factor, w.make("Mul", {row.number(-0.5), w.make("Mul", {inverse, inverse})})});
    slope = w.add(slope, w.make("Mul", {row.t(4), by_variance}));
  }
  if (!row.t(3).empty()) level = w.subtract(level, w.make("Mul", {row.t(3), factor}));
  if (!slope.empty()) {
    const Name centered = w.make("Sub", {row.x(0), per_channel(row, row.x(3))});
    out = w.add(out, w.make("Mul", {centered, per_channel(row, slope)}));
  }
  const bool is_level_alone = out.empty() && !level.empty();
  out = w.add(out, per_channel(row, level));
  row.give(is_level_alone ? row.expand_to(out, row.y()) : out);
}

/// A tensor as groups that are normalized alone: its form, the axes of one group, and the statistics that a node gives ("": none).
struct Groups {
  Name x, t;
  std::vector<int64_t> axes;
  double epsilon = 0;
  bool is_centered = true;
  Name mean = {}, inverse = {};
};

/// The normalized numbers u of each group and their tangent, both without scale and shift; of the tangent t, its mean and −mean(u · t).
struct Normalized {
  Name unit, tangent, mean = {}, along = {};
};

/// u' = (u · −mean(u · t) + t − mean(t)) / deviation, added in this order so that it is one chain of functions.
Normalized normalized(const LinearizeRow& row, const Groups& of) {
  Writer& w = row.w;
  const auto mean = [&](const Name& value) { return w.reduce("ReduceMean", value, of.axes); };
  Name centered = of.x, inverse = of.inverse;
  if (of.is_centered) centered = w.make("Sub", {of.x, of.mean.empty() ? mean(of.x) : of.mean});
  if (inverse.empty()) {
    const Name variance = mean(w.make("Mul", {centered, centered}));
    inverse = w.make("Div", {row.number(1), w.make("Sqrt", {w.make("Add", {variance, row.number(of.epsilon)})})});
  }
  Normalized out{w.make("Mul", {centered, inverse}), ""};
  if (of.t.empty()) return out;
  out.along = w.negative(mean(w.make("Mul", {out.unit, of.t})));
  Name moved = w.make("Add", {w.make("Mul", {out.unit, out.along}), of.t});
  if (of.is_centered) {
    out.mean = mean(of.t);
    moved = w.make("Add", {moved, w.negative(out.mean)});
  }
  out.tangent = w.make("Mul", {moved, inverse});
  return out;
}

/// The tangent of u × scale + shift, where these broadcast.
Name scaled(const LinearizeRow& row, const Normalized& of, const Name& scale, const Name& t_scale, const Name& t_shift) {
  Writer& w = row.w;
  const Name by_unit = scale.empty() ? of.tangent : times(w, of.tangent, scale);
  Name out = w.add(by_unit, times(w, of.unit, t_scale));
  const bool is_shift_alone = out.empty() && !t_shift.empty();
  out = w.add(out, t_shift);
  return is_shift_alone ? row.expand_to(out, row.y()) : out;
}

std::vector<int64_t> axes_from(std::size_t first, std::size_t rank) {
  std::vector<int64_t> out(rank - first);
  std::iota(out.begin(), out.end(), static_cast<int64_t>(first));
  return out;
}

/// With the statistics that the node gives, where they are of the type of its numbers.
void layer_normalization(LinearizeRow& row) {
  Groups groups{row.x(), row.t(), axes_from(row.axis(-1), row.rank()), double{row.attributes.real("epsilon", 1e-5F)}};
  const bool is_own_type = row.attributes.integer("stash_type", 1) == static_cast<int64_t>(row.type());
  const auto gives = [&](std::size_t i) {
    const Value* const given = row.node.output(i);
    if (given != nullptr && !is_own_type && !given->uses().empty()) row.refuse("its statistics of another type are read");
    return given != nullptr && is_own_type;
  };
  if (gives(1)) groups.mean = row.y(1);
  if (gives(2)) groups.inverse = row.y(2);
  const Normalized of = normalized(row, groups);
  row.give(scaled(row, of, row.x(1), row.t(1), row.t(2)));
  if (!groups.mean.empty()) row.give(of.mean, 1);
  if (!groups.inverse.empty()) row.give(times(row.w, row.w.make("Mul", {groups.inverse, groups.inverse}), of.along), 2);
}

void rms_normalization(LinearizeRow& row) {
  const double epsilon = row.attributes.real("epsilon", 1e-5F);
  const auto unit = normalized(row, {row.x(), row.t(), axes_from(row.axis(-1), row.rank()), epsilon, false});
  row.give(scaled(row, unit, row.x(1), row.t(1), ""));
}

void instance_normalization(LinearizeRow& row) {
  const auto unit = normalized(row, {row.x(), row.t(), axes_from(2, row.rank()), double{row.attributes.real("epsilon", 1e-5F)}});
  row.give(scaled(row, unit, per_channel(row, row.x(1)), per_channel(row, row.t(1)), per_channel(row, row.t(2))));
}

/// Since opset 21 scale and shift are per channel, before per group.
void group_normalization(LinearizeRow& row) {
  if (row.node.opset() < 21) row.refuse("its form before opset 21");
  Writer& w = row.w;
  const int64_t groups = row.attributes.integer("num_groups", 1);
  const std::vector<Dim> form{0, groups, -1};
  const auto split = [&](const Name& value) { return value.empty() ? value : w.reshape(value, form); };
  const auto unit = normalized(row, {split(row.x()), split(row.t()), {2}, double{row.attributes.real("epsilon", 1e-5F)}});
  const auto whole = [&](const Name& value) { return value.empty() ? value : w.make("Reshape", {value, row.shape(row.x())}); };
  row.give(scaled(row, {whole(unit.unit), whole(unit.tangent)}, per_channel(row, row.x(1)), per_channel(row, row.t(1)),
                  per_channel(row, row.t(2))));
}

/// y = (x − mean) / (√variance + 10⁻⁹), as the operator's function has it.
void mean_variance_normalization(LinearizeRow& row) {
  if (row.t().empty()) return;
  Writer& w = row.w;
  std::vector<int64_t> axes = row.attributes.integers("axes");
  if (axes.empty()) axes = {0, 2, 3};
  const auto mean = [&](const Name& value) { return w.reduce("ReduceMean", value, axes); };
  const auto centered = [&](const Name& value) { return w.make("Sub", {value, mean(value)}); };
  const Name x = centered(row.x()), deviation = w.make("Sqrt", {mean(w.make("Mul", {x, x}))});
  const Name inverse = w.make("Div", {row.number(1), w.make("Add", {deviation, row.number(1e-9)})});
  const Name slope = w.make("Div", {w.make("Mul", {row.y(), inverse}), deviation});
  const Name along = w.make("Mul", {slope, mean(w.make("Mul", {x, row.t()}))});
  row.give(w.make("Sub", {w.make("Mul", {centered(row.t()), inverse}), along}));
}

void lp_normalization(LinearizeRow& row) {
  if (row.t().empty()) return;
  if (row.attributes.integer("p", 2) != 2) row.refuse("p other than 2");
  Writer& w = row.w;
  const auto axis = static_cast<int64_t>(row.axis(-1));
  const Name length = w.reduce("ReduceL2", row.x(), {axis});
  const Name along = w.reduce("ReduceSum", w.make("Mul", {row.y(), row.t()}), {axis});
  row.give(w.make("Div", {w.make("Sub", {row.t(), w.make("Mul", {row.y(), along})}), length}));
}

/// y = x / base^β with base = bias + α / size × the sum of the squares of neighbouring channels.
void local_response_normalization(LinearizeRow& row) {
  if (row.t().empty()) return;
  Writer& w = row.w;
  const int64_t size = row.attributes.integer("size", 1);
  const double alpha = row.attributes.real("alpha", 1e-4F), beta = row.attributes.real("beta", 0.75F);
  const double bias = row.attributes.real("bias", 1);
  // Neighbours are added up by a pool over channels, as rows of a picture.
  const auto neighbours = [&](const Name& value) {
    const Name picture = w.reshape(value, {0, 1, row.dim(0, 1), -1});
    const NamedAttributes window{{"kernel_shape", std::vector<int64_t>{size, 1}},
                                 {"pads", std::vector<int64_t>{(size - 1) / 2, 0, size - 1 - (size - 1) / 2, 0}},
                                 {"count_include_pad", int64_t{1}}};
    return w.make("Reshape", {w.make("AveragePool", {picture}, window), row.shape(row.x())});
  };
  const Name squares = w.make("Mul", {row.x(), row.x()});
  const Name base = w.make("Add", {w.make("Mul", {neighbours(squares), row.number(alpha)}), row.number(bias)});
  const Name near = neighbours(w.make("Mul", {row.x(), row.t()}));
  const Name slope = w.make("Mul", {w.make("Div", {row.y(), base}), row.number(2 * alpha * beta)});
  row.give(w.make("Sub", {w.make("Div", {row.t(), w.make("Pow", {base, row.number(beta)})}), w.make("Mul", {near, slope})}));
}

constexpr auto kNormalizations = std::to_array<Linearize>({
    {"BatchNormalization", batch_normalization},
    {"GroupNormalization", group_normalization},
    {"InstanceNormalization", instance_normalization},
    {"LRN", local_response_normalization},
    {"LayerNormalization", layer_normalization},
    {"LpNormalization", lp_normalization},
    {"MeanVarianceNormalization", mean_variance_normalization},
    {"RMSNormalization", rms_normalization},
});

}  // namespace

LinearizeRows normalization_rows() {
  return kNormalizations;
}

}  // namespace relayout::derive
