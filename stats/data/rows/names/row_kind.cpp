#include "stats/data/rows/names/row_kind.hpp"

#include <utility>

namespace tensorstat {

RowKind row_kind(std::string_view op_type) {
  constexpr std::pair<std::string_view, RowKind> kKinds[] = {
      {"Parameter", RowKind::kParameter},           {"Gradient", RowKind::kGradient},
      {"OptimizerState", RowKind::kOptimizerState}, {"ParameterUpdate", RowKind::kUpdate},
      {"ModuleBuffer", RowKind::kBuffer},           {"Loss", RowKind::kLoss}};
  for (const auto& [type, kind] : kKinds) {
    if (op_type == type) return kind;
  }
  return RowKind::kOfCall;
}

}  // namespace tensorstat
