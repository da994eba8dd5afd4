// Options that take words from a list.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "stats/show/cli/options/app.hpp"

namespace tensorstat::cli {

template <typename T>
using Choices = std::vector<std::pair<std::string, T>>;

// For -o: rejects an empty name, for example from a variable that is not set.
inline Check names_output() {
  return [](std::string& path) { return path.empty() ? std::string("the name is empty") : std::string(); };
}

// Adds an option that takes one of these words. The error for any other value lists the words.
template <typename T>
Option add_choice(App app, const std::string& option, T& value, const Choices<T>& choices, const std::string& help) {
  const auto take = [&value, choices](const std::string& word) {
    for (const auto& [name, meaning] : choices) {
      if (name == word) value = meaning;
    }
  };
  std::vector<std::string> words;
  for (const auto& choice : choices) words.push_back(choice.first);
  return app.add_word(option, words, take, help);
}

}  // namespace tensorstat::cli
