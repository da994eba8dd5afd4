// CUB's DeviceReduce::Sum over MIB of float32, timed by the device's clock. Prints a figure per line in report.cpp's
// format:  cub_sum MIB ROUNDS
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#include <vector>

namespace {

void check(cudaError_t result) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "cub_sum: %s\n", cudaGetErrorString(result));
  std::exit(1);
}

__global__ void fill(float* to, std::size_t count) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count; i += std::size_t{gridDim.x} * blockDim.x) {
    to[i] = static_cast<float>(i % 2048) / 1024 - 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::size_t bytes = std::strtoull(argv[1], nullptr, 10) << 20, count = bytes / sizeof(float);
  const int rounds = std::atoi(argv[2]);
  float *from = nullptr, *sum = nullptr;
  void* scratch = nullptr;
  std::size_t scratch_bytes = 0;
  check(cudaMalloc(&from, bytes));
  check(cudaMalloc(&sum, sizeof *sum));
  fill<<<1024, 256>>>(from, count);
  check(cub::DeviceReduce::Sum(nullptr, scratch_bytes, from, sum, count));
  check(cudaMalloc(&scratch, scratch_bytes));
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin));
  check(cudaEventCreate(&end));
  std::vector<float> times;
  for (int round = 0; round <= rounds; ++round) {
    check(cudaEventRecord(begin));
    check(cub::DeviceReduce::Sum(scratch, scratch_bytes, from, sum, count));
    check(cudaEventRecord(end));
    check(cudaEventSynchronize(end));
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end));
    if (round > 0) times.push_back(milliseconds);
  }
  std::sort(times.begin(), times.end());
  std::printf("peer/cub sum/float32\t%.3f (%.3f-%.3f)\tms\t\t\n", times[times.size() / 2], times[times.size() / 4],
              times[3 * times.size() / 4]);
}
