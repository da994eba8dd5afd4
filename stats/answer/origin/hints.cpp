#include "stats/answer/origin/hints.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "stats/data/files/io/text_lines.hpp"
#include "stats/data/files/io/whole_file.hpp"
#include "stats/data/json/json_text.hpp"
#include "stats/data/rows/names/op_name.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;
using Kind = JsonDocument::Kind;

constexpr std::size_t kMostBytes = std::size_t{64} << 20;

// The members of an object of a line, each with what it is where it is missing or of another kind.
class Members {
 public:
  explicit Members(JsonValue object) : object_(object) {}
  std::string text(std::string_view key) const {
    const auto value = object_.find(key);
    return value && value->is(Kind::kString) ? std::string(value->text()) : std::string();
  }
  bool has_text(std::string_view key) const {
    const auto value = object_.find(key);
    return value && value->is(Kind::kString);
  }
  std::uint64_t number(std::string_view key, std::uint64_t otherwise = 0) const {
    const auto value = object_.find(key);
    return value && value->is(Kind::kNatural) ? value->natural() : otherwise;
  }
  std::vector<std::uint32_t> numbers(std::string_view key) const {
    std::vector<std::uint32_t> numbers;
    const auto value = object_.find(key);
    if (!value || !value->is(Kind::kArray)) return numbers;
    for (const JsonValue each : *value) {
      if (each.is(Kind::kNatural)) numbers.push_back(static_cast<std::uint32_t>(each.natural()));
    }
    return numbers;
  }
  std::vector<std::string> texts(std::string_view key) const {
    std::vector<std::string> texts;
    const auto value = object_.find(key);
    if (!value || !value->is(Kind::kArray)) return texts;
    for (const JsonValue each : *value) {
      if (each.is(Kind::kString)) texts.emplace_back(each.text());
    }
    return texts;
  }
  std::optional<bool> truth(std::string_view key) const {
    const auto value = object_.find(key);
    return value && value->is(Kind::kBoolean) ? std::optional(value->text() == "true") : std::nullopt;
  }
  std::optional<CodeLine> code() const {
    return has_text("file") ? std::optional(CodeLine{text("file"), number("line")}) : std::nullopt;
  }

 private:
  JsonValue object_;
};

Zoom zoom_in(const Members& line) {
  Zoom zoom{.why = line.text("why"),
            .operation = line.text("operation"),
            .given = line.text("given"),
            .gave = line.text("gave"),
            .inside = line.text("inside"),
            .of = line.text("of"),
            .held_by = {},
            .parameter = line.text("parameter"),
            .at = line.code(),
            .inf_written = line.truth("inf_written"),
            .given_finite = line.truth("given_finite").value_or(false)};
  const std::string result = line.text("result");
  zoom.found = result == "found"   ? Zoom::Found::kOperation
               : result == "clean" ? Zoom::Found::kClean
               : result == "given" ? Zoom::Found::kGiven
                                   : Zoom::Found::kRefused;
  // "the parameter weight holds the fault", "a tensor from outside of the call holds the fault"
  std::string_view why = zoom.why;
  if (zoom.found == Zoom::Found::kGiven && why.ends_with(" holds the fault")) {
    zoom.found = Zoom::Found::kHeld;
    for (const std::string_view kind : {"the parameter ", "the buffer "}) {
      if (why.starts_with(kind)) zoom.held_by = why.substr(kind.size(), why.rfind(" holds") - kind.size());
    }
  }
  return zoom;
}

std::optional<std::uint64_t> number_in(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

// Of "x.py(175)/  code/" and of "x.py:175, 8~20/  code/".
std::optional<CodeLine> line_behind(std::string_view text) {
  for (std::size_t at = text.find_first_of("(:"); at != text.npos; at = text.find_first_of("(:", at + 1)) {
    std::string_view rest = text.substr(at + 1);
    const auto number = number_in(rest);
    if (!number || at == 0 || rest.empty() || (text[at] == '(' ? rest[0] != ')' : rest[0] != '/' && rest[0] != ','))
      continue;
    return CodeLine{std::string(text.substr(0, at)), *number};
  }
  return std::nullopt;
}

}  // namespace

