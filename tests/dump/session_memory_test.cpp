// Tensors on their way are held in bounded memory: training waits, visibly, and nothing is lost.
#include <atomic>
#include <chrono>
#include <thread>

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
    EXPECT_EQ(counters.stall_count, limit < 65536        ? 40u
                                    : limit > 40 * 70000 ? 0u
                                                         : counters.stall_count);
    EXPECT_EQ(counters.stall_count != 0, was_said("training waits"));
    said.clear();
  }
}

TEST_F(SessionMemory, BitsMayChangeAsSoonAsCollectReturns) {
  auto session = open();
  std::vector<float> values(1000, 5);
  for (int i = 0; i < 50; ++i) {
    std::fill(values.begin(), values.end(), 5.0f);
    collect(session, {}, "x", {tensor(values, Dtype::kFloat32)});
    std::fill(values.begin(), values.end(), 99.0f);
  }
  session.close();
  for (const Row& row : rows()) EXPECT_EQ(row.statistics.values[0], Value{5.0});
}

TEST_F(SessionMemory, KeptAliveTensorsAreNotCopiedAndLetGo) {
  auto session = open();
  auto values = std::make_shared<std::vector<float>>(100000, 5.0f);
  auto given = tensor(*values, Dtype::kFloat32);
  given.keep_alive = values;
  collect(session, {}, "x", {given});
  given.keep_alive = nullptr;
  session.flush();
  EXPECT_EQ(values.use_count(), 1);
  session.close();
  EXPECT_EQ(rows().size(), 1u);
  EXPECT_GE(session.counters().most_held_bytes, 400000u) << "counted all the same";
}

// A figure, not a test: 1,000 operators of 3 tensors of 64 KiB, as fast as they can be handed over.
TEST_F(SessionMemory, CostOfAHandOver) {
  auto session = open();
  const std::vector<float> values(16384, 1.0f);
  const DumpTensor three[] = {tensor(values, Dtype::kFloat32, Io::kInput),
                              tensor(values, Dtype::kFloat32, Io::kInput, 1),
                              tensor(values, Dtype::kFloat32)};
  std::vector<const DumpOperator*> operators;
  for (int i = 0; i < 1000; ++i) {
    operators.push_back(session.operator_named("Op", "Default/x-op" + std::to_string(i)));
  }
  for (std::uint64_t step = 0; step < 3; ++step) {
    const auto start = std::chrono::steady_clock::now();
    for (const auto* op : operators) session.collect({.iteration = step}, op, three);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    std::cout << "step " << step << ": " << took.count() / 3000 << " us a tensor, "
              << session.counters().stalled_us / 1000 << " ms stalled so far, "
              << (session.counters().most_held_bytes >> 20) << " MiB held at most\n";
    session.step_end({.iteration = step});
    session.flush();
  }
  session.close();
  EXPECT_EQ(session.counters().row_count, 9000u);
}

}  // namespace
}  // namespace tensorstat
