// The place of a row: its own columns, else the place of its file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>
#include <variant>

#include "stats/data/rows/names/dump_place.hpp"

namespace tensorstat {

struct RowPlace {
  std::uint32_t rank = 0, graph = 0;
  std::uint64_t iteration = 0;
  bool is_parameter = false;  // of the call itself, and no argument of it
};

inline std::uint64_t number_or(const Identity& identity, std::string_view column, std::uint64_t otherwise) {
  const Cell* cell = identity.find(column);
  const auto* number = cell ? std::get_if<std::uint64_t>(cell) : nullptr;
  return number ? *number : otherwise;
}

// ".parameters.weight" of msprobe's "Module.a.Linear.forward.0.parameters.weight"; empty for other rows. A view of
// `identity`.
inline std::string_view argument_of(const Identity& identity) {
  const Cell* cell = identity.find("tensor");
  const auto* name = cell ? std::get_if<std::string>(cell) : nullptr;
  if (name == nullptr || identity.op_name.empty() || !name->starts_with(identity.op_name + ".")) return {};
  return std::string_view(*name).substr(identity.op_name.size());
}

// msprobe has the parameters of a module among the inputs of its calls.
inline bool is_parameter(std::string_view argument) { return argument.starts_with(".parameters."); }

inline RowPlace place_of_row(const Identity& identity, const DumpPlace& of_file) {
  RowPlace place{.rank = static_cast<std::uint32_t>(number_or(identity, "rank", of_file.rank)),
                 .graph = of_file.graph,
                 .iteration = number_or(identity, "iteration", of_file.iteration)};
  place.is_parameter = is_parameter(argument_of(identity));
  return place;
}

}  // namespace tensorstat
