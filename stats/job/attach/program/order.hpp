// The predecessors of a command in the program's own order, as far as events and in-order queues tell.
//
// The rule of this room: a command of the layer that waits for something incomplete is never placed before a command of
// the program, unless that command waits for it anyway. A host may enqueue a launch behind an event that it sets later,
// and meanwhile write the launch's input. If that write waited for our reading of the launch, it would never come.
//
// The proof. A reading R of a launch L waits for nothing but L, what L waits for, and the device.
// 1. On L's own queue, if it keeps order, R stands directly before L or behind it. Commands behind R are behind L, so
//    they wait for all of that anyway. So do clFinish, and markers and barriers of any queue, which are behind L.
// 2. Where the queue keeps no order, L waits for the R before it, which waits for what L waits for.
// 3. Another command C is given R's event (waits.hpp) in two cases only: L has completed, so R waits for the device
// alone; or C comes behind L (Order), so C waits for L anyway. In all other cases C proceeds, and R's reading of the
// memory that C writes is not trusted: it is left out and counted.
// Events are the layer's own where the program asks for none, so that it can see whether L has completed.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "stats/job/attach/below.hpp"

namespace tensorstat::attach {

// A command: its number in its queue, and of the process.
struct CommandNumber {
  std::uint32_t queue = 0;
  std::uint64_t in_queue = 0, of_process = 0;
};

// A set of commands. It may lack some: whoever asks takes them for unordered then.
class Order {
 public:
  // All commands of a queue up to this one.
  void add_up_to(std::uint32_t queue, std::uint64_t in_queue);
  void add(const CommandNumber& command);
  void add(const Order& other);
  bool has(const CommandNumber& command) const;
  std::uint64_t last_of(std::uint32_t queue) const;  // 0: none is known

 private:
  static constexpr std::size_t kMostQueues = 64, kMostCommands = 256;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> up_to_;  // sorted by queue
  std::vector<std::uint64_t> commands_;                         // sorted numbers of the process
};

}  // namespace tensorstat::attach
