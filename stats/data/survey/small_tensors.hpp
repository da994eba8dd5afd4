// Measures many tensors with several threads; the Meter must outlive it. Each thread reads a few neighbouring tensors,
// of one container or of consecutive files, and folds their bytes while they are in its cache.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <tensorstat/meter.hpp>
#include <thread>
#include <vector>

#include "stats/data/files/tensor_reader.hpp"
#include "stats/data/survey/surveyed_tensor.hpp"

namespace tensorstat {

class SmallTensors {
 public:
  struct Item {
    std::shared_ptr<const SurveyedFile> file;
    std::uint64_t number;  // of the tensor in its file
    TensorReader reader;
    std::span<const Decision> placement = {};
    SurveyedTensor entry = {};        // made when the tensor is measured
    std::optional<Error> fault = {};  // set: `entry` is empty
    bool is_unreadable = false;       // the fault is an error of the file, not of the engine
  };

  // The tensors that one thread takes at once.
  class Chunk {
   public:
    void add(Item&& item);
    // Whether one more tensor might exceed a core's cache, or it has enough tensors or open files.
    bool is_full() const;

    std::vector<Item> items;
    std::uint64_t bytes = 0;
    std::size_t files = 0;  // that the items hold open
  };
  // Makes the item's entry.
  using MakeEntry = std::function<void(Item&, const StatisticsView&)>;
  using Done = std::function<void(Chunk&&)>;

  // Whether the tensor can be read in parallel with others, each byte once.
  static bool takes(const TensorReader& reader);

  // Measures on the host with `threads` threads, including the caller's; the others are started when there is work.
  // Calls `make_entry` on the thread that measured the item, and `done` on the caller's thread for each chunk, in the
  // order of submit().
  SmallTensors(Meter& meter, const Request& request, TensorReader::Order order, unsigned threads, MakeEntry make_entry,
               Done done);
  ~SmallTensors();
  SmallTensors(const SmallTensors&) = delete;
  SmallTensors& operator=(const SmallTensors&) = delete;

  // Queues the chunk. If too many are queued, the calling thread works on one.
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
  const MakeEntry make_entry_;
  const Done done_;
  std::vector<std::byte> room_;  // buffer of the caller's thread

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;  // in order of submit(); tasks are removed at the front when done
  bool stops_ = false;
  std::vector<std::thread> others_;
};

}  // namespace tensorstat
