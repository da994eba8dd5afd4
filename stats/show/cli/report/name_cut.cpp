#include "stats/show/cli/report/name_cut.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "stats/show/cli/terminal/text_width.hpp"

namespace tensorstat::cli {
namespace {

constexpr std::size_t kMostWords = 64;  // that are tried
constexpr std::size_t kLongWord = 24;   // no word of any model; it may lose its middle at once
constexpr std::size_t kLeastWord = 3;
constexpr std::string_view kEllipsis = "…";

bool has_digit(std::string_view text) { return text.find_first_of("0123456789") != text.npos; }

// First the parts of a name are words, then the words of these parts.
constexpr std::string_view kOfParts = "./:", kOfWords = "./:_";

// The name as words with the separators before them: "model", ".layers", "::w".
std::vector<std::string_view> words_of_name(std::string_view name, std::string_view separators) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t text = std::min(name.find_first_not_of(separators, begin), name.size());
    const std::size_t end = std::min(name.find_first_of(separators, text), name.size());
    words.push_back(name.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

std::string_view without_separator(std::string_view word) {
  return word.substr(std::min(word.find_first_not_of(kOfWords), word.size()));
}

using Words = std::unordered_set<std::string_view>;

std::string name_without(const std::vector<std::string_view>& words, const Words& cut) {
  std::string name;
  bool is_behind_gap = false;
  for (const std::string_view word : words) {
    const std::string_view text = without_separator(word);
    if (cut.contains(text)) {
      if (!std::exchange(is_behind_gap, true)) name += kEllipsis;
    } else {
      name += std::exchange(is_behind_gap, false) ? text : word;
    }
  }
  return name;
}

std::size_t widest(const std::vector<std::string>& names) {
  std::size_t most = 0;
  for (const std::string& name : names) most = std::max(most, width(name));
  return most;
}

std::size_t different_ones(std::span<const std::string> names) {
  return std::unordered_set<std::string_view>(names.begin(), names.end()).size();
}

// The words without a digit, those in most names first; of equal ones the outer ones, which tell the least.
std::vector<std::string_view> words_by_use(const std::vector<std::vector<std::string_view>>& names) {
  struct Use {
    std::size_t count = 0, depth = 0;  // depth: its least distance from an end of a name
    std::string_view word;
  };
  std::unordered_map<std::string_view, Use> uses;
  for (const auto& words : names) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string_view text = without_separator(words[i]);
      if (width(text) < 2 || has_digit(text)) continue;
      const std::size_t depth = i + 1 == words.size() ? 0 : i;
      Use& use = uses.try_emplace(text, Use{0, depth, text}).first->second;
      ++use.count;
      use.depth = std::min(use.depth, depth);
    }
  }
  std::vector<Use> sorted;
  for (const auto& [word, use] : uses) {
    if (use.count > 1) sorted.push_back(use);
  }
  std::ranges::sort(sorted, [](const Use& a, const Use& b) {
    return std::tuple(b.count, a.depth, b.word.size(), a.word) < std::tuple(a.count, b.depth, a.word.size(), b.word);
  });
  std::vector<std::string_view> words;
  for (const Use& use : sorted) words.push_back(use.word);
  if (words.size() > kMostWords) words.resize(kMostWords);
  return words;
}

// Runs of letters longer than `most` lose their middle.
std::string with_short_words(std::string_view name, std::size_t most) {
  constexpr std::string_view kBetween = "./:_-0123456789";
  std::string text;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find_first_of(kBetween), name.size());
    text += elided(name.substr(0, end), most);
    name.remove_prefix(end);
    const std::size_t next = std::min(name.find_first_not_of(kBetween), name.size());
    text += name.substr(0, next);
    name.remove_prefix(next);
  }
  return text;
}

// The names without the words that several of them share, until none is wider than `columns` or no such word is left.
std::vector<std::string> without_shared_words(const std::vector<std::string>& names, std::string_view separators,
                                              std::size_t columns, std::size_t different) {
  std::vector<std::string> shown = names;
  std::vector<std::vector<std::string_view>> words;
  for (const std::string& name : names) words.push_back(words_of_name(name, separators));
  Words cut;
  for (const std::string_view word : words_by_use(words)) {
    if (widest(shown) <= columns) return shown;
    cut.insert(word);
    std::vector<std::string> next;
    bool helps = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      next.push_back(name_without(words[i], cut));
      helps = helps || (width(shown[i]) > columns && width(next[i]) < width(shown[i]));
    }
    if (helps && different_ones(next) == different && std::ranges::count(next, kEllipsis) == 0) {
      shown = std::move(next);
    } else {
      cut.erase(word);
    }
  }
  return shown;
}

}  // namespace

std::optional<std::vector<std::string>> cut_names(std::span<const std::string> names, std::size_t columns,
                                                  CutNames how) {
  std::vector<std::string> whole(names.begin(), names.end());
  const std::size_t different = different_ones(names);
  // The words of names that are too wide, cut to so many letters.
  const auto cut_words = [&](const std::vector<std::string>& originals, std::size_t most) {
    std::vector<std::string> cut = originals;
    for (std::string& name : cut) {
      if (width(name) > columns) name = with_short_words(name, most);
    }
    return different_ones(cut) == different ? cut : originals;
  };
  for (std::size_t most = columns; most > kLongWord && widest(whole) > columns; --most) {
    if (std::vector<std::string> cut = cut_words(whole, most); widest(cut) <= columns) return cut;
  }
  whole = cut_words(whole, kLongWord);
  std::vector<std::string> shown;
  for (const std::string_view separators : {kOfParts, kOfWords}) {
    shown = without_shared_words(whole, separators, columns, different);
    if (widest(shown) <= columns) return shown;
  }
  if (how == CutNames::kWholeWords) return std::nullopt;
  for (std::size_t most = kLongWord; most >= kLeastWord; --most) {
    if (std::vector<std::string> shorter = cut_words(shown, most); widest(shorter) <= columns) return shorter;
  }
  return std::nullopt;
}

}  // namespace tensorstat::cli
