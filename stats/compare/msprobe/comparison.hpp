// Two dumps held against each other by the rules of msprobe's `compare` (github Ascend/msprobe, 8ff00da3): its columns,
// its cells, its verdicts, where these have holes too. The first dump is its NPU, the second its Bench.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/compare/differences.hpp"
#include "stats/compare/msprobe/dumped_items.hpp"

namespace tensorstat::msprobe {

enum class Level : std::uint8_t { kPass, kWarning, kError };

// Why a row is no pass; their texts are in table.cpp. In the order in which msprobe lists them.
enum class Message : std::uint8_t {
  kNanOrInf,
  kOutputNorm,
  kOneThousandth,
  kRequiresGrad,
  kScalar,
  kDtype,
  kShape,
  kNormGrows,
  kCosineFalls,
  kChecksum,
  kNoPartner,
};

// What the columns between requires_grad and the statistics say: eight in statistics mode, six in tensor mode.
using Measures = std::vector<PythonValue>;

struct ComparedRow {
  const Item* npu = nullptr;
  const Item* bench = nullptr;  // nullptr: without a partner
  Statistics npu_statistics = {}, bench_statistics = {};
  Measures measures = {};
  Level level = Level::kPass;
  std::uint32_t messages = 0;  // bits by Message

  void raise(Level to, Message message) {
    if (to > level) level = to;
    messages |= 1u << static_cast<unsigned>(message);
  }
};

struct Comparison {
  Dump npu, bench;
  std::vector<ComparedRow> rows = {};  // in the order of the first dump
  std::uint64_t unmatched_count = 0;   // of both dumps
  bool is_whole = true;                // else a tensor could not be read, which the listener has been told

  // A row is no pass, or something has no partner.
  bool differs() const;

  // Rows that pass although the Bench has NaN or Inf among its statistics: msprobe's rule looks at the NPU alone.
  std::uint64_t passed_nan_count() const;
};

// The paths are those of a DumpPair. `names` turn names of the NPU's tensors into the Bench's. Where tensors are
// compared: nothing else reads them. Errors: a dump cannot be read, or the two are of different modes.
Result<Comparison> compare_by_rules(const std::string& npu, const std::string& bench,
                                    const std::function<void(std::string_view words)>& failed,
                                    const Renames& names = {});

}  // namespace tensorstat::msprobe
