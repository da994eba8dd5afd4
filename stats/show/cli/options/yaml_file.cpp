#include "stats/show/cli/options/yaml_file.hpp"

#if TENSORSTAT_YAML
#include <yaml.h>
#endif

#include <unordered_map>
#include <vector>

#include "stats/core/base/loaded_library.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/whole_file.hpp"

namespace tensorstat::cli {

#if TENSORSTAT_YAML

namespace {

using msprobe::PythonTree;

constexpr std::size_t kMostYamlBytes = std::size_t{16} << 20;
constexpr std::size_t kMostLevels = 32;

#define TENSORSTAT_YAML_FUNCTIONS(F) \
  F(yaml_event_delete)               \
  F(yaml_parser_delete)              \
  F(yaml_parser_initialize)          \
  F(yaml_parser_parse)               \
  F(yaml_parser_set_input_string)

struct Yaml {
  TENSORSTAT_LOADED_FUNCTIONS(TENSORSTAT_YAML_FUNCTIONS)
};

// Builds a tree from libyaml's events.
class YamlReader {
 public:
  YamlReader(const Yaml& yaml, const std::string& path, const std::string& text) : yaml_(yaml), path_(path) {
    is_made_ = yaml_.yaml_parser_initialize_(&parser_) != 0;
    if (is_made_) {
      yaml_.yaml_parser_set_input_string_(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
    }
  }
  ~YamlReader() {
    if (is_made_) yaml_.yaml_parser_delete_(&parser_);
  }
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;

  Result<PythonTree> read() {
    if (!is_made_) return Error{Code::kOutOfMemory, printable(path_) + ": out of memory"};
    for (bool is_done = false; !is_done;) {
      yaml_event_t event;
      if (yaml_.yaml_parser_parse_(&parser_, &event) == 0) return parser_fault();
      is_done = event.type == YAML_STREAM_END_EVENT;
      const Status taken = take(event);
      yaml_.yaml_event_delete_(&event);
      if (!taken) return taken.error();
    }
    return std::move(root_);
  }

 private:
  struct Level {
    PythonTree tree;
    std::string name;  // of the member that comes
    bool has_name = false;
    std::unordered_map<std::string, std::size_t> places = {};  // of a dict's names
  };

  Error fault(std::size_t line, const std::string& what) const {
    return {Code::kUnreadable, printable(path_) + ": line " + std::to_string(line + 1) + ": " + what};
  }
  Error parser_fault() const {
    const std::string what = parser_.problem == nullptr ? "no YAML" : parser_.problem;
    return fault(parser_.error == YAML_READER_ERROR ? parser_.mark.line : parser_.problem_mark.line, what);
  }

  Status take(const yaml_event_t& event) {
    const std::size_t line = event.start_mark.line;
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        return ++documents_ > 1 ? Status(fault(line, "a second document")) : Status();
      case YAML_ALIAS_EVENT:
        return fault(line, "an alias (*name), which is not supported: write the content twice");
      case YAML_SCALAR_EVENT:
        return event.data.scalar.tag != nullptr ? fault(line, kTag) : put(scalar_of(event), line);
      case YAML_SEQUENCE_START_EVENT:
        return event.data.sequence_start.tag != nullptr ? fault(line, kTag) : open(PythonTree::Kind::kList, line);
      case YAML_MAPPING_START_EVENT:
        return event.data.mapping_start.tag != nullptr ? fault(line, kTag) : open(PythonTree::Kind::kDict, line);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT: {
        PythonTree tree = std::move(levels_.back().tree);
        levels_.pop_back();
        return put(std::move(tree), line);
      }
      default:
        return {};
    }
  }

  static PythonTree scalar_of(const yaml_event_t& event) {
    std::string text(reinterpret_cast<const char*>(event.data.scalar.value), event.data.scalar.length);
    const bool is_none = event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
                         (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL");
    return is_none ? PythonTree{} : PythonTree(PythonTree::Kind::kValue, std::move(text));
  }

  Status open(PythonTree::Kind kind, std::size_t line) {
    if (levels_.size() == kMostLevels) return fault(line, "more than " + std::to_string(kMostLevels) + " levels");
    if (!levels_.empty() && levels_.back().tree.is_dict() && !levels_.back().has_name) {
      return fault(line, "a name should be a text");
    }
    levels_.push_back({.tree = PythonTree(kind), .name = {}});
    return {};
  }

  Status put(PythonTree&& tree, std::size_t line) {
    if (levels_.empty()) {
      root_ = std::move(tree);
      return {};
    }
    Level& level = levels_.back();
    auto& members = level.tree.members;
    if (level.tree.is_list()) {
      members.emplace_back(std::string(), std::move(tree));
    } else if (!level.has_name) {
      if (!tree.is_text()) return fault(line, "a name should be a text");
      level.name = text_of(tree);
      level.has_name = true;
    } else {
      level.has_name = false;
      const auto [place, is_new] = level.places.try_emplace(level.name, members.size());
      if (is_new) members.emplace_back(level.name, PythonTree{});
      members[place->second].second = std::move(tree);
    }
    return {};
  }

  static constexpr const char* kTag = "a tag (!name), which is not supported";

  const Yaml& yaml_;
  const std::string path_;
  yaml_parser_t parser_{};
  bool is_made_ = false;
  int documents_ = 0;
  std::vector<Level> levels_;
  PythonTree root_;
};

}  // namespace

Result<msprobe::PythonTree> read_yaml(const std::string& path) {
  const auto text = read_whole_file(path, kMostYamlBytes);
  if (!text) return text.error();
  const Yaml* const yaml = loaded<Yaml>(TENSORSTAT_YAML_LIBRARY);
  if (yaml == nullptr) {
    return Error{Code::kUnsupported, printable(path) + ": a YAML file, for which " TENSORSTAT_YAML_LIBRARY
                                                       " is needed: apt-get install libyaml-0-2"};
  }
  return YamlReader(*yaml, path, *text).read();
}

#else

Result<msprobe::PythonTree> read_yaml(const std::string& path) {
  return Error{Code::kUnsupported, printable(path) +
                                       ": tensorstat was built without libyaml; install libyaml-dev and "
                                       "build it again"};
}

#endif

}  // namespace tensorstat::cli
