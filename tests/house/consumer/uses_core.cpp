// Prints the max of four numbers.
#include <cstdio>
#include <tensorstat/meter.hpp>

int main() {
  const float data[] = {1, -2, 7.5, 3};
  const tensorstat::Tensor tensor{.dtype = tensorstat::Dtype::kFloat32, .element_count = 4, .address = data};
  tensorstat::Meter meter;
  const auto rows = meter.measure({&tensor, 1}, {.categories = {tensorstat::Category::kMax}});
  if (!rows) return 1;
  std::puts(to_string(rows->front().statistics.values[0]).c_str());
}
