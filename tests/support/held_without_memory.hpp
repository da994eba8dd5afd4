// Runs a call with each of its allocations failing, alone or with all later ones. For tests, in one source file per
// program.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <tensorstat/status.hpp>

#include "tests/support/failing_allocations.hpp"
#include "tests/support/sanitized.hpp"

namespace tensorstat {

// While it lives, allocations are not counted and do not fail. For the test's own work.
class Unarmed {
 public:
  Unarmed() : was_armed_(armed.exchange(false)) {}
  ~Unarmed() { armed = was_armed_; }
  Unarmed(const Unarmed&) = delete;
  Unarmed& operator=(const Unarmed&) = delete;

 private:
  const bool was_armed_;
};

// `run` returns whether its result was right, or an error. Without memory it may return out_of_memory() or a right
// result. It must not throw. Errors with the code `of_others` come from the driver and are accepted.
inline void hold(const char* what, const std::function<Result<bool>()>& run, std::optional<Code> of_others = {}) {
  ASSERT_TRUE(run()) << what;  // the first call fetches algorithms and makes function-local statics
  allocations = 0;
  fail_at = 0;
  armed = true;
  const auto counted_run = run();
  armed = false;
  ASSERT_TRUE(counted_run && *counted_run) << what;
  if (kSanitized && allocations == 0) GTEST_SKIP() << "the sanitizer allocates here";
  const std::int64_t calls = allocations;
  ASSERT_GT(calls, 0) << what;
  int errors = 0;
  for (const bool all_later : {false, true}) {
    for (std::int64_t call = 1; call <= calls; ++call) {
      allocations = 0;
      fail_at = call;
      for_ever = all_later;
      armed = true;
      Result<bool> result = false;
      bool thrown = false;
      try {
        result = run();
      } catch (...) {
        thrown = true;
      }
      armed = for_ever = false;
      ASSERT_FALSE(thrown) << what << ", allocation " << call;
      if (result) {
        EXPECT_TRUE(*result) << what << ", allocation " << call;
      } else if (result.error().code != of_others) {
        EXPECT_EQ(result.error().code, Code::kOutOfMemory)
            << what << ", allocation " << call << ": " << result.error().message;
        EXPECT_EQ(result.error().message, "out of memory");
        ++errors;
      }
    }
  }
  EXPECT_GT(errors, 0) << what;
  const auto after = run();
  EXPECT_TRUE(after && *after) << what << ", with memory again";
}

}  // namespace tensorstat
