// The order in which `diff` lists changes: that of the second model, where nodes of the first model alone follow their predecessor.
#include "diff/change_list.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/positions.h"
#include "model/node.h"
#include "proof/account.h"
#include "proof/side.h"
#include "proof/sides.h"
#include "relayout/graph.h"
#include "relayout/model_diff.h"

namespace relayout {

ChangeList::ChangeList(const proof::Sides& sides, const proof::Account& account) : sides_(&sides) {
  double last = -1;
  for (const Node* node : sides.a.nodes()) {
    const Node* const owner = account.of_first(*node).successor();
    if (owner != nullptr) last = static_cast<double>(sides.b.order_of(*owner));
    order_of_a_.push_back(last + 0.5);
  }
}

ModelChange& ChangeList::add(ChangeKind kind, ChangeSubject subject, std::string reason, double order) {
  places_.push_back({order, 0, changes_.size()});
  ModelChange& change = changes_.emplace_back();
  change.kind = kind;
  change.subject = subject;
  change.reason = std::move(reason);
  return change;
}

ModelChange& ChangeList::add_node(ChangeKind kind, std::string reason, const Node* a, const Node* b) {
  const double order = b != nullptr ? static_cast<double>(sides_->b.order_of(*b)) : order_of_a_[as_size(sides_->a.order_of(*a))];
  ModelChange& change = add(kind, ChangeSubject::node, std::move(reason), order);
  if (b == nullptr) places_.back().order_a = sides_->a.order_of(*a);
  if (a != nullptr) change.a = reported_name(*a);
  if (b != nullptr) change.b = reported_name(*b);
  change.op_type = (b != nullptr ? b : a)->op_type();
  change.text = (b != nullptr ? b : a)->label();
  return change;
}

std::vector<ModelChange> ChangeList::take() {
  const auto key = [&](const Place& place) { return std::tie(place.order, place.order_a, changes_[place.number].b, place.number); };
  std::ranges::sort(places_, {}, key);
  std::vector<ModelChange> out;
  out.reserve(places_.size());
  for (const Place& place : places_) out.push_back(std::move(changes_[place.number]));
  return out;
}

}  // namespace relayout
