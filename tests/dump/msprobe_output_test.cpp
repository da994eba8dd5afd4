// A session with msprobe's config writes dump.json like msprobe: the same structure to the byte, the same keys and
// values.
#include <nlohmann/json.hpp>

#include "tests/support/json_text.hpp"
#include "tests/support/msprobe_session.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace msprobe_output_test {

class MsprobeOutput : public MsprobeSessionTest {};

// Level debug: what save() is given, and no operator.
TEST_F(MsprobeOutput, DebugJsonHasWhatWasSaved) {
  auto session = open(R"({"task": "tensor", "level": "debug"})");
  EXPECT_TRUE(session.demands().saved_values);
  const DumpPlace place{.rank = 1, .iteration = 2};
  session.save(place, "loss", tensor(values, Dtype::kFloat32));
  session.save(place, "a/b", tensor(values, Dtype::kFloat32));
  session.save(place, "loss", tensor(values, Dtype::kFloat32));
  collect(session, place, "Functional.relu.0.forward", {tensor(values, Dtype::kFloat32)});
  session.step_end(place);
  session.save({.rank = 1, .iteration = 3}, "loss", tensor(values, Dtype::kFloat32));
  session.close();
  EXPECT_EQ(keys("step2/rank1/debug.json"), (Keys{"loss.0.debug", "a/b.0.debug", "loss.1.debug"}));
  EXPECT_EQ(keys("step3/rank1/debug.json"), (Keys{"loss.0.debug"}));
  const auto root = json_of("step2/rank1/debug.json");
  EXPECT_EQ(root["level"], "debug");
  const auto leaf = root["data"]["loss.1.debug"];
  EXPECT_EQ(leaf["type"], "mindspore.Tensor");
  EXPECT_EQ(leaf["Max"], 2.0);
  EXPECT_EQ(leaf["data_name"], "loss.1.debug.npy");
  EXPECT_EQ(root["data"]["a/b.0.debug"]["data_name"], "a_b.0.debug.npy");
  std::vector<std::string> names;
  for (const std::string& file : files()) names.push_back(file);
  EXPECT_EQ(names,
            (Keys{"step2/rank1/debug.json", "step2/rank1/dump_tensor_data/a_b.0.debug.npy",
                  "step2/rank1/dump_tensor_data/loss.0.debug.npy", "step2/rank1/dump_tensor_data/loss.1.debug.npy",
                  "step3/rank1/debug.json", "step3/rank1/dump_tensor_data/loss.0.debug.npy"}));
  EXPECT_EQ(session.counters().row_count, 4u);

  auto other = open();
  other.save(place, "loss", tensor(values, Dtype::kFloat32));
  other.close();
  EXPECT_EQ(other.counters().tensor_count, 0u) << "only level debug takes it";
}

// In level mix, a listed module is dumped with all that runs inside of it, as describe() says.
TEST_F(MsprobeOutput, AListedModuleHasWhatRunsInside) {
  auto session = open(R"({"level": "mix"})", R"({"list": ["Cell.net.Net.forward.0"]})");
  const DumpPlace place{};
  const auto run = [&](const char* name, const char* parent) {
    const auto* op = session.operator_named("Op", name);
    session.describe(op, {}, parent);
    session.collect(place, op, std::vector{tensor(values, Dtype::kFloat32)});
  };
  run("Cell.net.Net.forward.0", "");
  run("Cell.net.fc.Dense.forward.0", "Cell.net.Net.forward.0");
  run("Mint.abs.0.forward", "Cell.net.fc.Dense.forward.0");
  run("Mint.abs.0.backward", "Cell.net.fc.Dense.backward.0");
  run("Mint.log.0.forward", "");
  run("Mint.exp.0.forward", "Cell.other.Other.forward.0");
  session.close();
  EXPECT_EQ(keys(), (Keys{"Cell.net.Net.forward.0", "Cell.net.fc.Dense.forward.0", "Mint.abs.0.forward"}));
}

// A call may be described before the module around it, and then runs.
TEST_F(MsprobeOutput, WhatIsAroundACallMayBeDescribedLater) {
  auto session = open(R"({"level": "mix"})", R"({"list": ["net.Net"]})");
  const auto* abs = session.operator_named("Op", "Mint.abs.0.forward");
  session.describe(abs, {}, "Cell.fc.Dense.forward.0");
  EXPECT_FALSE(session.wants({}, abs));
  session.describe(session.operator_named("Op", "Cell.fc.Dense.forward.0"), {}, "Cell.net.Net.forward.0");
  EXPECT_TRUE(session.wants({}, abs));
  session.collect({}, abs, std::vector{tensor(values, Dtype::kFloat32)});
  session.close();
  EXPECT_EQ(keys(), Keys{"Mint.abs.0.forward"});
}

