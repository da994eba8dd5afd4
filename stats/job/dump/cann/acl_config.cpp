#include "stats/job/dump/cann/acl_config.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>

#include "stats/data/rows/names/op_name.hpp"
#include "stats/job/dump/cann/acl_keys.hpp"
#include "stats/job/dump/cann/acl_operators.hpp"
#include "stats/job/dump/cann/cann_output.hpp"

namespace tensorstat {
namespace {

using Kind = JsonValue::Kind;

[[noreturn]] void refuse(std::string_view code, const std::string& what) {
  throw Refusal{std::string(code) + ": " + what};
}

std::string path_of(std::string_view key) { return "dump." + std::string(key); }

std::string joined(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) {
    if (!word.empty()) text.append(text.empty() ? "" : ", ").append(word);
  }
  return text;
}

std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  for (std::size_t position; (position = text.find(mark)) != text.npos; text.remove_prefix(position + 1)) {
    parts.push_back(text.substr(0, position));
  }
  parts.push_back(text);
  return parts;
}

class AclParser {
 public:
  AclParser(JsonValue dump, const ConfigSetting& setting, Notices& notices)
      : dump_(dump), setting_(setting), notices_(notices) {}

  // In CANN's order: types, then words, then rules between keys.
  DumpConfig run() {
    config_.keys = {.step = "dump_step", .direction = "dump_mode", .overflow = "dump_debug \"on\""};
    check_types();
    say_unknown();
    for (const AclKey& key : kAclTexts) check_words(key);
    read_stats();
    const std::string scene = text("dump_scene");
    const bool is_debug = text("dump_debug") == "on", is_single = text("dump_op_switch") == "on";
    if (!scene.empty() && (is_debug || is_single)) {
      refuse(kWrongTogether, "dump.dump_scene excludes dump_debug and dump_op_switch \"on\"");
    }
    const bool is_exception = !scene.empty() && scene != "watcher";
    if (!is_exception) check_constraints(scene == "watcher", is_debug, is_single);
    if (scene == "watcher") {
      refuse(kWrongValue,
             "dump.dump_scene \"watcher\" looks at outputs again after other operators have run, which a "
             "backend that hands tensors over once cannot do; leave it out");
    }
    if (!is_debug && !is_single && !is_exception && (!list_ || list_->size() == 0)) {
      throw Refusal{
          "it wants no dump: one of dump.dump_list with an item, dump_op_switch \"on\", dump_debug \"on\" "
          "and dump_scene is needed"};
    }
    fill(is_debug, is_exception, is_single);
    return std::move(config_);
  }

 private:
  // The text of a key, or its default if the key is missing.
  std::string text(std::string_view name) const {
    if (const auto value = dump_.find(name)) return std::string(value->text());
    const auto key = std::ranges::find(kAclTexts, name, &AclKey::name);
    return key->words.empty() ? "" : std::string(key->words.front());
  }

  void check_types() {
    for (const AclKey& key : kAclTexts) {
      const auto value = dump_.find(key.name);
      if (!value) continue;
      if (!value->is(Kind::kString)) refuse(kWrongItem, path_of(key.name) + " is " + excerpt(*value) + ", not a text");
      if (value->text().empty()) refuse(kWrongItem, path_of(key.name) + " is empty");
    }
    list_ = dump_.find("dump_list");
    if (list_) check_list("dump.dump_list", *list_);
    stats_ = dump_.find("dump_stats");
    if (stats_) texts_of("dump.dump_stats", *stats_);
    if (stats_ && stats_->size() == 0) refuse(kWrongItem, "dump.dump_stats is empty");
    if (!list_) return;
    for (const JsonValue item : *list_) items_.push_back(item_of(item));
  }

  void say_unknown() const {
    const auto say = [&](const JsonValue& object, const std::string& name,
                         std::initializer_list<std::string_view> keys) {
      ConfigSection section(object, name);
      for (const std::string_view key : keys) static_cast<void>(section.find(key));
      if (name == "dump") {
        for (const AclKey& key : kAclTexts) static_cast<void>(section.find(key.name));
      }
      section.warn_about_unknown_keys(notices_);
    };
    say(dump_, "dump", {"dump_list", "dump_stats", "quant_dumpable"});
    if (!list_) return;
    for (const JsonValue item : *list_) {
      say(item, "dump.dump_list[]",
          {"model_name", "layer", "watcher_nodes", "optype_blacklist", "opname_blacklist", "opname_range"});
    }
  }

