// The engines on which properties of the numbers are tested.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/meter.hpp>
#include <vector>

#include "host/simd/cpu.hpp"
#include "stats/core/engine/engine.hpp"
#include "stats/core/engine/ledger.hpp"
#include "tests/support/samples.hpp"

struct EngineUnderTest {
  std::string name;
  std::unique_ptr<tensorstat::Engine> engine;
};

// The instruction set that TENSORSTAT_ISA forces on this run, if any.
inline std::optional<std::string_view> forced_isa() {
  const char* isa = std::getenv("TENSORSTAT_ISA");
  return isa == nullptr ? std::nullopt : std::optional<std::string_view>(isa);
}

// A run that forces an instruction set does not test the device. Any other run must find one, unless
// TENSORSTAT_NO_DEVICE says that the machine has none.
inline bool expects_device() { return !forced_isa() && std::getenv("TENSORSTAT_NO_DEVICE") == nullptr; }

// Made at the first call, the device last. If an expected device is missing, the test fails.
inline const std::vector<EngineUnderTest>& every_engine() {
  static tensorstat::Ledger ledger{std::nullopt};
  static const auto engines = [] {
    std::vector<EngineUnderTest> made;
    for (const unsigned threads : {1u, 3u}) {
      made.push_back({"host, threads " + std::to_string(threads), tensorstat::make_host_engine({.threads = threads})});
    }
    if (expects_device()) {
      auto device = tensorstat::make_opencl_engine({}, ledger);
      if (device) {
        made.push_back({"opencl", std::move(*device)});
      } else {
        ADD_FAILURE() << "no OpenCL device: " << device.error().message;
      }
    }
    return made;
  }();
  return engines;
}

// The engines that this run uses for a dtype: a device only if this run builds kernels of the dtype.
inline std::span<const EngineUnderTest> engines_of(tensorstat::Dtype dtype) {
  const std::span<const EngineUnderTest> all = every_engine();
  return all.first(static_cast<std::size_t>(std::ranges::count_if(all, [&](const EngineUnderTest& each) {
    return each.engine->name() == "host" || samples::is_built_on_a_device(dtype);
  })));
}

// Call this first in every test that is registered once per instruction set. The quick run skips the widest instruction
// set, because the run without a forced one already uses it.
inline void expect_forced_isa_runs() {
  if (!forced_isa()) return;
  const auto runnable = tensorstat::runnable_isas();
  if (!samples::full() && *forced_isa() == name(runnable.back())) {
    GTEST_SKIP() << "the run that forces no instruction set has this one";
  }
  for (const tensorstat::Isa isa : runnable) {
    if (name(isa) == *forced_isa()) {
      EXPECT_EQ(*forced_isa(), name(tensorstat::best_isa()));
      return;
    }
  }
  GTEST_SKIP() << "this processor has no " << *forced_isa() << "; its widest is " << name(runnable.back());
}
