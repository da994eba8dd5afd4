// A program for mpirun: the partials of ranks that MPI reduces are those of the whole tensor, byte for byte, on every
// rank; an error on one rank is an error on all, and no rank waits. Ends with 0 if so.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <tensorstat/mpi.hpp>
#include <vector>

#include "tests/support/samples.hpp"

using namespace tensorstat;

namespace {

int rank = 0, ranks = 1, failures = 0;
constexpr const char* kEvery = "every statistic";

std::vector<Dtype> every_dtype() {
  std::vector<Dtype> dtypes = samples::whole_dtypes();
  std::ranges::copy(samples::packed_dtypes(), std::back_inserter(dtypes));
  return dtypes;
}

void expect(bool holds, const char* what, Dtype dtype, const char* list) {
  if (holds) return;
  failures += 1;
  std::fprintf(stderr, "rank %d of %d: %s: %s, %s, seed %llu\n", rank, ranks, what, std::string(name(dtype)).c_str(),
               list, static_cast<unsigned long long>(samples::seed()));
}

void reduce_whole(Meter& meter, Dtype dtype, const char* list, Precision precision) {
  samples::Random random{samples::seed() + static_cast<std::uint64_t>(dtype)};  // the same on every rank
  Request request{.categories = list == kEvery ? every_category() : *categories_from(list),
                  .precision = precision,
                  .on = On::kHost};
  std::erase_if(request.categories, [&](Category each) { return !has(dtype, each) || is_digest(each); });
  const auto bytes = samples::one_of(dtype, random() % 50, random() % 20'000, random);
  const std::size_t count = bytes.size() / size_bytes(dtype) * elements_a_byte(dtype);
  const Tensor all{.dtype = dtype, .element_count = count, .address = bytes.data()};
  const auto expected = meter.fold({&all, 1}, request)->front().serialize();
  std::vector<std::size_t> cuts = {0, count};
  while (cuts.size() <= static_cast<std::size_t>(ranks)) cuts.push_back(random() % (count + 1) / 1024 * 1024);
  std::ranges::sort(cuts);
  const auto own = static_cast<std::size_t>(rank);
  const Tensor part{
      .dtype = dtype, .element_count = cuts[own + 1] - cuts[own], .address = bytes.data() + bytes_of(dtype, cuts[own])};
  auto folded = meter.fold({&part, 1}, request);
  if (folded && !folded->front().move_to(cuts[own])) folded = Error{};
  Collective collective = *mpi::collective(MPI_COMM_WORLD);
  for (int step = 0; step < (precision == Precision::kHigh ? 2 : 1); ++step) {
    const auto whole = mpi::all_reduce(collective, folded, MPI_COMM_WORLD);
    expect(whole && whole->front().serialize() == expected, "not the whole", dtype, list);
  }
  if (precision == Precision::kLow) return;  // reduce() is no other than before
  const int root = static_cast<int>(dtype) % ranks;
  const auto at_root = mpi::reduce(collective, folded, root, MPI_COMM_WORLD);
  expect(at_root && at_root->size() == (rank == root ? 1 : 0), "no result of reduce", dtype, list);
  expect(!at_root || rank != root || at_root->front().serialize() == expected, "not the whole at a root", dtype, list);
}

void fail_somewhere(Meter& meter) {
  const std::vector<float> data(100, 1.5f);
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = data.size(), .address = data.data()};
  const Request request{.categories = {Category::kMax}, .on = On::kHost};
  Collective collective = *mpi::collective(MPI_COMM_WORLD);
  for (int bad = 0; bad < ranks; ++bad) {
    auto folded = meter.fold({&tensor, 1}, request);
    if (rank == bad) folded = Error{Code::kUnreadable, "its shard is gone"};
    const auto whole = mpi::all_reduce(collective, folded, MPI_COMM_WORLD);
    const std::string wanted =
        rank == bad ? "its shard is gone"
                    : "rank " + std::to_string(bad) + " failed, so no rank has a result: its shard is gone";
    expect(!whole && whole.error().message.find(wanted) != std::string::npos, "no error", Dtype::kFloat32, "max");
    const auto at_root = mpi::reduce(collective, folded, 0, MPI_COMM_WORLD);
    expect(!at_root && at_root.error().message.find(wanted) != std::string::npos, "no error of reduce", Dtype::kFloat32,
           "max");
    if (ranks == 1) continue;
    // One rank has other statistics, another dtype or another scale than all others.
    const Request casts{.categories = {Category::kE5m2Overflow}, .on = On::kHost};
    const Request of_bad[] = {{.categories = {Category::kMax, Category::kArgmax}, .on = On::kHost},
                              request,
                              {.categories = casts.categories, .on = On::kHost, .cast_scale = 2}};
    const Tensor of_int32{.dtype = Dtype::kInt32, .element_count = data.size(), .address = data.data()};
    for (int i = 0; i < 3; ++i) {
      const auto mixed =
          mpi::all_reduce(meter.fold({rank == bad && i == 1 ? &of_int32 : &tensor, 1}, rank == bad ? of_bad[i]
                                                                                       : i == 2    ? casts
                                                                                                   : request),
                          MPI_COMM_WORLD);
      expect(!mixed && mixed.error().message.find("the same list") != std::string::npos, "other lists merge",
             Dtype::kFloat32, "max");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Meter meter({.threads = 1});
  for (const Dtype dtype : every_dtype()) {
    for (const char* list : {kEvery, "max,min,avg,l2norm,nan count",
                             "max,avg,var,l1norm,crc32,xor64,argmax,first nan index", "nan count,p50,exponents,std"}) {
      for (const Precision precision : {Precision::kHigh, Precision::kLow}) reduce_whole(meter, dtype, list, precision);
    }
  }
  fail_somewhere(meter);
  int all = 0;
  MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all == 0 ? 0 : 1;
}
