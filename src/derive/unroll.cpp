// Writes recurrent operators as the nodes of all their steps, which have derivatives.
#include <cctype>

#include "base/positions.h"
#include "derive/row.h"
#include "derive/sizes.h"
#include "derive/writer.h"
#include "model/node.h"
#include "relayout/graph.h"
#include "relayout/types.h"

namespace relayout::derive {
namespace {

constexpr int64_t kMostSteps = 1024;

/// Numbers of the operators' inputs.
constexpr std::size_t kX = 0, kW = 1, kR = 2, kBias = 3, kLengths = 4, kInitialH = 5, kInitialC = 6, kPeepholes = 7;

/// One recurrent node. Weights have a first axis of directions; sums of gates are [N, gates × H].
class Unrolled {
 public:
  Unrolled(const Row& row) : row_(row), w_(row.w) {
    batch_first_ = row.attributes.integer("layout", 0) != 0;
    steps_ = row.size(kX, batch_first_ ? 1 : 0);
    hidden_ = row.size(kR, 2);
    directions_ = row.size(kR, 0);
    if (steps_ < 0) row.refuse("the length of its sequence is free");
    if (steps_ > kMostSteps) row.refuse("a sequence of " + std::to_string(steps_) + " steps");
    if (hidden_ < 0 || directions_ < 0) row.refuse("the dims of its weights are not known");
    for (const char* name : {"clip", "activation_alpha", "activation_beta"}) {
      if (row.attributes.has(name)) row.refuse("attribute " + std::string(name));
    }
    if (row.attributes.integer("input_forget", 0) != 0) row.refuse("attribute input_forget");
    gates_ = row.node.is("LSTM") ? 4 : row.node.is("GRU") ? 3 : 1;
    functions_ = functions();
    masks_ = masks();
  }

  /// Y, Y_h and Y_c.
  Names write() {
    std::vector<Names> of_directions;
    for (int64_t direction = 0; direction < directions_; ++direction) of_directions.push_back(write(direction));
    Names out;
    const std::size_t count = row_.node.is("LSTM") ? 3 : 2;
    for (std::size_t i = 0; i < count; ++i) {
      // [T, N, H] and [N, H], with the axis of directions as the second and the first.
      const int64_t axis = i == 0 ? 1 : 0;
      Names parts;
      for (const Names& one : of_directions) parts.push_back(w_.unsqueeze(one[i], {axis}));
      const Name joined = parts.size() == 1 ? parts.front() : w_.make("Concat", parts, {{"axis", axis}});
      out.push_back(!batch_first_ ? joined
                                  : w_.transpose(joined, i == 0 ? std::vector<int64_t>{2, 0, 1, 3} : std::vector<int64_t>{1, 0, 2}));
    }
    return out;
  }

 private:
  /// What a direction carries from step to step.
  struct State {
    Name h, c;
  };
  /// The weights of one direction.
  struct Weights {
    Name recurrent, recurrent_bias, peepholes;
    Names activations;
  };

  /// f, g and h of each direction.
  Names functions() const {
    const Names defaults = row_.node.is("LSTM")  ? Names{"Sigmoid", "Tanh", "Tanh"}
                           : row_.node.is("GRU") ? Names{"Sigmoid", "Tanh"}
                                                 : Names{"Tanh"};
    Names out = row_.attributes.texts("activations");
    for (int64_t i = 0; row_.attributes.texts("activations").empty() && i < directions_; ++i) {
      out.insert(out.end(), defaults.begin(), defaults.end());
    }
    // Of a net of one direction the first ones count.
    const std::size_t wanted = defaults.size() * as_size(directions_);
    if (out.size() < wanted || (out.size() > wanted && directions_ > 1)) row_.refuse("the number of its activations");
    for (Name& name : out) {
      for (char& letter : name) letter = static_cast<char>(std::tolower(letter));
      name.front() = static_cast<char>(std::toupper(name.front()));
      static constexpr std::array<std::string_view, 5> kPlain = {"Relu", "Sigmoid", "Softplus", "Softsign", "Tanh"};
      if (std::ranges::find(kPlain, name) == kPlain.end()) row_.refuse("activation " + name);
    }
    return out;
  }

  /// Of each step: which samples have it; empty where all have all.
  Names masks() const {
    Names out;
    if (row_.node.input(kLengths) == nullptr) return out;
    const auto known = row_.sizes.integers(*row_.node.input(kLengths));
    if (known && std::ranges::all_of(*known, [&](int64_t length) { return length == steps_; })) return out;
    const Name lengths = w_.unsqueeze(w_.cast(row_.x(kLengths), DataType::int64), {1});
    for (int64_t t = 0; t < steps_; ++t) out.push_back(w_.make("Less", {w_.integer(t), lengths}));
    return out;
  }

  Name of_direction(std::size_t input, int64_t direction) const {
    return row_.node.input(input) == nullptr ? Name() : w_.make("Gather", {row_.x(input), w_.integer(direction)});
  }

  Names split(const Name& value, int64_t parts, int64_t each, int64_t axis) const {
    if (parts == 1) return {value};
    return w_.make("Split", {value, w_.integers(std::vector<int64_t>(as_size(parts), each))}, as_size(parts), {{"axis", axis}});
  }

  Name product(const Name& a, const Name& weight) const { return w_.make("MatMul", {a, w_.transpose(weight, {1, 0})}); }
  Name multiply(const Name& a, const Name& b) const { return w_.make("Mul", {a, b}); }
  Name activation(std::size_t function, const Weights& of, const Name& value) const {
    return w_.make(of.activations.at(function), {value});
  }
  Name reversed(const Name& value) const {
    const Name lengths = w_.cast(row_.x(kLengths), DataType::int64);
    return w_.make("ReverseSequence", {value, lengths}, {{"batch_axis", int64_t{1}}, {"time_axis", int64_t{0}}});
  }

