// Folds a large tensor of a file with several threads. Each thread reads a block into its cache and folds it there, so
// that the file's bytes do not pass through memory.
#pragma once

#include <cstdint>
#include <functional>
#include <tensorstat/meter.hpp>

#include "stats/files/tensor_reader.hpp"

namespace tensorstat {

class BlockFold {
 public:
  // Uses `threads` threads, including the caller's. The request must not depend on the order of the elements: precision
  // `high` and no digests.
  BlockFold(Meter& meter, const Request& request, unsigned threads);

  // Whether it can fold this tensor, if it is folded on the host: a fetchable tensor of at least a few MiB.
  bool takes(const TensorReader& reader) const;

  // Calls `progressed` on this thread with the bytes read since its last call.
  Result<Statistics> fold(const TensorReader& reader, const std::function<void(std::uint64_t bytes)>& progressed);

 private:
  Meter& meter_;
  const Request request_;
  const unsigned threads_;
};

}  // namespace tensorstat
