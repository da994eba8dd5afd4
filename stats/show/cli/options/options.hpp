// Options that take words from a list. The words are stored with the option, for the completions.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tensorstat::cli {

template <typename T>
using Choices = std::vector<std::pair<std::string, T>>;

// CLI11 options cannot store further data. So the words are stored in the name of a check, which CLI11 neither shows
// nor compares.
inline constexpr std::string_view kOneOf = "one of ", kListOf = "list of ";

// Stores the words of an option that takes a list separated by commas. The list is checked where it is parsed.
inline void suggest_list(CLI::Option* option, const std::vector<std::string>& words) {
  option->check(CLI::Validator([](std::string&) { return std::string(); }, ""),
                std::string(kListOf) + CLI::detail::join(words, ","));
}

// For -o: rejects an empty name, for example from a variable that is not set.
inline CLI::Validator names_output() {
  return CLI::Validator(
      [](std::string& path) { return path.empty() ? std::string("the name is empty") : std::string(); }, "");
}

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

// Adds an option that takes one of these words. The error for any other value lists the words.
template <typename T>
CLI::Option* add_choice(CLI::App& app, const std::string& option, T& value, const Choices<T>& choices,
                        const std::string& help) {
  const auto take = [&value, choices](const std::string& word) {
    for (const auto& [name, meaning] : choices) {
      if (name == word) value = meaning;
    }
  };
  std::vector<std::string> words;
  for (const auto& choice : choices) words.push_back(choice.first);
  return app.add_option_function<std::string>(option, take, help)
      ->check(CLI::IsMember(choices).description(""), std::string(kOneOf) + CLI::detail::join(words, ","));
}

}  // namespace tensorstat::cli
