#include "stats/data/rows/dump_json/dump_json.hpp"

#include <algorithm>
#include <vector>

#include "stats/core/base/printable.hpp"
#include "stats/data/json/json_reader.hpp"
#include "stats/data/json/json_writer.hpp"
#include "stats/data/rows/names/op_name.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kMostDimensions = 1024;

constexpr std::pair<std::string_view, Category> kStatistics[] = {
    {"Max", Category::kMax}, {"Min", Category::kMin}, {"Mean", Category::kAvg}, {"Norm", Category::kL2norm}};

// "torch.float32" and "Float32" are float32.
std::string data_type_of(std::string_view dtype) {
  for (const std::string_view module : {"torch.", "mindspore.", "numpy."}) {
    if (dtype.starts_with(module)) dtype.remove_prefix(module.size());
  }
  return lower_case(dtype);
}

// The name in a key, without the direction and the count after it.
std::string_view stem_of(std::string_view key) {
  const auto without_last = [](std::string_view text) {
    return text.substr(0, std::min(text.rfind('.'), text.size()));
  };
  if (key.ends_with(".parameters_grad")) return without_last(key);
  const std::string_view stem = without_last(without_last(key));
  return stem.empty() ? key : stem;
}

bool has_gradients(std::string_view key) {
  if (key.ends_with(".parameters_grad")) return true;
  const auto dot = key.rfind('.');
  return dot != key.npos && key.substr(0, dot).ends_with(".parameters_grad");
}

class DumpJsonReader : public JsonReader {
 public:
  DumpJsonReader(const std::string& where, const EachRow& each, const CallListener& listener, RowsRead& read)
      : JsonReader({.has_bare_numbers = true}, where), each_(each), listener_(listener), read_(read) {}

  Status read(const NextPiece& next) {
    Status all = JsonReader::read(next);
    if (all && !has_data_)
      return Error{Code::kUnreadable, where() + ": it is no dump.json: there is no object \"data\""};
    return all;
  }

 private:
  struct Level {
    bool is_array = false;
    std::uint64_t index = 0;  // index of the next element
    std::string key = {};     // key of the current member
    std::size_t begin = 0;    // offset in the layout
  };
  // An object with "type" is a leaf. A leaf with dtype and shape is a tensor.
  struct Leaf {
    std::string dtype, checksum, data_name;
    std::string odd_member;  // the first member that a row has no place for
    Shape shape;
    bool has_dtype = false, has_shape = false;
    std::optional<bool> requires_grad = {};
    std::vector<std::pair<Category, Value>> values;
  };

  static constexpr std::size_t kData = 2, kCall = 3;  // the number of open levels inside of `data`, and inside of a
                                                      // call

  bool scalar(const JsonScalar& scalar, std::string_view written) override {
    lay_out(written);
    if (const auto* truth = std::get_if<bool>(&scalar)) {
      if (is_at_leaf() && levels_.back().key == "requires_grad") leaf_.requires_grad = *truth;
      return value(std::uint64_t{*truth});
    }
    if (const auto* natural = std::get_if<std::uint64_t>(&scalar)) return value(*natural);
    if (const auto* integer = std::get_if<std::int64_t>(&scalar)) return value(*integer);
    const auto* real = std::get_if<double>(&scalar);
    return value(real ? Value(*real) : Value());
  }
  bool key(std::string& name) override {
    levels_.back().key = name;
    return true;
  }
  bool end() override { return (!is_at_leaf() || end_leaf()) && leave(); }

  bool is_in_leaf() const { return leaf_level_ != 0; }
  bool is_at_leaf() const { return leaf_level_ != 0 && leaf_level_ == levels_.size(); }
  void odd_member() {
    if (leaf_.odd_member.empty()) leaf_.odd_member = levels_.back().key;
  }
  bool is_in_data() const { return levels_.size() >= kData && levels_[0].key == "data"; }
  bool is_shape() const {
    return leaf_level_ != 0 && levels_.size() == leaf_level_ + 1 && levels_.back().is_array &&
           levels_[leaf_level_ - 1].key == "shape";
  }
  // Whether the parser is at an argument or output that is not a tensor.
  bool is_place() const { return is_in_data() && levels_.size() > kCall && !is_in_leaf(); }
  void next_element() {
    if (!levels_.empty()) ++levels_.back().index;
  }

