#include "stats/answer/origin/hints.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "stats/data/files/io/text_pieces.hpp"
#include "stats/data/files/io/whole_file.hpp"
#include "stats/data/json/json_text.hpp"
#include "stats/data/rows/names/op_name.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;
using Kind = JsonDocument::Kind;

// A watch of a million steps writes 100 MB. Each of its lines has some hundred bytes.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
constexpr std::size_t kMostLineBytes = std::size_t{16} << 20;

// Said when new or changed.
template <typename Each>
const Each* last_said(const std::vector<Each>& all, std::uint64_t iteration) {
  const Each* last = nullptr;
  for (const Each& each : all) {
    if (each.iteration <= iteration) last = &each;
  }
  return last;
}

}  // namespace

void Hints::add_folder(std::uint32_t rank, std::uint64_t iteration, std::uint32_t graph, std::string folder) {
  if (folder.empty()) folder = ".";
  std::error_code ignored;
  // rank_0/model/0/7 of the rows, rank_0/model of the watch
  const fs::path of_net = fs::absolute(folder, ignored).lexically_normal() / "../..";
  const std::string file = (of_net.lexically_normal() / "watch.ndjson").string();
  if (read_.emplace(file, "").second && fs::is_regular_file(file, ignored)) add_watch_of(rank, file);
  folders_[{rank, iteration}].push_back({std::move(folder), graph});
}

// Reads the first kMostBytes, and stops at a line that is longer than kMostLineBytes.
void Hints::add_watch_of(std::uint32_t rank, const std::string& file) {
  auto next_piece = pieces_of(file);
  if (!next_piece) return;
  std::string text;
  for (std::uint64_t bytes = 0; bytes < kMostBytes && text.size() < kMostLineBytes;) {
    const std::size_t before = text.size();
    const auto has_more = (*next_piece)(text);
    if (!has_more || !*has_more) break;
    bytes += text.size() - before;
    const std::size_t end = text.rfind('\n') + 1;  // npos + 1 is 0
    add_watch(rank, std::string_view(text).substr(0, end));
    text.erase(0, end);
  }
  add_watch(rank, text);
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
  const auto entry = watch->second.wrote_nothing.find(iteration);
  return entry != watch->second.wrote_nothing.end() && entry->second;
}

bool Hints::was_told_by_check(std::uint32_t rank, std::uint64_t iteration) const {
  const auto watch = watches_.find(rank);
  return watch != watches_.end() && watch->second.told_by_check.contains(iteration);
}

const Hints::CallHint* Hints::hint_of(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name,
                                      std::uint32_t nth) const {
  const auto watch = watches_.find(rank);
  if (watch == watches_.end()) return nullptr;
  const auto entry = watch->second.code.find(escaped_op_name(op_name));
  if (entry == watch->second.code.end()) return nullptr;
  const CallHint* best = nullptr;
  for (const CallHint& call : entry->second) {
    if (call.iteration > iteration) continue;
    if (best == nullptr || call.nth == nth || best->nth != nth) best = &call;
  }
  return best;
}

std::optional<std::string> Hints::parent_of(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name,
                                            std::uint32_t nth) {
  if (const CallHint* call = hint_of(rank, iteration, op_name, nth)) return call->parent;
  if (folders_.empty()) return std::nullopt;
  const Companions& companions = companions_of({rank, iteration});
  const auto parent = companions.parents.find(op_name);
  return parent == companions.parents.end() ? std::nullopt : std::optional(parent->second);
}

std::optional<CodeLine> Hints::line_of(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name,
                                       std::uint32_t nth) {
  if (const CallHint* call = hint_of(rank, iteration, op_name, nth)) return call->code;
  if (folders_.empty()) return std::nullopt;
  const Companions& companions = companions_of({rank, iteration});
  if (const auto line = companions.lines.find(op_name); line != companions.lines.end()) return line->second;
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
  const auto zoom = watch->second.zooms.find({iteration, escaped_op_name(op_name)});
  return zoom == watch->second.zooms.end() ? nullptr : &zoom->second;
}

