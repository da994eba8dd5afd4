// The statistics of a matrix that is cut over the ranks of MPI, with the bits of one process: on 1, 2 or 1,000 ranks.
//
//     mpicxx -std=c++20 ranks_mpi.cpp $(pkg-config --cflags --libs tensorstat-cpp) -o ranks_mpi && mpirun -n 4
//     ./ranks_mpi
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <tensorstat/mpi.hpp>
#include <vector>

using namespace tensorstat;

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  // Each rank has some rows of a matrix of 1,000 x 1,000.
  constexpr std::uint64_t kRows = 1000, kColumns = 1000;
  const std::uint64_t first = kRows * static_cast<std::uint64_t>(rank) / static_cast<std::uint64_t>(ranks);
  const std::uint64_t end = kRows * static_cast<std::uint64_t>(rank + 1) / static_cast<std::uint64_t>(ranks);
  std::vector<float> rows;
  for (std::uint64_t i = first * kColumns; i < end * kColumns; ++i) {
    rows.push_back(i == 777'777 ? std::nanf("") : 1.0f / static_cast<float>(i + 1));
  }

  Meter meter;
  const Tensor shard{.dtype = Dtype::kFloat32, .element_count = rows.size(), .address = rows.data()};
  const std::uint64_t begin = first * kColumns;  // first nan index and crc32 count in the whole matrix
  const Request request{.categories = *categories_from("max,l2norm,finite l2norm,nan count,first nan index,crc32")};
  const auto whole = mpi::measure(meter, {&shard, 1}, request, MPI_COMM_WORLD, {&begin, 1});
  if (!whole) std::fprintf(stderr, "rank %d: %s\n", rank, whole.error().message.c_str());
  for (std::size_t i = 0; rank == 0 && whole && i < request.categories.size(); ++i) {
    std::printf("%s %s\n", std::string(name(request.categories[i])).c_str(),
                to_string(whole->front().values[i]).c_str());
  }
  MPI_Finalize();
  return whole ? 0 : 1;
}
