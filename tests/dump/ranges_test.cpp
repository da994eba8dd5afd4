// A rule with a beginning and an end (msprobe's scope, CANN's opname_range) sees each call, also those that other rules
// drop. Random configs beside an oracle that goes through the calls as msprobe's and CANN's words say.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <random>
#include <set>

#include "tests/support/msprobe_session.hpp"

namespace tensorstat {
namespace ranges_test {

using Keys = std::vector<std::string>;

int rounds() { return std::getenv("TENSORSTAT_FULL") != nullptr ? 500 : 40; }

class Ranges : public MsprobeSessionTest {
 protected:
  // The keys of each step's dump.json, in order; empty without a file.
  Keys keys_of_step(int step) const {
    const std::string file = "step" + std::to_string(step) + "/rank0/dump.json";
    return std::filesystem::exists(folder / file) ? keys(file) : Keys();
  }
  void hand_over(DumpSession& session, int step, const std::string& name, bool inputs, bool outputs) {
    std::vector<DumpTensor> tensors;
    if (inputs) tensors.push_back(tensor(values, Dtype::kFloat32, Io::kInput));
    if (outputs) tensors.push_back(tensor(values, Dtype::kFloat32));
    const DumpPlace place{.iteration = static_cast<std::uint64_t>(step)};
    const DumpOperator* op = session.operator_named("Op", name);
    if (session.wants(place, op)) session.collect(place, op, tensors);
  }
  void clear() {
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) std::filesystem::remove_all(entry);
  }
};

struct Modes {
  bool forward = true, backward = true, input = true, output = true;
  std::string json;

  static Modes random(std::mt19937& random) {
    Modes modes;
    const unsigned bits = random() % 16;
    if (bits == 0) return modes;
    if ((bits & 3) != 0) modes.forward = bits & 1, modes.backward = bits & 2;
    if ((bits & 12) != 0) modes.input = bits & 4, modes.output = bits & 8;
    const char* names[] = {"forward", "backward", "input", "output"};
    for (int i = 0; i < 4; ++i) {
      if ((bits >> i & 1) != 0)
        modes.json.append(modes.json.empty() ? "" : ", ").append("\"" + std::string(names[i]) + "\"");
    }
    modes.json = R"("data_mode": [)" + modes.json + "]";
    return modes;
  }
  bool wants(bool is_backward) const { return is_backward ? backward : forward; }
};

std::string task_of(const std::vector<std::string>& members) {
  std::string text;
  for (const std::string& member : members) text.append(member.empty() || text.empty() ? "" : ", ").append(member);
  return "{" + text + "}";
}

TEST_F(Ranges, OfApisAreThoseOfMsprobe) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  for (int round = 0; round < rounds(); ++round) {
    const char* apis[] = {"add", "conv2d", "relu", "mul"};
    std::vector<std::string> calls, back;
    for (const char* api : apis) {
      for (unsigned count = 0; count <= random() % 2; ++count)
        calls.push_back("Functional." + std::string(api) + "." + std::to_string(count));
    }
    std::shuffle(calls.begin(), calls.end(), random);
    back.assign(calls.rbegin(), calls.rend());
    std::vector<std::string> order;
    for (const std::string& call : calls) order.push_back(call + ".forward");
    for (const std::string& call : back) order.push_back(call + ".backward");

    const std::string first = order[random() % order.size()], last = order[random() % order.size()];
    const bool has_list = random() % 3 == 0;
    const std::string listed = apis[random() % 4];
    const Modes modes = Modes::random(random);
    const std::string task = task_of({R"("scope": [")" + first + R"(", ")" + last + R"("])", modes.json,
                                      has_list ? R"("list": [")" + listed + R"("])" : ""});
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round) + ": " + task);
    auto session = open("{}", task);
    bool is_open = false;
    for (int step = 0; step < 2; ++step) {
      Keys expected;
      for (const std::string& call : order) {
        const bool is_apart = random() % 2 != 0;
        hand_over(session, step, call, true, !is_apart);
        if (is_apart) hand_over(session, step, call, false, true);
        is_open |= call == first;
        const bool is_listed = !has_list || call.find(listed) != call.npos;
        if (is_open && is_listed && modes.wants(call.ends_with("backward"))) expected.push_back(call);
        if (call == last) is_open = false;
      }
      session.step_end({.iteration = static_cast<std::uint64_t>(step)});
      EXPECT_EQ(keys_of_step(step), expected);
    }
    session.close();
    clear();
    if (HasFailure()) return;
  }
}

