#include "stats/compare/msprobe/json_calls.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "stats/files/random_file.hpp"
#include "stats/files/shown.hpp"
#include "stats/rows/json_bytes.hpp"

namespace tensorstat::msprobe {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostLevels = 512;

class Reader : public nlohmann::json_sax<Json> {
 public:
  Reader(std::string where, JsonBytes& bytes, const JsonListener& listener)
      : where_(std::move(where)), bytes_(bytes), listener_(listener) {}

  Status finish(bool is_parsed) {
    if (!fault_) return fault_;
    if (!bytes_.fault()) return bytes_.fault();
    if (bytes_.is_too_long()) return failure("a text or a number longer than 16 MiB");
    if (!is_parsed) return failure(syntax_.empty() ? "it is no JSON" : syntax_);
    if (!bytes_.at_end()) return failure("a NUL byte");
    return {};
  }

  bool null() override { return put({}); }
  bool boolean(bool truth) override { return add(truth); }
  bool number_integer(number_integer_t number) override { return add(std::int64_t{number}); }
  bool number_unsigned(number_unsigned_t number) override {
    return number <= INT64_MAX ? add(static_cast<std::int64_t>(number)) : add(std::uint64_t{number});
  }
  bool number_float(number_float_t number, const string_t&) override { return add(number); }
  bool binary(binary_t&) override { return false; }  // JSON has none
  bool string(string_t& text) override {
    if (!text.empty() && text.front() == kNumberMark) {
      return add(text[1] == 'N' ? double{NAN} : text[1] == '-' ? -HUGE_VAL : HUGE_VAL);
    }
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
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& what) override {
    syntax_ = what.what();
    // It says where in the text that the parser was given, and quotes that.
    if (const auto reason = syntax_.find("syntax error"); reason != syntax_.npos) syntax_.erase(0, reason);
    syntax_ = shown(syntax_, 160);
    return false;
  }

 private:
  struct Level {
    PythonTree tree;
    std::string name;  // of the member that is read
  };

  Error failure(const std::string& what) const {
    return {Code::kUnreadable, where_ + ", " + bytes_.place() + ": " + what};
  }
  bool refuse(const std::string& what) {
    fault_ = failure(what);
    return false;
  }

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

  const std::string where_;
  JsonBytes& bytes_;
  const JsonListener& listener_;
  std::vector<Level> levels_;
  Status fault_;
  std::string syntax_;
};

}  // namespace

Status read_json_calls(const std::string& path, const JsonListener& listener) {
  const auto file = RandomFile::open(path);
  if (!file) return file.error();
  constexpr std::uint64_t kPieceBytes = 1 << 16;
  std::uint64_t offset = 0;
  const NextPiece next = [&](std::string& piece) -> Result<bool> {
    const std::size_t before = piece.size(), more = std::min(kPieceBytes, file->size_bytes() - offset);
    piece.resize(before + more);
    Status read = file->read_at(offset, std::as_writable_bytes(std::span(piece).subspan(before)));
    if (!read) return read.error();
    offset += more;
    return more != 0;
  };
  JsonBytes bytes(next);
  Reader reader(printable(path), bytes, listener);
  const bool is_parsed = Json::sax_parse(JsonIterator(bytes), JsonIterator(), &reader);
  return reader.finish(is_parsed);
}

}  // namespace tensorstat::msprobe
