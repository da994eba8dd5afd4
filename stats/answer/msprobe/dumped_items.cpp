#include "stats/answer/msprobe/dumped_items.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <tensorstat/rows.hpp>

#include "stats/answer/msprobe/call_items.hpp"
#include "stats/answer/msprobe/json_calls.hpp"
#include "stats/core/base/printable.hpp"

namespace tensorstat::msprobe {
namespace {

namespace fs = std::filesystem;

bool are_digits(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string without(std::string text, const std::string& part) {
  for (std::size_t offset = 0; (offset = text.find(part, offset)) != text.npos;) text.erase(offset, part.size());
  return text;
}

class JsonDump {
 public:
  Result<Dump> read(const std::string& path) {
    const bool is_debug = path.ends_with("debug.json");
    std::string task;
    JsonListener listener;
    listener.member = [&](const std::string& name, PythonTree&& value) {
      if (name == "task") task = text_of(value);
      if (name == "framework" && value.is_true()) dump_.framework = text_of(value);
    };
    listener.call = [&](const std::string& name, PythonTree&& call) {
      has_md5_ |= has_md5(call);
      add(name, call, is_debug);
    };
    if (Status read = read_json_calls(path, listener); !read) return read.error();
    if (task != "statistics" && task != "tensor") {
      return Error{Code::kUnreadable,
                   printable(path) + ": its task is \"" + shown(task) + "\": msprobe compares statistics and tensor"};
    }
    dump_.mode = task == "tensor" ? Mode::kTensor : has_md5_ ? Mode::kMd5 : Mode::kStatistics;
    const fs::path folder = fs::path(path).parent_path();
    dump_.data_folder = (folder / "dump_tensor_data").string();
    if (Status read = read_stacks((folder / "stack.json").string()); !read) return read.error();
    return std::move(dump_);
  }

 private:
  void add(const std::string& name, const PythonTree& call, bool is_debug) {
    CallName parts = parts_of_call(name);
    if (is_debug) parts = {name, "", "", false};
    if (parts.stem.empty()) return;
    const std::uint64_t before = parts.is_backward ? backward_runs_[parts.stem]++ : 0;
    const bool is_counted = parts.is_backward && (are_digits(parts.head) || are_digits(parts.tail));
    const auto numbered = [&](const std::string& part) { return are_digits(part) ? std::to_string(before) : part; };
    for (Item& item : items_of_call(name, call)) {
      item.call = static_cast<std::uint32_t>(dump_.calls.size());
      item.key = is_counted
                     ? parts.stem + "." + numbered(parts.head) + "." + numbered(parts.tail) + without(item.name, name)
                     : item.name;
      dump_.items.push_back(std::move(item));
    }
    dump_.calls.push_back(name);
  }

  // stack.json is {call: [line, ...]}; since 2025 it is {number: [[call, ...], [line, ...]]}.
  Status read_stacks(const std::string& path) {
    std::error_code ignored;
    if (!fs::exists(path, ignored)) return {};
    dump_.has_stacks = true;
    PythonTree all(PythonTree::Kind::kDict);
    const JsonListener listener{
        [&](const std::string& name, PythonTree&& value) { all.members.emplace_back(name, std::move(value)); },
        [](const std::string&, PythonTree&&) {}};
    if (Status read = read_json_calls(path, listener); !read) return read;
    const PythonTree* numbered = all.find("0");
    const bool is_numbered = numbered != nullptr && numbered->is_true();
    for (const auto& [name, stack] : all.members) {
      if (!is_numbered) {
        dump_.stacks[name] = text_of(stack);
      } else if (stack.is_list() && stack.members.size() == 2 && stack.members[0].second.is_list()) {
        for (const auto& [index, call] : stack.members[0].second.members) {
          dump_.stacks[text_of(call)] = text_of(stack.members[1].second);
        }
      }
    }
    return {};
  }

  Dump dump_;
  bool has_md5_ = false;
  std::map<std::string, std::uint64_t> backward_runs_;  // by stem
};

PythonValue as_python(const Value* value) {
  if (value == nullptr) return "None";
  if (const auto* real = std::get_if<double>(value)) return *real != *real ? PythonValue("Nan") : PythonValue(*real);
  if (const auto* integer = std::get_if<std::int64_t>(value)) return *integer;
  if (const auto* natural = std::get_if<std::uint64_t>(value)) {
    return *natural <= INT64_MAX ? PythonValue(static_cast<std::int64_t>(*natural)) : PythonValue(*natural);
  }
  return "None";
}

// Rows of another dialect. An operator counts as a call. Its n-th run pairs with the n-th of the other file.
Result<Dump> read_rows_as_dump(const std::string& path) {
  Dump dump{.framework = "rows"};
  std::map<std::string, std::uint64_t> runs;  // by name
  bool has_md5 = false, has_statistics = false;
  const auto read = read_rows_of_file(path, [&](Row&& row) -> Status {
    Item item;
    item.name = row.identity.op_name + "." + row.identity.io + "." + std::to_string(row.identity.slot);
    item.key = item.name + "#" + std::to_string(runs[item.name]++);
    if (dump.calls.empty() || dump.calls.back() != row.identity.op_name) dump.calls.push_back(row.identity.op_name);
    item.call = static_cast<std::uint32_t>(dump.calls.size() - 1);
    item.dtype = row.data_type;
    item.shape = "[";
    for (const std::uint64_t dimension : row.shape)
      item.shape += (item.shape.size() > 1 ? ", " : "") + std::to_string(dimension);
    item.shape += "]";
    constexpr Category kColumns[kStatisticCount] = {Category::kMax, Category::kMin, Category::kAvg, Category::kL2norm};
    for (std::size_t i = 0; i < kStatisticCount; ++i) {
      const Value* value = row.statistics.find(kColumns[i]);
      has_statistics |= value != nullptr;
      item.statistics[i] = as_python(value);
    }
    for (const Value& value : row.statistics.values) {
      const auto* digest = std::get_if<Digest>(&value);
      if (digest == nullptr) continue;
      item.md5 = to_string(*digest);
      has_md5 = true;
    }
    dump.items.push_back(std::move(item));
    return {};
  });
  if (!read) return read.error();
  dump.mode = has_md5 && !has_statistics ? Mode::kMd5 : Mode::kStatistics;
  return dump;
}

}  // namespace

Result<Dump> read_dump(const std::string& path) {
  auto dump = path.ends_with(".json") ? JsonDump().read(path) : read_rows_as_dump(path);
  if (dump && dump->items.empty())
    return Error{Code::kUnreadable, printable(path) + ": there is nothing to compare: no inputs and no outputs"};
  return dump;
}

}  // namespace tensorstat::msprobe
