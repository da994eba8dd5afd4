#include "stats/compare/msprobe/json_calls.hpp"

#include "stats/json/json_reader.hpp"

namespace tensorstat::msprobe {
namespace {

class Reader : public JsonReader {
 public:
  Reader(std::string where, JsonBytes& bytes, const JsonListener& listener)
      : JsonReader(std::move(where), bytes), listener_(listener) {}

  bool null() override { return put({}); }
  bool boolean(bool truth) override { return add(truth); }
  bool number_integer(number_integer_t number) override { return add(std::int64_t{number}); }
  bool number_unsigned(number_unsigned_t number) override {
    return number <= INT64_MAX ? add(static_cast<std::int64_t>(number)) : add(std::uint64_t{number});
  }
  bool number_float(number_float_t number, const string_t&) override { return add(number); }
  bool string(string_t& text) override {
    if (is_bare_number(text)) return add(bare_number(text));
    return add(std::move(text));
  }
  bool key(string_t& name) override {
    bytes_.token_ended();
    levels_.back().name = name;
    return true;
  }
  bool start_object(std::size_t) override { return enter(PythonTree::Kind::kDict); }
  bool start_array(std::size_t) override { return enter(PythonTree::Kind::kList); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }

 private:
  struct Level {
    PythonTree tree;
    std::string name;  // of the member that is read
  };

  bool add(PythonValue value) { return put({PythonTree::Kind::kValue, std::move(value), {}}); }

  // A value is complete: it belongs to the level that is open, unless the listener takes it.
  bool put(PythonTree&& tree) {
    bytes_.token_ended();
    if (levels_.empty()) return refuse("it is no object");
    Level& level = levels_.back();
    const bool is_in_data = levels_.size() == 2 && levels_[0].name == "data" && level.tree.is_dict();
    if (is_in_data) {
      listener_.call(level.name, std::move(tree));
    } else if (levels_.size() == 1) {
      listener_.member(level.name, std::move(tree));
    } else {
      level.tree.members.emplace_back(level.tree.is_dict() ? std::exchange(level.name, {}) : std::string(), std::move(tree));
    }
    return true;
  }

  bool enter(PythonTree::Kind kind) {
    bytes_.token_ended();
    if (levels_.empty() && kind != PythonTree::Kind::kDict) return refuse("it is no object");
    if (levels_.size() == kMostLevels) return refuse("more than 512 levels");
    levels_.push_back({{kind, {}, {}}, {}});
    return true;
  }

  bool leave() {
    bytes_.token_ended();
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
  JsonBytes bytes(*next);
  return Reader(printable(path), bytes, listener).read();
}

}  // namespace tensorstat::msprobe
