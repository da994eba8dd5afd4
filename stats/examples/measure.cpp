// Statistics of several tensors in one batch, in C++20.
//
//     find_package(tensorstat REQUIRED COMPONENTS core)
//     target_link_libraries(measure PRIVATE tensorstat::core)
#include <cstdio>
#include <tensorstat/meter.hpp>
#include <vector>

using namespace tensorstat;

int main() {
  const std::vector<float> weight = {0.5f, -1.5f, 2.0f, 0.0f};
  const std::vector<double> loss = {1e308, 1e308};  // their sum exceeds binary64, their mean does not
  const Tensor tensors[] = {
      {.dtype = Dtype::kFloat32, .element_count = weight.size(), .address = weight.data()},
      {.dtype = Dtype::kFloat64, .element_count = loss.size(), .address = loss.data()},
  };
  const Request request{.categories = *categories_from("max,min,avg,l2norm,nan count")};

  Meter meter;  // one for the whole program; thread-safe
  const auto measured = meter.measure(tensors, request);
  if (!measured) return std::fprintf(stderr, "%s\n", measured.error().message.c_str()), 1;
  for (const Measurement each : *measured) {
    for (std::size_t i = 0; i < request.categories.size(); ++i) {
      std::printf("%s%s %s", i == 0 ? "" : ", ", std::string(name(request.categories[i])).c_str(),
                  to_string(each.statistics.values[i]).c_str());
    }
    std::printf("\n");
  }
}
