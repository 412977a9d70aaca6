
#include "relayout/types.h"
#include "support/random_network.h"

namespace relayout::test {

void RandomNetwork::batch_norm(const Entry& x) {
  const Dims channels{x.dims[1]};
  // Parameters may be of another type than the data from 14 on, and of two types from 15 on.
  const bool mixes = type_ == DataType::float16 && dice_.one_in(2);
  const DataType scale_type = mixes && opset_ >= 15 ? DataType::float32 : type_,
                 mean_type = mixes && opset_ >= 14 ? DataType::float32 : type_;
  std::vector<double> variance(static_cast<std::size_t>(channels[0])), shift = normal_values(channels, 0.5);
  for (double& value : variance) value = dice_.uniform(0.3, 2);
  std::vector<double> mean = normal_values(channels, 0.5), scale = normal_values(channels, 1);
  if (dice_.one_in(5)) {
    // Scale only.
    std::ranges::fill(mean, 0);
    std::ranges::fill(shift, 0);
    if (dice_.one_in(2)) {
      for (double& value : scale) value = value < 0 ? -value : value;
    }
  }
  if (dice_.one_in(10)) scale.front() = 0;
  const std::string y = fresh();
  std::vector<std::string> inputs{x.name, constant("scale", channels, scale, scale_type), constant("shift", channels, shift, scale_type),
                                  constant("mean", channels, mean, mean_type), constant("variance", channels, variance, mean_type)};
  auto& norm = node("BatchNormalization", inputs, {y});
  if (dice_.one_in(2)) real(norm, "epsilon", dice_.pick<double>({1e-3, 1e-2, 0.25}));
  if (dice_.one_in(3)) real(norm, "momentum", 0.8);
  const auto integer = [&](const char* name, int64_t value) {
    auto& attribute = *norm.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::INT);
    attribute.set_i(value);
  };
  if (opset_ < 7) integer("is_test", 1);
  if (opset_ < 9 && dice_.one_in(3)) integer("spatial", 1);
  if (opset_ >= 14 && dice_.one_in(4)) integer("training_mode", 0);
  made(y, x.dims);
}

/// Dims of a constant operand of an elementwise operator: along the channels, a scalar, and dims that only look like these.
Dims RandomNetwork::operand_dims(const Dims& x) {
  const std::size_t rank = x.size();
  Dims along(rank, 1);
  const std::size_t axis = rank == 1 || dice_.one_in(4) ? rank - 1 : 1;
  along[axis] = x[axis];
  switch (dice_.from(1, 12)) {
    case 1:
      return {};
    case 2:
      return {1};
    case 3:
      return Dims(rank, 1);
    case 4:
    case 5:
    case 6:
    case 7:
      return along;
    case 8:
      return {along.begin() + static_cast<std::ptrdiff_t>(axis), along.end()};
    case 9:
      // Along the last axis; on images that is not the channel, whatever its size.
      return {x.back()};
    case 10: {
      Dims other(rank, 1);
      const auto d = static_cast<std::size_t>(dice_.from(0, static_cast<int64_t>(rank) - 1));
      other[d] = x[d];
      return other;
    }
    case 11:
      return x;
    default:
      // Grows the value where it is 1, or its rank.
      if (rank < 5 && dice_.one_in(2)) {
        along.insert(along.begin(), 1);
        return along;
      }
      for (std::size_t d = 0; d < rank; ++d) {
        if (x[d] == 1) {
          along[d] = dice_.from(1, 3);
          break;
        }
      }
      return along;
  }
}

void RandomNetwork::elementwise(const Entry& x) {
  static const std::vector<std::string> kOps = {"Mul", "Mul", "Add", "Add", "Sub", "Sub", "Div"};
  const std::string& op = dice_.pick(kOps);
  const Dims dims = operand_dims(x.dims);
  std::vector<double> values = op == "Mul" || op == "Div" ? factors(dims) : normal_values(dims, 0.7);
  if (!values.empty() && dice_.one_in(6)) std::ranges::fill(values, values.front());
  const std::string c = constant(op == "Add" || op == "Sub" ? "term" : "factor", dims, values), y = fresh();
  // A constant divided by the value would have poles.
  const bool is_left = op != "Div" && dice_.one_in(3);
  node(op, is_left ? std::vector<std::string>{c, x.name} : std::vector<std::string>{x.name, c}, {y});
  Dims out = x.dims, other = dims;
  while (other.size() < out.size()) other.insert(other.begin(), 1);
  while (out.size() < other.size()) out.insert(out.begin(), 1);
  for (std::size_t d = 0; d < out.size(); ++d) out[d] = out[d] == 1 ? other[d] : out[d];
  made(y, out);
}

/// Before opset 7 only the right operand broadcasts, from `axis` on.
void RandomNetwork::old_elementwise(const Entry& x) {
  static const std::vector<std::string> kOps = {"Mul", "Add", "Sub", "Div"};
  const std::string& op = dice_.pick(kOps);
  const auto rank = static_cast<int64_t>(x.dims.size());
  const int64_t axis = dice_.one_in(3) ? dice_.from(0, rank - 1) : std::min<int64_t>(1, rank - 1);
  const bool is_suffix = dice_.one_in(4);
  const Dims dims = is_suffix ? Dims{x.dims.back()} : Dims{x.dims[static_cast<std::size_t>(axis)]};
  const auto values = op == "Mul" || op == "Div" ? factors(dims) : normal_values(dims, 0.7);
  const std::string c = constant(op == "Add" || op == "Sub" ? "term" : "factor", dims, values), y = fresh();
  Attributes attributes{{"broadcast!", {1}}};
  if (!is_suffix) attributes.push_back({"axis!", {axis}});
  node(op, {x.name, c}, {y}, attributes);
  made(y, x.dims);
}

void RandomNetwork::negation(const Entry& x) {
  const std::string y = fresh();
  node("Neg", {x.name}, {y});
  made(y, x.dims);
}

/// A BatchNormalization in pieces, as frameworks without that operator write it.
void RandomNetwork::decomposed(const Entry& x) {
  Dims dims(x.dims.size() - 1, 1);
  dims[0] = x.dims[1];
  std::vector<double> variance(static_cast<std::size_t>(dims[0]));
  for (double& value : variance) value = dice_.uniform(0.3, 2);
  const std::string sum = fresh("k"), root = fresh("k"), a = fresh(), b = fresh(), y = fresh();
  node("Add", {constant("variance", dims, variance), constant("epsilon", {}, {1e-3})}, {sum});
  node("Sqrt", {sum}, {root});
  const std::string gamma = constant("factor", dims, factors(dims)), beta = constant("term", dims, normal_values(dims, 0.5)),
                    mean = constant("term", dims, normal_values(dims, 0.5));
  if (dice_.one_in(2)) {
    node("Sub", {x.name, mean}, {a});
    node("Div", {a, root}, {b});
    const std::string scaled = fresh();
    node("Mul", {b, gamma}, {scaled});
    node("Add", {scaled, beta}, {y});
  } else {
    const std::string inverse = fresh("k"), factor = fresh("k"), moved = fresh("k"), shift = fresh("k");
    node("Reciprocal", {root}, {inverse});
    node("Mul", {inverse, gamma}, {factor});
    node("Mul", {mean, factor}, {moved});
    node("Sub", {beta, moved}, {shift});
    node("Mul", {x.name, factor}, {a});
    node("Add", {a, shift}, {y});
  }
  made(y, x.dims);
}

}  // namespace relayout::test