TEST_F(MsprobeOutput, TheFileToTheByte) {
  auto session = open();
  const std::vector<float> weights{0.1f, -2.5f, 1e-5f, 3e20f};
  const std::vector<std::int64_t> labels{4096, -1};
  DumpTensor matrix = tensor(weights, Dtype::kFloat32, Io::kInput);
  matrix.shape = {2, 2};
  collect(session, {.rank = 3, .iteration = 7}, "Functional.conv2d.0.forward",
          {matrix, tensor(labels, Dtype::kInt64, Io::kInput, 2), tensor(values, Dtype::kFloat32)});
  EXPECT_TRUE(session.step_end({.rank = 3, .iteration = 7}));
  EXPECT_EQ(content_of(folder / "step7/rank3/dump.json"), R"({
 "task": "statistics",
 "level": "L1",
 "framework": "mindspore",
 "dump_data_dir": null,
 "data": {
  "Functional.conv2d.0.forward": {
   "input_args": [
    {
     "type": "mindspore.Tensor",
     "dtype": "Float32",
     "shape": [
      2,
      2
     ],
     "Max": 3.000000060122632e+20,
     "Min": -2.5,
     "Mean": 7.50000015030658e+19,
     "Norm": 3.000000060122632e+20
    },
    null,
    {
     "type": "mindspore.Tensor",
     "dtype": "Int64",
     "shape": [
      2
     ],
     "Max": 4096.0,
     "Min": -1.0,
     "Mean": 2047.5,
     "Norm": 4096.0
    }
   ],
   "input_kwargs": {},
   "output": [
    {
     "type": "mindspore.Tensor",
     "dtype": "Float32",
     "shape": [
      2
     ],
     "Max": 2.0,
     "Min": 1.0,
     "Mean": 1.5,
     "Norm": 2.2360680103302
    }
   ]
  }
 }
})");
  EXPECT_EQ(content_of(folder / "step7/rank3/stack.json"), "{}");
  EXPECT_EQ(content_of(folder / "step7/rank3/construct.json"), "{}") << "empty for L1";
  EXPECT_EQ(session.counters().row_count, 3u);
  EXPECT_EQ(session.counters().tensor_count, 3u);
}