void Hints::add_watch(std::uint32_t rank, std::string_view text) {
  Watch& watch = watches_[rank];
  while (!text.empty()) {
    const auto document = parse_json(take_line(text));
    if (!document || !document->root().is(Kind::kObject)) continue;  // the last line of a process that was killed
    const Members line(document->root());
    const std::string kind = line.text("kind"), op_name = escaped_op_name(line.text("op_name"));
    const std::uint64_t iteration = line.number("iteration");
    if (kind == "run") {
      world_size_ = std::max(world_size_, line.number("world_size"));
      are_gradients_off_ = !line.truth("gradients").value_or(true);
      for (const std::string& path : line.texts("holders")) holders_.insert(path);
      are_parameters_off_ = !line.truth("parameters").value_or(true);
      compares_replicas_ |= line.has_text("shards");
    } else if (kind == "launches") {
      are_launches_ = true;
    } else if (kind == "code") {
      watch.code[op_name].push_back({iteration, line.number("call"), line.code(), line.text("parent")});
    } else if (kind == "step") {
      watch.wrote_nothing[iteration] = line.number("written", 1) == 0;
    } else if (kind == "trained") {
      for (std::string& name : line.texts("names")) watch.trained.insert(std::move(name));
    } else if (kind == "mode") {
      watch.modes[op_name] = {iteration, line.truth("training").value_or(true)};
    } else if (kind == "zeroed") {
      watch.gradients_gone = std::min(watch.gradients_gone, iteration);
    } else if (kind == "zoom") {
      watch.zooms.insert_or_assign({iteration, op_name}, zoom_in(line));
    } else if (kind == "replica") {
      UnequalReplicas found{iteration, line.text("op_type"), line.text("op_name"), line.numbers("ranks"),
                            line.number("replicas")};
      if (!found.ranks.empty()) unequal_replicas_.insert(std::move(found));
    } else if (kind == "not_seen" && op_name.empty() && line.text("why").empty()) {
      watch.missing.erase("");  // a later step has rows of the model
    } else if (kind == "not_seen") {
      watch.missing[op_name].push_back({iteration, line.text("io") == "input", line.text("why")});
    }
  }
}

void Hints::add_folder(std::uint32_t rank, std::uint64_t iteration, std::uint32_t graph, std::string folder) {
  if (folder.empty()) folder = ".";
  std::error_code ignored;
  // rank_0/model/0/7 of the rows, rank_0/model of the watch
  const fs::path of_net = fs::absolute(folder, ignored).lexically_normal() / "../..";
  const std::string file = (of_net.lexically_normal() / "watch.ndjson").string();
  if (read_.emplace(file, "").second && fs::is_regular_file(file, ignored)) {
    if (const auto text = read_whole_file(file, kMostBytes)) add_watch(rank, *text);
  }
  folders_[{rank, iteration}].push_back({std::move(folder), graph});
}

const std::set<std::string>& Hints::trained_parameters(std::uint32_t rank) const {
  static const std::set<std::string> kNone;
  const auto watch = watches_.find(rank);
  return watch == watches_.end() ? kNone : watch->second.trained;
}

const std::map<std::string, Hints::Mode, std::less<>>& Hints::modes(std::uint32_t rank) const {
  static const std::map<std::string, Mode, std::less<>> kNone;
  const auto watch = watches_.find(rank);
  return watch == watches_.end() ? kNone : watch->second.modes;
}

bool Hints::wrote_nothing(std::uint32_t rank, std::uint64_t iteration) const {
  const auto watch = watches_.find(rank);
  if (watch == watches_.end()) return false;
  const auto found = watch->second.wrote_nothing.find(iteration);
  return found != watch->second.wrote_nothing.end() && found->second;
}

const Hints::Said* Hints::said_of(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name,
                                  std::uint32_t nth) const {
  const auto watch = watches_.find(rank);
  if (watch == watches_.end()) return nullptr;
  const auto found = watch->second.code.find(escaped_op_name(op_name));
  if (found == watch->second.code.end()) return nullptr;
  const Said* best = nullptr;
  for (const Said& said : found->second) {
    if (said.iteration > iteration) continue;
    if (best == nullptr || said.nth == nth || best->nth != nth) best = &said;
  }
  return best;
}

