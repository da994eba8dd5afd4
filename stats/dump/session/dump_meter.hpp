// Asks the meter about tensors that are held, with the rules of the config.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <tensorstat/meter.hpp>
#include <utility>
#include <vector>

#include "stats/dump/config/dump_config.hpp"
#include "stats/dump/session/pending_run.hpp"
#include "stats/rows/notices.hpp"

namespace tensorstat {

class Examiner {
 public:
  // `columns` may name a category twice; it is computed once.
  Examiner(const DumpConfig& config, Categories columns, MeterOptions options,
           std::shared_ptr<Notices> notices);

  // Whether op_debug_mode 3 looks at this tensor: float16, float32 and bfloat16 outputs.
  static bool looks_at(const PendingTensor& held);

  bool wants_digests() const { return !digests_.empty(); }

  // Whether any tensor that is looked at holds a NaN or an Inf. What cannot be measured counts as overflow, so that
  // it is not missed.
  bool overflows(const PendingRun& run);

  // Finds the values of the columns for each tensor; none for what has no statistics (complex) or could not be measured,
  // which is said once. Several threads at once may ask about tensors that are borrowed.
  void measure(std::span<PendingTensor* const> tensors);

  // Copies the bits of a host tensor, in C order, to a place of their own, where it lies then: as many as
  // tensor.element_count says, which of a strided tensor may be the first of its elements. Fails where memory does.
  Status copy(Tensor& tensor, std::span<std::byte> to);

  // The bits of a tensor on the host: its own, or read into `room`.
  using Room = std::unique_ptr<std::vector<std::byte>>;
  Result<std::span<const std::byte>> bits(const PendingTensor& tensor, Room& room);

  // Whether a device may still read tensors that were asked about since the last call of this (Code::kInUse). They
  // must then be kept, unchanged, until the process ends.
  bool left_in_use() { return std::exchange(left_in_use_, false); }

 private:
  std::vector<std::optional<Statistics>> ask(std::span<const Tensor> tensors,
                                             const Categories& categories, On on);
  void note(const Error& error);
  std::optional<Statistics> measure_packed(const PendingTensor& tensor);
  Statistics in_columns(const Statistics& found) const;

  const Categories columns_;
  Categories plain_, digests_;  // each once
  const Precision precision_;
  const On on_;
  std::shared_ptr<Notices> notices_;
  bool left_in_use_ = false;
  Meter meter_;
};

}  // namespace tensorstat
