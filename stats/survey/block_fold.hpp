// A large tensor of a file, folded by several threads, each of which reads a block and folds it while that is in its
// cache: the file is copied as far as there, and never through memory.
#pragma once

#include <cstdint>
#include <functional>
#include <tensorstat/meter.hpp>

#include "stats/files/tensor_reader.hpp"

namespace tensorstat {

class BlockFold {
 public:
  // `threads` at once, the caller's among them. What is asked for has to be the same in whatever order
  // the elements come: `high`, and no digest.
  BlockFold(Meter& meter, const Request& request, unsigned threads);

  // Whether it folds this tensor, where the host is the place for it: a fetchable one of at least a few MiB.
  bool takes(const TensorReader& reader) const;

  // Calls `progressed` with the bytes that were read since its last call, on this thread.
  Result<Statistics> fold(const TensorReader& reader, const std::function<void(std::uint64_t bytes)>& progressed);

 private:
  Meter& meter_;
  const Request request_;
  const unsigned threads_;
};

}  // namespace tensorstat
