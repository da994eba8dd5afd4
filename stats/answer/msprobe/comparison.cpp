#include "stats/answer/msprobe/comparison.hpp"

#include <algorithm>
#include <filesystem>
#include <future>

#include "stats/answer/msprobe/pairing.hpp"
#include "stats/answer/msprobe/result_rules.hpp"
#include "stats/answer/msprobe/statistic_cells.hpp"
#include "stats/answer/msprobe/tensor_cells.hpp"
#include "stats/core/base/printable.hpp"

namespace tensorstat::msprobe {
namespace {

// For a small file a thread costs more than it saves. A folder counts as large.
std::launch way_to_read(const std::string& path) {
  constexpr std::uintmax_t kLeastBytes = 1 << 16;
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(path, ignored);
  const bool is_small = is_file && std::filesystem::file_size(path, ignored) < kLeastBytes;
  return is_small ? std::launch::deferred : std::launch::async;
}

}  // namespace

bool Comparison::differs() const {
  return unmatched_count != 0 ||
         std::ranges::any_of(rows, [](const ComparedRow& row) { return row.level != Level::kPass; });
}

std::uint64_t Comparison::passed_nan_count() const {
  return static_cast<std::uint64_t>(std::ranges::count_if(rows, [](const ComparedRow& row) {
    return row.level == Level::kPass && std::ranges::any_of(row.bench_statistics, is_nan_or_inf);
  }));
}

Result<Comparison> compare_by_rules(const std::string& npu, const std::string& bench,
                                    const std::function<void(std::string_view words)>& failed, const Naming& naming) {
  auto reading = std::async(way_to_read(bench), [&] { return read_dump(bench); });
  auto read = read_dump(npu);
  auto other = reading.get();
  if (!read) return read.error();
  if (!other) return other.error();
  if (read->mode != other->mode) {
    constexpr const char* kModes[] = {"statistics", "checksums", "tensors"};
    const auto says = [&](const std::string& path, const Dump& dump) {
      return printable(path) + " holds " + kModes[static_cast<int>(dump.mode)];
    };
    return Error{Code::kUnreadable,
                 says(npu, *read) + " and " + says(bench, *other) + ": msprobe compares two dumps of one kind"};
  }
  if (naming.is_fuzzy) {
    for (Item& item : read->items) item.key = item.name;
    for (Item& item : other->items) item.key = item.name;
  }
  for (Item& item : read->items) item.key = naming.names.of(item.key);
  if (Status mapped = map_keys(naming.mapping, npu, bench, *read, *other); !mapped) return mapped.error();
  Comparison comparison{.npu = *std::move(read), .bench = *std::move(other)};
  const Mode mode = comparison.npu.mode;
  if (naming.mapping.pairs_any_dtype()) {
    pair_items(comparison, true);
  } else if (naming.is_fuzzy) {
    pair_items_in_order(comparison);
  } else {
    pair_items(comparison);
  }
  settle_types(comparison.rows);
  if (mode == Mode::kStatistics) fill_statistic_measures(comparison.rows);
  if (mode == Mode::kTensor) fill_tensor_measures(comparison, failed);
  for (auto first = comparison.rows.begin(); first != comparison.rows.end();) {
    const auto end = std::find_if(first, comparison.rows.end(),
                                  [&](const ComparedRow& row) { return row.npu->call != first->npu->call; });
    judge_call({first, end}, mode);
    first = end;
  }
  return comparison;
}

}  // namespace tensorstat::msprobe
