// Tensors on their way are held in bounded memory: training waits, visibly, and nothing is lost.
#include <future>

#include "tests/support/dump_session.hpp"

namespace tensorstat {
namespace {

using SessionMemory = SessionTest;

TEST_F(SessionMemory, NeverMoreThanAllowedAndNothingLost) {
  for (const std::uint64_t limit : {0, 1000, 70000, 200000, 100000000}) {
    std::filesystem::remove_all(folder / "rank_0");
    options.memory_bytes = limit;
    auto session = open();
    std::vector<float> values(16384);
    for (int i = 0; i < 40; ++i) {
      values[7] = static_cast<float>(i + 1);
      collect(session, {}, "x" + std::to_string(i), {tensor(values, Dtype::kFloat32)});
    }
    session.close();
    const auto found = rows();
    ASSERT_EQ(found.size(), 40u) << limit;
    for (int i = 0; i < 40; ++i) {
      EXPECT_EQ(found[i].statistics.values[0], Value{i + 1.0}) << "in order, as they were then";
    }
    const auto counters = session.counters();
    EXPECT_LE(counters.most_held_bytes, limit);
    EXPECT_EQ(counters.held_bytes, 0u);
    EXPECT_LE(counters.stall_count, 40u);
    if (limit < 65536) {
      EXPECT_EQ(counters.stall_count, 40u);
    }
    if (limit > 40 * 70000) {
      EXPECT_EQ(counters.stall_count, 0u);
    }
    EXPECT_EQ(limit != 0 && counters.stall_count != 0, was_said("training waits")) << "who gives no memory has chosen that";
    EXPECT_EQ(limit != 0 && limit < 65536, was_said("more than the " + std::to_string(limit) + " of memory_bytes"))
        << "one tensor that is too large is no hurry";
    said.clear();
  }
}

// A tensor whose owner is let go when the test says so: until then the session's thread goes no further.
class Gate {
 public:
  std::shared_ptr<const void> owner(const void* bits) {
    return {bits, [this](const void*) {
              reached_.set_value();
              open_.get_future().wait();
            }};
  }
  void wait_until_reached() { reached_.get_future().wait(); }
  void open() { open_.set_value(); }

 private:
  std::promise<void> reached_, open_;
};

TEST_F(SessionMemory, WhatFitsWaitsAndStopsNobody) {
  options.memory_bytes = 200000;
  auto session = open();
  const std::vector<float> small(10, 1.0f), values(16384, 2.0f);
  Gate gate;
  auto first = tensor(small, Dtype::kFloat32);
  first.keep_alive = gate.owner(small.data());
  collect(session, {}, "first", {first});
  first.keep_alive = nullptr;
  gate.wait_until_reached();
  for (int i = 0; i < 2; ++i) collect(session, {}, "x", {tensor(values, Dtype::kFloat32)});
  EXPECT_EQ(session.counters().stall_count, 0u);
  EXPECT_GE(session.counters().held_bytes, 2 * 65536u);
  EXPECT_EQ(session.counters().row_count, 1u) << "nobody can have done the others";
  gate.open();
  session.close();
  EXPECT_EQ(rows().size(), 3u);
}

TEST_F(SessionMemory, BitsMayChangeAsSoonAsCollectReturns) {
  auto session = open();
  const std::vector<float> small(10, 5.0f);
  std::vector<float> values(1000);
  Gate gate;
  auto first = tensor(small, Dtype::kFloat32);
  first.keep_alive = gate.owner(small.data());
  collect(session, {}, "first", {first});
  first.keep_alive = nullptr;
  gate.wait_until_reached();  // whoever looked at the caller's bits later would see the 99s
  for (int i = 0; i < 50; ++i) {
    std::fill(values.begin(), values.end(), 5.0f);
    collect(session, {}, "x", {tensor(values, Dtype::kFloat32)});
    std::fill(values.begin(), values.end(), 99.0f);
  }
  gate.open();
  session.close();
  const auto found = rows();
  ASSERT_EQ(found.size(), 51u);
  for (const Row& row : found) EXPECT_EQ(row.statistics.values[0], Value{5.0});
}

TEST_F(SessionMemory, KeptAliveTensorsAreNotCopiedAndLetGo) {
  auto session = open();
  std::vector<float> values(100000, 5.0f);
  Gate first_gate;
  const std::vector<float> small(10, 1.0f);
  auto first = tensor(small, Dtype::kFloat32);
  first.keep_alive = first_gate.owner(small.data());
  collect(session, {}, "first", {first});
  first.keep_alive = nullptr;
  first_gate.wait_until_reached();
  std::promise<void> let_go;
  auto given = tensor(values, Dtype::kFloat32);
  given.keep_alive = std::shared_ptr<const void>(values.data(), [&](const void*) { let_go.set_value(); });
  collect(session, {}, "x", {given});
  given.keep_alive = nullptr;
  values.assign(values.size(), 6.0f);  // allowed to nobody but a test: what is measured is this very memory
  EXPECT_GE(session.counters().held_bytes, 400000u) << "counted all the same";
  first_gate.open();
  let_go.get_future().wait();
  session.close();
  const auto found = rows();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].statistics.values[0], Value{6.0});
}

}  // namespace
}  // namespace tensorstat
