#include "stats/data/files/safetensors/shard_index.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/json/json_reader.hpp"
#include "stats/data/text/natural_order.hpp"

namespace tensorstat {
namespace {

struct NaturalOrder {
  bool operator()(const std::string& a, const std::string& b) const { return natural_before(a, b); }
};

bool is_name_of_shard(std::string_view name) {
  const auto ends = [&](std::string_view word) { return name.size() > word.size() && name.ends_with(word); };
  return (ends(".safetensors") || ends(".bin") || ends(".ckpt")) &&
         name.find_first_of(std::string_view("/\0", 2)) == name.npos;
}

// Reads weight_map and ignores everything else.
class IndexReader : public JsonReader {
 public:
  IndexReader() : JsonReader({.has_one_line = true}) {}

  std::map<std::string, std::vector<std::string>, NaturalOrder> tensors_of;  // by shard
  bool has_map = false;

 private:
  bool scalar(const JsonScalar& value, std::string_view) override {
    return other(value.index() == 0 ? "null" : std::holds_alternative<bool>(value) ? "a boolean" : "a number");
  }
  bool string(std::string& text) override {
    if (!is_in_map()) return other("a string");
    if (!is_name_of_shard(text)) {
      return refuse("tensor " + in_quotes(key_) + " would be in " + in_quotes(text) +
                    ", which is no name of a .safetensors, .bin or .ckpt file in the folder of the index");
    }
    tensors_of[text].push_back(key_);
    return true;
  }
  bool key(std::string& key) override {
    if (depth_ == 1) {
      at_map_ = key == "weight_map";
      if (at_map_ && std::exchange(has_map, true)) return refuse("the key 'weight_map' comes twice");
    }
    key_ = key;
    return true;
  }
  bool begin(bool is_list) override {
    if (is_in_map() || (is_list && (depth_ == 0 || at_map_))) return other(is_list ? "an array" : "an object");
    ++depth_;
    return true;
  }
  bool end() override {
    --depth_;
    return true;
  }

  bool is_in_map() const { return depth_ == 2 && at_map_; }
  bool other(const std::string& what) {
    if (depth_ == 0) return refuse("it is " + what + ", not an object");
    if (depth_ == 1 && at_map_) return refuse("'weight_map' is " + what + ", not an object");
    return !is_in_map() || refuse("the shard of tensor " + in_quotes(key_) + " is " + what + ", not a string");
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
  IndexReader reader;
  if (Status read = reader.read(text); !read) return damaged(read.error().message);
  if (!reader.has_map) return damaged("it has no 'weight_map'");
  ShardIndex index;
  for (auto& [shard, tensors] : reader.tensors_of) {
    for (std::string& tensor : tensors) {
      const auto [entry, is_new] = index.shard_of.emplace(std::move(tensor), index.shards.size());
      if (!is_new) return damaged("tensor " + in_quotes(entry->first) + " comes twice");
    }
    index.shards.push_back(shard);
  }
  return index;
}

}  // namespace tensorstat
