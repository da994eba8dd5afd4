// The settings of a plan, for every tensor. Lists and states store them as lines of text, so that all parts agree.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/meter.hpp>

#include "stats/data/files/tensor_source.hpp"

namespace tensorstat {

struct PlanRequest {
  Categories asked;         // what the user asked for
  bool is_default = false;  // he did not say; `asked` is the default
  Categories measured;      // `asked`, and what the same accumulators give
  Precision precision = Precision::kHigh;
  double cast_scale = 1;
  std::optional<By> by = {};  // its shape is not used
  bool void_is_bfloat16 = false;
  std::optional<RawTensor> raw = {};

  Request request(On on) const { return {measured, precision, on, cast_scale}; }
};

// Adds to `measured` what `asked` needs, and every statistic that needs no further accumulator. So a later question,
// such as --fail-on 'absmax > 1', can be answered without reading the tensors again.
void add_what_is_free(PlanRequest& request);

// Lines of "name value". parse_line returns false for an unknown name or an invalid value.
std::string text_of(const PlanRequest& request);
bool parse_line(std::string_view line, PlanRequest& request);

// Takes the next number and the space behind it off `text`; false if `text` does not begin with a number.
bool take_number(std::string_view& text, std::uint64_t& number);

}  // namespace tensorstat
