// The many tensors of a container, each read and measured by a thread that is free, a few neighbours at a time: their
// bytes are folded while they are in its cache.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <tensorstat/meter.hpp>
#include <thread>
#include <vector>

#include "stats/survey/surveyed_tensor.hpp"
#include "stats/files/tensor_reader.hpp"

namespace tensorstat {

class SmallTensors {
 public:
  struct Item {
    SurveyedTensor entry;
    TensorReader reader;
    std::optional<Error> fault = {};  // else entry.row has the statistics
    bool is_unreadable = false;       // the fault is the file's, not the engine's
  };

  // What one thread does at once.
  class Chunk {
   public:
    void add(Item&& item);
    // Whether one more would leave the cache of a core, or has no need to wait for others.
    bool is_full() const;

    std::vector<Item> items;
    std::uint64_t bytes = 0;
  };
  using Done = std::function<void(Chunk&&)>;

  // Whether it can be read beside its neighbours, and each of its bytes once.
  static bool takes(const TensorReader& reader);

  // Measures on the host. `threads` at once, the caller's among them; the others are started as work comes. `done` is
  // called on the caller's thread, for each chunk in the order of submit().
  SmallTensors(Meter& meter, const Request& request, TensorReader::Order order, unsigned threads, Done done);
  ~SmallTensors();
  SmallTensors(const SmallTensors&) = delete;
  SmallTensors& operator=(const SmallTensors&) = delete;

  // Holds a few chunks at most, and works itself where there are more.
  void submit(Chunk&& chunk);
  void finish();

 private:
  struct Task {
    Chunk chunk;
    bool is_taken = false, is_done = false;
  };

  void accept_done(bool all);
  bool work_on_one(std::unique_lock<std::mutex>& lock, std::vector<std::byte>& room);
  void measure(Chunk& chunk, std::vector<std::byte>& room);
  void measure_large(Item& item, std::vector<std::byte>& room);
  void measure_together(std::span<Item> items, std::vector<std::byte>& room);

  Meter& meter_;
  const Request request_;
  const TensorReader::Order order_;
  const unsigned threads_;
  const Done done_;
  std::vector<std::byte> room_;  // of the caller's thread

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;  // in order; the first leave when they are done
  bool stops_ = false;
  std::vector<std::thread> others_;
};

}  // namespace tensorstat
