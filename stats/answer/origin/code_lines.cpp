#include "stats/answer/origin/code_lines.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "stats/data/files/io/text_lines.hpp"
#include "stats/data/rows/names/op_name.hpp"

namespace tensorstat {
namespace {

std::optional<std::uint64_t> number_in(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// Parses "x.py(175)/  code/" and "x.py:175, 8~20/  code/".
std::optional<CodeLine> line_behind(std::string_view text) {
  for (std::size_t offset = text.find_first_of("(:"); offset != text.npos;
       offset = text.find_first_of("(:", offset + 1)) {
    std::string_view rest = text.substr(offset + 1);
    const auto number = number_in(rest);
    if (!number || offset == 0 || rest.empty() ||
        (text[offset] == '(' ? rest[0] != ')' : rest[0] != '/' && rest[0] != ','))
      continue;
    return CodeLine{std::string(text.substr(0, offset)), *number};
  }
  return std::nullopt;
}

// The operators of a graph's text with the first line of their code: each(name, line). Without a line, `file` is empty.
template <typename Each>
void each_operator(std::string_view text, const Each& each) {
  std::string_view name;
  CodeLine code;
  const auto end = [&] {
    if (!name.empty()) each(name, code);
    name = {};
    code = {};
  };
  while (!text.empty()) {
    std::string_view line = take_line(text);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.starts_with('%')) {
      end();
    } else if (line.starts_with("# In file ")) {
      if (!name.empty() && code.file.empty()) code = line_behind(line.substr(10)).value_or(CodeLine{});
    } else if (line.starts_with(':') || line.starts_with("# Fullname") || line.starts_with("# fullname")) {
      const auto open = line.find('('), close = line.rfind(')');
      if (open == line.npos || close == line.npos || close < open) continue;
      const std::string_view inside = line.substr(open + 1, close - open - 1);
      if (inside.find('<') != inside.npos) continue;  // types
      if (!code.file.empty()) end();
      name = inside;
    }
  }
  end();
}

// Whether one of the names, "Conv2D-op12", ends the other, "Default_network_Conv2D-op12".
bool is_ending(std::string_view a, std::string_view b) {
  const auto [part, whole] = std::minmax(a, b, [](auto x, auto y) { return x.size() < y.size(); });
  return !part.empty() && whole.size() > part.size() && whole.ends_with(part) &&
         whole[whole.size() - part.size() - 1] == '_';
}

}  // namespace

// Files of tensors may have the last part of a name alone. It is taken if it ends the name of one operator only.
std::optional<CodeLine> line_in_graph(std::string_view text, std::string_view op_name) {
  const std::string wanted = escaped_op_name(op_name);
  CodeLine whole, by_ending;
  std::set<std::string> endings;
  each_operator(text, [&](std::string_view name, const CodeLine& code) {
    const std::string own = escaped_op_name(name);
    if (own == wanted && whole.file.empty()) whole = code;
    if (!is_ending(own, wanted)) return;
    endings.insert(own);
    if (by_ending.file.empty()) by_ending = code;
  });
  const CodeLine& line = whole.file.empty() && endings.size() == 1 ? by_ending : whole;
  return line.file.empty() ? std::nullopt : std::optional(line);
}

std::optional<CodeLine> line_in_stack(const std::vector<std::string_view>& frames) {
  for (std::string_view frame : frames) {
    if (!frame.starts_with("File ")) continue;
    frame.remove_prefix(5);
    const auto comma = frame.find(", line ");
    if (comma == frame.npos) continue;
    const std::string_view file = frame.substr(0, comma);
    constexpr std::string_view kTheirs[] = {"/site-packages/", "/dist-packages/", "/torch/nn/", "/msprobe/", "<",
                                            "/mindspore/"};
    if (std::ranges::any_of(kTheirs, [&](std::string_view part) { return file.find(part) != file.npos; })) continue;
    std::string_view digits = frame.substr(comma + 7);
    if (const auto number = number_in(digits)) return CodeLine{std::string(file), *number};
  }
  return std::nullopt;
}

}  // namespace tensorstat
