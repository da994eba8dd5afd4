#include "stats/answer/msprobe/result_rules.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string_view>

namespace tensorstat::msprobe {
namespace {

using Rows = std::vector<ComparedRow*>;

// Indices into measures.
constexpr std::size_t kNormRelative = 2 * kStatisticCount - 1, kCosine = 0, kOneThousandthRatio = 4;

enum class Ignored : std::uint8_t { kNothing, kInputs, kAll };

Ignored ignored_of(const std::string& name) {
  constexpr std::string_view kAll[] = {
      "empty",     "empty_like",   "numpy", "to", "__setitem__", "empty_with_format", "new_empty_strided",
      "new_empty", "empty_strided"};
  constexpr std::string_view kInputs[] = {"_reduce_scatter_base", "_all_gather_base", "all_to_all_single",
                                          "batch_isend_irecv"};
  const auto dot = name.find('.');
  if (dot == name.npos) return Ignored::kNothing;
  const std::string_view api = std::string_view(name).substr(dot + 1, name.find('.', dot + 1) - dot - 1);
  if (std::ranges::count(kAll, api) != 0) return Ignored::kAll;
  return std::ranges::count(kInputs, api) != 0 ? Ignored::kInputs : Ignored::kNothing;
}

// float(text without "%") / 100; 0 if that is not a number.
double hundredth_of(std::string_view text) {
  while (text.ends_with('%')) text.remove_suffix(1);
  double number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault == std::errc::result_out_of_range || end != text.data() + text.size()) number = 0;
  return number / 100;
}

// The greatest relative difference of norms. Cells that do not end in "%" are skipped.
double greatest_norm(const Rows& rows) {
  double greatest = 0;
  for (const ComparedRow* row : rows) {
    const std::string text = text_of(row->measures[kNormRelative]);
    if (!text.ends_with('%')) continue;
    if (const double value = hundredth_of(text); value > greatest) greatest = value;
  }
  return greatest;
}

// The least value of a measure, at most 1. Texts are skipped.
double least(const Rows& rows, std::size_t measure) {
  double least = 1;
  for (const ComparedRow* row : rows) {
    if (!is_float(row->measures[measure])) continue;
    least = std::min(least, std::get<double>(row->measures[measure]));
  }
  return least;
}

void check_special_values(const Rows& rows) {
  for (ComparedRow* row : rows) {
    const auto shows = [](const Statistics& statistics) {
      return is_nan_or_inf(statistics[0]) || is_nan_or_inf(statistics[1]);
    };
    if (!shows(row->bench_statistics) && shows(row->npu_statistics)) row->raise(Level::kError, Message::kNanOrInf);
  }
}

// requires_grad, dtype and shape.
void check_facts(const Rows& rows) {
  for (ComparedRow* row : rows) {
    if (row->bench == nullptr) continue;
    const Item &npu = *row->npu, &bench = *row->bench;
    if (npu.requires_grad != bench.requires_grad) row->raise(Level::kError, Message::kRequiresGrad);
    const bool is_gathered = bench.name.find("qkv") != bench.name.npos || bench.name.find("gate_up") != bench.name.npos;
    if (npu.dtype != bench.dtype && !is_gathered) row->raise(Level::kError, Message::kDtype);
    if (npu.shape != bench.shape) row->raise(Level::kError, Message::kShape);
  }
}

void check_scalars(const Rows& inputs) {
  for (ComparedRow* row : inputs) {
    const auto is_argument = [](const Item& item) { return item.dtype.find("class") != item.dtype.npos; };
    if (row->bench == nullptr || !is_argument(*row->npu) || !is_argument(*row->bench)) continue;
    if (row->npu->shape == "[]" && !are_equal(row->npu_statistics[0], row->bench_statistics[0])) {
      row->raise(Level::kError, Message::kScalar);
    }
  }
}

void check_norms(const Rows& inputs, const Rows& outputs) {
  constexpr double kAgree = 0.1, kDiffer = 0.5, kTimes = 10;
  const double of_inputs = greatest_norm(inputs), of_outputs = greatest_norm(outputs);
  if (of_inputs < kAgree) {
    for (ComparedRow* row : outputs) {
      if (std::fabs(hundredth_of(text_of(row->measures[kNormRelative]))) > kDiffer)
        row->raise(Level::kError, Message::kOutputNorm);
    }
  }
  const bool grows = of_inputs == 0 ? of_outputs > kAgree : of_outputs / of_inputs > kTimes;
  if (grows && !outputs.empty()) outputs.front()->raise(Level::kWarning, Message::kNormGrows);
}

void check_elements(const Rows& inputs, const Rows& outputs) {
  constexpr double kHigh = 0.9, kLow = 0.1;
  if (outputs.empty()) return;
  if (least(inputs, kOneThousandthRatio) > kHigh && least(outputs, kOneThousandthRatio) < kLow) {
    outputs.front()->raise(Level::kError, Message::kOneThousandth);
  }
  const double of_inputs = least(inputs, kCosine);
  if (of_inputs > kHigh && of_inputs - least(outputs, kCosine) > kLow) {
    outputs.front()->raise(Level::kWarning, Message::kCosineFalls);
  }
}

void check_checksums(const Rows& rows) {
  for (ComparedRow* row : rows) {
    const std::string bench = row->bench ? row->bench->md5 : kNotAvailable;
    const auto is_none = [](std::string_view md5) { return md5.empty() || md5 == kNotAvailable || md5 == "Nan"; };
    if (row->npu->md5 == bench) continue;
    if (is_none(row->npu->md5) || is_none(bench)) {
      row->raise(Level::kWarning, Message::kNoPartner);
    } else {
      row->raise(Level::kError, Message::kChecksum);
    }
  }
}

}  // namespace

void judge_call(std::span<ComparedRow> rows, Mode mode) {
  Rows inputs, outputs;
  for (ComparedRow& row : rows) {
    (row.npu->name.find(".output.") == std::string::npos ? inputs : outputs).push_back(&row);
  }
  const Ignored ignored = inputs.empty() ? Ignored::kNothing : ignored_of(inputs.front()->npu->name);
  Rows looked_at;
  if (ignored == Ignored::kNothing) looked_at = inputs;
  if (ignored != Ignored::kAll) looked_at.insert(looked_at.end(), outputs.begin(), outputs.end());
  if (mode == Mode::kMd5) return check_checksums(looked_at);
  check_special_values(looked_at);
  check_facts(looked_at);
  if (ignored != Ignored::kNothing) return;
  check_scalars(inputs);
  mode == Mode::kStatistics ? check_norms(inputs, outputs) : check_elements(inputs, outputs);
}

}  // namespace tensorstat::msprobe
