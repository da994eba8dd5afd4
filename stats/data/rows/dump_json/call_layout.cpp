#include "stats/data/rows/dump_json/call_layout.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "stats/data/json/json_reader.hpp"
#include "stats/data/json/json_writer.hpp"

namespace tensorstat {
namespace {

struct Mark {
  bool is_output = false;
  std::uint64_t slot = 0;
  std::size_t size = 0;  // length of its text
};

// The mark at the beginning of a text.
std::optional<Mark> mark_in(std::string_view text) {
  if (text.size() < 4 || text[0] != CallLayout::kMark || (text[1] != 'i' && text[1] != 'o')) return std::nullopt;
  Mark mark{.is_output = text[1] == 'o'};
  const auto [end, fault] = std::from_chars(text.data() + 2, text.data() + text.size(), mark.slot);
  if (fault != std::errc() || end == text.data() + text.size() || *end != CallLayout::kMark) return std::nullopt;
  mark.size = static_cast<std::size_t>(end - text.data()) + 1;
  return mark;
}

// Whether the text is a JSON value of one line. Python also writes NaN and Infinity.
bool is_value(std::string_view text) {
  if (const auto mark = mark_in(text)) return mark->size == text.size();
  return text == "NaN" || text == "Infinity" || text == "-Infinity" || is_json(text);
}

// The name before ": ", as written; nullopt if the line has no name.
std::optional<std::string_view> name_in(std::string_view line) {
  if (!line.starts_with('"')) return std::nullopt;
  std::size_t end = 1;
  while (end < line.size() && line[end] != '"') end += line[end] == '\\' ? 2 : 1;
  if (end >= line.size() || !line.substr(end + 1).starts_with(": ")) return std::nullopt;
  if (!is_value(line.substr(0, end + 1))) return std::nullopt;
  return line.substr(1, end - 1);
}

}  // namespace

// Parses the lines between the outer braces. Each line has one item.
class CallLayout::Lines {
 public:
  bool take(std::string_view text) {
    while (!text.empty()) {
      const auto end = std::min(text.find('\n'), text.size());
      if (!take_line(text.substr(0, end))) return false;
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return levels_.size() == 1 && levels_[0].next != 0 && !levels_[0].has_comma;
  }

  std::vector<Member> members;
  Places places;

 private:
  struct Level {
    bool is_list = false;
    bool has_comma = false;  // whether a comma followed the last complete element
    std::uint64_t next = 0;  // element
    std::string name = {};   // name of the current member
  };

  bool take_line(std::string_view line) {
    const std::size_t spaces = std::min(line.find_first_not_of(' '), line.size());
    const bool has_comma = line.ends_with(',');
    if (has_comma) line.remove_suffix(1);
    std::string_view content = line.substr(std::min(spaces, line.size()));
    const bool ends = content == "]" || content == "}";
    if (ends) {
      const Level& ended = levels_.back();
      if (levels_.size() == 1 || ended.is_list != (content == "]") || ended.next == 0 || ended.has_comma) return false;
      levels_.pop_back();
    }
    if (spaces != levels_.size()) return false;
    Level& level = levels_.back();
    if (!ends && !begins_element(level, content)) return false;
    const bool opens = content == "[" || content == "{";
    if (opens ? has_comma : !ends && !is_value(content)) return false;
    level.has_comma = has_comma;
    // Drop the comma after an outermost member: it is written together with the next one.
    std::string& text = members.back().text;
    text.append(text.empty() ? "" : "\n").append(line).append(has_comma && levels_.size() > 1 ? "," : "");
    if (opens) levels_.push_back({.is_list = content == "["});
    const auto mark = mark_in(content);
    return !mark || places.emplace(std::pair(mark->is_output, mark->slot), place()).second;
  }

  // Begins an element. For an object, removes its name from `content`.
  bool begins_element(Level& level, std::string_view& content) {
    if (level.next++ != 0 && !level.has_comma) return false;
    if (level.is_list) return true;
    const auto name = name_in(content);
    if (!name) return false;
    level.name = *name;
    content.remove_prefix(name->size() + 4);
    if (levels_.size() == 1) members.push_back({level.name, {}});
    return true;
  }

  std::string place() const {
    const std::string& member = levels_[0].name;
    std::string place = member == "input_args" || member == "input_kwargs" ? "input" : member;
    for (std::size_t i = 1; i < levels_.size(); ++i) {
      place += "." + (levels_[i].is_list ? std::to_string(levels_[i].next - 1) : levels_[i].name);
    }
    return place;
  }

  std::vector<Level> levels_{1};
};

Status CallLayout::add(std::string_view object) {
  if (object == "{}") return is_known_ = true, Status();
  Lines lines;
  const bool is_laid_out = object.starts_with("{\n") && object.ends_with("\n}") && object.size() > 4;
  if (!is_laid_out || !lines.take(object.substr(2, object.size() - 4))) {
    return Error{Code::kInvalid, "the layout of a call is not an object as json.dumps(indent=1) writes it"};
  }
  for (const auto& [which, place] : lines.places) {
    if (places_.contains(which)) return Error{Code::kInvalid, "the layout of a call has a tensor twice: " + place};
  }
  members_.reserve(members_.size() + lines.members.size());
  places_.merge(lines.places);
  std::ranges::move(lines.members, std::back_inserter(members_));
  is_known_ = true;
  return {};
}

std::string CallLayout::place_of(bool is_output, std::uint64_t slot) const {
  const auto entry = places_.find({is_output, slot});
  return entry == places_.end() ? "" : entry->second;
}

std::string CallLayout::text(const LeafOf& leaf_of, const std::function<bool(std::string_view)>& wants) const {
  std::string all = "{";
  for (const auto& [name, text] : members_) {
    if (!wants(name)) continue;
    all += all.size() == 1 ? "\n" : ",\n";
    for (std::size_t offset = 0; offset < text.size();) {
      const auto next = std::min(text.find(kMark, offset), text.size());
      all.append(text, offset, next - offset);
      const auto mark = mark_in(std::string_view(text).substr(next));
      if (!mark) break;
      offset = next;
      const auto line = text.rfind('\n', offset) + 1;  // npos + 1 is 0
      const std::string* leaf = leaf_of(mark->is_output, mark->slot);
      all += leaf ? indented(*leaf, text.find_first_not_of(' ', line) - line) : "null";
      offset += mark->size;
    }
  }
  return all + (all.size() == 1 ? "}" : "\n}");
}

}  // namespace tensorstat