std::optional<std::string> Hints::parent_of(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name) {
  if (const Said* said = said_of(rank, iteration, op_name, 0)) return said->parent;
  if (folders_.empty()) return std::nullopt;
  const Companions& companions = companions_of({rank, iteration});
  const auto found = companions.parents.find(op_name);
  return found == companions.parents.end() ? std::nullopt : std::optional(found->second);
}

std::optional<CodeLine> Hints::line_of(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name,
                                       std::uint32_t nth) {
  if (const Said* said = said_of(rank, iteration, op_name, nth)) return said->code;
  if (folders_.empty()) return std::nullopt;
  const Companions& companions = companions_of({rank, iteration});
  if (const auto found = companions.lines.find(op_name); found != companions.lines.end()) return found->second;
  const auto folders = folders_.find({rank, iteration});
  if (folders == folders_.end()) return std::nullopt;
  for (const Folder& folder : folders->second) {
    if (auto line = line_of_graph(folder, op_name)) return line;
  }
  return std::nullopt;
}

const Zoom* Hints::zoom_of(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name) const {
  const auto watch = watches_.find(rank);
  if (watch == watches_.end()) return nullptr;
  const auto found = watch->second.zooms.find({iteration, escaped_op_name(op_name)});
  return found == watch->second.zooms.end() ? nullptr : &found->second;
}

const Zoom* Hints::zoom_because_of(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name) const {
  const auto watch = watches_.find(rank);
  if (watch == watches_.end()) return nullptr;
  for (auto at = watch->second.zooms.lower_bound({iteration, ""});
       at != watch->second.zooms.end() && at->first.first == iteration; ++at) {
    if (escaped_op_name(at->second.of) == escaped_op_name(op_name)) return &at->second;
  }
  return nullptr;
}

const std::string* Hints::not_seen(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name,
                                   bool is_input) const {
  const auto watch = watches_.find(rank);
  if (watch == watches_.end()) return nullptr;
  const auto found = watch->second.missing.find(escaped_op_name(op_name));
  if (found == watch->second.missing.end()) return nullptr;
  for (const Missing& missing : found->second) {  // it is said once
    if (missing.is_input == is_input && missing.iteration <= iteration) return &missing.why;
  }
  return nullptr;
}

const std::string* Hints::model_not_seen() const {
  for (const auto& [rank, watch] : watches_) {
    const auto found = watch.missing.find("");
    if (found != watch.missing.end()) return &found->second.front().why;
  }
  return nullptr;
}

std::vector<std::string> Hints::all_not_seen() const {
  std::vector<std::string> all;
  for (const auto& [rank, watch] : watches_) {
    for (const auto& [name, missing] : watch.missing) {
      if (!name.empty()) all.push_back(name + ": " + missing.front().why);
    }
  }
  return all;
}

bool Hints::are_gradients_gone(std::uint32_t rank, std::uint64_t iteration) const {
  const auto watch = watches_.find(rank);
  return watch != watches_.end() && iteration >= watch->second.gradients_gone;
}

std::string Hints::child_not_seen(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name) const {
  const auto watch = watches_.find(rank);
  if (watch == watches_.end()) return {};
  for (const auto& [child, missing] : watch->second.missing) {
    const Said* said = said_of(rank, iteration, child, 0);
    if (said == nullptr || escaped_op_name(said->parent) != escaped_op_name(op_name)) continue;
    for (const Missing& each : missing) {
      if (!each.is_input && each.iteration <= iteration)
        return "results of " + child + " are not understood (" + each.why + ")";
    }
  }
  return {};
}

