
#include "relayout/proof.h"
#include "support/proof_example.h"

namespace relayout::test {
namespace {

using Kind = Unexplained::Kind;

Example graph(const std::string& nodes) {
  return Example("g (float[3] x) => (float[3] y) { " + nodes + " }");
}

TEST(ProofOfLeftovers, DeadCodeMayBeRemoved) {
  const Example before = graph("a = Relu (x) b = Neg (a) c = Exp (b) y = Abs (x)");
  const ProofResult result = prove(before, graph("y = Abs (x)"));
  EXPECT_TRUE(is_proved(result));
  EXPECT_EQ(result.nodes_dead, 3);
  const ProofResult same = prove(before, before);
  EXPECT_TRUE(is_proved(same));
  EXPECT_EQ(same.nodes_equal, 4);
  EXPECT_EQ(same.nodes_dead, 0);
}

TEST(ProofOfLeftovers, DeadNodesOfUnknownOperatorsMayNotBeRemoved) {
  EXPECT_TRUE(is_proved(prove(graph("a = com.microsoft.FastGelu (x) y = Abs (x)"), graph("y = Abs (x)"))));
  EXPECT_TRUE(names(prove(graph("a = own.Log (x) y = Abs (x)"), graph("y = Abs (x)")), Kind::node_removed, "output 'a' (Log) is gone"));
}

TEST(ProofOfLeftovers, DeadCodeIsComparedToo) {
  const Example before = graph("a = LeakyRelu <alpha: float = 0.5> (x) y = Abs (x)");
  EXPECT_TRUE(names(prove(before, graph("a = LeakyRelu <alpha: float = 0.25> (x) y = Abs (x)")), Kind::attribute, "'alpha'"));
  EXPECT_TRUE(names(prove(graph("y = Abs (x)"), before), Kind::node_added, "output 'a' (LeakyRelu) was not there"));
}

TEST(ProofOfLeftovers, NodesUpstreamOfAnUnexplainedNodeAreNotListedButKnown) {
  const ProofResult result = prove(graph("y = Abs (x)"), graph("c = Exp (x) d = Sin (c) y = Add (x, d)"));
  EXPECT_TRUE(names(result, Kind::node_changed, "output 'y' (Add) stands where output 'y' (Abs) was"));
  EXPECT_EQ(result.unreached, (std::vector<std::string>{"c", "d"}));
  EXPECT_TRUE(prove(graph("a = Exp (x) y = Abs (a)"), graph("b = Exp (x) y = Abs (b)")).unreached.empty());
}

Example with_if(const std::string& condition, const std::string& then_nodes, const std::string& else_nodes) {
  return Example("g (float[3] x, bool c) => (float[3] y) { r = Relu (x) " + condition +
                 " s = If (d) <then_branch = t () => (float[3] u) { " + then_nodes + " }, else_branch = e () => (float[3] v) { " +
                 else_nodes + " }> y = Abs (s) }");
}

TEST(ProofOfBranches, AnIfOfOneModelAloneIsWhatAllItsBranchesAre) {
  const Example without("g (float[3] x, bool c) => (float[3] y) { r = Relu (x) y = Abs (r) }");
  const std::string same = "u = Identity (r)", too = "w = Identity (r) v = Identity (w)", other = "v = Neg (r)";
  const std::string always = "k = Constant <value = bool {1}> () d = Identity (k)";
  for (const Example& with : {with_if("d = Not (c)", same, too), with_if(always, same, other)}) {
    EXPECT_TRUE(is_proved(prove(without, with)));
    EXPECT_TRUE(is_proved(prove(with, without)));
  }
  for (const Example& with : {with_if("d = Not (c)", same, other), with_if(always, "u = Neg (r)", too)}) {
    EXPECT_FALSE(is_proved(prove(without, with)));
    EXPECT_FALSE(is_proved(prove(with, without)));
  }
}

TEST(ProofOfChoices, TheSidesOfAWhereMayBeExchangedWithANot) {
  const auto choice = [](const std::string& nodes) {
    return Example("g (float[3] x, bool[3] c) => (float[3] y) { p = Relu (x) q = Neg (x) " + nodes + " }");
  };
  const Example straight = choice("y = Where (c, p, q)"), turned = choice("n = Not (c) y = Where (n, q, p)");
  EXPECT_TRUE(is_proved(prove(straight, turned)));
  EXPECT_TRUE(is_proved(prove(turned, straight)));
  EXPECT_FALSE(is_proved(prove(straight, choice("n = Not (c) y = Where (n, p, q)"))));
  EXPECT_FALSE(is_proved(prove(straight, choice("y = Where (c, q, p)"))));
  EXPECT_FALSE(is_proved(prove(straight, choice("n = Not (c) y = Where (n, q, x)"))));
}

TEST(ProofOfChoices, TheLikeliestMayBeThatOfLogarithms) {
  const auto placed = [](const std::string& nodes) { return Example("g (float[N,6,4] x) => (y) { " + nodes + " }"); };
  const Example with = placed("s = Softmax <axis = 1> (x) y = ArgMax <axis = 1> (s)");
  const Example other = placed("s = LogSoftmax <axis = 1> (x) y = ArgMax <axis = 1> (s)");
  EXPECT_TRUE(is_proved(prove(with, other)));
  EXPECT_TRUE(is_proved(prove(other, with)));
  // The largest of another axis; numbers that are not probabilities of one sum; what vanishes in one alone; another choice of equals.
  for (const char* const nodes : {"s = LogSoftmax <axis = 2> (x) y = ArgMax <axis = 1> (s)", "s = Sigmoid (x) y = ArgMax <axis = 1> (s)",
                                  "s = LogSoftmax <axis = 1> (x) y = ArgMin <axis = 1> (s)",
                                  "s = LogSoftmax <axis = 1> (x) y = ArgMax <axis = 1, select_last_index = 1> (s)"}) {
    EXPECT_FALSE(is_proved(prove(with, placed(nodes)))) << nodes;
  }
  const std::string least = " y = ArgMin <axis = 1> (s)";
  EXPECT_FALSE(is_proved(prove(placed("s = Softmax <axis = 1> (x)" + least), placed("s = LogSoftmax <axis = 1> (x)" + least))));
}

TEST(ProofOfChoices, TheGraphsOfAnIfMayBeExchangedWithANot) {
  const auto choice = [](const std::string& condition, const std::string& first, const std::string& second,
                         const std::string& around = "") {
    const std::string nodes = "n = Not (c) r, s = If (" + condition + ") <then_branch = t () => (t0, t1) { t0 = " + first +
                              " (x) t1 = Abs (x) }, else_branch = e () => (e0, e1) { e0 = " + second +
                              " (x) e1 = Exp (x) }> y = Sub (r, s)";
    const std::string swapped = "n = Not (c) r, s = If (" + condition + ") <then_branch = t () => (e0, e1) { e0 = " + first +
                                " (x) e1 = Exp (x) }, else_branch = e () => (t0, t1) { t0 = " + second +
                                " (x) t1 = Abs (x) }> y = Sub (r, s)";
    const std::string body = condition == "c" ? nodes : swapped;
    if (around.empty()) return Example("g (float[3] x, bool c) => (float[3] y) { " + body + " }");
    return Example("g (float[3] x, bool c, bool d) => (float[3] z) { z = If (d) <then_branch = a () => (y) { " + body +
                   " }, else_branch = b () => (o) { o = Tanh (x) }> }");
  };
  for (const std::string around : {"", "in a graph"}) {
    const Example straight = choice("c", "Relu", "Neg", around), turned = choice("n", "Neg", "Relu", around);
    EXPECT_TRUE(is_proved(prove(straight, turned))) << around;
    EXPECT_TRUE(is_proved(prove(turned, straight))) << around;
    EXPECT_FALSE(is_proved(prove(straight, choice("n", "Relu", "Neg", around)))) << around;
    EXPECT_FALSE(is_proved(prove(straight, choice("c", "Neg", "Relu", around)))) << around;
    EXPECT_FALSE(is_proved(prove(straight, choice("n", "Neg", "Sin", around)))) << around;
  }
}

TEST(ProofOfLeftovers, UnusedInitializers) {
  const Array c = normal("c", {3});
  EXPECT_TRUE(is_proved(prove(graph("y = Abs (x)").add("c", c), graph("y = Abs (x)"))));
  EXPECT_TRUE(is_proved(prove(graph("y = Abs (x)").add("c", c), graph("y = Abs (x)").add("c", c))));
  EXPECT_TRUE(names(prove(graph("y = Abs (x)").add("c", c), graph("y = Abs (x)").add("c", normal("d", {3}))), Kind::tensor, "'c' differs"));
  EXPECT_TRUE(names(prove(graph("y = Abs (x)"), graph("y = Abs (x)").add("c", c)), Kind::tensor, "nothing reads it"));
}

}  // namespace
}  // namespace relayout::test