// A module is given its inputs, runs what is inside, and gives its results; its backward comes as a whole behind those
// that are inside.
TEST_F(Ranges, OfModulesBeginAndEndWithThem) {
  struct Module {
    std::string stem;
    std::vector<std::size_t> inside;
    std::size_t parent = 0;
  };
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  for (int round = 0; round < rounds(); ++round) {
    std::vector<Module> modules{{"Module.net.Net", {}, 0}};
    while (modules.size() < 3 + random() % 6) {
      const std::size_t parent = random() % modules.size();
      modules.push_back({"Module.m" + std::to_string(modules.size()) + ".Linear", {}, parent});
      modules[parent].inside.push_back(modules.size() - 1);
    }
    const auto some = [&] {
      return modules[random() % modules.size()].stem + (random() % 3 == 0 ? ".backward.0" : ".forward.0");
    };
    const std::string first = some(), last = random() % 3 == 0 ? first : some();
    const Modes modes = Modes::random(random);
    const std::string task = task_of({R"("scope": [")" + first + R"(", ")" + last + R"("])", modes.json});
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round) + ": " + task);
    auto session = open(R"({"level": "L0"})", task);
    bool is_open = false;
    for (int step = 0; step < 2; ++step) {
      Keys begun;
      std::set<std::string> has_any;
      const auto take = [&](const std::string& key, bool is_backward, bool are_outputs) {
        if (!is_open || !modes.wants(is_backward) || !(are_outputs ? modes.output : modes.input)) return;
        if (has_any.insert(key).second) begun.push_back(key);
      };
      const std::function<void(std::size_t)> forward = [&](std::size_t index) {
        const std::string key = modules[index].stem + ".forward.0";
        session.describe(session.operator_named("Op", key), {},
                         index == 0 ? "" : modules[modules[index].parent].stem + ".forward.0");
        is_open |= key == first;
        hand_over(session, step, key, true, false);
        take(key, false, false);
        for (const std::size_t inner : modules[index].inside) forward(inner);
        hand_over(session, step, key, false, true);
        take(key, false, true);
        if (key == last) is_open = false;
      };
      const std::function<void(std::size_t)> backward = [&](std::size_t index) {
        const std::string key = modules[index].stem + ".backward.0";
        is_open |= key == first;
        for (auto inner = modules[index].inside.rbegin(); inner != modules[index].inside.rend(); ++inner)
          backward(*inner);
        session.describe(session.operator_named("Op", key), {},
                         index == 0 ? "" : modules[modules[index].parent].stem + ".backward.0");
        hand_over(session, step, key, true, true);
        take(key, true, false);
        take(key, true, true);
        if (key == last) is_open = false;
      };
      forward(0);
      backward(0);
      session.step_end({.iteration = static_cast<std::uint64_t>(step)});
      EXPECT_EQ(keys_of_step(step), begun);
    }
    session.close();
    clear();
    if (HasFailure()) return;
  }
}

// "Dump this one layer", and a scope that begins inside of a module: its results are in it, its inputs are not.
TEST_F(Ranges, OfOneModuleHaveWhatIsInside) {
  const auto dumped = [&](const std::string& scope) {
    auto session = open(R"({"level": "L0"})", R"({"scope": [)" + scope + "]}");
    for (const char* outer : {"a", "b"}) {
      const std::string stem = "Module." + std::string(outer);
      hand_over(session, 0, stem + ".Block.forward.0", true, false);
      for (const char* inner : {".l", ".r"}) {
        hand_over(session, 0, stem + inner + ".Linear.forward.0", true, false);
        hand_over(session, 0, stem + inner + ".Linear.forward.0", false, true);
      }
      hand_over(session, 0, stem + ".Block.forward.0", false, true);
    }
    session.close();
    const auto data = json_of("step0/rank0/dump.json").at("data");
    std::string text;
    for (const auto& [key, call] : data.items()) {
      const std::string name = key.substr(7, key.find(".forward") - 7);
      text += name.substr(0, name.rfind('.')) + (call.at("input_args").empty() ? "(results) " : " ");
    }
    clear();
    return text;
  };
  EXPECT_EQ(dumped(R"("Module.a.Block.forward.0", "Module.a.Block.forward.0")"), "a a.l a.r ");
  EXPECT_EQ(dumped(R"("Module.a.r.Linear.forward.0", "Module.b.Block.forward.0")"), "a.r a(results) b b.l b.r ");
}