// Every dtype and shape, in both frameworks and precisions, compared with Python: its json module reads the file and
// writes the same bytes, numpy and fractions compute the same numbers, zlib the same CRC-32.
TEST_F(MsprobeOutput, ValuesAreThoseThatPythonFinds) {
  constexpr std::string_view kConfirm = R"PY(
import json, math, sys, zlib
from fractions import Fraction
import numpy as np
np.seterr(all='ignore')
text = open('step0/rank0/dump.json').read()
root = json.loads(text)
assert json.dumps(root, indent=1) == text, 'not as json.dump(indent=1) writes it'
high, checksum = sys.argv[1] == 'high', sys.argv[2]
torch = root['framework'] == 'pytorch'
count = 0

def rounded(x, kind):
    if kind == 'f2': return float(np.float16(x))
    if kind == 'bf':
        bits = np.float32(x).view('u4')  # the tie and more: half of the last place of bfloat16, to even
        return float(((bits + np.uint32(0x7fff) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xffff0000)).view('f4'))
    return float(np.float32(x))

for key, call in root['data'].items():
    for leaf in call['input_args'] + call['output']:
        count += 1
        array = np.load('step0/rank0/dump_tensor_data/' + leaf['data_name'])
        assert list(array.shape) == leaf['shape'], leaf
        dtype = leaf['dtype'].replace('torch.', '').lower()
        raw = array.tobytes()
        if dtype == 'bfloat16' and torch: raw = (array.view('u4') >> 16).astype('<u2').tobytes()
        if checksum == 'md5': assert leaf['md5'] == '%08x' % zlib.crc32(raw), (leaf, '%08x' % zlib.crc32(raw))
        if checksum == 'xor':
            padded = raw + bytes(-len(raw) % 8)
            assert leaf['md5'] == '0x%016x' % int(np.bitwise_xor.reduce(np.frombuffer(padded, '<u8'))), leaf
            assert list(leaf)[:4] == ['type', 'dtype', 'shape', 'md5'] and 'Max' not in leaf
            continue
        assert list(leaf)[:7] == ['type', 'dtype', 'shape', 'Max', 'Min', 'Mean', 'Norm'], leaf
        assert ('requires_grad' in leaf) == torch
        flat = [v.item() for v in array.ravel()]
        got = [leaf[n] for n in ('Max', 'Min', 'Mean', 'Norm')]
        if not flat: want = [None] * 4
        elif dtype == 'bool': want = [any(flat), all(flat), None, None]
        elif array.shape == (): want = flat * 4
        else:
            kind = 'f4' if high else {'float16': 'f2', 'bfloat16': 'bf'}.get(dtype, 'f4')
            mean = float(sum(map(Fraction, flat)) / len(flat))
            norm = math.sqrt(float(sum(Fraction(v) ** 2 for v in flat)))
            want = [rounded(v, kind) for v in (max(flat), min(flat), mean, norm)]
        assert got == want, (key, dtype, got, want)
        assert [type(g) for g in got] == [type(w) for w in want], (key, got, want)
print(count)
)PY";
  constexpr std::pair<Dtype, std::size_t> kTypes[] = {
      {Dtype::kBool, 1},     {Dtype::kInt8, 1},    {Dtype::kInt16, 2},  {Dtype::kInt32, 4},  {Dtype::kInt64, 8},
      {Dtype::kUint8, 1},    {Dtype::kUint16, 2},  {Dtype::kUint32, 4}, {Dtype::kUint64, 8}, {Dtype::kFloat16, 2},
      {Dtype::kBfloat16, 2}, {Dtype::kFloat32, 4}, {Dtype::kFloat64, 8}};
  std::uint64_t state = 20261122;
  const auto random = [&] { return state = state * 6364136223846793005u + 1442695040888963407u, state >> 33; };
  for (const auto& [framework, precision, checksum] : {std::tuple("mindspore", "low", "md5"),
                                                       {"pytorch", "low", "md5"},
                                                       {"mindspore", "high", "md5"},
                                                       {"pytorch", "high", "xor"}}) {
    std::filesystem::remove_all(folder / "step0");
    options.framework = framework;
    auto session = open(R"({"task": "tensor", "precision": ")" + std::string(precision) + "\"}",
                        R"({"summary_mode": ")" + std::string(checksum) + "\"}");
    std::uint32_t number = 0;
    for (const auto& [dtype, size] : kTypes) {
      for (const Shape& shape : {Shape{3, 11}, Shape{}, Shape{0, 4}, Shape{7}}) {
        std::size_t count = 1;
        for (const auto dimension : shape) count *= dimension;
        std::vector<std::uint8_t> bytes(count * size + 1);
        for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
        for (std::size_t i = 0; i < count; ++i) {
          std::uint8_t& top = bytes[(i + 1) * size - 1];
          if (dtype == Dtype::kBool) top &= 1;
          if (dtype == Dtype::kFloat16) top &= 0xd3;  // neither NaN nor Inf
          if (dtype == Dtype::kBfloat16 || dtype == Dtype::kFloat32 || dtype == Dtype::kFloat64)
            top = (top & 0x81) | 0x3e;
        }
        DumpTensor one;
        one.tensor = {.dtype = dtype, .element_count = count, .address = bytes.data()};
        one.shape = shape;
        one.io = number % 3 == 0 ? Io::kInput : Io::kOutput;
        collect(session, {}, "Tensor.op" + std::to_string(number++) + ".0.forward", {one});
      }
    }
    EXPECT_TRUE(session.close());
    EXPECT_EQ(session.counters().lost_tensor_count, 0u);
    EXPECT_EQ(session.counters().row_count, number);
    std::ofstream(folder / "confirm.py") << kConfirm;
    const std::string command = "cd '" + folder.path() + "' && /usr/bin/python3 confirm.py " + precision + " " +
                                checksum + " > count 2> errors";
    EXPECT_EQ(std::system(command.c_str()), 0)
        << framework << " " << precision << ": " << content_of(folder / "errors");
    EXPECT_EQ(content_of(folder / "count"), std::to_string(number) + "\n");
  }
}

TEST_F(MsprobeOutput, NotANumberAndInfinityAreBare) {
  auto session = open();
  const std::vector<float> poisoned{NAN, 1}, high{INFINITY, 1}, low{-INFINITY, 1};
  collect(session, {}, "Tensor.a.0.forward", {tensor(poisoned, Dtype::kFloat32)});
  collect(session, {}, "Tensor.b.0.forward",
          {tensor(high, Dtype::kFloat32), tensor(low, Dtype::kFloat32, Io::kOutput, 1)});
  session.close();
  const std::string text = content_of(folder / "step0/rank0/dump.json");
  EXPECT_NE(text.find("\"Max\": NaN,\n     \"Min\": NaN,\n     \"Mean\": NaN,\n     \"Norm\": NaN\n"), text.npos)
      << text;
  EXPECT_NE(text.find("\"Max\": Infinity,\n     \"Min\": 1.0,\n     \"Mean\": Infinity,\n     \"Norm\": Infinity\n"),
            text.npos);
  EXPECT_NE(text.find("\"Max\": 1.0,\n     \"Min\": -Infinity,\n     \"Mean\": -Infinity,\n     \"Norm\": Infinity\n"),
            text.npos);
}

