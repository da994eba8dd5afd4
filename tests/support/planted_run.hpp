// A run of a few tensors, as a watch writes it, and the findings of `report` in it.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "stats/answer/findings/findings.hpp"

namespace tensorstat::test {

using Sizes = std::vector<double>;

inline Sizes operator+(Sizes first, const Sizes& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

// Six digits do not write these numbers, so rows of them tell the bits of a parameter.
inline Sizes changing(int count) {
  Sizes sizes;
  for (int i = 0; i < count; ++i) sizes.push_back(1 + (i + 1) / 703.0);
  return sizes;
}
constexpr double kConstant = 1 / 3.0;

// Numbers from 1 to `last`, each the same multiple of the one before.
inline Sizes growing(std::size_t count, double last) {
  Sizes sizes;
  for (std::size_t i = 1; i <= count; ++i) {
    sizes.push_back(std::pow(last, static_cast<double>(i) / static_cast<double>(count)));
  }
  return sizes;
}

struct PlantedTensor {
  std::string type, name, io = "output";
  std::uint32_t rank = 0, slot = 0;
  std::string dtype = "float32";
  std::uint32_t graph = 0;
};

class PlantedRun {
 public:
  // One row in each iteration from `begin` on. A tensor has 16 elements: max is the size, min its negative, and l2norm
  // four times the size. Tensors are executed in the order in which they are added.
  PlantedRun& add(const PlantedTensor& tensor, const Sizes& sizes, std::uint64_t begin = 0) {
    for (std::size_t i = 0; i < sizes.size(); ++i) rows_[begin + i].push_back({tensor, sizes[i]});
    return *this;
  }

  // Lines of rank 0's watch.ndjson.
  PlantedRun& watch(const std::string& lines) {
    watch_ += lines;
    return *this;
  }

  Findings judged(const FindingLimits& limits = {}) const {
    const Categories categories = {Category::kMax, Category::kMin, Category::kL2norm};
    History history;
    std::uint64_t time = 0;
    for (const auto& [iteration, rows] : rows_) {
      for (const auto& [tensor, size] : rows) {
        const std::vector<Value> values = {size, -size, 4 * size};
        history.add({.op_type = tensor.type,
                     .op_name = tensor.name,
                     .dtype = tensor.dtype,
                     .shape = "(16)",
                     .is_input = tensor.io == "input",
                     .slot = tensor.slot,
                     .place = {.rank = tensor.rank, .graph = tensor.graph, .iteration = iteration},
                     .timestamp_us = ++time,
                     .count = 16,
                     .statistics = StatisticsView{categories, values}});
      }
    }
    history.finish();
    Hints hints;
    if (!watch_.empty()) hints.add_watch(0, watch_);
    return find_in(history, {}, hints, limits);
  }

 private:
  std::map<std::uint64_t, std::vector<std::pair<PlantedTensor, double>>> rows_;  // by iteration
  std::string watch_;
};

// What a test expects of a finding.
struct Planted {
  std::string rule, tensor;  // "Gradient w": type and name
  std::uint64_t first = 0;
  std::optional<std::uint64_t> last_clean = {};
  std::optional<double> value = {}, limit = {};
  std::uint32_t rank = 0;
  std::uint64_t others = 0;
  friend bool operator==(const Planted&, const Planted&) = default;

  friend std::ostream& operator<<(std::ostream& out, const Planted& planted) {
    const auto shown = [](const auto& number) { return number ? std::to_string(*number) : "none"; };
    return out << planted.rule << " of " << planted.tensor << " on rank " << planted.rank << " at " << planted.first
               << ", clean at " << shown(planted.last_clean) << ", value " << shown(planted.value) << ", limit "
               << shown(planted.limit) << ", others " << planted.others;
  }
};

inline std::vector<Planted> planted_in(const Findings& findings) {
  std::vector<Planted> all;
  for (const Finding& each : findings.list) {
    all.push_back({std::string(name(each.rule)), each.op_type + (each.op_type.empty() ? "" : " ") + each.op_name,
                   each.first_iteration, each.last_clean_iteration, each.value, each.limit, each.rank, each.others});
  }
  return all;
}

inline bool is_judged(const Findings& findings, const std::string& rule) {
  for (const std::string& each : findings.not_measured) {
    if (each.starts_with(rule + ": ")) return false;
  }
  return true;
}

}  // namespace tensorstat::test