TEST_F(Ranges, OfOperatorsAreThoseOfCann) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  const char* types[] = {"Add", "ReLU", "Conv"};
  for (int round = 0; round < rounds(); ++round) {
    std::vector<std::pair<std::string, std::string>> operators;  // name and type
    for (unsigned i = 0; i < 4 + random() % 5; ++i)
      operators.emplace_back("op" + std::to_string(i), types[random() % 3]);
    const auto some = [&] { return operators[random() % operators.size()].first; };
    struct Item {
      std::vector<std::pair<std::string, std::string>> ranges;
      std::set<std::string> layers, black_names, black_types;
    };
    std::vector<Item> items(1 + random() % 2);
    std::string list;
    for (Item& item : items) {
      std::string members = R"("model_name": "net")";
      const auto add = [&](const char* key, const std::set<std::string>& names, bool are_objects) {
        if (names.empty()) return;
        std::string text;
        for (const std::string& name : names) {
          text.append(text.empty() ? "" : ", ")
              .append(are_objects ? R"({"name": ")" + name + "\"}" : "\"" + name + "\"");
        }
        members += R"(, ")" + std::string(key) + R"(": [)" + text + "]";
      };
      for (unsigned i = random() % 3; i != 0; --i) item.ranges.emplace_back(some(), some());
      for (unsigned i = random() % 3; i > 1; --i) item.layers.insert(some()), item.layers.insert(some());
      for (unsigned i = random() % 3; i != 0; --i) item.black_names.insert(some());
      if (random() % 3 == 0) item.black_types.insert(types[random() % 3]);
      std::string ranges;
      for (const auto& [begin, end] : item.ranges) {
        ranges.append(ranges.empty() ? "" : ", ").append(R"({"begin": ")" + begin + R"(", "end": ")" + end + "\"}");
      }
      if (!ranges.empty()) members += R"(, "opname_range": [)" + ranges + "]";
      add("layer", item.layers, false);
      add("opname_blacklist", item.black_names, true);
      add("optype_blacklist", item.black_types, true);
      list.append(list.empty() ? "" : ", ").append("{" + members + "}");
    }
    const char* mode = random() % 2 != 0 ? "output" : "input";
    const std::string config = R"({"dump": {"dump_path": ")" + folder.path() +
                               R"(", "dump_data": "stats", "dump_level": "op", "dump_mode": ")" + mode +
                               R"(", "dump_list": [)" + list + "]}}";
    SCOPED_TRACE("seed " + std::to_string(seed) + ", round " + std::to_string(round) + ": " + config);
    auto session = DumpSession::from_json(config, options);
    ASSERT_TRUE(session) << session.error().message;
    std::vector<std::vector<bool>> open;
    for (const Item& item : items) open.emplace_back(item.ranges.size());
    std::multiset<std::string> expected, dumped;
    for (int run = 0; run < 2; ++run) {
      for (const auto& [name, type] : operators) {
        const bool has_tensor = random() % 4 != 0;  // of the wanted direction
        const bool is_input = (mode == std::string("input")) == has_tensor;
        const std::vector<DumpTensor> given = {tensor(values, Dtype::kFloat32, is_input ? Io::kInput : Io::kOutput)};
        session->collect({}, session->operator_named(type, name), given);
        bool is_wanted = false;
        for (std::size_t i = 0; i < items.size(); ++i) {
          bool is_in = items[i].ranges.empty();
          for (std::size_t k = 0; k < items[i].ranges.size(); ++k) {
            if (name == items[i].ranges[k].first) open[i][k] = true;
            is_in |= open[i][k];
            if (name == items[i].ranges[k].second) open[i][k] = false;
          }
          is_wanted |= is_in && (items[i].layers.empty() || items[i].layers.contains(name)) &&
                       !items[i].black_names.contains(name) && !items[i].black_types.contains(type);
        }
        if (is_wanted && has_tensor) expected.insert(name);
      }
    }
    session->close();
    for (const std::string& file : files()) {
      const std::string leaf = std::filesystem::path(file).filename();
      dumped.insert(leaf.substr(leaf.find('.') + 1, leaf.find('.', leaf.find('.') + 1) - leaf.find('.') - 1));
    }
    EXPECT_EQ(dumped, expected);
    clear();
    if (HasFailure()) return;
  }
}

}  // namespace ranges_test
}  // namespace tensorstat