TEST_F(MsprobeOutput, OperatorsAreCalledAsMsprobeCallsThem) {
  auto session = open(R"({"level": "mix"})");
  const auto hand = [&](const char* name, Io io = Io::kOutput) {
    session.collect({}, session.operator_named("Conv2D", name), std::vector{tensor(values, Dtype::kFloat32, io)});
  };
  hand("Functional.relu.4.forward");
  hand("Functional.relu.4.forward");   // taken: gets the next free number
  hand("Functional.relu.3.backward");  // backward calls come in reverse order
  hand("Functional.relu.2.backward");
  hand("Module.net.conv1.Conv2d.forward.0");
  hand("Module.net.conv1.Conv2d.backward.0");
  hand("Module.net.conv1.Conv2d.parameters_grad");
  hand("Default/net.x/Conv2D-op12", Io::kInput);  // one call in two parts,
  hand("Default/net.x/Conv2D-op12", Io::kOutput);
  hand("Default/net.x/Conv2D-op12", Io::kInput);  // and the next call
  hand("Gradients/Default/net/Conv2D-op13");
  EXPECT_TRUE(session.flush());
  EXPECT_EQ(keys(), (Keys{"Functional.relu.4.forward", "Functional.relu.0.forward", "Functional.relu.3.backward",
                          "Functional.relu.2.backward", "Module.net.conv1.Conv2d.forward.0",
                          "Module.net.conv1.Conv2d.backward.0", "Module.net.conv1.Conv2d.parameters_grad.0",
                          "Primitive.Default_net_x_Conv2D-op12.Conv2D.0.forward",
                          "Primitive.Default_net_x_Conv2D-op12.Conv2D.1.forward",
                          "Primitive.Gradients_Default_net_Conv2D-op13.Conv2D.0.backward"}));
  const auto data = json_of("step0/rank0/dump.json")["data"];
  EXPECT_EQ(data["Primitive.Default_net_x_Conv2D-op12.Conv2D.0.forward"]["output"].size(), 1u);
  EXPECT_EQ(data["Primitive.Default_net_x_Conv2D-op12.Conv2D.1.forward"]["output"].size(), 0u);
  EXPECT_TRUE(data["Functional.relu.3.backward"].contains("input")) << "and no input_args";
  EXPECT_EQ(data["Module.net.conv1.Conv2d.parameters_grad.0"]["0"][0]["Max"], 2.0);
}

// The caller describes where tensors stand: lists, names, arguments that are no tensors. Two calls, one of them twice.
// Files are named by the position if that is a valid file name.
TEST_F(MsprobeOutput, TensorsStandWhereTheCallerSays) {
  auto session = open(R"({"level": "mix", "task": "tensor"})");
  const auto* op = session.operator_named("Linear", "Module.fc.Linear.forward.0");
  const DumpTensor in = tensor(values, Dtype::kFloat32, Io::kInput), out = tensor(values, Dtype::kFloat32);
  const DumpTensor parameter = tensor(values, Dtype::kFloat32, Io::kOutput, 1),
                   odd = tensor(values, Dtype::kFloat32, Io::kInput, 1);
  const std::string given =
      "{\n \"input_args\": [\n  [\n   3,\n   \x01i0\x01\n  ],\n  NaN\n ],\n \"input_kwargs\": {\n  \"a/b\": "
      "\x01i1\x01\n }\n}";
  session.collect({}, op, {{in}}, false, given);
  session.collect({}, op, {{odd}}, false, given);
  session.collect(
      {}, op, {{out, parameter}}, false,
      "{\n \"output\": [\n  \x01o0\x01,\n  \x01o7\x01\n ],\n \"parameters\": {\n  \"weight\": \x01o1\x01\n }\n}");
  session.close();
  const auto root = json_of("step0/rank0/dump.json");
  EXPECT_TRUE(root.is_discarded()) << "nlohmann takes no NaN, which Python writes";
  std::string text = content_of(folder / "step0/rank0/dump.json");
  text.replace(text.find("NaN"), 3, "null");
  const auto call = test::parsed_in_order(text)["data"]["Module.fc.Linear.forward.0"];
  ASSERT_EQ(call.size(), 4u) << call;
  EXPECT_EQ(call["input_args"][0][0], 3);
  EXPECT_EQ(call["input_args"][0][1]["data_name"], "Module.fc.Linear.forward.0.input.0.1.npy");
  EXPECT_EQ(call["input_kwargs"]["a/b"]["data_name"], "Module.fc.Linear.forward.0.input.1.npy");
  EXPECT_EQ(call["output"][0]["data_name"], "Module.fc.Linear.forward.0.output.0.npy");
  EXPECT_TRUE(call["output"][1].is_null()) << "it never came";
  EXPECT_EQ(call["parameters"]["weight"]["data_name"], "Module.fc.Linear.forward.0.parameters.weight.npy");
  EXPECT_EQ(session.counters().file_count, 4u);
}

