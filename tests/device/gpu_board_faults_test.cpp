// A lost kernel, or a driver's call that fails, costs a board on CUDA's driver an error of the tensors that it
// concerns. Never is a value wrong, and other tensors and later steps keep theirs. The driver is a double.
#include <string>
#include <vector>

#include "tests/device/board_on_gpu.hpp"

namespace tensorstat {
namespace gpu_board_faults_test {

using test::expect_same;
using test::kSome;

class GpuBoardFaults : public test::BoardOnGpu {};

TEST_F(GpuBoardFaults, AKernelThatWasLostIsNoticed) {
  Meter meter;
  Board board = this->board(meter);
  const Sample tensor = sample(Dtype::kFloat32, 5000);
  warm(board, tensor, 5);
  const auto values = expected(Dtype::kFloat32, tensor.bytes);
  for (int step = 0; step < 3; ++step) {
    std::vector<BoardTicket> tickets;
    if (step == 1) gpu.lose_launch(3);
    for (int i = 0; i < 5; ++i) tickets.push_back(*board.fold(tensor.tensor));
    board.end_step();
    for (int i = 0; i < 5; ++i) {
      const auto result = tickets[static_cast<std::size_t>(i)].collect();
      if (step == 1 && i == 2) {
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().code, Code::kDevice);
      } else {
        expect_same(result, values);
      }
    }
  }
}

// Whichever call fails, once or from then on: the right values, or an error. A single failed call of a fold costs this
// tensor alone.
TEST_F(GpuBoardFaults, EveryCallMayFail) {
  void* const side = gpu.stream(0, 0);
  const Sample one = sample(Dtype::kFloat32, 20'000), other = sample(Dtype::kBfloat16, 700, side);
  const auto of_one = expected(Dtype::kFloat32, one.bytes), of_other = expected(Dtype::kBfloat16, other.bytes);
  struct Lost {
    long folds = 0, values = 0, calls_of_folds = 0;
  };
  const auto run = [&] {
    Lost lost;
    Meter meter;
    auto made = Board::on(meter, {.categories = kSome});
    if (!made) return lost;
    std::vector<std::pair<BoardTicket, const Result<Measurements>*>> tickets;
    for (int step = 0; step < 4; ++step) {
      for (int i = 0; i < 4; ++i) {
        const long before = gpu.calls();
        auto ticket = made->fold(i % 2 == 0 ? one.tensor : other.tensor);
        lost.calls_of_folds += gpu.calls() - before;
        if (ticket) {
          tickets.emplace_back(*std::move(ticket), i % 2 == 0 ? &of_one : &of_other);
        } else {
          ++lost.folds;
        }
      }
      made->end_step();
      if (step == 1) {
        for (auto& [ticket, values] : tickets) {
          const auto result = ticket.collect();
          if (result) expect_same(result, *values);
          if (!result) ++lost.values;
        }
        tickets.clear();
      }
    }
    for (auto& [ticket, values] : tickets) {
      const auto result = ticket.collect();
      if (result) expect_same(result, *values);
      if (!result) ++lost.values;
    }
    return lost;
  };
  const long before = gpu.calls();
  EXPECT_EQ(run().folds, 0);
  const long calls = gpu.calls() - before;
  EXPECT_GT(calls, 200);
  for (const int from_then_on : {0, 1}) {
    const long stride = samples::full() ? 1 : from_then_on == 0 ? 5 : 40;
    for (long nth = 1 + static_cast<long>(random() % static_cast<std::uint64_t>(stride)); nth <= calls; nth += stride) {
      SCOPED_TRACE(std::to_string(nth) + (from_then_on != 0 ? " and all after it" : ""));
      gpu.fail(nth, from_then_on);
      const Lost lost = run();
      gpu.fail(0, 0);
      if (from_then_on == 0) {
        // A step has four tensors. A kernel that could not be checked is not used again.
        EXPECT_LE(lost.values, 4);
      }
      EXPECT_EQ(gpu.held(), 0);
    }
  }
}

// In the steady state one failed call of a fold costs one tensor, and no other.
TEST_F(GpuBoardFaults, AFailedCallOfAFoldCostsItsTensorAlone) {
  const Sample tensor = sample(Dtype::kFloat32, 5000);
  const auto values = expected(Dtype::kFloat32, tensor.bytes);
  Meter meter;
  Board board = this->board(meter);
  warm(board, tensor, 3);
  for (long nth = 1; nth <= 20; ++nth) {
    SCOPED_TRACE(nth);
    std::vector<BoardTicket> tickets;
    int lost = 0;
    for (int i = 0; i < 3; ++i) {
      if (i == 1) gpu.fail(nth, 0);
      auto ticket = board.fold(tensor.tensor);
      gpu.fail(0, 0);
      if (ticket) {
        tickets.push_back(*std::move(ticket));
      } else {
        EXPECT_NE(ticket.error().message, "");
        ++lost;
      }
    }
    board.end_step();
    EXPECT_LE(lost, 1);
    for (const BoardTicket& each : tickets) expect_same(each.collect(), values);
  }
}

// A kernel that was launched, and that the copy could not be made to wait for, may run as late as it likes.
TEST_F(GpuBoardFaults, AFoldThatIsNotFollowedSpoilsNoLaterStep) {
  Meter meter;
  Board board = this->board(meter);
  void* const slow = gpu.stream(0, 0);
  const Sample late = sample(Dtype::kFloat32, 3000, slow), tensor = sample(Dtype::kFloat32, 3000, gpu.stream(0, 0));
  const auto values = expected(Dtype::kFloat32, tensor.bytes);
  warm(board, tensor, 2);
  for (long nth = 1; nth <= 20; ++nth) {
    SCOPED_TRACE(nth);
    for (const bool fails : {true, false}) {
      std::vector<BoardTicket> tickets;
      tickets.push_back(*board.fold(tensor.tensor));
      gpu.fail(fails ? nth : 0, 0);
      if (fails) static_cast<void>(board.fold(late.tensor));
      gpu.fail(0, 0);
      tickets.push_back(*board.fold(tensor.tensor));
      if (!fails) {
        gpu.advance(0, tensor.tensor.stream, 1000);
        gpu.advance(0, slow, 1000);
      }
      board.end_step();
      for (const BoardTicket& each : tickets) expect_same(each.collect(), values);
    }
  }
}

}  // namespace gpu_board_faults_test
}  // namespace tensorstat
