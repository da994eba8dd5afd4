// The words that completions offer for an option. CLI11 options cannot store further data. So the words are stored in
// the name of a check, which CLI11 neither shows nor compares.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace tensorstat::cli {

inline constexpr std::string_view kOneOf = "one of ", kListOf = "list of ";

// The words that completions offer as an option's value.
struct Suggestions {
  std::vector<std::string> words;
  bool is_list = false;
};
inline Suggestions suggestions(CLI::Option& option) {
  for (int i = 0;; ++i) {
    const CLI::Validator* check = nullptr;
    try {
      check = option.get_validator(i);
    } catch (const CLI::OptionNotFound&) {
      return {};
    }
    for (const std::string_view kind : {kOneOf, kListOf}) {
      if (!check->get_name().starts_with(kind)) continue;
      return {CLI::detail::split(check->get_name().substr(kind.size()), ','), kind == kListOf};
    }
  }
}

}  // namespace tensorstat::cli