  static void check_list(const std::string& where, const JsonValue& value) {
    if (!value.is(Kind::kArray)) refuse(kWrongItem, where + " is " + excerpt(value) + ", not a list");
  }

  static std::vector<std::string> texts_of(const std::string& where, const JsonValue& list) {
    check_list(where, list);
    std::vector<std::string> texts;
    for (const JsonValue each : list) {
      if (!each.is(Kind::kString)) refuse(kWrongItem, where + " has " + excerpt(each) + ", not a text");
      texts.emplace_back(each.text());
    }
    return texts;
  }

  static std::string text_in(const std::string& where, const JsonValue& object, std::string_view key) {
    const auto value = object.find(key);
    if (!value) return "";
    if (!value->is(Kind::kString)) {
      refuse(kWrongItem, where + "." + std::string(key) + " is " + excerpt(*value) + ", not a text");
    }
    return std::string(value->text());
  }

  struct Item {
    AclItem choice;
    std::string model_name;
    bool has_model = false, has_layer = false, has_black = false, has_watched = false;
    std::size_t watched = 0, largest_blacklist = 0;
  };

  static void check_object(const std::string& where, const JsonValue& value) {
    if (!value.is(Kind::kObject)) refuse(kWrongItem, where + " is " + excerpt(value) + ", not an object { }");
  }

  Item item_of(const JsonValue& value) const {
    const std::string where = "dump.dump_list[]";
    check_object(where, value);
    Item item;
    item.has_model = value.find("model_name").has_value();
    item.model_name = text_in(where, value, "model_name");
    if (const auto layer = value.find("layer")) {
      item.has_layer = true;
      for (const std::string& name : texts_of(where + ".layer", *layer))
        item.choice.layers.insert(escaped_op_name(name));
    }
    if (const auto watched = value.find("watcher_nodes")) {
      item.has_watched = true;
      item.watched = texts_of(where + ".watcher_nodes", *watched).size();
    }
    item.choice.black_types = blacklist_of(where + ".optype_blacklist", value.find("optype_blacklist"), item);
    item.choice.black_names = blacklist_of(where + ".opname_blacklist", value.find("opname_blacklist"), item);
    for (AclBlack& black : item.choice.black_names) black.name = escaped_op_name(black.name);
    if (const auto ranges = value.find("opname_range")) {
      check_list(where + ".opname_range", *ranges);
      for (const JsonValue range : *ranges) {
        check_object(where + ".opname_range[]", range);
        item.choice.ranges.emplace_back(escaped_op_name(text_in(where + ".opname_range[]", range, "begin")),
                                        escaped_op_name(text_in(where + ".opname_range[]", range, "end")));
      }
    }
    return item;
  }

  static std::vector<AclBlack> blacklist_of(const std::string& where, const std::optional<JsonValue>& list,
                                            Item& item) {
    if (!list) return {};
    check_list(where, *list);
    item.has_black = true;
    item.largest_blacklist = std::max(item.largest_blacklist, list->size());
    std::vector<AclBlack> blacks;
    for (const JsonValue each : *list) {
      check_object(where + "[]", each);
      AclBlack black{text_in(where + "[]", each, "name"), {}};
      if (const auto positions = each.find("pos")) black.positions = texts_of(where + "[].pos", *positions);
      blacks.push_back(std::move(black));
    }
    return blacks;
  }

  void check_words(const AclKey& key) const {
    const auto value = dump_.find(key.name);
    if (!value || key.words.empty()) return;
    const auto words = key.is_list ? split(value->text(), ',') : std::vector<std::string_view>{value->text()};
    for (const std::string_view word : words) {
      if (!word.empty() && std::ranges::count(key.words, word) != 0) continue;
      refuse(kWrongWord, path_of(key.name) + " is " + excerpt(*value) + "; allowed: " + joined(key.words));
    }
  }