const CutOff* Hints::cut_off_of(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name) const {
  const auto watch = watches_.find(rank);
  if (watch == watches_.end()) return nullptr;
  const auto cut_off = watch->second.cut_off.find({iteration, escaped_op_name(op_name)});
  return cut_off == watch->second.cut_off.end() ? nullptr : &cut_off->second;
}

const Zoom* Hints::zoom_because_of(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name) const {
  const auto watch = watches_.find(rank);
  if (watch == watches_.end()) return nullptr;
  for (auto zoom = watch->second.zooms.lower_bound({iteration, ""});
       zoom != watch->second.zooms.end() && zoom->first.first == iteration; ++zoom) {
    if (escaped_op_name(zoom->second.cause) == escaped_op_name(op_name)) return &zoom->second;
  }
  return nullptr;
}

const std::string* Hints::not_seen(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name,
                                   bool is_input) const {
  const auto watch = watches_.find(rank);
  if (watch == watches_.end()) return nullptr;
  const auto entry = watch->second.missing.find(escaped_op_name(op_name));
  if (entry == watch->second.missing.end()) return nullptr;
  for (const Missing& missing : entry->second) {  // it is said once
    if (missing.is_input == is_input && missing.iteration <= iteration) return &missing.why;
  }
  return nullptr;
}

std::string Hints::name_of_tensor(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name, bool is_input,
                                  std::uint32_t slot) const {
  const auto watch = watches_.find(rank);
  if (watch == watches_.end()) return {};
  const auto entry = watch->second.names.find({escaped_op_name(op_name), is_input});
  if (entry == watch->second.names.end()) return {};
  const Names* last = last_said(entry->second, iteration);
  return last != nullptr && slot < last->names.size() ? last->names[slot] : std::string();
}

bool Hints::is_held(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name, std::uint32_t slot) const {
  const auto watch = watches_.find(rank);
  if (watch == watches_.end() || watch->second.held_inputs.empty()) return false;
  const auto entry = watch->second.held_inputs.find(escaped_op_name(op_name));
  if (entry == watch->second.held_inputs.end()) return false;
  const ContainedInputs* last = last_said(entry->second, iteration);
  return last != nullptr && std::ranges::count(last->slots, slot) != 0;
}

const FaultyRows* Hints::faulty_rows(std::uint32_t rank, std::uint64_t iteration, std::string_view op_name,
                                     bool is_input, std::uint32_t slot) const {
  const auto watch = watches_.find(rank);
  if (watch == watches_.end()) return nullptr;
  const auto rows = watch->second.rows.find({iteration, escaped_op_name(op_name), is_input, slot});
  return rows == watch->second.rows.end() ? nullptr : &rows->second;
}

const std::string* Hints::model_not_seen() const {
  for (const auto& [rank, watch] : watches_) {
    const auto missing = watch.missing.find("");
    if (missing != watch.missing.end()) return &missing->second.front().why;
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
    const CallHint* call = hint_of(rank, iteration, child, 0);
    if (call == nullptr || escaped_op_name(call->parent) != escaped_op_name(op_name)) continue;
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
      for (auto item = document.root().begin(); item != document.root().end(); ++item) {
        const std::string_view key = (*item).text();
        each(key, *++item);
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
  fs::path ancestor = fs::absolute(folder.path, ignored).lexically_normal();
  for (int level = 0; level < kMostLevels + 1 && ancestor.has_relative_path();
       ++level, ancestor = ancestor.parent_path()) {
    for (const fs::path& file : {ancestor / "graphs" / name, ancestor / name}) {
      if (!fs::is_regular_file(file, ignored)) continue;
      const auto text = read_whole_file(file.string(), kMostGraphBytes);
      return text ? line_in_graph(*text, op_name) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace tensorstat