  bool begin(bool is_array) override {
    if (levels_.empty() && is_array) return refuse("it is no dump.json: there is no object \"data\"");
    if (levels_.size() == 1 && levels_[0].key == "data") {
      if (is_array) return refuse("data is a list, not an object");
      has_data_ = true;
    }
    if (levels_.size() == kData && is_in_data() && !begin_call(is_array)) return false;
    if (is_shape()) return refuse("a shape in a shape");
    if (is_at_leaf() && levels_.back().key != "shape") odd_member();
    if (leaf_level_ == levels_.size() && is_array && leaf_level_ != 0 && levels_.back().key == "shape") {
      leaf_.has_shape = true;
      leaf_.shape.clear();
    }
    std::size_t begin = 0;
    if (is_laying_out()) {
      if (levels_.size() > kData) begin_element();
      begin = layout_.size();
      layout_ += is_array ? '[' : '{';
    }
    levels_.push_back({.is_array = is_array, .begin = begin});
    return true;
  }
  bool leave() {
    if (is_laying_out() && levels_.size() >= kCall && levels_.back().begin != kIsMark) {
      const bool has_elements = layout_.size() > levels_.back().begin + 1;
      if (has_elements) layout_.append("\n").append(levels_.size() - kCall, ' ');
      layout_ += levels_.back().is_array ? ']' : '}';
    }
    const bool ends_call = levels_.size() == kCall && is_in_data();
    levels_.pop_back();
    next_element();
    return !ends_call || end_call();
  }

  bool begin_call(bool is_array) {
    slots_[0] = slots_[1] = 0;
    files_.clear();
    odd_count_ = 0;
    odd_member_.clear();
    other_count_ = 0;
    layout_.clear();
    has_layout_ = listener_.ends != nullptr && !is_array;
    return !listener_.begins || proceed(listener_.begins());
  }
  bool end_call() {
    if (!listener_.ends) return true;
    const std::string& key = levels_[kData - 1].key;
    return proceed(listener_.ends({type_of(key), key, has_layout_ ? std::move(layout_) : std::string(), other_count_,
                                   odd_count_, std::move(odd_member_), std::move(files_)}));
  }
  static std::string type_of(std::string_view key) {
    const std::string_view stem = stem_of(key);
    return std::string(stem.substr(stem.rfind('.') + 1));  // npos + 1 is 0
  }

  // The layout begins at the left margin, as json.dumps(indent=1) writes it.
  bool is_laying_out() const { return has_layout_ && is_in_data() && (levels_.size() > kData || layout_.empty()); }
  void begin_element() {
    const Level& level = levels_.back();
    layout_ += layout_.size() == level.begin + 1 ? "\n" : ",\n";
    layout_.append(levels_.size() - kData, ' ');
    if (!level.is_array) append_json_quoted(layout_, level.key, true), layout_.append(": ");
    if (layout_.size() > kMostLayoutBytes) {
      has_layout_ = false;
      layout_ = {};
    }
  }
  void lay_out(std::string_view scalar) {
    if (!is_laying_out() || levels_.size() == kData) return;
    begin_element();
    if (has_layout_) layout_ += scalar;
  }

  // 0: an input, 1: an output.
  std::size_t io() const {
    const std::string& key = levels_[kData - 1].key;
    return has_gradients(key) || levels_[kCall - 1].key == "output";
  }

  bool string(std::string& text) override {
    if (is_laying_out()) lay_out(json_quoted(text, true));
    const std::size_t depth = levels_.size();
    const bool begins_leaf = is_in_data() && depth > kCall && !is_in_leaf() && !levels_.back().is_array &&
                             levels_.back().key == "type" && levels_.back().index == 0;
    if (begins_leaf) {
      leaf_level_ = depth;
      leaf_ = {};
      if (text != "torch.Tensor" && text != "mindspore.Tensor") odd_member();
    } else if (leaf_level_ == depth && depth != 0) {
      const std::string& key = levels_.back().key;
      if (key == "dtype") {
        leaf_.has_dtype = true;
        leaf_.dtype = text;
      } else if (key == "md5") {
        leaf_.checksum = text;
      } else if (key == "data_name") {
        leaf_.data_name = text;
        odd_member();
      } else if (is_statistic(key)) {
        return refuse(key + " is \"" + shown(text) + "\", not a number");
      } else {
        odd_member();
      }
    } else if (is_place()) {
      ++slots_[io()];
      ++other_count_;
    } else if (depth == 1 && levels_.back().key == "framework") {
      read_.framework = text;
    }
    next_element();
    return true;
  }

  static bool is_statistic(std::string_view key) {
    return std::ranges::any_of(kStatistics, [&](const auto& each) { return each.first == key; });
  }

  bool value(const Value& value) {
    const std::size_t depth = levels_.size();
    if (is_shape()) {
      const auto* dimension = std::get_if<std::uint64_t>(&value);
      if (dimension == nullptr) return refuse("a shape has a dimension that is no whole number");
      if (leaf_.shape.size() == kMostDimensions) return refuse("a shape has more than 1024 dimensions");
      leaf_.shape.push_back(*dimension);
    } else if (leaf_level_ == depth && depth != 0) {
      const std::string& key = levels_.back().key;
      if (!is_statistic(key) && key != "requires_grad" && value != Value()) odd_member();
      for (const auto& [name, category] : kStatistics) {
        if (levels_.back().key == name && leaf_.values.size() < std::size(kStatistics))
          leaf_.values.emplace_back(category, value);
      }
    } else if (is_place()) {
      ++slots_[io()];
      other_count_ += value != Value();
    }
    next_element();
    return true;
  }

