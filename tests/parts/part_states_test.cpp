// The state of a plan's part is read back as it was written, is refused when a byte of it is changed or cut, and states
// join in any order into one that gives the same rows.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stats/answer/parts/merged_states.hpp"

namespace tensorstat {
namespace part_states_test {

constexpr std::uint64_t kKey = 77;

StateHead head_of(std::uint32_t part, std::uint64_t records, std::uint64_t key = kKey) {
  StateHead head;
  head.key = key;
  head.parts = 3;
  head.part_numbers = {part};
  head.records = records;
  head.request.asked = head.request.measured = {Category::kMax, Category::kCount};
  return head;
}

StateRecord row_of(std::uint64_t file, std::uint64_t tensor) {
  StateRecord record{.file = file, .tensor = tensor, .engines = {"host"}};
  record.entry.path = "/f" + std::to_string(file) + ".npz";
  record.entry.tensor = "t" + std::to_string(tensor);
  record.entry.row.data_type = "float32";
  record.entry.row.shape = {2, 3};
  record.entry.row.statistics =
      Statistics({Category::kMax, Category::kCount}, {Value(double(tensor) + 0.5), Value(std::uint64_t{6})});
  return record;
}

// Part n of three has tensors n, n + 3 and n + 6.
std::string state_of(std::uint32_t part, std::uint64_t key = kKey) {
  std::string text = written(head_of(part, 3, key));
  for (const std::uint64_t tensor : {part, part + 3, part + 6}) text += written(row_of(tensor / 4, tensor));
  return text;
}

std::vector<std::string> rows_of(const MergedStates& states) {
  std::vector<std::string> rows;
  states.each({.row =
                   [&](SurveyedTensor&& row) {
                     rows.push_back(row.path + " " + *row.tensor + " " + std::to_string(row.row.shape.size()));
                   },
               .fault = [&](const StateRecord& record) { rows.push_back("fault " + record.label); },
               .broken = [&](const std::string& words) { rows.push_back("broken " + words); }});
  return rows;
}

TEST(PartStates, AreReadBack) {
  const auto state = parse_state(state_of(2));
  ASSERT_TRUE(state) << state.error().message;
  EXPECT_EQ(state->head.key, kKey);
  EXPECT_EQ(state->head.part_numbers, std::vector<std::uint32_t>{2});
  ASSERT_EQ(state->records.size(), 3u);
  EXPECT_EQ(written(state->head) + written(state->records[0]) + written(state->records[1]) + written(state->records[2]),
            state_of(2));
  EXPECT_EQ(state->records[1].entry.label(), "/f1.npz::t5");
}

TEST(PartStates, ThatAreDamagedOrCutAreRefused) {
  const std::string whole = state_of(1);
  EXPECT_TRUE(begins_as_state(whole));
  for (std::size_t offset = 0; offset < whole.size(); ++offset) {
    std::string damaged = whole;
    damaged[offset] = static_cast<char>(damaged[offset] ^ 4);
    EXPECT_FALSE(parse_state(damaged)) << "byte " << offset;
    EXPECT_FALSE(parse_state(whole.substr(0, offset))) << "cut at byte " << offset;
  }
}

// Whoever shows a row takes a rank for a number, and a scale for a text.
TEST(PartStates, WithAColumnOfAnotherKindAreRefused) {
  for (const auto& [name, cell] :
       std::vector<std::pair<std::string, Cell>>{{"rank", std::uint64_t{3}}, {"cast_scale", std::string("0.5")}}) {
    for (const bool is_other : {false, true}) {
      StateRecord record = row_of(0, 0);
      record.entry.row.identity.set(name, !is_other           ? cell
                                          : cell.index() == 0 ? Cell(std::string("3"))
                                                              : Cell(std::uint64_t{3}));
      EXPECT_EQ(static_cast<bool>(parse_state(written(head_of(0, 1)) + written(record))), !is_other) << name;
    }
  }
}

TEST(PartStates, JoinInAnyOrder) {
  const std::vector<std::string> wanted = {"/f0.npz t0 2", "/f0.npz t1 2", "/f0.npz t2 2",
                                           "/f0.npz t3 2", "/f1.npz t4 2", "/f1.npz t5 2",
                                           "/f1.npz t6 2", "/f1.npz t7 2", "/f2.npz t8 2"};
  std::string first;
  for (const auto& order : std::vector<std::vector<std::uint32_t>>{{0, 1, 2}, {2, 0, 1}, {1, 2, 0}}) {
    MergedStates states;
    for (const std::uint32_t part : order) ASSERT_TRUE(states.add(std::to_string(part), state_of(part)));
    ASSERT_TRUE(states.join());
    EXPECT_TRUE(states.missing().empty());
    EXPECT_EQ(rows_of(states), wanted);
    const auto joined = states.state();
    ASSERT_TRUE(joined);
    if (first.empty()) first = *joined;
    EXPECT_EQ(*joined, first);
    MergedStates again;
    ASSERT_TRUE(again.add("joined", *joined));
    ASSERT_TRUE(again.add("a part of it", state_of(1)));
    ASSERT_TRUE(again.join()) << "the state of all parts has this one";
    EXPECT_EQ(rows_of(again), wanted);
  }
}

// As it was folded when tensor 4 could not be read.
std::string faulty_state_of_part_1() {
  StateHead head = head_of(1, 3);
  head.faults = 1;
  StateRecord fault{.kind = StateRecord::Kind::kFault, .file = 1};
  fault.label = "t4";
  fault.fault = "cannot be read";
  return written(head) + written(row_of(0, 1)) + written(row_of(1, 7)) + written(fault);
}

TEST(PartStates, OfAPartThatWasFoldedAgainTheWholeOneCounts) {
  MergedStates earlier;
  ASSERT_TRUE(earlier.add("0", state_of(0)));
  ASSERT_TRUE(earlier.add("1", faulty_state_of_part_1()));
  ASSERT_TRUE(earlier.add("2", state_of(2)));
  ASSERT_TRUE(earlier.join());
  EXPECT_EQ(earlier.head().faults, 1u);
  const std::string all = *earlier.state();
  for (const auto& texts :
       std::vector<std::vector<std::string>>{{state_of(0), faulty_state_of_part_1(), state_of(1), state_of(2)},
                                             {state_of(2), state_of(1), faulty_state_of_part_1(), state_of(0)},
                                             {all, state_of(0), faulty_state_of_part_1(), state_of(1), state_of(2)}}) {
    MergedStates states;
    for (const std::string& text : texts) ASSERT_TRUE(states.add("state", text));
    ASSERT_TRUE(states.join());
    EXPECT_TRUE(states.missing().empty());
    EXPECT_EQ(states.head().faults, 0u);
    EXPECT_EQ(rows_of(states).size(), 9u);
  }
  // Without the other parts, the state of all of them has more.
  MergedStates two;
  ASSERT_TRUE(two.add("1", state_of(1)));
  ASSERT_TRUE(two.add("all", all));
  ASSERT_TRUE(two.join());
  EXPECT_TRUE(two.missing().empty());
  EXPECT_EQ(two.head().faults, 1u);
}

TEST(PartStates, ThatLackOrContradictSaySo) {
  MergedStates states;
  ASSERT_TRUE(states.add("0", state_of(0)));
  EXPECT_FALSE(states.add("of another plan", state_of(1, kKey + 1)));
  ASSERT_TRUE(states.join());
  EXPECT_EQ(states.missing(), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(missing_text({1}, 3), "part 001 of 3 is missing");
  EXPECT_EQ(missing_text({3, 17}, 64), "parts 003, 017 of 64 are missing");

  MergedStates joined;
  ASSERT_TRUE(joined.add("0", state_of(0)));
  ASSERT_TRUE(joined.add("1", state_of(1)));
  ASSERT_TRUE(joined.join());
  MergedStates overlapping;
  ASSERT_TRUE(overlapping.add("0 and 1", *joined.state()));
  MergedStates others;
  ASSERT_TRUE(others.add("1", state_of(1)));
  ASSERT_TRUE(others.add("2", state_of(2)));
  ASSERT_TRUE(others.join());
  ASSERT_TRUE(overlapping.add("1 and 2", *others.state()));
  EXPECT_FALSE(overlapping.join()) << "both have part 1";
}

}  // namespace part_states_test
}  // namespace tensorstat
