#include "stats/files/safetensors/shard_index.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "stats/base/natural_order.hpp"
#include "stats/base/printable.hpp"

namespace tensorstat {
namespace {

struct NaturalOrder {
  bool operator()(const std::string& a, const std::string& b) const { return natural_before(a, b); }
};

bool is_name_of_shard(std::string_view name) {
  const auto ends = [&](std::string_view word) { return name.size() > word.size() && name.ends_with(word); };
  return (ends(".safetensors") || ends(".bin")) && name.find_first_of(std::string_view("/\0", 2)) == name.npos;
}

// Reads weight_map and ignores everything else.
class IndexReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::map<std::string, std::vector<std::string>, NaturalOrder> tensors_of;  // by shard
  std::string fault;
  bool has_map = false;

  bool null() override { return other("null"); }
  bool boolean(bool) override { return other("a boolean"); }
  bool binary(binary_t&) override { return other("binary data"); }
  bool number_integer(number_integer_t) override { return other("a number"); }
  bool number_unsigned(number_unsigned_t) override { return other("a number"); }
  bool number_float(number_float_t, const string_t&) override { return other("a number"); }
  bool string(string_t& text) override {
    if (!is_in_map()) return other("a string");
    if (!is_name_of_shard(text)) {
      return fail("tensor '" + shown(key_) + "' would be in '" + shown(text) +
                  "', which is no name of a .safetensors or .bin file in the folder of the index");
    }
    tensors_of[text].push_back(key_);
    return true;
  }
  bool key(string_t& key) override {
    if (depth_ == 1) {
      at_map_ = key == "weight_map";
      if (at_map_ && std::exchange(has_map, true)) return fail("the key 'weight_map' comes twice");
    }
    key_ = key;
    return true;
  }
  bool start_object(std::size_t) override {
    if (is_in_map()) return other("an object");
    ++depth_;
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    if (depth_ == 0 || at_map_) return other("an array");
    ++depth_;
    return true;
  }
  bool end_array() override { return end_object(); }
  bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception&) override {
    return fail("it is no JSON at its byte " + std::to_string(position) + ", after '" + shown(token) + "'");
  }

 private:
  bool is_in_map() const { return depth_ == 2 && at_map_; }
  bool fail(std::string what) {
    fault = std::move(what);
    return false;
  }
  bool other(const std::string& what) {
    if (depth_ == 0) return fail("it is " + what + ", not an object");
    if (depth_ == 1 && at_map_) return fail("'weight_map' is " + what + ", not an object");
    return !is_in_map() || fail("the shard of tensor '" + shown(key_) + "' is " + what + ", not a string");
  }

  int depth_ = 0;
  bool at_map_ = false;  // the last key of the outermost object is weight_map
  std::string key_;
};

}  // namespace

Result<ShardIndex> parse_shard_index(std::string_view text) {
  const auto damaged = [](const std::string& what) {
    return Error{Code::kUnreadable, "is no index of shards: " + what};
  };
  // nlohmann stops at a NUL byte and ignores what follows.
  if (const auto nul = text.find('\0'); nul != text.npos) {
    return damaged("a NUL byte at its byte " + std::to_string(nul + 1));
  }
  IndexReader reader;
  if (!nlohmann::json::sax_parse(text, &reader)) return damaged(reader.fault);
  if (!reader.has_map) return damaged("it has no 'weight_map'");
  ShardIndex index;
  for (auto& [shard, tensors] : reader.tensors_of) {
    for (std::string& tensor : tensors) {
      const auto [at, is_new] = index.shard_of.emplace(std::move(tensor), index.shards.size());
      if (!is_new) return damaged("tensor '" + shown(at->first) + "' comes twice");
    }
    index.shards.push_back(shard);
  }
  return index;
}

}  // namespace tensorstat
