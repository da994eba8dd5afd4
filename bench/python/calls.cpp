// The C++ side of calls.py: the same batch through the C++ library, in the same process.
#include <chrono>
#include <cstdlib>
#include <tensorstat/meter.hpp>

using namespace tensorstat;

// The seconds of one call of measure() on `tensor_count` tensors of float32 at these addresses.
extern "C" double seconds_of_measure(const float* const* addresses, std::size_t tensor_count, std::size_t elements,
                                     const char* statistics, int calls) {
  static Meter meter;
  const Request request{.categories = *categories_from(statistics)};
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < tensor_count; ++i)
    tensors.push_back({.element_count = elements, .address = addresses[i]});
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < calls; ++i) {
    if (!meter.measure(tensors, request)) std::abort();
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / calls;
}
