// A framework's backend with MindSpore's data_dump.json: asks whether an operator is wanted, hands its tensors over,
// ends the step.
//
//     find_package(tensorstat REQUIRED)
//     target_link_libraries(dump_backend PRIVATE tensorstat::tensorstat)
//     ./dump_backend data_dump.json
#include <cmath>
#include <cstdio>
#include <tensorstat/dump.hpp>
#include <vector>

using namespace tensorstat;

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: dump_backend data_dump.json\n"), 2;
  const Log log = [](Severity, std::string_view text) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
  };
  auto session = DumpSession::from_file(argv[1], {.log = log});  // a framework uses from_environment
  if (!session) return std::fprintf(stderr, "%s\n", session.error().message.c_str()), 1;

  // When the graph is compiled: once for each operator.
  const DumpOperator* const relu = session->operator_named("ReLU", "Default/network/ReLU-op1");

  for (std::uint64_t iteration = 0; iteration < 3; ++iteration) {
    const std::vector<float> x = {-1, 2, iteration == 1 ? std::nanf("") : 3, -4};
    std::vector<float> y = x;
    for (float& each : y) each = each < 0 ? 0 : each;

    // After the operator has run. wants() takes a few nanoseconds if nothing of it is wanted.
    const DumpPlace place{.iteration = iteration};
    if (session->wants(place, relu)) {
      const auto tensor = [](const std::vector<float>& data, Io io) {
        return DumpTensor{.tensor = {.dtype = Dtype::kFloat32, .element_count = data.size(), .address = data.data()},
                          .shape = {2, 2},
                          .io = io};
      };
      const DumpTensor tensors[] = {tensor(x, Io::kInput), tensor(y, Io::kOutput)};
      session->collect(place, relu, tensors);  // measures or copies them: x and y may change now
    }
    session->step_end(place);
  }
  const bool all_written = session->close();
  std::printf("%d rows\n", static_cast<int>(session->counters().row_count));
  return all_written ? 0 : 1;
}
