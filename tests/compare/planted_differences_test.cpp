// A difference that is planted in one operator of a run is found there, and nowhere else: in graphs with branches,
// operators in place, several ranks that exchange data, NaN that a ReLU hides, and Inf - Inf. The graphs are computed
// here, element by element; the library sees rows of statistics alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "stats/answer/compare/differences.hpp"
#include "stats/answer/origin/origin.hpp"
#include "stats/answer/origin/verdict.hpp"

namespace tensorstat {
namespace planted_differences_test {

using Elements = std::vector<double>;

enum class Kind { kAdd, kSub, kMul, kRelu, kHalve, kAddInPlace, kAllReduce };
constexpr const char* kTypes[] = {"Add", "Sub", "Mul", "ReLU", "Slice", "AssignAdd", "AllReduce"};
constexpr int kRanks = 2, kElements = 32;

struct Node {
  Kind kind;
  int left, right;  // earlier values of the same rank; below 0: a weight
};

struct Graph {
  std::vector<Node> nodes;
  std::vector<Elements> weights;  // of each rank, one after another
  int weight_count;
};

Graph any_graph(std::mt19937& random) {
  Graph graph;
  graph.weight_count = 6;
  std::normal_distribution<double> normal;
  for (int i = 0; i < graph.weight_count * kRanks; ++i) {
    Elements weight(kElements);
    for (double& x : weight) x = normal(random);
    graph.weights.push_back(std::move(weight));
  }
  const int count = 24;
  for (int i = 0; i < count; ++i) {
    const auto any = [&] { return std::uniform_int_distribution<int>(-graph.weight_count, i - 1)(random); };
    const Kind kind =
        i % 8 == 7 ? Kind::kAllReduce : static_cast<Kind>(std::uniform_int_distribution<int>(0, 5)(random));
    // One of them is new, so that most values have a use.
    graph.nodes.push_back({kind, i > 0 && kind != Kind::kAddInPlace ? i - 1 : any(), any()});
  }
  return graph;
}

struct Planted {
  int rank = -1, node = -1;
  double value = 0;  // of the result's greatest element
};

Row row_of(const std::string& type, const std::string& name, bool is_input, int slot, std::uint64_t time,
           const Elements& elements) {
  Row row;
  row.identity = {.op_type = type,
                  .op_name = name,
                  .timestamp_us = time,
                  .io = is_input ? "input" : "output",
                  .slot = static_cast<std::uint64_t>(slot)};
  row.data_type = "float32";
  row.shape = {elements.size()};
  double max = -HUGE_VAL, min = HUGE_VAL, sum = 0, squares = 0;
  std::uint64_t nan = 0, inf = 0;
  for (const double x : elements) {
    nan += std::isnan(x);
    inf += std::isinf(x);
    max = std::isnan(x) || std::isnan(max) ? NAN : std::max(max, x);
    min = std::isnan(x) || std::isnan(min) ? NAN : std::min(min, x);
    sum += x;
    squares += x * x;
  }
  row.statistics = {
      {Category::kMax, Category::kMin, Category::kAvg, Category::kL2norm, Category::kNanCount,
       Category::kPositiveInfCount, Category::kNegativeInfCount},
      {max, min, sum / static_cast<double>(elements.size()), std::sqrt(squares), nan, inf, std::uint64_t{0}}};
  return row;
}

// The rows of one run of the graph.
Record run_of(const Graph& graph, const Planted& planted) {
  Record record;
  std::uint64_t time = 1;
  std::vector<std::vector<Elements>> values(kRanks);
  const auto value = [&](int rank, int operand) -> Elements {
    return operand < 0 ? graph.weights[static_cast<std::size_t>(rank * graph.weight_count - operand - 1)]
                       : values[static_cast<std::size_t>(rank)][static_cast<std::size_t>(operand)];
  };
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    const Node& node = graph.nodes[static_cast<std::size_t>(i)];
    std::vector<Elements> left(kRanks), right(kRanks), result(kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
      left[rank] = value(rank, node.left);
      right[rank] = value(rank, node.right);
      const std::size_t count = std::min(left[rank].size(), right[rank].size());
      left[rank].resize(count);  // broadcasting is not tested here
      right[rank].resize(count);
    }
    if (node.kind == Kind::kAllReduce) {
      for (int rank = 0; rank < kRanks; ++rank) {
        const std::size_t count = std::min(left[0].size(), left[1].size());
        left[rank].resize(count);
      }
    }
    for (int rank = 0; rank < kRanks; ++rank) {
      const Elements &x = left[rank], &y = right[rank];
      Elements& z = result[rank];
      z.resize(node.kind == Kind::kHalve ? (x.size() + 1) / 2 : x.size());
      for (std::size_t k = 0; k < z.size(); ++k) {
        switch (node.kind) {
          case Kind::kAdd:
          case Kind::kAddInPlace:
            z[k] = x[k] + 0.5 * y[k];
            break;
          case Kind::kSub:
            z[k] = x[k] - 0.5 * y[k];
            break;
          case Kind::kMul:
            z[k] = 0.5 * x[k] * y[k] + 0.25;
            break;
          case Kind::kRelu:
            z[k] = x[k] > 0 ? x[k] : 0.0;
            break;  // of NaN: 0
          case Kind::kHalve:
            z[k] = x[k];
            break;
          case Kind::kAllReduce:
            z[k] = left[0][k] + left[1][k];
            break;
        }
      }
      if (planted.rank == rank && planted.node == i) {
        const auto greatest =
            std::ranges::max_element(z, [](double p, double q) { return std::fabs(p) < std::fabs(q); });
        *greatest = std::isfinite(planted.value) ? *greatest * planted.value + 3 : planted.value;
      }
      const std::string name = "net/node" + std::to_string(i);
      const char* type = kTypes[static_cast<int>(node.kind)];
      const Record::Place place{.name = name, .rank = static_cast<std::uint32_t>(rank)};
      // The rows of an operator in place are made when it has run: the input holds the result.
      const bool in_place = node.kind == Kind::kAddInPlace;
      record.add(row_of(type, name, true, 0, time++, in_place ? z : x), place);
      const bool is_unary = node.kind == Kind::kRelu || node.kind == Kind::kHalve || node.kind == Kind::kAllReduce;
      if (!is_unary) record.add(row_of(type, name, true, 1, time++, y), place);
      record.add(row_of(type, name, false, 0, time++, z), place);
      values[static_cast<std::size_t>(rank)].push_back(z);
    }
  }
  record.sort();
  return record;
}

std::string name_of(const Record& record, const RecordRow& row) {
  return std::string(record.texts()[row.name]) + " of rank " + std::to_string(row.rank);
}

std::string told(const FaultVerdict& verdict) {
  return verdict.guilty.op_name + " of rank " + std::to_string(verdict.rank);
}

// The verdict names the operator, or that it ended there, as in a ReLU, and nobody else.
void expect_told(const Answer& answer, const std::string& expected, bool is_unsure) {
  if (answer.verdict.kind == FaultKind::kNone) {
    ASSERT_FALSE(answer.notes.empty()) << expected;
    const std::string name = expected.substr(0, expected.find(' '));
    for (const std::string& note : answer.notes)
      EXPECT_NE(note.find(" of " + name + " "), note.npos) << note << expected;
    return;
  }
  EXPECT_EQ(answer.verdict.kind, is_unsure ? FaultKind::kUnknown : FaultKind::kProduced) << answer.verdict.sentence;
  EXPECT_EQ(told(answer.verdict), expected) << answer.verdict.sentence;
}

// The parts of a run that stay in the rows.
struct Parts {
  bool has_counts = true, has_inputs = true, has_first_inputs = true;
};

// The verdict names the operator, or says that the rows cannot tell. Never another one.
void expect_told_or_unknown(const Record& run, const std::string& expected, const Parts& parts) {
  Record record;
  for (const RecordRow& seen : run.rows()) {
    if (seen.is_input && (!parts.has_inputs || (!parts.has_first_inputs && seen.slot == 0))) continue;
    Row row;
    row.identity = {.op_type = std::string(run.texts()[seen.op_type]),
                    .op_name = std::string(run.texts()[seen.name]),
                    .timestamp_us = seen.timestamp_us,
                    .io = seen.is_input ? "input" : "output",
                    .slot = seen.slot};
    row.data_type = "float32";
    row.shape = {seen.element_count};
    const auto statistics = run.statistics(seen);
    const std::size_t count = parts.has_counts ? statistics.categories.size() : 4;
    row.statistics = {
        {statistics.categories.begin(), statistics.categories.begin() + static_cast<std::ptrdiff_t>(count)},
        {statistics.values.begin(), statistics.values.begin() + static_cast<std::ptrdiff_t>(count)}};
    record.add(row, {.name = run.texts()[seen.name], .rank = seen.rank});
  }
  record.sort();
  Hints none;
  const Answer answer = answer_of(record, none, {});
  if (answer.verdict.kind == FaultKind::kProduced) {
    EXPECT_EQ(told(answer.verdict), expected) << answer.verdict.sentence;
  } else if (answer.verdict.kind != FaultKind::kNone) {
    EXPECT_EQ(answer.verdict.kind, FaultKind::kUnknown) << expected << answer.verdict.sentence;
    EXPECT_FALSE(answer.verdict.reason.empty());
  }
}

class PlantedDifferences : public testing::TestWithParam<int> {};

TEST_P(PlantedDifferences, AreFoundWhereTheyArePlanted) {
  std::mt19937 random(20261122u + static_cast<unsigned>(GetParam()));
  SCOPED_TRACE("graph " + std::to_string(GetParam()));
  const Graph graph = any_graph(random);
  const Record golden = run_of(graph, {});
  for (int i = 0; i < 10; ++i) {
    Planted planted{std::uniform_int_distribution<int>(0, kRanks - 1)(random),
                    std::uniform_int_distribution<int>(0, static_cast<int>(graph.nodes.size()) - 1)(random), 0};
    const double values[] = {2, -1.5, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                             10};
    planted.value = values[i % 5];
    const Record faulty = run_of(graph, planted);
    const Differences differences = compare(faulty, golden, {}, {});
    Hints none;
    const auto starts = beginnings(faulty, golden, differences, none);
    const std::string expected = "net/node" + std::to_string(planted.node) + " of rank " + std::to_string(planted.rank);
    const bool is_in_place = graph.nodes[static_cast<std::size_t>(planted.node)].kind == Kind::kAddInPlace;
    ASSERT_EQ(starts.size(), 1u) << expected
                                 << (starts.size() > 1 ? " and " + name_of(faulty, faulty.rows()[starts[1].in_a]) : "");
    EXPECT_EQ(name_of(faulty, faulty.rows()[starts[0].in_a]), expected);
    EXPECT_FALSE(starts[0].enters);
    EXPECT_GT(starts[0].added, 0);
    EXPECT_FALSE(faulty.rows()[starts[0].in_a].is_input);

    const Answer answer = answer_of(faulty, none, {.with_lists = true});
    const Origin& origin = answer.lists;
    if (std::isfinite(planted.value)) {
      EXPECT_TRUE(origin.producers.empty() && origin.propagators.empty() && origin.entered.empty()) << expected;
      EXPECT_EQ(answer.verdict.kind, FaultKind::kNone);
      EXPECT_TRUE(answer.notes.empty());
      continue;
    }
    // The input of an operator in place is its result: where that is NaN, nothing tells them apart.
    const bool is_unsure = is_in_place && std::isnan(planted.value);
    if (answer.verdict.kind != FaultKind::kNone) {
      const auto& beginnings = is_unsure ? origin.unknown : origin.producers;
      ASSERT_EQ(beginnings.size(), 1u) << expected;
      EXPECT_EQ(name_of(faulty, faulty.rows()[beginnings[0].row]), expected);
    }
    EXPECT_TRUE(origin.entered.empty());
    expect_told(answer, expected, is_unsure);

    // The same run, of which less is known.
    expect_told_or_unknown(faulty, expected, Parts{.has_counts = false});
    expect_told_or_unknown(faulty, expected, Parts{.has_inputs = false});
    expect_told_or_unknown(faulty, expected, Parts{.has_first_inputs = false});
  }
}

INSTANTIATE_TEST_SUITE_P(TwentyGraphs, PlantedDifferences, testing::Range(0, 20));

TEST(PlantedDifferences, OfAWeightEnterWithTheOperatorThatReadsIt) {
  std::mt19937 random(7);
  Graph graph = any_graph(random);
  graph.nodes[0] = {Kind::kAdd, -1, -2};
  const Record golden = run_of(graph, {});
  graph.weights[1][3] += 100;  // weight -2 of rank 0
  const Record faulty = run_of(graph, {});
  Hints none;
  const auto starts = beginnings(faulty, golden, compare(faulty, golden, {}, {}), none);
  ASSERT_FALSE(starts.empty());
  EXPECT_TRUE(starts[0].enters);
  EXPECT_EQ(name_of(faulty, faulty.rows()[starts[0].in_a]), "net/node0 of rank 0");
  EXPECT_TRUE(faulty.rows()[starts[0].in_a].is_input);
  EXPECT_EQ(faulty.rows()[starts[0].in_a].slot, 1u);
}

TEST(Origin, OfWeightsThatBecameNanOneAfterAnotherIsTheFirst) {
  Record record;
  for (int i = 0; i < 5; ++i) {
    const std::string name = "weight" + std::to_string(i);
    record.add(row_of("Parameter", name, false, 0, static_cast<std::uint64_t>(i), {i < 2 ? 1.0 : NAN}), {.name = name});
  }
  record.sort();
  Hints none;
  const Origin origin = answer_of(record, none, {.with_lists = true}).lists;
  ASSERT_EQ(origin.entered.size(), 1u);
  EXPECT_EQ(name_of(record, record.rows()[origin.entered[0].row]), "weight2 of rank 0");
  EXPECT_EQ(origin.propagators.size(), 2u);
}

// The data is NaN throughout: the statistics of every tensor behind it are the same.
TEST(Origin, OfDataThatIsNanThroughoutIsTheData) {
  std::mt19937 random(13);
  Graph graph = any_graph(random);
  for (Elements& weight : graph.weights) std::ranges::fill(weight, NAN);
  for (Node& node : graph.nodes) node.kind = node.kind == Kind::kRelu ? Kind::kAdd : node.kind;  // which would end it
  const Record faulty = run_of(graph, {});
  Hints none;
  const Answer answer = answer_of(faulty, none, {});
  EXPECT_TRUE(answer.verdict.kind == FaultKind::kEntered ||
              (answer.verdict.kind == FaultKind::kUnknown && graph.nodes[0].kind == Kind::kAddInPlace))
      << answer.verdict.sentence;
  EXPECT_EQ(answer.verdict.guilty.op_name, "net/node0");
}

// An Inf that a mask writes and a softmax takes away, in each iteration, before a NaN elsewhere.
TEST(Origin, OfNanBehindMasksIsWhoMadeIt) {
  Record record;
  std::uint64_t time = 0;
  for (std::uint64_t iteration = 0; iteration < 5; ++iteration) {
    const auto add = [&](const std::string& name, bool is_input, double value) {
      record.add(row_of(name, name, is_input, 0, ++time, {1, value}), {.name = name, .iteration = iteration});
    };
    add("MaskedFill", true, 1);
    add("MaskedFill", false, -HUGE_VAL);
    add("Softmax", true, -HUGE_VAL);
    add("Softmax", false, 0.5);
    add("Log", true, 0.5);
    add("Log", false, iteration == 4 ? NAN : 0.5);
  }
  record.sort();
  Hints none;
  const Answer answer = answer_of(record, none, {});
  EXPECT_EQ(told(answer.verdict), "Log of rank 0") << answer.verdict.sentence;
  EXPECT_EQ(answer.verdict.iteration, 4u);
  ASSERT_EQ(answer.notes.size(), 1u);
  EXPECT_EQ(answer.notes[0], "Inf of MaskedFill ended at Softmax: 5 times, iterations 0 to 4");
}

TEST(PlantedDifferences, RunsThatAreEqualHaveNone) {
  std::mt19937 random(11);
  const Graph graph = any_graph(random);
  const Record one = run_of(graph, {}), other = run_of(graph, {});
  const Differences differences = compare(one, other, {}, {});
  EXPECT_TRUE(differences.is_clean());
  EXPECT_EQ(differences.pairs.size(), one.rows().size());
  Hints none;
  EXPECT_TRUE(beginnings(one, other, differences, none).empty());
}

}  // namespace planted_differences_test
}  // namespace tensorstat