  State initial(int64_t direction) const {
    const auto state = [&](std::size_t input) {
      if (row_.node.input(input) == nullptr) {
        return w_.make("Expand", {row_.number(0), w_.shape({row_.dim(kX, batch_first_ ? 0 : 1), Dim(hidden_)})});
      }
      const Name all = batch_first_ ? w_.transpose(row_.x(input), {1, 0, 2}) : row_.x(input);
      return w_.make("Gather", {all, w_.integer(direction)});
    };
    return {state(kInitialH), row_.node.is("LSTM") ? state(kInitialC) : Name()};
  }

  Names write(int64_t direction) {
    const bool is_reverse = direction == 1 || row_.attributes.text("direction", "forward") == "reverse";
    const bool is_linear = row_.attributes.integer("linear_before_reset", 0) != 0;
    Weights of{of_direction(kR, direction), "", of_direction(kPeepholes, direction), {}};
    const std::size_t each = functions_.size() / as_size(directions_);
    of.activations.assign(functions_.begin() + static_cast<std::ptrdiff_t>(each) * direction,
                          functions_.begin() + static_cast<std::ptrdiff_t>(each) * (direction + 1));
    Name x = batch_first_ ? w_.transpose(row_.x(kX), {1, 0, 2}) : row_.x(kX);
    if (is_reverse && !masks_.empty()) x = reversed(x);
    // The products with all inputs at once, with both biases where their sum counts.
    Name sums = product(x, of_direction(kW, direction));
    if (const Name bias = of_direction(kBias, direction); !bias.empty()) {
      const Names biases = split(bias, 2, gates_ * hidden_, 0);
      of.recurrent_bias = row_.node.is("GRU") && is_linear ? biases[1] : Name();
      sums = w_.add(sums, of.recurrent_bias.empty() ? w_.add(biases[0], biases[1]) : biases[0]);
    }
    const Names by_step = split(sums, steps_, 1, 0);
    State state = initial(direction);
    Names outputs(as_size(steps_));
    for (int64_t i = 0; i < steps_; ++i) {
      const std::size_t t = as_size(is_reverse && masks_.empty() ? steps_ - 1 - i : i);
      const Name sum = w_.make("Squeeze", {by_step[t], w_.integers({0})});
      State next = row_.node.is("LSTM") ? lstm(sum, state, of) : row_.node.is("GRU") ? gru(sum, state, of, is_linear) : rnn(sum, state, of);
      outputs[t] = next.h;
      if (!masks_.empty()) {
        outputs[t] = w_.make("Where", {masks_[t], next.h, row_.number(0)});
        next.h = w_.make("Where", {masks_[t], next.h, state.h});
        if (!next.c.empty()) next.c = w_.make("Where", {masks_[t], next.c, state.c});
      }
      state = next;
    }
    for (Name& output : outputs) output = w_.unsqueeze(output, {0});
    Name all = outputs.size() == 1 ? outputs.front() : w_.make("Concat", outputs, {{"axis", int64_t{0}}});
    if (is_reverse && !masks_.empty()) all = reversed(all);
    return {all, state.h, state.c};
  }

  State lstm(const Name& sum, const State& before, const Weights& of) const {
    const Names gate = split(w_.add(sum, product(before.h, of.recurrent)), 4, hidden_, 1);
    const Names peephole = of.peepholes.empty() ? Names(3) : split(of.peepholes, 3, hidden_, 0);
    const auto with = [&](const Name& value, const Name& weight, const Name& c) {
      return weight.empty() ? value : w_.add(value, multiply(weight, c));
    };
    const Name in = activation(0, of, with(gate[0], peephole[0], before.c)),
               forget = activation(0, of, with(gate[2], peephole[2], before.c));
    const Name c = w_.add(multiply(forget, before.c), multiply(in, activation(1, of, gate[3])));
    const Name out = activation(0, of, with(gate[1], peephole[1], c));
    return {multiply(out, activation(2, of, c)), c};
  }

  State gru(const Name& sum, const State& before, const Weights& of, bool is_linear) const {
    const Names gate = split(sum, 3, hidden_, 1);
    Name update, reset, candidate;
    if (is_linear) {
      const Names own = split(w_.add(product(before.h, of.recurrent), of.recurrent_bias), 3, hidden_, 1);
      update = activation(0, of, w_.add(gate[0], own[0]));
      reset = activation(0, of, w_.add(gate[1], own[1]));
      candidate = multiply(reset, own[2]);
    } else {
      const Names weights = split(of.recurrent, 3, hidden_, 0);
      update = activation(0, of, w_.add(gate[0], product(before.h, weights[0])));
      reset = activation(0, of, w_.add(gate[1], product(before.h, weights[1])));
      candidate = product(multiply(reset, before.h), weights[2]);
    }
    const Name made = activation(1, of, w_.add(gate[2], candidate));
    return {w_.add(multiply(w_.subtract(row_.number(1), update), made), multiply(update, before.h)), ""};
  }

  State rnn(const Name& sum, const State& before, const Weights& of) const {
    return {activation(0, of, w_.add(sum, product(before.h, of.recurrent))), ""};
  }

  const Row& row_;
  Writer& w_;
  bool batch_first_ = false;
  int64_t steps_ = 0, hidden_ = 0, directions_ = 0, gates_ = 0;
  Names functions_, masks_;
};

}  // namespace

Names unrolled(const Row& row) {
  return Unrolled(row).write();
}

}  // namespace relayout::derive
