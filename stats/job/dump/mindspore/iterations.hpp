// The `iteration` key of data_dump.json: the steps to dump.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>

#include "stats/data/text/number_set.hpp"

namespace tensorstat {

class Iterations {
 public:
  // "all", or parts separated by |: "5" is that step, "5-8" every step from 5 to 8. Steps count from 0. Spaces around
  // numbers, | and - are accepted, because MindSpore's documentation writes them. As in MindSpore, an incomplete part
  // ("", "5-", "-5", "8-5", "1-2-3", a number beyond 64 bits) selects nothing and is not an error. Errors: an empty
  // text, any other character, a number with a space inside it.
  static Result<Iterations> parse(std::string_view text);

  const NumberSet& steps() const { return steps_; }
  bool contains(std::uint64_t step) const { return steps_.contains(step); }
  bool all() const { return steps_.all(); }

  // The first part that selects nothing, as it was written; nullptr if every part selects something.
  const std::string* useless_part() const { return has_useless_ ? &useless_ : nullptr; }

 private:
  NumberSet steps_;
  std::string useless_;
  bool has_useless_ = false;
};

}  // namespace tensorstat
