// Measures held tensors by the rules of the config.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <tensorstat/meter.hpp>
#include <tensorstat/opencl.hpp>
#include <utility>
#include <vector>

#include "stats/data/rows/notices.hpp"
#include "stats/job/dump/config/dump_config.hpp"
#include "stats/job/dump/session/pending_run.hpp"

namespace tensorstat {

class DumpMeter {
 public:
  // `columns` may contain a category twice; it is computed once.
  DumpMeter(const DumpConfig& config, Categories columns, MeterOptions options, std::shared_ptr<Notices> notices);

  // Further statistics behind the columns. Call it before the first measure(). A second call replaces the first.
  void also_measure(const Categories& more);

  // Whether op_debug_mode 3 checks this tensor: float16, float32 and bfloat16 outputs.
  static bool looks_at(const PendingTensor& tensor);

  bool wants_digests() const { return !digests_.empty(); }

  // Whether any checked tensor holds a NaN or an Inf. A tensor that cannot be measured counts as overflow, so that no
  // overflow is missed.
  bool overflows(const PendingRun& run);

  // Enqueues the folds of these tensors, each in device memory, and sets their tickets. False: nothing came of it, for
  // a reason that is reported once. Several threads may call this.
  bool fold_on_board(std::span<PendingTensor* const> tensors);
  static std::string waits_for_tensors(std::string_view why);
  // For a CUDA graph's tensors. nullptr for a reason that is reported once.
  std::shared_ptr<DumpGraph> open_graph();
  // Tensors folded since the last call can be measured from now on.
  void end_board_step();

  // Sets each tensor's `statistics`. It stays empty for tensors without statistics (complex) and for errors, which are
  // reported once. For borrowed tensors, several threads may call this at the same time. Of a tensor with a ticket it
  // waits for the board; if that has lost the tensor, it is measured anew if its memory is kept.
  void measure(std::span<PendingTensor* const> tensors);

  // Where the tensors of measure() were measured. Any thread may ask at any time.
  struct Places {
    std::uint64_t on_device = 0, on_host = 0;
    std::uint64_t fallen_back = 0;  // of those on the host: they lie in a device's memory, or a device failed
    MemoryUse device_memory = {};
  };
  Places places() const;

  // Copies the bits of a host tensor to `to`, in C order, and points the tensor there. Copies tensor.element_count
  // elements; for a strided tensor these may be only the first ones. Fails without enough memory.
  Status copy(Tensor& tensor, std::span<std::byte> to);

  // The bits of a tensor in host memory: its own memory, or `room` after a read from the device.
  using Room = std::unique_ptr<std::vector<std::byte>>;
  Result<std::span<const std::byte>> bits(const PendingTensor& tensor, Room& room);

  // Whether a device may still read tensors that were passed since the last call (Code::kInUse). These must be kept
  // unchanged until the process ends.
  bool left_in_use() { return std::exchange(left_in_use_, false); }

 private:
  // How places() counts the tensors of a request.
  enum class Counted : std::uint8_t { kNot, kByPlace, kAsFallenBack };
  std::vector<std::optional<Statistics>> ask(std::span<const Tensor> tensors, const Categories& categories, On on,
                                             Counted counted = Counted::kNot);
  void count(const Measurement& measured, const Tensor& tensor, On on, Counted counted);
  void note(const Error& error);
  std::optional<Statistics> measure_packed(const PendingTensor& tensor);
  Statistics in_columns(Statistics statistics) const;

  void sort(const Categories& categories);
  Board* board();
  void take_from_board(PendingTensor& tensor);

  Categories columns_;
  const std::size_t column_count_;  // without the columns of also_measure()
  Categories plain_, digests_;      // without duplicates
  Categories all_;                  // both
  const Precision precision_;
  const On on_;
  const On on_gpus_;  // tensors in a GPU's memory
  std::shared_ptr<Notices> notices_;
  bool left_in_use_ = false;
  std::atomic<std::uint64_t> on_device_count_{0}, on_host_count_{0}, fallen_back_count_{0};
  Meter meter_;
  std::mutex board_mutex_;              // of board_ while it is opened
  std::optional<Result<Board>> board_;  // an error: the board cannot be used
};

}  // namespace tensorstat