TEST_F(MsprobeOutput, WhatIsNoLayoutIsSaid) {
  const std::string mark = "\x01o0\x01";
  const std::string wrong[] = {"[]",
                               "{",
                               "{\n}",
                               "{\n \"output\": [\n  " + mark + "\n }\n}",
                               "{\n \"output\": [\n " + mark + "\n ]\n}",
                               "{\n \"output\": [\n  " + mark + ",\n ]\n}",
                               "{\n \"output\": [\n  " + mark + "\n  3\n ]\n}",
                               "{\n \"output\": [\n  \x01o\x01\n ]\n}",
                               "{\n \"output\": " + mark + ",\n}",
                               "{\n output: " + mark + "\n}",
                               "{\n \"output\": [\n  " + mark + ",\n  " + mark + "\n ]\n}",
                               "{\n \"a\": 1, \"b\": 2\n}",
                               "{\n \"output\": [\n ]\n}",
                               "{\n\n}",
                               "{\n \"a\": \"\x01\"\n}",
                               std::string("{\n \"a\": 1\0\n}", 12)};
  for (const std::string& layout : wrong) {
    messages.clear();
    auto session = open();
    session.collect({}, session.operator_named("", "Functional.relu.0.forward"), {{tensor(values, Dtype::kFloat32)}},
                    false, layout);
    session.close();
    EXPECT_TRUE(std::ranges::any_of(messages, [](const std::string& words) {
      return words.find("the layout of a call") != words.npos;
    })) << layout;
    EXPECT_EQ(json_of("step0/rank0/dump.json")["data"]["Functional.relu.0.forward"]["output"].size(), 1u) << layout;
  }
}

TEST_F(MsprobeOutput, StacksAndParentsAsTheCallerGivesThem) {
  auto session = open(R"({"level": "mix"})");
  const std::vector<std::string> frames{"File net.py, line 3, in forward, \n x = f(x)",
                                        "File main.py, line 9, in <module>"};
  for (const char* name : {"Functional.relu.0.forward", "Functional.relu.1.forward", "Module.net.Net.forward.0"}) {
    const auto* op = session.operator_named("", name);
    session.describe(op, name[0] == 'F' ? frames : std::vector<std::string>{},
                     name[0] == 'F' ? "Module.net.Net.forward.0" : "");
    session.collect({}, op, std::vector{tensor(values, Dtype::kFloat32)});
  }
  session.close();
  EXPECT_EQ(
      json_of("step0/rank0/construct.json").dump(),
      R"({"Functional.relu.0.forward":"Module.net.Net.forward.0","Functional.relu.1.forward":"Module.net.Net.forward.0","Module.net.Net.forward.0":null})");
  const auto stack = json_of("step0/rank0/stack.json");
  ASSERT_EQ(stack.size(), 1u);
  EXPECT_EQ(stack["0"][0], (Keys{"Functional.relu.0.forward", "Functional.relu.1.forward"}));
  EXPECT_EQ(stack["0"][1], frames);
  std::filesystem::remove_all(folder / "step0");
  auto bare = open(R"({"extra_info": false})");
  collect(bare, {}, "Functional.relu.0.forward", {tensor(values, Dtype::kFloat32)});
  bare.close();
  EXPECT_EQ(files(), Keys{"step0/rank0/dump.json"});
}

TEST_F(MsprobeOutput, NamesAreWrittenInAscii) {
  auto session = open();
  collect(session, {}, "Tensor.\xc3\xa9\"\\\xff.0.forward", {tensor(values, Dtype::kFloat32)});
  session.close();
  EXPECT_NE(content_of(folder / "step0/rank0/dump.json").find(R"("Tensor.\u00e9\"\\\ufffd.0.forward": {)"),
            std::string::npos);
}

}  // namespace msprobe_output_test
}  // namespace tensorstat
