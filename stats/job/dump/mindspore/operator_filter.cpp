#include "stats/job/dump/mindspore/operator_filter.hpp"

#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/rows/names/op_name.hpp"

namespace tensorstat {
namespace {

// "Default/conv1-Conv2d/Conv2D-op12" -> "Conv2D"
std::string_view short_name(std::string_view full_scope_name) {
  const auto slash = full_scope_name.rfind('/');
  if (slash != full_scope_name.npos) full_scope_name.remove_prefix(slash + 1);
  return full_scope_name.substr(0, full_scope_name.rfind('-'));
}

}  // namespace

Result<OperatorFilter> OperatorFilter::parse(const std::vector<std::string>& entries) {
  constexpr std::string_view kPrefix = "name-regex(";
  const auto beyond = [](std::size_t limit, std::string_view what) {
    return Error{Code::kInvalid, "at most " + std::to_string(limit) + " " + std::string(what) + " are allowed"};
  };
  if (entries.size() > kMostEntries) return beyond(kMostEntries, "entries");
  OperatorFilter kernels;
  // first: the text to match; second: as it was written
  std::vector<std::pair<std::string, const std::string*>> names, types;
  for (const std::string& written : entries) {
    std::string text = written;
    std::erase_if(text, [](char c) { return c == '"' || c == ' '; });
    if (text.empty()) continue;
    if (text.starts_with(kPrefix) && text.ends_with(')')) {
      if (kernels.patterns_.size() == kMostPatterns) return beyond(kMostPatterns, "entries with name-regex");
      const auto inside = std::string_view(text).substr(kPrefix.size(), text.size() - kPrefix.size() - 1);
      auto pattern = Regex::compile(inside);
      if (!pattern) {
        return Error{Code::kInvalid,
                     "the regular expression of " + shown(written, 200) + " is refused: " + pattern.error().message};
      }
      kernels.patterns_.push_back(*std::move(pattern));
      kernels.written_.push_back(written);
    } else if (text.find('/') == text.npos && text.find("-op") == text.npos) {
      types.emplace_back(lower_case(text), &written);
    } else {
      names.emplace_back(std::move(text), &written);
    }
  }
  for (auto& [text, written] : names) {
    kernels.escaped_names_.try_emplace(escaped_op_name(text), kernels.written_.size());
    kernels.names_.try_emplace(std::move(text), kernels.written_.size());
    kernels.written_.push_back(*written);
  }
  for (auto& [text, written] : types) {
    const std::size_t length = text.size();
    kernels.types_[length].try_emplace(std::move(text), kernels.written_.size());
    kernels.written_.push_back(*written);
  }
  kernels.used_ = std::make_shared<std::vector<std::atomic<bool>>>(kernels.written_.size());
  return kernels;
}

bool OperatorFilter::note(std::optional<std::size_t> entry) const {
  if (entry) (*used_)[*entry] = true;
  return entry || written_.empty();
}

// The first entry that is a substring of `type`. For each length of entries, all substrings of that length are looked
// up.
std::optional<std::size_t> OperatorFilter::type_in(std::string_view type) const {
  std::optional<std::size_t> first;
  for (const auto& [length, texts] : types_) {
    for (std::size_t position = 0; position + length <= type.size(); ++position) {
      const auto entry = texts.find(type.substr(position, length));
      if (entry != texts.end() && (!first || entry->second < *first)) first = entry->second;
    }
  }
  return first;
}

bool OperatorFilter::wants(std::string_view full_scope_name) const {
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    if (patterns_[i].matches(full_scope_name)) return note(i);
  }
  if (const auto entry = names_.find(full_scope_name); entry != names_.end()) return note(entry->second);
  return note(type_in(lower_case(short_name(full_scope_name))));
}

bool OperatorFilter::wants_escaped(std::string_view op_type, std::string_view escaped_name) const {
  for (std::size_t i = 0; i < patterns_.size(); ++i) {
    if (patterns_[i].for_escaped_names().matches(escaped_name)) return note(i);
  }
  if (const auto entry = escaped_names_.find(escaped_name); entry != escaped_names_.end()) return note(entry->second);
  return note(type_in(lower_case(op_type)));
}

std::vector<std::string> OperatorFilter::unused() const {
  std::vector<std::string> unused;
  for (std::size_t i = 0; i < written_.size(); ++i) {
    if (!(*used_)[i]) unused.push_back(written_[i]);
  }
  return unused;
}

}  // namespace tensorstat