  void read_stats() {
    constexpr Category kMeant[] = {Category::kMax,
                                   Category::kMin,
                                   Category::kAvg,
                                   Category::kNanCount,
                                   Category::kNegativeInfCount,
                                   Category::kPositiveInfCount,
                                   Category::kL2norm};
    auto& categories = config_.statistic_category;
    if (!stats_) {  // every column but L2norm
      categories.assign(std::begin(kMeant), std::prev(std::end(kMeant)));
      return;
    }
    for (const JsonValue each : *stats_) {
      const auto word = std::ranges::find(kStatsWords, each.text());
      if (word == std::end(kStatsWords)) {
        refuse(kWrongWord, "dump.dump_stats has " + excerpt(each) + "; allowed: " + joined(kStatsWords));
      }
      const Category category = kMeant[word - std::begin(kStatsWords)];
      if (std::ranges::count(categories, category) == 0) categories.push_back(category);
    }
  }

  void check_constraints(bool is_watcher, bool is_debug, bool is_single) {
    if (is_debug && is_single) refuse(kWrongTogether, "dump.dump_debug \"on\" excludes dump_op_switch \"on\"");
    read_path();
    if (is_debug) return;  // CANN ignores step, list and stats here
    if (is_watcher && text("dump_mode") != "output") {
      refuse(kWrongTogether, "dump.dump_scene \"watcher\" needs dump_mode \"output\"");
    }
    if (stats_ && text("dump_data") != "stats") {
      refuse(kWrongTogether, "dump.dump_stats needs dump_data \"stats\"");
    }
    for (const Item& item : items_) check_item(item, is_watcher, is_single);
    read_step();
  }

  void check_item(const Item& item, bool is_watcher, bool is_single) const {
    if (is_watcher) {
      if (item.watched == 0) refuse(kWrongItem, "dump.dump_list[].watcher_nodes is missing or empty");
      if (item.has_model) refuse(kWrongTogether, "dump.dump_list[].model_name excludes dump_scene \"watcher\"");
      return;
    }
    if (item.has_watched) refuse(kWrongTogether, "dump.dump_list[].watcher_nodes needs dump_scene \"watcher\"");
    const bool is_of_operators = text("dump_level") == "op";
    if (item.has_black && !is_of_operators) refuse(kWrongTogether, "a blacklist needs dump.dump_level \"op\"");
    if (item.largest_blacklist > 100) refuse(kWrongValue, "a blacklist has more than 100 entries");
    if (!item.choice.ranges.empty()) {
      if (!is_of_operators) refuse(kWrongTogether, "opname_range needs dump.dump_level \"op\"");
      if (item.model_name.empty()) refuse(kWrongItem, "opname_range needs dump.dump_list[].model_name");
      for (const auto& [begin, end] : item.choice.ranges) {
        if (begin.empty() || end.empty()) refuse(kWrongValue, "opname_range[] needs begin and end");
      }
    }
    if (is_single) return;
    if (item.has_model && item.model_name.empty()) refuse(kWrongItem, "dump.dump_list[].model_name is empty");
    if (item.has_layer && item.choice.layers.empty()) refuse(kWrongItem, "dump.dump_list[].layer is empty");
  }

  void read_path(bool is_exception = false) {
    config_.path = text("dump_path");
    const bool is_given = !config_.path.empty();
    if (!is_given) config_.path = setting_.callers_path;
    if (config_.path.empty() && is_exception) config_.path = setting_.ascend_path.empty() ? "." : setting_.ascend_path;
    if (config_.path.empty()) refuse(kWrongItem, "dump.dump_path is missing");
    if (config_.path.size() > 512) refuse(kWrongValue, "dump.dump_path has more than 512 characters");
    if (is_given && config_.path.find(':') != std::string::npos) {
      refuse(kWrongValue,
             "dump.dump_path is " + excerpt(config_.path) + ": other machines are not written to from here");
    }
    const auto allowed = [](unsigned char c) {
      return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
             std::string_view("-_./").find(static_cast<char>(c)) != std::string_view::npos;
    };
    if (is_given && !std::ranges::all_of(config_.path, allowed)) {
      refuse(kWrongValue, "dump.dump_path is " + excerpt(config_.path) + "; allowed: letters, digits, - _ . and /");
    }
    std::error_code error;
    config_.path = std::filesystem::absolute(config_.path, error).lexically_normal().string();
    while (config_.path.size() > 1 && config_.path.ends_with('/')) config_.path.pop_back();
  }

