// SPDX-License-Identifier: Apache-2.0
// The statistics of a tensor whose parts are on the ranks of an MPI communicator. Header-only: your program compiles it
// with its own MPI, so the library is the same for Open MPI and MPICH.
//
//   auto folded = meter.fold(shards, request);                    // this rank's part of each tensor
//   auto whole = tensorstat::mpi::all_reduce(folded, MPI_COMM_WORLD);
//   if (whole) whole->front().finish(Category::kL2norm);          // the bits of one process, on every rank
//
// Every rank of the communicator calls it, also one whose fold failed, and with the same list of tensors: a rank
// without elements of a tensor folds none. An error on one rank is an error on all. For any number of tensors it takes
// an MPI_Allreduce of 24 bytes, one by MPI_MAX and one by MPI_SUM; one more if indices are asked for, and two gathers
// for quantiles and for precision `low`. With MPI_ERRORS_RETURN a failure of MPI is an Error.
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

// Reduces the words in place, in pieces that MPI's int can count.
inline Status reduce_words(std::span<std::int64_t> words, MPI_Op operation, MPI_Comm communicator) {
  constexpr std::size_t kMostWords = std::size_t{1} << 28;
  while (!words.empty()) {
    const std::size_t count = std::min(words.size(), kMostWords);
    Status reduced = status_of(
        MPI_Allreduce(MPI_IN_PLACE, words.data(), static_cast<int>(count), MPI_INT64_T, operation, communicator),
        "MPI_Allreduce");
    if (!reduced) return reduced;
    words = words.subspan(count);
  }
  return {};
}

// Hands the bytes of each rank to the collective.
inline Status gather_bytes(Collective& collective, MPI_Comm communicator) {
  int ranks = 0;
  if (Status sized = status_of(MPI_Comm_size(communicator, &ranks), "MPI_Comm_size"); !sized) return sized;
  const std::vector<std::byte> own = collective.to_gather();
  const auto own_size = static_cast<std::int64_t>(own.size());
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(ranks));
  Status done =
      status_of(MPI_Allgather(&own_size, 1, MPI_INT64_T, sizes.data(), 1, MPI_INT64_T, communicator), "MPI_Allgather");
  if (!done) return done;
  std::vector<int> counts, places;
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) {
    if (size > 0x7fffffff - total) {  // the same on every rank
      return Error{Code::kUnsupported, "the partials of all ranks take 2 GiB or more; merge fewer tensors at once"};
    }
    counts.push_back(static_cast<int>(size));
    places.push_back(static_cast<int>(total));
    total += size;
  }
  std::vector<std::byte> all(static_cast<std::size_t>(total));
  done = status_of(MPI_Allgatherv(own.data(), static_cast<int>(own_size), MPI_BYTE, all.data(), counts.data(),
                                  places.data(), MPI_BYTE, communicator),
                   "MPI_Allgatherv");
  if (!done) return done;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    const auto bytes =
        std::span(all).subspan(static_cast<std::size_t>(places[rank]), static_cast<std::size_t>(counts[rank]));
    if (Status added = collective.add_gathered(bytes); !added) return added;
  }
  return {};
}

// The partials of the whole tensors, on every rank. `folded`: what Meter::fold gave, an error included. `label`: what
// must agree, too, such as the names of the tensors.
inline Result<std::vector<Partial>> all_reduce(const Result<std::vector<Partial>>& folded, MPI_Comm communicator,
                                               std::string_view label = {}) {
  int rank = 0;
  if (Status known = status_of(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank"); !known) return known.error();
  const auto number = static_cast<std::uint32_t>(rank);
  auto made = folded ? Collective::of(*folded, number, label) : Result<Collective>(folded.error());
  Collective collective = made ? *std::move(made) : Collective::failed(number, std::move(made).error());
  Status done = reduce_words(collective.agreement(), MPI_MAX, communicator);
  if (done) done = collective.agree();
  if (done) done = reduce_words(collective.largest(), MPI_MAX, communicator);
  if (done) done = reduce_words(collective.sums(), MPI_SUM, communicator);
  if (done) done = reduce_words(collective.indices(), MPI_MAX, communicator);
  if (done && collective.gathers()) done = gather_bytes(collective, communicator);
  if (!done) return done.error();
  return std::move(collective).finish();
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
