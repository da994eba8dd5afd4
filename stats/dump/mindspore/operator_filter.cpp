#include "stats/dump/mindspore/operator_filter.hpp"

#include <algorithm>

#include "stats/rows/op_name.hpp"
#include "stats/files/shown.hpp"

namespace tensorstat {
namespace {

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// "Default/conv1-Conv2d/Conv2D-op12" -> "Conv2D"
std::string_view short_name(std::string_view full_scope_name) {
  const auto slash = full_scope_name.rfind('/');
  if (slash != full_scope_name.npos) full_scope_name.remove_prefix(slash + 1);
  return full_scope_name.substr(0, full_scope_name.rfind('-'));
}

}  // namespace

Result<OperatorFilter> OperatorFilter::parse(const std::vector<std::string>& written_entries) {
  constexpr std::string_view kPrefix = "name-regex(";
  OperatorFilter kernels;
  for (const std::string& written : written_entries) {
    std::string text = written;
    std::erase_if(text, [](char c) { return c == '"' || c == ' '; });
    if (text.empty()) continue;
    Entry entry{Entry::Kind::kName, written, text, {}};
    if (text.starts_with(kPrefix) && text.ends_with(')')) {
      entry.kind = Entry::Kind::kPattern;
      const auto inside =
          std::string_view(text).substr(kPrefix.size(), text.size() - kPrefix.size() - 1);
      auto pattern = Pattern::compile(inside);
      if (!pattern) {
        return Error{Code::kInvalid, "the regular expression of " + shown(written, 200) +
                                         " is refused: " + pattern.error().message};
      }
      entry.pattern = *std::move(pattern);
    } else if (text.find('/') == text.npos && text.find("-op") == text.npos) {
      entry.kind = Entry::Kind::kType;
      entry.text = lower_case(text);
    }
    kernels.entries_.push_back(std::move(entry));
  }
  std::stable_sort(kernels.entries_.begin(), kernels.entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.kind < b.kind; });
  kernels.used_ = std::make_shared<std::vector<std::atomic<bool>>>(kernels.entries_.size());
  return kernels;
}

template <typename Matches>
bool OperatorFilter::any(Matches matches) const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!matches(entries_[i])) continue;
    (*used_)[i] = true;
    return true;
  }
  return entries_.empty();
}

bool OperatorFilter::wants(std::string_view full_scope_name) const {
  const std::string type = lower_case(short_name(full_scope_name));
  return any([&](const Entry& entry) {
    return entry.kind == Entry::Kind::kPattern ? entry.pattern.matches(full_scope_name)
           : entry.kind == Entry::Kind::kName  ? entry.text == full_scope_name
                                               : type.find(entry.text) != type.npos;
  });
}

bool OperatorFilter::wants_escaped(std::string_view op_type, std::string_view escaped_name) const {
  const std::string type = lower_case(op_type);
  return any([&](const Entry& entry) {
    return entry.kind == Entry::Kind::kPattern
               ? entry.pattern.for_escaped_names().matches(escaped_name)
           : entry.kind == Entry::Kind::kName ? escaped_op_name(entry.text) == escaped_name
                                              : type.find(entry.text) != type.npos;
  });
}

std::vector<std::string> OperatorFilter::unused() const {
  std::vector<std::string> unused;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (!(*used_)[i]) unused.push_back(entries_[i].written);
  }
  return unused;
}

}  // namespace tensorstat
