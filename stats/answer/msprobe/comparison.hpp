// Compares two dumps as msprobe's `compare` does (github Ascend/msprobe, 8ff00da3): the same columns, cells and
// verdicts, the mistakes included. The first dump is msprobe's NPU, the second its Bench.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/answer/compare/differences.hpp"
#include "stats/answer/msprobe/dumped_items.hpp"
#include "stats/answer/msprobe/mapping.hpp"

namespace tensorstat::msprobe {

enum class Level : std::uint8_t { kPass, kWarning, kError };

// Why a row does not pass, in msprobe's order. table.cpp has the texts.
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

// The cells between requires_grad and the statistics: eight in statistics mode, six in tensor mode.
using Measures = std::vector<PythonValue>;

struct ComparedRow {
  const Item* npu = nullptr;
  const Item* bench = nullptr;  // nullptr if it has no partner
  Statistics npu_statistics = {}, bench_statistics = {};
  Measures measures = {};
  Level level = Level::kPass;
  std::uint32_t messages = 0;  // a bit for each Message

  void raise(Level to, Message message) {
    if (to > level) level = to;
    messages |= 1u << static_cast<unsigned>(message);
  }
};

struct Comparison {
  Dump npu, bench;
  std::vector<ComparedRow> rows = {};  // in the order of the first dump
  std::uint64_t unmatched_count = 0;   // items of either dump without a partner
  bool is_whole = true;                // false if a tensor could not be read; `failed` was told

  // Whether any row does not pass, or any item has no partner.
  bool differs() const;

  // Rows that pass although the Bench has NaN or Inf among its statistics: msprobe's rule looks at the NPU alone.
  std::uint64_t passed_nan_count() const;
};

// Which tensors are held against each other. Without any of these, those of one name.
struct Naming {
  Renames names = {};  // of the NPU's tensors into the Bench's
  Mapping mapping = {};
  bool is_fuzzy = false;  // see pair_items_in_order
};

// Compares two dumps; the paths are those of a DumpPair. Only in tensor mode are the tensors' files read; `failed` is
// told of each that cannot be. Errors: a dump cannot be read; the dumps have different modes; kInvalid: the mapping.
Result<Comparison> compare_by_rules(const std::string& npu, const std::string& bench,
                                    const std::function<void(std::string_view words)>& failed,
                                    const Naming& naming = {});

}  // namespace tensorstat::msprobe
