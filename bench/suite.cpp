// The suite registers all groups, and lets Google Benchmark run those that a filter selects. bench/run calls it once
// for each group.
#include "bench/contest.hpp"

int main(int argc, char** argv) {
  using namespace tensorstat::bench;
  enter_passes();
  enter_peers();
  enter_pairs();
  enter_batches();
  enter_callers();
  enter_streams();
  enter_exactness();
  enter_worst_cases();
  enter_beside();
  enter_rows();
  enter_training();
  enter_start_up(TENSORSTAT_BENCH_FIRST_RESULT);
  for (const tensorstat::DeviceInfo& device : tensorstat::list_devices()) {
    if (device.refusal.empty()) benchmark::AddCustomContext("opencl", device.platform_name + ", " + device.name);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
