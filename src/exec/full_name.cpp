// Names of nodes within calls of functions and within Loop, If and Scan, as reports print them: "loop › Exp_1".
#include "exec/full_name.h"

#include <algorithm>
#include <string>
#include <vector>

#include "exec/program.h"
#include "model/node_name.h"

namespace relayout::exec {

std::string full_name(const std::vector<std::string>& callers, const std::string& name) {
  std::string out;
  for (const std::string& caller : callers) out += caller + " › ";
  return out + name;
}

std::vector<std::string> callers_of(const ProgramNode& node) {
  std::vector<std::string> out;
  for (const Caller* caller = node.caller; caller != nullptr; caller = caller->outer) out.push_back(reported_name(*caller->node));
  std::ranges::reverse(out);
  return out;
}

}  // namespace relayout::exec
