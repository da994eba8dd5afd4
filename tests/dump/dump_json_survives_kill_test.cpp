// After kill -9 of a session that writes dump.json, each file is complete and has everything that was acknowledged.
#include <sys/mman.h>
#include <sys/wait.h>

#include <cstdlib>
#include <new>
#include <random>

#include "tests/support/msprobe_session.hpp"

namespace tensorstat {
namespace dump_json_survives_kill_test {

// Shared memory that survives the process: the number of complete steps, and of calls in the next step, that were
// acknowledged.
struct Acknowledged {
  std::atomic<std::uint64_t> steps, calls;
};

class DumpJsonSurvivesKill : public MsprobeSessionTest {
 protected:
  static constexpr std::uint64_t kCallsAStep = 150;

  [[noreturn]] void dump_for_ever(Acknowledged& acknowledged) {
    auto session = open();
    for (std::uint64_t step = 0;; ++step) {
      for (std::uint64_t call = 0; call < kCallsAStep; ++call) {
        collect(session, {.iteration = step}, "Tensor.add." + std::to_string(call) + ".forward",
                {tensor(values, Dtype::kFloat32)});
        if (call % 10 == 9 && session.flush()) acknowledged.calls = call + 1;
      }
      if (session.step_end({.iteration = step})) {
        acknowledged.calls = 0;
        acknowledged.steps = step + 1;
      }
    }
  }
};

TEST_F(DumpJsonSurvivesKill, AtAnyMoment) {
  const int kills = std::getenv("TENSORSTAT_FULL") != nullptr ? 1000 : 40;
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* acknowledged = new (page) Acknowledged{};
  std::uint64_t promised = 0;
  for (int round = 0; round < kills; ++round) {
    std::filesystem::remove_all(folder.path());
    acknowledged->steps = acknowledged->calls = 0;
    const pid_t child = fork();
    if (child == 0) dump_for_ever(*acknowledged);
    while (acknowledged->calls == 0 && acknowledged->steps == 0) usleep(200);
    usleep(random() % 20'000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const std::uint64_t steps = acknowledged->steps;
    for (std::uint64_t step = 0; std::filesystem::exists(folder / ("step" + std::to_string(step))); ++step) {
      const std::string path = "step" + std::to_string(step) + "/rank0/dump.json";
      const std::uint64_t least = step < steps ? kCallsAStep : step == steps ? acknowledged->calls.load() : 0;
      if (least == 0 && !std::filesystem::exists(folder / path)) continue;
      const auto root = json_of(path);
      ASSERT_FALSE(root.is_discarded()) << path << " is half";
      ASSERT_GE(root["data"].size(), least) << path;
      for (std::uint64_t call = 0; call < least; ++call) {
        const auto& entry = root["data"]["Tensor.add." + std::to_string(call) + ".forward"];
        ASSERT_EQ(entry["output"][0]["Max"], 2.0) << path << ", call " << call;
        ++promised;
      }
    }
  }
  EXPECT_GT(promised, static_cast<std::uint64_t>(kills));
  munmap(page, 4096);
}

}  // namespace dump_json_survives_kill_test
}  // namespace tensorstat
