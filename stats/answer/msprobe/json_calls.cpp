#include "stats/answer/msprobe/json_calls.hpp"

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/text_pieces.hpp"
#include "stats/data/json/json_reader.hpp"

namespace tensorstat::msprobe {
namespace {

class Reader : public JsonReader {
 public:
  Reader(std::string where, const JsonListener& listener)
      : JsonReader({.has_bare_numbers = true}, std::move(where)), listener_(listener) {}

 private:
  struct Level {
    PythonTree tree;
    std::string name;  // of the member that is being read
  };

  bool scalar(const JsonScalar& value, std::string_view) override {
    if (const auto* truth = std::get_if<bool>(&value)) return add(*truth);
    if (const auto* natural = std::get_if<std::uint64_t>(&value)) {
      return *natural <= INT64_MAX ? add(static_cast<std::int64_t>(*natural)) : add(*natural);
    }
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return add(*integer);
    if (const auto* real = std::get_if<double>(&value)) return add(*real);
    return put({});
  }
  bool string(std::string& text) override { return add(std::move(text)); }
  bool key(std::string& name) override {
    levels_.back().name = name;
    return true;
  }

  bool add(PythonValue value) { return put(PythonTree(PythonTree::Kind::kValue, std::move(value))); }

  // Takes a complete value. The listener gets it, or else the innermost open list or dict.
  bool put(PythonTree&& tree) {
    if (levels_.empty()) return refuse("it is no object");
    Level& level = levels_.back();
    const bool is_in_data = levels_.size() == 2 && levels_[0].name == "data" && level.tree.is_dict();
    if (is_in_data) {
      listener_.call(level.name, std::move(tree));
    } else if (levels_.size() == 1) {
      listener_.member(level.name, std::move(tree));
    } else {
      level.tree.members.emplace_back(level.tree.is_dict() ? std::exchange(level.name, {}) : std::string(),
                                      std::move(tree));
    }
    return true;
  }

  bool begin(bool is_list) override {
    if (levels_.empty() && is_list) return refuse("it is no object");
    levels_.push_back({PythonTree(is_list ? PythonTree::Kind::kList : PythonTree::Kind::kDict), {}});
    return true;
  }

  bool end() override {
    PythonTree tree = std::move(levels_.back().tree);
    levels_.pop_back();
    return levels_.empty() || put(std::move(tree));
  }

  const JsonListener& listener_;
  std::vector<Level> levels_;
};

}  // namespace

Status read_json_calls(const std::string& path, const JsonListener& listener) {
  const auto next = pieces_of(path);
  if (!next) return next.error();
  return Reader(printable(path), listener).read(*next);
}

}  // namespace tensorstat::msprobe
