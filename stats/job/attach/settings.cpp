#include "stats/job/attach/settings.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "stats/data/files/io/text_lines.hpp"
#include "stats/data/files/io/whole_file.hpp"

namespace tensorstat::attach {
namespace {

constexpr std::size_t kMostTypesBytes = std::size_t{1} << 20;

// The layer always measures these, to find faults and changed content.
constexpr Category kNeeded[] = {Category::kNanCount, Category::kPositiveInfCount, Category::kNegativeInfCount,
                                Category::kXor64};

Error wrong(std::string_view word, std::string_view value, std::string_view wants) {
  return {Code::kInvalid, std::string(word) + "=" + std::string(value) + ": expected " + std::string(wants)};
}

bool to_number(std::string_view text, std::uint64_t& number) {
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc() && end == text.data() + text.size() && !text.empty();
}

using Setter = Status (*)(Settings&, std::string_view);
struct Word {
  std::string_view name;
  Setter set;
};

Status set_regex(std::optional<Regex>& to, std::string_view word, std::string_view value) {
  auto compiled = Regex::compile(value);
  if (!compiled) return wrong(word, value, "a regular expression; " + compiled.error().message);
  to = *std::move(compiled);
  return {};
}

constexpr Word kWords[] = {
    {"out",
     [](Settings& to, std::string_view value) -> Status {
       if (value.empty()) return wrong("out", value, "a folder");
       std::error_code failed;
       to.out = std::filesystem::absolute(value, failed).string();
       return {};
     }},
    {"kernels", [](Settings& to, std::string_view value) { return set_regex(to.kernels, "kernels", value); }},
    {"launches",
     [](Settings& to, std::string_view value) -> Status {
       const auto dash = value.find('-');
       const std::string_view last = dash == value.npos ? value : value.substr(dash + 1);
       const bool is_open = dash != value.npos && last.empty();
       if (!to_number(value.substr(0, dash), to.first_launch) || (!is_open && !to_number(last, to.last_launch)) ||
           to.first_launch > to.last_launch) {
         return wrong("launches", value, "A-B, A- or A, numbers of launches from 0");
       }
       return {};
     }},
    {"every",
     [](Settings& to, std::string_view value) -> Status {
       if (!to_number(value, to.every) || to.every == 0) return wrong("every", value, "a number above 0");
       return {};
     }},
    {"stats",
     [](Settings& to, std::string_view value) -> Status {
       auto categories = categories_from(value);
       if (!categories) return Error{Code::kInvalid, "stats: " + categories.error().message};
       to.statistics = *std::move(categories);
       return {};
     }},
    {"types",
     [](Settings& to, std::string_view value) -> Status {
       const auto text = read_whole_file(std::string(value), kMostTypesBytes);
       if (!text) return Error{Code::kInvalid, "types: " + text.error().message};
       auto rules = type_rules_from(*text);
       if (!rules) return Error{Code::kInvalid, std::string(value) + ": " + rules.error().message};
       to.types = *std::move(rules);
       return {};
     }},
    {"poison",
     [](Settings& to, std::string_view value) -> Status {
       if (value != "0" && value != "1") return wrong("poison", value, "0 or 1");
       to.poison = value == "1";
       return {};
     }},
    {"binaries",
     [](Settings& to, std::string_view value) -> Status {
       if (value != "refuse" && value != "take") return wrong("binaries", value, "take or refuse");
       to.refuse_binaries = value == "refuse";
       return {};
     }},
};

const Word* word_of(std::string_view part) {
  for (const Word& word : kWords) {
    if (part.starts_with(word.name) && part.substr(word.name.size()).starts_with('=')) return &word;
  }
  return nullptr;
}

// Takes a value and the comma behind it from the front of the text.
std::string take_value(std::string_view& text) {
  std::string value;
  while (!text.empty()) {
    const bool is_comma = text[0] == ',', is_doubled = text.starts_with(",,");
    if (is_comma && !is_doubled && word_of(text.substr(1)) != nullptr) break;
    value += text[0];
    text.remove_prefix(is_doubled ? 2 : 1);
  }
  if (!text.empty()) text.remove_prefix(1);
  return value;
}

}  // namespace

std::string as_value(std::string_view value) {
  std::string text;
  for (const char c : value) text.append(c == ',' ? 2 : 1, c);
  return text;
}

Categories default_statistics() {
  return {Category::kMax,
          Category::kMin,
          Category::kAvg,
          Category::kL2norm,
          Category::kNanCount,
          Category::kPositiveInfCount,
          Category::kNegativeInfCount,
          Category::kFirstBadIndex,
          Category::kXor64};
}

Result<Settings> Settings::from(std::string_view text) {
  Settings settings;
  while (!text.empty()) {
    const Word* word = word_of(text);
    if (word == nullptr) {
      std::string words;
      for (const Word& each : kWords) words += (words.empty() ? "" : ", ") + std::string(each.name) + "=";
      return Error{Code::kInvalid, "'" + std::string(text.substr(0, text.find(','))) + "': expected one of " + words};
    }
    text.remove_prefix(word->name.size() + 1);
    if (Status set = word->set(settings, take_value(text)); !set) return std::move(set).error();
  }
  if (settings.out.empty()) return Error{Code::kInvalid, "out=FOLDER is missing"};
  if (settings.statistics.empty()) settings.statistics = default_statistics();
  for (const Category needed : kNeeded) {
    if (std::ranges::count(settings.statistics, needed) == 0) settings.statistics.push_back(needed);
  }
  return settings;
}

Result<std::vector<TypeRule>> type_rules_from(std::string_view text) {
  std::vector<TypeRule> rules;
  Status read = for_each_line(text, [&](std::string_view line) -> Status {
    const auto equals = line.rfind('=');
    const std::string_view named = without_comment(line.substr(0, equals)),
                           word = equals == line.npos ? std::string_view() : without_comment(line.substr(equals + 1));
    const auto dot = named.rfind('.');
    if (dot == named.npos || equals == line.npos) return Error{Code::kInvalid, "expected KERNEL.ARGUMENT = DTYPE"};
    const auto dtype = dtype_from(word);
    if (!dtype) return Error{Code::kInvalid, "'" + std::string(word) + "' is no dtype"};
    auto kernel = Regex::compile(named.substr(0, dot)), argument = Regex::compile(named.substr(dot + 1));
    if (!kernel) return std::move(kernel).error();
    if (!argument) return std::move(argument).error();
    rules.push_back({*std::move(kernel), *std::move(argument), *dtype});
    return {};
  });
  if (!read) return std::move(read).error();
  return rules;
}

}  // namespace tensorstat::attach