const Hints::Companions& Hints::companions_of(const Place& place) {
  if (last_place_ == place) return last_;
  last_place_ = place;
  last_ = {};
  const auto folders = folders_.find(place);
  if (folders == folders_.end()) return last_;
  for (const Folder& folder : folders->second) {
    std::error_code ignored;
    const auto read = [&](const char* name) -> std::optional<JsonDocument> {
      const std::string path = folder.path + "/" + name;
      if (!fs::is_regular_file(path, ignored)) return std::nullopt;
      const auto text = read_whole_file(path, kMostJsonBytes);
      auto document = text ? parse_json(*text) : text.error();
      return document && document->root().is(Kind::kObject) ? std::optional(*std::move(document)) : std::nullopt;
    };
    const auto each_member = [](const JsonDocument& document, const auto& each) {
      for (auto at = document.root().begin(); at != document.root().end(); ++at) {
        const std::string_view key = (*at).text();
        each(key, *++at);
      }
    };
    if (const auto construct = read("construct.json")) {
      each_member(*construct, [&](std::string_view key, JsonValue value) {
        if (value.is(Kind::kArray) && value.begin() != value.end()) value = *value.begin();
        last_.parents.insert_or_assign(std::string(key), std::string(value.is(Kind::kString) ? value.text() : ""));
      });
    }
    if (const auto stack = read("stack.json")) {
      // {"0": [[calls], [frames]]}; older ones {"call": [frames]}
      each_member(*stack, [&](std::string_view key, JsonValue value) {
        if (!value.is(Kind::kArray)) return;
        std::vector<std::string_view> calls, frames;
        const auto texts = [](JsonValue list, std::vector<std::string_view>& to) {
          for (const JsonValue each : list) {
            if (each.is(Kind::kString)) to.push_back(each.text());
          }
        };
        auto part = value.begin();
        if (part != value.end() && (*part).is(Kind::kArray)) {
          texts(*part, calls);
          if (++part != value.end() && (*part).is(Kind::kArray)) texts(*part, frames);
        } else {
          calls.push_back(key);
          texts(value, frames);
        }
        const auto line = line_in_stack(frames);
        if (!line) return;
        for (const std::string_view call : calls) last_.lines.insert_or_assign(std::string(call), *line);
      });
    }
  }
  return last_;
}

std::optional<CodeLine> Hints::line_of_graph(const Folder& folder, std::string_view op_name) {
  constexpr int kMostLevels = 4;  // rank_0/net/0/7 of the rows, rank_0/graphs of the graph
  constexpr std::size_t kMostGraphBytes = std::size_t{256} << 20;
  std::error_code ignored;
  const std::string name = "ms_output_trace_code_graph_" + std::to_string(folder.graph) + ".ir";
  fs::path at = fs::absolute(folder.path, ignored).lexically_normal();
  for (int level = 0; level < kMostLevels + 1 && at.has_relative_path(); ++level, at = at.parent_path()) {
    for (const fs::path& file : {at / "graphs" / name, at / name}) {
      if (!fs::is_regular_file(file, ignored)) continue;
      const auto text = read_whole_file(file.string(), kMostGraphBytes);
      return text ? line_in_graph(*text, op_name) : std::nullopt;
    }
  }
  return std::nullopt;
}

namespace {

// The operators of a graph's text with the first line of their code: each(name, line or nullopt).
template <typename Each>
void each_operator(std::string_view text, const Each& each) {
  std::string_view name;
  std::optional<CodeLine> code;
  const auto end = [&] {
    if (!name.empty()) each(name, code);
    name = {};
    code.reset();
  };
  while (!text.empty()) {
    std::string_view line = take_line(text);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.starts_with('%')) {
      end();
    } else if (line.starts_with("# In file ")) {
      if (!name.empty() && !code) code = line_behind(line.substr(10));
    } else if (line.starts_with(':') || line.starts_with("# Fullname") || line.starts_with("# fullname")) {
      const auto open = line.find('('), close = line.rfind(')');
      if (open == line.npos || close == line.npos || close < open) continue;
      const std::string_view inside = line.substr(open + 1, close - open - 1);
      if (inside.find('<') != inside.npos) continue;  // types
      if (code) end();
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
  std::optional<CodeLine> whole, by_ending;
  std::set<std::string> endings;
  each_operator(text, [&](std::string_view name, const std::optional<CodeLine>& code) {
    const std::string own = escaped_op_name(name);
    if (own == wanted && !whole) whole = code;
    if (!is_ending(own, wanted)) return;
    endings.insert(own);
    if (!by_ending) by_ending = code;
  });
  if (whole) return whole;
  return endings.size() == 1 ? by_ending : std::nullopt;
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
