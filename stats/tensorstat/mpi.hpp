// SPDX-License-Identifier: Apache-2.0
// The statistics of a tensor in parts on the ranks of an MPI communicator. Header-only: your program compiles it with
// its own MPI, so the library is the same for Open MPI and MPICH.
//
//   Collective collective = *tensorstat::mpi::collective(MPI_COMM_WORLD);        // keep it for all steps
//   auto folded = meter.fold(shards, request);                                   // this rank's part of each tensor
//   auto whole = tensorstat::mpi::all_reduce(collective, folded, MPI_COMM_WORLD);
//   if (whole) whole->front().finish(Category::kL2norm);                         // the bits of one process, on every
//   rank
//
// Every rank of the communicator calls it, also one that has an error, and with the same list of tensors: a rank
// without elements of a tensor folds none. An error on one rank is an error on all. For any number of tensors a step
// takes two MPI_Allreduce, by MPI_MAX and by MPI_SUM, and a third if indices are asked for. One more, of 24 bytes, is
// needed in the first step, and after a change of the list (<tensorstat/collective.hpp>). With MPI_ERRORS_RETURN a
// failure of MPI is an Error.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <string>
#include <tensorstat/collective.hpp>
#include <tensorstat/meter.hpp>
#include <vector>

namespace tensorstat::mpi {

inline Status status_of(int code, const char* call) {
  if (code == MPI_SUCCESS) return {};
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) length = 0;
  return Error{Code::kInvalid, std::string(call) + " failed: " + std::string(text, static_cast<std::size_t>(length))};
}

// For all_reduce() and reduce() of one list of partials, step after step.
inline Result<Collective> collective(MPI_Comm communicator) {
  int rank = 0, ranks = 0;
  Status known = status_of(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  if (known) known = status_of(MPI_Comm_size(communicator, &ranks), "MPI_Comm_size");
  if (!known) return std::move(known).error();
  return Collective(static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(ranks));
}

// Reduces the words of a round in place, in pieces that MPI's int can count.
inline Status reduce_round(const Collective::Round& round, MPI_Comm communicator, int root, bool is_root) {
  constexpr std::size_t kMostWords = std::size_t{1} << 28;
  const MPI_Op operation = round.operation == Collective::Round::Operation::kMax ? MPI_MAX : MPI_SUM;
  for (std::span<std::int64_t> words = round.words; !words.empty();) {
    const auto piece = words.first(std::min(words.size(), kMostWords));
    const int count = static_cast<int>(piece.size());
    Status reduced;
    if (round.is_for_all || root < 0) {
      reduced = status_of(MPI_Allreduce(MPI_IN_PLACE, piece.data(), count, MPI_INT64_T, operation, communicator),
                          "MPI_Allreduce");
    } else {
      // Not MPI_IN_PLACE: with it MPICH 4.0.2 reads address -1 if the root is not rank 0 and there are over 2 KB.
      const std::vector<std::int64_t> own(piece.begin(), is_root ? piece.end() : piece.begin());
      reduced = status_of(MPI_Reduce(is_root ? own.data() : piece.data(), is_root ? piece.data() : nullptr, count,
                                     MPI_INT64_T, operation, root, communicator),
                          "MPI_Reduce");
    }
    if (!reduced) return reduced;
    words = words.subspan(piece.size());
  }
  return {};
}

// The rounds of a step; root < 0: every rank gets the result.
inline Result<std::vector<Partial>> merged(Collective& collective, const Result<std::vector<Partial>>& folded, int root,
                                           MPI_Comm communicator, std::string_view label) {
  int rank = 0;
  if (Status known = status_of(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank"); !known) return known.error();
  if (folded) {
    collective.begin(*folded, label);
  } else {
    collective.begin(folded.error());
  }
  while (const auto round = collective.next()) {
    if (Status done = reduce_round(*round, communicator, root, rank == root); !done) return std::move(done).error();
  }
  if (root < 0 || rank == root) return collective.finish();
  if (Status fine = collective.status(); !fine) return std::move(fine).error();
  return std::vector<Partial>();
}

// The partials of the whole tensors, on every rank. `folded`: what Meter::fold gave, an error included. `label`: what
// must agree, too, such as the names of the tensors.
inline Result<std::vector<Partial>> all_reduce(Collective& collective, const Result<std::vector<Partial>>& folded,
                                               MPI_Comm communicator, std::string_view label = {}) {
  return merged(collective, folded, -1, communicator, label);
}

// For one step alone.
inline Result<std::vector<Partial>> all_reduce(const Result<std::vector<Partial>>& folded, MPI_Comm communicator,
                                               std::string_view label = {}) {
  auto once = collective(communicator);
  if (!once) return std::move(once).error();
  return merged(*once, folded, -1, communicator, label);
}

// The partials of the whole tensors on rank `root`, and an empty list on all others. The sums go by MPI_Reduce: an
// error of an earlier round is one on every rank, one of merging quantiles on the root alone.
inline Result<std::vector<Partial>> reduce(Collective& collective, const Result<std::vector<Partial>>& folded, int root,
                                           MPI_Comm communicator, std::string_view label = {}) {
  return merged(collective, folded, root, communicator, label);
}

// The values of whole tensors from the parts of this rank. first_elements: where each part begins in its tensor; only
// indices, crc32 and xor64 need it. Digests are an error on every rank.
inline Result<std::vector<Statistics>> measure(Meter& meter, std::span<const Tensor> shards, const Request& request,
                                               MPI_Comm communicator,
                                               std::span<const std::uint64_t> first_elements = {}) {
  auto folded = meter.fold(shards, request);
  for (std::size_t i = 0; folded && i < folded->size() && i < first_elements.size(); ++i) {
    if (Status moved = (*folded)[i].move_to(first_elements[i]); !moved) folded = std::move(moved).error();
  }
  const auto whole = all_reduce(folded, communicator);
  if (!whole) return whole.error();
  std::vector<Statistics> all;
  for (const Partial& partial : *whole) {
    Statistics& values = all.emplace_back(request.categories, std::vector<Value>());
    for (const Category category : request.categories) values.values.push_back(partial.finish(category));
  }
  return all;
}

}  // namespace tensorstat::mpi
