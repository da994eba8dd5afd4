// Folds a large tensor of a file with several threads. Each thread reads a block into its cache and folds it there, so
// that the file's bytes do not pass through memory. What the page cache has in large pieces is mapped instead, if the
// process may map files (files/io/mapped_file.hpp): a copy takes as long as a fold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <tensorstat/meter.hpp>

#include "stats/data/files/tensor_reader.hpp"

namespace tensorstat {

class MappedFile;

class BlockFold {
 public:
  // Uses `threads` threads, including the caller's, which read blocks of about `block_bytes`. The request has no
  // digests.
  BlockFold(Meter& meter, const Request& request, unsigned threads, std::size_t block_bytes = kCacheBytes);

  // Whether it can fold this tensor, if it is folded on the host: a fetchable tensor of at least a few MiB.
  bool takes(const TensorReader& reader) const;

  using Progressed = std::function<void(std::uint64_t bytes)>;

  // The request must not depend on the order of the elements. Calls `progressed` on this thread with the bytes read
  // since its last call.
  Result<Statistics> fold(const TensorReader& reader, const Progressed& progressed);

  // The partial of `count` elements from `first` on, which is a multiple of 1,024, as a part of the whole tensor
  // (Partial::move_to). `in_order`: the request depends on the order of the elements; then each thread folds its own
  // stretch of them.
  Result<Partial> fold_part(const TensorReader& reader, std::uint64_t first, std::uint64_t count, bool in_order,
                            const Progressed& progressed);

 private:
  // Small enough that the Meter folds it on the calling thread, and that it fits into a core's own cache.
  static constexpr std::size_t kCacheBytes = std::size_t{120} << 10;

  struct Part;
  Result<Partial> fold_blocks(const Part& part, const MappedFile* mapped, const Progressed& progressed);

  Meter& meter_;
  const Request request_;
  const unsigned threads_;
  const std::size_t block_bytes_;
};

}  // namespace tensorstat
