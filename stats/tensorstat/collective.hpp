// SPDX-License-Identifier: Apache-2.0
// Merges the partials of many ranks by the collectives that every communication library has: all-reduce MAX and
// all-reduce SUM of int64. There is no MPI in it; <tensorstat/mpi.hpp> drives it with MPI.
//
//   auto collective = Collective::of(partials, rank);     // the same list on every rank, one partial a tensor
//   all_reduce_max(collective->agreement());               // 3 words. No rank waits for one that failed
//   if (Status same = collective->agree(); !same) ...      // the same verdict on every rank
//   all_reduce_max(collective->largest());
//   all_reduce_sum(collective->sums());
//   all_reduce_max(collective->indices());                 // empty, on all ranks alike, unless indices are kept
//   if (collective->gathers()) for (bytes of each rank in order: all_gather(collective->to_gather()))
//     collective->add_gathered(bytes);
//   auto whole = std::move(*collective).finish();
//
// The results have the bytes of the partials that one process has after it merged all (Partial::serialize), on every
// rank, for any number of ranks and any cut. What depends on the place of the part in the whole tensor (indices, crc32
// and xor64) needs Partial::move_to first, as for merge().
//
// How each accumulator travels: extrema by MAX; counts and exact sums by SUM, in words of 32 bits with room for 2^31
// ranks; checksums as the parities of their bits, by SUM; an index by the MAX of its key, and then the MAX of the
// indices that have this key. Quantiles, and partials of precision `low`, travel whole, by an all-gather.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/partial.hpp>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat {

class Collective {
 public:
  // The partials of this rank. A rank without elements gives empty partials. `label`: what must agree beside the
  // partials, such as the names of the tensors. Errors: kOutOfMemory, kInvalid if `rank` is 2^31 or more. With an
  // error, take failed().
  static Result<Collective> of(std::span<const Partial> partials, std::uint32_t rank, std::string_view label = {});

  // For a rank that has no partials, because of an error: it takes part in the first round only, and agree() is an
  // error on every rank.
  static Collective failed(std::uint32_t rank, Error error);

  // The first round, of 3 words on every rank: all-reduce by MAX.
  std::span<std::int64_t> agreement() { return agreement_; }

  // After it: kInvalid if a rank failed (this rank's own error, if it is this one), or if the lists of partials differ
  // in number, dtype, precision, accumulators, cast scale or label. Every rank gets an error or none does.
  Status agree() const;

  // The arrays to reduce after agree(), of the same length on every rank: by MAX, and by SUM.
  std::span<std::int64_t> largest() { return largest_; }
  std::span<std::int64_t> sums() { return sums_; }

  // After these: all-reduce by MAX. Empty if no index is kept. Call it once.
  std::span<std::int64_t> indices();

  // Whether bytes of each rank are to be gathered: the same on every rank. to_gather(): this rank's.
  bool gathers() const { return gathers_; }
  std::vector<std::byte> to_gather() const;
  // The bytes of every rank, this one's included; call it in the order of the ranks. kInvalid for other bytes.
  Status add_gathered(std::span<const std::byte> bytes);

  // The partials of the whole. kInvalid, on every rank: the ranks together may have 2^63 elements or more of a tensor.
  Result<std::vector<Partial>> finish() &&;

 private:
  Collective() = default;

  // The key of an index on this rank, where it is in largest_, and the index.
  struct OwnKey {
    std::size_t at;
    std::int64_t key, index;
  };
  std::vector<Partial> partials_;
  std::vector<std::optional<Partial>> gathered_;
  std::vector<std::int64_t> agreement_, largest_, sums_, indices_;
  std::vector<OwnKey> own_keys_;
  std::optional<Error> error_;
  std::int64_t key_ = 0;
  std::uint32_t rank_ = 0;
  bool gathers_ = false;
};

}  // namespace tensorstat
