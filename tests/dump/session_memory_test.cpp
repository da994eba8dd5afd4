// Tensors between the training thread and the disk use bounded memory: training waits, the wait is reported, and
// nothing is lost. If only merging statistics of host tensors are wanted, each tensor is measured before collect()
// returns.
#include <future>
#include <thread>

#include "tests/support/dump_session.hpp"

namespace tensorstat {
namespace session_memory_test {

// Stops the session's thread until the test opens it.
class Gate {
 public:
  void open() { open_.set_value(); }

 private:
  friend class SessionMemory;
  std::promise<void> reached_, open_;
};

class SessionMemory : public SessionTest {
 protected:
  // A session that needs the tensors' bits later.
  DumpSession open_with_digests() { return open(R"({"statistic_category": ["max", "md5"]})"); }

  // Stops the session's thread in the deleter of a tensor. If the session was done with the tensor before this thread
  // was, the deleter runs on this thread, and another tensor follows. Returns the number of rows that this makes.
  std::uint64_t stop_at(Gate& gate, DumpSession& session) {
    static const std::vector<float> small(10, 5.0f);
    for (std::uint64_t rows = 1;; ++rows) {
      bool was_last = false;
      auto one = tensor(small, Dtype::kFloat32);
      one.keep_alive = std::shared_ptr<const void>(
          small.data(), [&gate, &was_last, caller = std::this_thread::get_id()](const void*) {
            if (std::this_thread::get_id() == caller) {
              was_last = true;
            } else {
              gate.reached_.set_value();
              gate.open_.get_future().wait();
            }
          });
      collect(session, {}, "first", {one});
      one.keep_alive = nullptr;
      if (!was_last) return gate.reached_.get_future().wait(), rows;
    }
  }
};

TEST_F(SessionMemory, NeverMoreThanAllowedAndNothingLost) {
  for (const std::uint64_t limit : {0, 1000, 70000, 200000, 100000000}) {
    std::filesystem::remove_all(folder / "rank_0");
    options.memory_bytes = limit;
    auto session = open_with_digests();
    std::vector<float> values(16384);
    for (int i = 0; i < 40; ++i) {
      values[7] = static_cast<float>(i + 1);
      collect(session, {}, "x" + std::to_string(i), {tensor(values, Dtype::kFloat32)});
    }
    session.close();
    const auto table = rows();
    ASSERT_EQ(table.size(), 40u) << limit;
    for (int i = 0; i < 40; ++i) {
      EXPECT_EQ(table[i].statistics.values[0], Value{i + 1.0}) << "in order, as they were then";
    }
    const auto counters = session.counters();
    EXPECT_LE(counters.most_held_bytes, limit);
    EXPECT_EQ(counters.held_bytes, 0u);
    EXPECT_LE(counters.stall_count, 40u);
    if (limit != 0 && limit < 65536) {
      EXPECT_EQ(counters.stall_count, 40u);
    }
    if (limit > 40 * 70000) {
      EXPECT_EQ(counters.stall_count, 0u);
    }
    EXPECT_EQ(limit != 0 && counters.stall_count != 0, was_said("training waits"))
        << "who gives no memory has chosen that";
    EXPECT_EQ(limit != 0 && limit < 65536, was_said("more than the " + std::to_string(limit) + " of memory_bytes"))
        << "one tensor that is too large is no hurry";
    messages.clear();
  }
}

TEST_F(SessionMemory, WhatFitsWaitsAndStopsNobody) {
  options.memory_bytes = 200000;
  auto session = open_with_digests();
  const std::vector<float> values(16384, 2.0f);
  Gate gate;
  const std::uint64_t before = stop_at(gate, session);
  for (int i = 0; i < 2; ++i) collect(session, {}, "x", {tensor(values, Dtype::kFloat32)});
  EXPECT_EQ(session.counters().stall_count, 0u);
  EXPECT_GE(session.counters().held_bytes, 2 * 65536u);
  EXPECT_EQ(session.counters().row_count, before) << "nobody can have done the others";
  gate.open();
  session.close();
  EXPECT_EQ(rows().size(), before + 2);
}

TEST_F(SessionMemory, BitsMayChangeAsSoonAsCollectReturns) {
  auto session = open_with_digests();
  std::vector<float> values(1000);
  Gate gate;
  const std::uint64_t before = stop_at(gate, session);  // if the caller's bits were read later, they would be the 99s
  for (int i = 0; i < 50; ++i) {
    std::fill(values.begin(), values.end(), 5.0f);
    collect(session, {}, "x", {tensor(values, Dtype::kFloat32)});
    std::fill(values.begin(), values.end(), 99.0f);
  }
  gate.open();
  session.close();
  const auto table = rows();
  ASSERT_EQ(table.size(), before + 50);
  for (const Row& row : table) EXPECT_EQ(row.statistics.values[0], Value{5.0});
}

TEST_F(SessionMemory, WhatIsMeasuredByItsCallerNeedsNone) {
  for (const std::uint64_t limit : {2000, 100000000}) {
    std::filesystem::remove_all(folder / "rank_0");
    options.memory_bytes = limit;
    auto session = open();
    Gate gate;
    const std::uint64_t before = stop_at(gate, session);
    const std::uint64_t held_bytes = session.counters().held_bytes;
    std::vector<float> values(16384);
    for (int i = 0; i < 50; ++i) {
      std::fill(values.begin(), values.end(), static_cast<float>(i));
      collect(session, {}, "x", {tensor(values, Dtype::kFloat32)});
      std::fill(values.begin(), values.end(), 99.0f);
    }
    EXPECT_EQ(session.counters().held_bytes, held_bytes) << limit;
    EXPECT_EQ(session.counters().stall_count, 0u) << limit;
    gate.open();
    session.close();
    const auto table = rows();
    ASSERT_EQ(table.size(), before + 50);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(table[before + i].statistics.values[0], Value{static_cast<double>(i)});
  }
}

TEST_F(SessionMemory, RowsOfTheirOwnThreadWaitInBoundedNumber) {
  auto session = open();
  const std::vector<float> values(16, 2.0f);
  Gate gate;
  const std::uint64_t before = stop_at(gate, session);
  constexpr std::uint64_t kMany = 20000;
  for (std::uint64_t i = 0; i < kMany; ++i) collect(session, {}, "x", {tensor(values, Dtype::kFloat32)});
  EXPECT_GE(session.counters().row_count, before + kMany - 4096) << "who hands over has written the others";
  gate.open();
  session.close();
  EXPECT_EQ(rows().size(), before + kMany);
}

TEST_F(SessionMemory, KeptAliveTensorsAreNotCopiedAndLetGo) {
  auto session = open();
  std::vector<float> values(100000, 5.0f);
  Gate first_gate;
  const std::uint64_t before = stop_at(first_gate, session);
  std::promise<void> let_go;
  auto given = tensor(values, Dtype::kFloat32);
  given.keep_alive = std::shared_ptr<const void>(values.data(), [&](const void*) { let_go.set_value(); });
  collect(session, {}, "x", {given});
  given.keep_alive = nullptr;
  values.assign(values.size(), 6.0f);  // only this test may write here: the session measures this very memory
  EXPECT_GE(session.counters().held_bytes, 400000u) << "counted all the same";
  first_gate.open();
  let_go.get_future().wait();
  session.close();
  const auto table = rows();
  ASSERT_EQ(table.size(), before + 1);
  EXPECT_EQ(table.back().statistics.values[0], Value{6.0});
}

}  // namespace session_memory_test
}  // namespace tensorstat