  void read_step() {
    const std::string step = text("dump_step");
    if (step.empty()) return;
    const auto parts = split(step, '|');
    if (parts.size() > 100) refuse(kWrongValue, "dump.dump_step has more than 100 parts");
    std::vector<NumberSet::Range> ranges;
    for (const std::string_view part : parts) {
      const auto ends = split(part, '-');
      std::uint64_t numbers[2] = {};
      bool is_right = ends.size() <= 2;
      for (std::size_t i = 0; is_right && i < ends.size(); ++i) {
        const auto end = ends[i].data() + ends[i].size();
        const auto [stop, fault] = std::from_chars(ends[i].data(), end, numbers[i]);
        is_right = fault == std::errc{} && stop == end && !ends[i].empty();
      }
      if (ends.size() == 1) numbers[1] = numbers[0];
      if (!is_right || numbers[0] > numbers[1]) {
        refuse(kWrongValue,
               "dump.dump_step has the part " + excerpt(part) + "; allowed: steps and ranges, as in \"0|3-5|10\"");
      }
      ranges.emplace_back(numbers[0], numbers[1]);
    }
    config_.iteration = NumberSet(std::move(ranges));
  }

  void fill(bool is_debug, bool is_exception, bool is_single) {
    if (is_exception) {
      read_path(is_exception);
      config_.op_debug_mode = DebugMode::kException;
      config_.input_output = InputOutput::kInputs;  // a failed operator has no outputs
      config_.saved_data = SavedData::kTensor;
    } else if (is_debug) {
      config_.op_debug_mode = DebugMode::kOverflow;
      config_.saved_data = SavedData::kTensor;
    } else {
      const std::string mode = text("dump_mode");
      config_.input_output = mode == "input"    ? InputOutput::kInputs
                             : mode == "output" ? InputOutput::kOutputs
                                                : InputOutput::kBoth;
      config_.saved_data = text("dump_data") == "stats" ? SavedData::kStatistic : SavedData::kTensor;
    }
    if (is_debug) say_not_looked_at({"dump_list", "dump_step", "dump_stats", "dump_mode", "dump_data"});
    std::vector<AclItem> wanted;
    for (Item& item : items_) {
      if (config_.net_name.empty()) config_.net_name = item.model_name;
      item.choice.model = escaped_op_name(item.model_name);
      wanted.push_back(std::move(item.choice));
    }
    if (config_.net_name.empty()) config_.net_name = "model";
    config_.net_name = escaped_op_name(config_.net_name);
    auto operators =
        std::make_shared<const AclOperators>(is_debug || is_exception ? std::vector<AclItem>() : std::move(wanted));
    config_.operators = operators;
    config_.trans_flag = false;  // CANN writes the device's formats
    config_.form = cann_form(operators, {.has_model = !is_single,
                                         // only TorchAir's configs have this key
                                         .is_torchairs = dump_.find("quant_dumpable").has_value()});
  }

  void say_not_looked_at(std::initializer_list<std::string_view> keys) {
    std::string given;
    for (const std::string_view key : keys) {
      if (dump_.find(key)) given.append(given.empty() ? "" : ", ").append(key);
    }
    if (given.empty()) return;
    notices_.warn_once("dump_debug",
                       "dump.dump_debug is \"on\", which dumps the tensors of operators that overflow and "
                       "nothing else; not looked at: " +
                           given);
  }

  const JsonValue dump_;
  const ConfigSetting& setting_;
  Notices& notices_;
  std::optional<JsonValue> list_, stats_;
  std::vector<Item> items_;
  DumpConfig config_;
};

bool recognises(const JsonValue& root) { return root.find("dump").has_value(); }

DumpConfig read_acl_config(const JsonValue& root, const ConfigSetting& setting, Notices& notices) {
  const JsonValue dump = *root.find("dump");
  if (!dump.is(Kind::kObject)) refuse(kWrongItem, "dump is " + excerpt(dump) + ", not an object { }");
  return AclParser(dump, setting, notices).run();
}

}  // namespace

const ConfigDialect kAclConfig{"CANN's acl.json", "dump", recognises, read_acl_config};

}  // namespace tensorstat