  bool end_leaf() {
    leaf_level_ = 0;
    const std::uint64_t slot = slots_[io()]++;
    if (!leaf_.has_dtype || !leaf_.has_shape) {
      ++other_count_;
      return true;
    }
    if (is_laying_out()) {
      layout_.resize(levels_.back().begin);
      layout_ += CallLayout::mark(io() == 1, slot);
      levels_.back().begin = kIsMark;
    }
    if (!leaf_.odd_member.empty() && odd_count_++ == 0) odd_member_ = std::move(leaf_.odd_member);
    if (listener_.ends && !leaf_.data_name.empty()) {
      files_.push_back({std::move(leaf_.data_name), io() == 1, slot, leaf_.requires_grad.value_or(false)});
    }
    const std::string& key = levels_[kData - 1].key;
    Row row;
    row.identity.op_name = key;
    row.identity.op_type = type_of(key);
    row.identity.io = io() == 1 ? "output" : "input";
    row.identity.slot = slot;
    row.identity.set("tensor", tensor_name(key));
    if (!leaf_.checksum.empty()) row.identity.set(leaf_.checksum.starts_with("0x") ? "xor" : "crc32", leaf_.checksum);
    if (leaf_.requires_grad) row.identity.set("requires_grad", *leaf_.requires_grad ? "True" : "False");
    row.data_type = data_type_of(leaf_.dtype);
    const auto dtype = dtype_from(row.data_type);
    const auto size = element_count(leaf_.shape, dtype ? size_bytes(*dtype) : 16);
    if (!size) return refuse(size.error().message);
    row.data_size_bytes = dtype ? bytes_of(*dtype, *size) : 0;
    row.shape = std::move(leaf_.shape);
    for (auto& [category, value] : leaf_.values) {
      row.statistics.categories.push_back(category);
      row.statistics.values.push_back(as_held(value, category, dtype));
      if (std::ranges::count(read_.categories, category) == 0) read_.categories.push_back(category);
    }
    for (const auto& [name, cell] : row.identity.more) {
      if (std::ranges::count(read_.columns, name) == 0) read_.columns.push_back(name);
    }
    ++read_.row_count;
    return proceed(each_(std::move(row)));
  }

  // Values of float dtypes, means and norms are binary64, also if they are written as integers.
  static Value as_held(const Value& value, Category category, std::optional<Dtype> dtype) {
    const bool is_element = category == Category::kMax || category == Category::kMin;
    if (is_element && dtype && !is_float(*dtype)) return value;
    if (const auto* natural = std::get_if<std::uint64_t>(&value)) return static_cast<double>(*natural);
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
    return value;
  }

  // "Functional.conv2d.0.forward.input.0"; for a gradient, the parameter's name.
  std::string tensor_name(const std::string& key) const {
    std::string name = key;
    const std::string& member = levels_[kCall - 1].key;
    const bool is_input = member == "input_args" || member == "input_kwargs" || member == "input";
    name += "." + (is_input ? "input" : member);
    if (has_gradients(key)) return name;
    for (std::size_t i = kCall; i + 1 < levels_.size(); ++i) {
      name += "." + (levels_[i].is_array ? std::to_string(levels_[i].index) : levels_[i].key);
    }
    return name;
  }

  static constexpr std::size_t kMostLayoutBytes = std::size_t{16} << 20, kIsMark = ~std::size_t{0};

  const EachRow& each_;
  const CallListener& listener_;
  RowsRead& read_;
  std::vector<Level> levels_;
  std::size_t leaf_level_ = 0;  // the number of open levels at the current leaf; 0: not in a leaf
  Leaf leaf_;
  std::uint64_t slots_[2] = {0, 0};
  bool has_data_ = false;
  std::string layout_;  // of the current call
  bool has_layout_ = false;
  std::uint64_t other_count_ = 0;
  std::uint64_t odd_count_ = 0;
  std::string odd_member_;
  std::vector<CallFile> files_;
};

}  // namespace

bool is_dump_json(std::string_view beginning) {
  if (beginning.starts_with("\xef\xbb\xbf")) beginning.remove_prefix(3);
  const auto first = beginning.find_first_not_of(" \t\r\n");
  return first != beginning.npos && beginning[first] == '{';
}

Status read_dump_json(const std::string& where, const NextPiece& next, const EachRow& each, RowsRead& read,
                      const CallListener& listener) {
  return DumpJsonReader(where, each, listener, read).read(next);
}

}  // namespace tensorstat
