// Hints that a watch wrote: the lines of watch.ndjson.
#include <algorithm>

#include "stats/answer/origin/hints.hpp"
#include "stats/data/files/io/text_lines.hpp"
#include "stats/data/json/json_text.hpp"
#include "stats/data/rows/names/op_name.hpp"

namespace tensorstat {
namespace {

using Kind = JsonDocument::Kind;

// The members of an object of a line, each with a default if it is missing or of another kind.
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
            .cause = line.text("of"),
            .held_by = {},
            .parameter = line.text("parameter"),
            .code = line.code(),
            .inf_written = line.truth("inf_written"),
            .given_finite = line.truth("given_finite").value_or(false),
            .by_container = line.truth("by_container").value_or(false)};
  const std::string result = line.text("result");
  zoom.result = result == "found"   ? Zoom::Outcome::kOperation
                : result == "clean" ? Zoom::Outcome::kClean
                : result == "given" ? Zoom::Outcome::kGiven
                                    : Zoom::Outcome::kRefused;
  // "the parameter weight holds the fault", "a tensor from outside of the call holds the fault"
  std::string_view why = zoom.why;
  if (zoom.result == Zoom::Outcome::kGiven && why.ends_with(" holds the fault")) {
    zoom.result = Zoom::Outcome::kHeld;
    for (const std::string_view kind : {"the parameter ", "the buffer "}) {
      if (why.starts_with(kind)) zoom.held_by = why.substr(kind.size(), why.rfind(" holds") - kind.size());
    }
  }
  return zoom;
}

// With what a line of a run says: one of several, where the run was resumed, or has several ranks.
Watched watched_also(const std::optional<Watched>& so_far, const Members& line) {
  const bool has_operations = line.text("level") == "op", has_all_inputs = line.text("inputs") == "all";
  Watched all = so_far.value_or(Watched{.has_operations = has_operations, .has_all_inputs = has_all_inputs});
  all.has_operations &= has_operations;
  all.has_all_inputs &= has_all_inputs;
  all.has_gradients &= line.truth("gradients").value_or(true);
  all.has_parameters &= line.truth("parameters").value_or(true);
  all.has_all_names &= line.text("where").empty();
  all.is_of_whole |= line.truth("whole").value_or(false);
  all.every = std::max(all.every, line.number("every", 1));
  return all;
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
      watched_ = watched_also(watched_, line);
    } else if (kind == "launches") {
      are_launches_ = true;
    } else if (kind == "code") {
      watch.code[op_name].push_back({iteration, line.number("call"), line.code(), line.text("parent")});
    } else if (kind == "step") {
      watch.wrote_nothing[iteration] = line.number("written", 1) == 0;
    } else if (kind == "check") {
      if (!line.truth("scaler").value_or(false)) watch.told_by_check.insert(iteration);
    } else if (kind == "trained") {
      for (std::string& name : line.texts("names")) watch.trained.insert(std::move(name));
    } else if (kind == "mode") {
      watch.modes[op_name] = {iteration, line.truth("training").value_or(true)};
    } else if (kind == "zeroed") {
      watch.gradients_gone = std::min(watch.gradients_gone, iteration);
    } else if (kind == "zoom") {
      watch.zooms.insert_or_assign({iteration, op_name}, zoom_in(line));
    } else if (kind == "names") {
      watch.names[{op_name, line.text("io") == "input"}].push_back({iteration, line.texts("names")});
    } else if (kind == "held") {
      watch.held_inputs[op_name].push_back({iteration, line.numbers("slots")});
    } else if (kind == "rows") {
      FaultyRows rows{line.number("count"), line.number("whole"), line.numbers("rows")};
      watch.rows.insert_or_assign({iteration, op_name, line.text("io") == "input", line.number("slot")},
                                  std::move(rows));
    } else if (kind == "cut_off") {
      watch.cut_off.insert_or_assign({iteration, op_name},
                                     CutOff{line.text("by"), line.text("operation"), line.code()});
    } else if (kind == "replica") {
      UnequalReplicas replicas{iteration, line.text("op_type"), line.text("op_name"), line.numbers("ranks"),
                               line.number("replicas")};
      if (!replicas.ranks.empty()) unequal_replicas_.insert(std::move(replicas));
    } else if (kind == "not_seen" && op_name.empty() && line.text("why").empty()) {
      watch.missing.erase("");  // a later step has rows of the model
    } else if (kind == "not_seen") {
      watch.missing[op_name].push_back({iteration, line.text("io") == "input", line.text("why")});
    }
  }
}

}  // namespace tensorstat
