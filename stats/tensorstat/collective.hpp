// SPDX-License-Identifier: Apache-2.0
// Merges the partials of many ranks by two operations that every communication library has: all-reduce of int64 by MAX
// and by SUM. There is no MPI in it; <tensorstat/mpi.hpp> drives it with MPI.
//
//   Collective collective(rank, ranks);                  // keep it for all steps that merge the same list
//   collective.begin(partials, names);                   // one partial a tensor; or begin(error)
//   while (auto round = collective.next()) all_reduce(round->words, round->operation);   // in place
//   Result<std::vector<Partial>> whole = collective.finish();
//
// Every rank calls these, one that has an error included: then all ranks have an error after the same rounds, and no
// rank waits. The results have the bytes of the partial that one process has after it merged all (Partial::serialize),
// for any number of ranks and any cut. What depends on the place of the part in the whole tensor (indices, crc32 and
// xor64) needs Partial::move_to first, as for merge().
//
// The rounds of a step, whatever the number of tensors:
//   1. MAX: whether the lists agree, errors, and all words that merge by the maximum
//   2. SUM: counts and exact sums, in words of 32 bits with room for 2^31 ranks; checksums as the parities of their
//      bits; quantiles and partials of precision `low`, which do not reduce: each rank has words of its own for them
//   3. MAX, only if an index is kept: the index of each largest key
// The first step has one round more, and so has a step with another list than the one before: the length of round 1 is
// not known before the ranks agree. A step with an error has 2 rounds.
#pragma once

#include <array>
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
  // Rank `rank` of `ranks`. Each rank has a number of its own. status() tells, before begin() and behind it, if a
  // number is invalid, or over 2^31 - 1.
  Collective(std::uint32_t rank, std::uint32_t ranks);
  ~Collective();
  Collective(const Collective&);
  Collective(Collective&&) noexcept;
  Collective& operator=(const Collective&);
  Collective& operator=(Collective&&) noexcept;

  // Begins a step with this rank's partials: the same list on every rank. A rank without elements of a tensor has an
  // empty partial. `label`: what must agree beside the partials, such as the names of the tensors.
  void begin(std::span<const Partial> partials, std::string_view label = {});
  // For a rank that has no partials because of an error. finish() gives this error here, and names it on all others.
  void begin(Error error);

  struct Round {
    enum class Operation { kMax, kSum } operation;
    std::span<std::int64_t> words;  // of the same length on every rank; never empty
    // Whether every rank needs what is reduced. If not, the ranks that take no result from finish() do not: a reduce to
    // one root does.
    bool is_for_all;
  };
  // The next round, after the last one was reduced; nothing if there is none. Every rank has the same rounds. One
  // exception: if memory for the quantiles of all ranks is exhausted, the rounds of this rank end, and the caller has
  // to stop the others.
  std::optional<Round> next();

  // Behind the last round: the same error on every rank, or none. A rank failed; the lists differ in number, dtype,
  // precision, accumulators, cast scale or label; or the ranks together may have 2^63 elements or more of a tensor.
  Status status() const;
  // The partials of the whole, or status()'s error. If a round itself could not be reduced, its words are of no use,
  // and so is the Collective: take another one.
  Result<std::vector<Partial>> finish();

 private:
  enum class Stage : std::uint8_t { kBegun, kAgreement, kLargest, kSums, kIndices, kDispute, kDone };

  struct Kind;  // what partials of the list have in common
  struct PackedWords;
  // The key of an index on this rank, its word in largest_, and the index.
  struct OwnKey {
    std::size_t word;
    std::int64_t key, index;
  };

  std::size_t kind_of(const Partial& partial);
  void fill(std::span<const Partial> partials, std::string_view label);
  bool is_known() const { return !error_ && key_ == agreed_key_ && agreed_words_ == largest_.size(); }
  std::span<std::int64_t> agreement() { return std::span(is_known() ? largest_ : unagreed_).first(agreed_words_); }
  void fill_agreement();
  void fill_dispute();
  Error settled();
  std::optional<Round> advance();
  Status fill_gathered();

  std::uint32_t rank_, ranks_;
  int bits_a_word_;  // of checksums
  Stage stage_ = Stage::kDone;
  std::optional<Error> error_;
  std::vector<Kind> kinds_;
  std::vector<std::size_t> list_;  // the kind of each partial
  // Both begin with the words of the agreement. The first round sends unagreed_, as many words as the last list had,
  // where the ranks have not agreed on this list yet. Then largest_ follows in a round of its own.
  std::vector<std::int64_t> largest_, unagreed_, sums_, indices_, own_whole_;
  std::size_t counts_ = 0;    // where largest_ has the counts of elements, and behind them the sizes of own_whole_
  std::size_t gathered_ = 0;  // where sums_ has own_whole_ of each rank
  std::vector<OwnKey> own_keys_;
  std::array<std::int64_t, 36> dispute_{};
  std::int64_t key_ = 0, agreed_key_ = 0;
  std::size_t agreed_words_;  // of round 1
};

}  // namespace tensorstat
