// What a step of ranks costs: 1,000 float32 tensors merged by <tensorstat/mpi.hpp>, beside MPI_Allreduce of the same
// bytes by MAX and by SUM. The two take turns. Then the bytes of a step by statistics.
//
//     mpirun -n 2 collectives [TENSORS] [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <tensorstat/mpi.hpp>
#include <vector>

using namespace tensorstat;

namespace {

std::size_t calls = 0, words_reduced = 0;

double seconds_of(const auto& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double at(std::vector<double> all, double share) {
  std::ranges::sort(all);
  return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
}

std::vector<Partial> folded(Meter& meter, std::size_t tensors, const char* list, int rank) {
  std::vector<float> data(256);
  for (std::size_t i = 0; i < data.size(); ++i)
    data[i] = static_cast<float>(i * 37 % 101) - 50.0f + static_cast<float>(rank);
  const std::vector<Tensor> all(tensors,
                                {.dtype = Dtype::kFloat32, .element_count = data.size(), .address = data.data()});
  return *meter.fold(all, {.categories = *categories_from(list), .on = On::kHost});
}

}  // namespace

// Counts what the header calls.
extern "C" int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op operation,
                             MPI_Comm comm) {
  calls += 1;
  words_reduced += static_cast<std::size_t>(count);
  return PMPI_Allreduce(from, to, count, type, operation, comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto tensors = static_cast<std::size_t>(argc > 1 ? std::atoi(argv[1]) : 1000);
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 101;
  Meter meter({.threads = 1});
  if (rank == 0) std::printf("%d ranks, %zu float32 tensors\n", ranks, tensors);
  for (const char* list : {"nan count", "max,min,avg,l2norm,nan count", "max,min,avg,l2norm,nan count,xor64,argmax",
                           "max,min,avg,l2norm,nan count,exponents"}) {
    const Result<std::vector<Partial>> parts = folded(meter, tensors, list, rank);
    Collective collective = *mpi::collective(MPI_COMM_WORLD);
    if (!mpi::all_reduce(collective, parts, MPI_COMM_WORLD)) return MPI_Abort(MPI_COMM_WORLD, 1);
    calls = words_reduced = 0;
    if (!mpi::all_reduce(collective, parts, MPI_COMM_WORLD)) return MPI_Abort(MPI_COMM_WORLD, 1);
    const std::size_t calls_a_step = calls, words = words_reduced;
    std::vector<std::int64_t> largest(words / 4), sums(words - words / 4);
    std::vector<double> ours, bare, ratios;
    for (int round = 0; round < rounds; ++round) {
      bare.push_back(seconds_of([&] {
        PMPI_Allreduce(MPI_IN_PLACE, largest.data(), static_cast<int>(largest.size()), MPI_INT64_T, MPI_MAX,
                       MPI_COMM_WORLD);
        PMPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
      }));
      ours.push_back(seconds_of([&] { (void)mpi::all_reduce(collective, parts, MPI_COMM_WORLD); }));
      ratios.push_back(ours.back() / bare.back());
    }
    if (rank == 0) {
      std::printf("%-45s %zu collectives, %8zu bytes, %5.0f a tensor; %7.0f us beside %7.0f us: %.2f (%.2f-%.2f)\n",
                  list, calls_a_step, words * 8, static_cast<double>(words * 8) / static_cast<double>(tensors),
                  at(ours, 0.5) * 1e6, at(bare, 0.5) * 1e6, at(ratios, 0.5), at(ratios, 0.25), at(ratios, 0.75));
    }
  }
  MPI_Finalize();
}
