// The tensors of a container are measured one by one, under their names. The values equal NumPy's.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/json_text.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace command_containers_test {

using nlohmann::json;
using test::holds;
using test::Ran;
using test::run;
using test::run_python;

// Writes safetensors with the standard library alone, and NumPy's values of them as JSON. The seed is fixed.
constexpr std::string_view kProgram = R"(
import hashlib, json, math, struct
import numpy as np
np.seterr(all='ignore')

def save(path, tensors, metadata=None, padding=0, shuffled=False):
    header, data = {}, b''
    for name, dtype, shape, raw in tensors:
        header[name] = {'dtype': dtype, 'shape': list(shape), 'data_offsets': [len(data), len(data) + len(raw)]}
        data += raw
    if shuffled: header = dict(reversed(header.items()))
    if metadata: header = {'__metadata__': metadata, **header}
    text = json.dumps(header).encode() + b' ' * padding
    with open(path, 'wb') as file: file.write(struct.pack('<Q', len(text)) + text + data)

rng = np.random.default_rng(7)
kinds = {'BOOL': 'b1', 'I8': 'i1', 'U8': 'u1', 'I16': 'i2', 'U16': 'u2', 'I32': 'i4', 'U32': 'u4', 'I64': 'i8', 'U64': 'u8',
         'F16': 'f2', 'F32': 'f4', 'F64': 'f8', 'BF16': 'f4'}
tensors, expected = [], []
for dtype, kind in kinds.items():
    for shape in [(), (0, 3), (5,), (7, 3, 11)]:
        if kind == 'b1': array = rng.integers(0, 2, shape) > 0
        elif kind[0] == 'f': array = (rng.standard_normal(shape) * 10).astype('<' + kind)
        else: array = rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, dtype=kind, endpoint=True)
        array = np.asarray(array, dtype='<' + kind)
        if shape == (5,) and kind[0] == 'f': array[1:4] = np.nan, np.inf, -0.0
        raw = array.tobytes()
        if dtype == 'BF16':
            bits = array.reshape(-1).view('<u4') >> 16
            raw = bits.astype('<u2').tobytes()
            array = (bits << 16).astype('<u4').view('<f4').reshape(shape)
        name = f'layer.{dtype}/größe "{len(shape)}"' if shape != (5,) else f'{dtype}\n5'
        tensors.append((name, dtype, shape, raw))
        def value(x):
            if array.size == 0: return None
            x = x(array)
            if array.dtype.kind != 'f': return int(x)
            return 'nan' if np.isnan(x) else float(x)
        expected.append({'tensor': name, 'shape': list(shape), 'bytes': len(raw), 'max': value(np.max), 'min': value(np.min),
            'count': array.size, 'nan count': int(np.isnan(array).sum()), 'zero count': int((array == 0).sum())})
save('a.safetensors', tensors, {'format': 'pt'}, padding=13)
save('b.safetensors', tensors, shuffled=True)
many = [(f't.{i}', 'F32', (3,), np.full(3, i, '<f4').tobytes()) for i in range(3000)]
save('many.safetensors', many)
large = rng.integers(-128, 128, 40_000_000, dtype='i1')
save('large.safetensors', [('x', 'I8', (3,), b'abc'), ('y', 'I8', (large.size,), large.tobytes())])
arrays, in_npz = {}, []
for dtype, kind in kinds.items():
    if dtype == 'BF16': continue
    for shape, order in [((), 'C'), ((0, 3), 'C'), ((5,), 'C'), ((7, 3, 11), 'C'), ((40, 30, 20), 'F')]:
        array = (rng.standard_normal(shape) * 10 if kind[0] == 'f' else rng.integers(0, 100, shape)) > 0 if kind == 'b1' else \
            (rng.standard_normal(shape) * 10).astype(kind) if kind[0] == 'f' else \
            rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, dtype=kind, endpoint=True)
        array = np.asarray(array, dtype='>' + kind if shape == (5,) else kind, order=order)
        name = f'{dtype}/größe {len(shape)}{order}'
        arrays[name] = array
        number = lambda x: None if array.size == 0 else float(x(array)) if kind[0] == 'f' else int(x(array))
        in_npz.append({'tensor': name, 'shape': list(shape), 'bytes': array.nbytes, 'max': number(np.max), 'min': number(np.min),
            'count': array.size, 'nan count': 0, 'zero count': int((array == 0).sum()),
            'md5': hashlib.md5(array.astype(array.dtype.newbyteorder('<')).tobytes()).hexdigest()})
np.savez('stored.npz', **arrays)
np.savez_compressed('deflated.npz', **arrays)
floats = rng.standard_normal(5_000_003, dtype='f4') * np.exp2(rng.integers(-100, 100, 5_000_003)).astype('f4')
np.save('floats.npy', floats)
np.save('swapped.npy', floats.astype('>f4'))
np.savez_compressed('large.npz', x=np.arange(3, dtype='i1'), y=large)
with open('npz.json', 'w') as file: json.dump(in_npz, file)
with open('expected.json', 'w') as file: json.dump({'small': expected, 'large': [int(large.max()), int(large.min()), int((large == 0).sum())]}, file)
)";

class Containers : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new ScratchFolder;
    run_python(*folder, kProgram);
    expected = test::parsed_json(content_of(*folder / "expected.json"));
  }
  static void TearDownTestSuite() { delete std::exchange(folder, nullptr); }

  static json tensors_of(const std::string& arguments) {
    const Ran ran = run(*folder, arguments + " --format json");
    EXPECT_EQ(ran.exit, 0) << ran.err;
    return test::parsed_json(ran.out).at("tensors");
  }

  static inline ScratchFolder* folder = nullptr;
  static inline json expected;
};

TEST_F(Containers, SafetensorsOfEveryDtypeHaveTheValuesOfNumpy) {
  for (const std::string name : {"a.safetensors", "b.safetensors"}) {
    for (const std::string on : {"host", "auto"}) {
      const json tensors = tensors_of(name + " --stats max,min,count,nan-count,zero-count --on " + on);
      ASSERT_EQ(tensors.size(), expected.at("small").size());
      for (const json& tensor : tensors) {
        const auto& all = expected.at("small");
        const auto wanted = std::find_if(all.begin(), all.end(),
                                         [&](const json& each) { return each.at("tensor") == tensor.at("tensor"); });
        ASSERT_NE(wanted, all.end()) << tensor;
        EXPECT_EQ(tensor.at("path"), name);
        EXPECT_EQ(tensor.at("op_name"), tensor.at("tensor"));
        for (const char* key : {"shape", "bytes"}) EXPECT_EQ(tensor.at(key), wanted->at(key)) << tensor;
        for (const char* key : {"max", "min", "count", "nan count", "zero count"}) {
          EXPECT_EQ(tensor.at("stats").at(key), wanted->at(key)) << key << " of " << tensor;
        }
      }
    }
  }
}

// Written and decoded with the standard library alone: float4_e2m1fn by the table in OCP's MX specification,
// float8_e8m0fnu as powers of two.
constexpr std::string_view kSmallFloats = R"(
import hashlib, json, math, random, struct, zlib

E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
def f4(nibble): return -E2M1[nibble - 8] if nibble > 7 else E2M1[nibble]
def e8m0(byte): return math.nan if byte == 255 else math.ldexp(1.0, byte - 127)

random.seed(20261122)
header, data, expected = {}, b'', {}
def add(name, dtype, shape, values, raw):
    global data
    header[name] = {'dtype': dtype, 'shape': shape, 'data_offsets': [len(data), len(data) + len(raw)]}
    data += raw
    has_nan = any(math.isnan(x) for x in values)
    words = [int.from_bytes(raw[i:i + 8], 'little') for i in range(0, len(raw), 8)]
    folded = 0
    for word in words: folded ^= word
    def number(x): return None if not values else 'nan' if has_nan else x(values)
    expected[name] = {
        'dtype': {'F4': 'float4_e2m1fn', 'F8_E8M0': 'float8_e8m0fnu'}[dtype], 'shape': shape, 'bytes': len(raw), 'stats': {
            'max': number(max), 'min': number(min), 'count': len(values), 'nan count': sum(map(math.isnan, values)),
            'zero count': sum(x == 0 for x in values), 'negative zero count': sum(x < 0 for x in values),
            'l1norm': number(lambda v: math.fsum(map(abs, v))) if values else 0,
            'md5': hashlib.md5(raw).hexdigest(), 'crc32': f'{zlib.crc32(raw):08x}', 'xor64': f'{folded:016x}'}}
    largest = next((i for i, x in enumerate(values) if math.isnan(x)), None) if has_nan else \
        values.index(max(values)) if values else None
    expected[name]['argmax'] = largest

def add_f4(name, shape, nibbles):
    raw = bytes(nibbles[i] | nibbles[i + 1] << 4 for i in range(0, len(nibbles), 2))
    add(name, 'F4', shape, [f4(x) for x in nibbles], raw)

add('lead', 'F8_E8M0', [3], [e8m0(x) for x in (0, 1, 254)], bytes((0, 1, 254)))
add_f4('f4 of each', [16], list(range(16)))
add_f4('f4 empty', [0, 4], [])
add_f4('f4 of two rows', [2, 3], [1, 2, 3, 12, 13, 14])
add_f4('f4 large', [40000, 5], [random.randrange(16) for _ in range(200000)])
add('e8m0 finite', 'F8_E8M0', [5, 51], [e8m0(x) for x in range(255)], bytes(range(255)))
add('e8m0 with nan', 'F8_E8M0', [256], [e8m0(x) for x in range(256)], bytes(range(256)))
add('e8m0 of one', 'F8_E8M0', [1], [e8m0(127)], bytes((127,)))
narrow = bytes(random.randrange(110, 140) for _ in range(150001))
add('e8m0 large', 'F8_E8M0', [150001], [e8m0(x) for x in narrow], narrow)
text = json.dumps(header).encode()
with open('small_floats.safetensors', 'wb') as file: file.write(struct.pack('<Q', len(text)) + text + data)
with open('small_floats.json', 'w') as file: json.dump(expected, file)
)";

TEST_F(Containers, SafetensorsOfFloatsBelowAByteHaveTheValuesOfATableAndTheDigestsOfTheirBytes) {
  run_python(*folder, kSmallFloats);
  const json wanted = test::parsed_json(content_of(*folder / "small_floats.json"));
  for (const std::string on : {"host", "auto"}) {
    const std::string values = "max,min,count,nan-count,zero-count,negative-zero-count,l1norm,argmax";
    const json tensors = tensors_of("small_floats.safetensors --on " + on + " --stats md5,crc32,xor64," + values);
    const json alone = tensors_of("small_floats.safetensors --on " + on + " --stats " + values);
    ASSERT_EQ(tensors.size(), wanted.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const json& want = wanted.at(tensors[i].at("tensor"));
      for (const char* key : {"dtype", "shape", "bytes"}) EXPECT_EQ(tensors[i].at(key), want.at(key)) << tensors[i];
      for (const auto& [key, value] : want.at("stats").items()) {
        const bool is_value = alone[i].at("stats").contains(key);
        EXPECT_EQ(tensors[i].at("stats").at(key), value) << key << " of " << tensors[i];
        EXPECT_EQ(is_value ? alone[i].at("stats").at(key) : value, value) << key << " of " << alone[i];
      }
      EXPECT_EQ(tensors[i].at("stats").at("argmax"), want.at("argmax")) << tensors[i];
    }
  }
  // Each row covers its own elements and their bytes.
  const json rows =
      tensors_of("small_floats.safetensors --where 'tensor == \"f4 of two rows\"' --by 0 --stats max,min --on host");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].at("stats"), (json{{"max", 1.5}, {"min", 0.5}}));
  EXPECT_EQ(rows[1].at("stats"), (json{{"max", -2.0}, {"min", -4.0}}));
  EXPECT_EQ(rows[1].at("bytes"), 2);
  const json named = tensors_of("small_floats.safetensors --where 'dtype == float8_e8m0fnu' --stats max --on host");
  EXPECT_EQ(named.size(), 5u);
}

TEST_F(Containers, ArchivesOfNumpyHaveItsValues) {
  const json wanted = test::parsed_json(content_of(*folder / "npz.json"));
  const std::string keys[] = {"max", "min", "count", "nan count", "zero count", "md5"};
  for (const std::string name : {"stored.npz", "deflated.npz"}) {
    const json tensors = tensors_of(name + " --stats max,min,count,nan-count,zero-count,md5 --on host");
    const json streamed = tensors_of(name + " --stats max,min,count,nan-count,zero-count --on host");
    ASSERT_EQ(tensors.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      for (const char* key : {"tensor", "shape", "bytes"})
        EXPECT_EQ(tensors[i].at(key), wanted[i].at(key)) << tensors[i];
      for (const auto& key : keys)
        EXPECT_EQ(tensors[i].at("stats").at(key), wanted[i].at(key)) << key << " of " << tensors[i];
      for (const auto& [key, value] : streamed[i].at("stats").items())
        EXPECT_EQ(value, wanted[i].at(key)) << tensors[i];
    }
  }
}

TEST_F(Containers, ThousandsOfTensorsKeepTheirOrder) {
  const json tensors = tensors_of("many.safetensors --stats avg --on host");
  ASSERT_EQ(tensors.size(), 3000u);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(tensors[i].at("tensor"), "t." + std::to_string(i));
    EXPECT_EQ(tensors[i].at("stats").at("avg"), i);
  }
}

TEST_F(Containers, ALargeTensorIsReadInPieces) {
  for (const std::string name : {"large.safetensors", "large.npz"}) {
    const json tensors = tensors_of(name + " --stats max,min,zero-count");
    ASSERT_EQ(tensors.size(), 2u);
    const json& stats = tensors[1].at("stats");
    EXPECT_EQ(json({stats.at("max"), stats.at("min"), stats.at("zero count")}), expected.at("large"));
  }
}

// Threads read and fold blocks in any order.
TEST_F(Containers, ALargeTensorHasTheSameBitsOnAnyThreads) {
  const std::string stats = " --on host --stats max,min,avg,l2norm,l1norm,std,count";
  for (const std::string name : {"floats.npy", "swapped.npy"}) {
    const json one = tensors_of(name + stats + " -j 1");
    EXPECT_EQ(one.at(0).at("stats").at("count"), 5'000'003);
    for (const std::string threads : {"2", "3", "7"}) EXPECT_EQ(tensors_of(name + stats + " -j " + threads), one);
    // A digest needs the elements in order, so one thread reads.
    const json digested = tensors_of(name + stats + ",md5 -j 2");
    const json& stats_of_one = one.at(0).at("stats");
    for (const auto& [key, value] : stats_of_one.items()) EXPECT_EQ(digested.at(0).at("stats").at(key), value);
  }
}

TEST_F(Containers, ATableAndExplainNameFileAndTensor) {
  const Ran ran = run(*folder, "a.safetensors --stats max --on host --explain");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_PRED2(holds, ran.out, "in a.safetensors::\ntensor ");
  EXPECT_PRED2(holds, ran.out, "\nI8\\n5  ");
  EXPECT_PRED2(holds, ran.out, "52 tensors, the first: a.safetensors::layer.BOOL/größe \"0\"\n  max: host: ");
}

TEST_F(Containers, AreFoundInFoldersBesideNpyFiles) {
  ScratchFolder tree;
  std::filesystem::create_directory(tree / "d");
  std::filesystem::copy(*folder / "many.safetensors", tree / "d/many.safetensors");
  test::write_file(tree / "d/a.npy", test::npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "1234"));
  const Ran ran = run(tree, "d --stats max --format json --on host");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  const json tensors = test::parsed_json(ran.out).at("tensors");
  ASSERT_EQ(tensors.size(), 3001u);
  EXPECT_FALSE(tensors[0].contains("tensor")) << "a file of one tensor";
  EXPECT_EQ(tensors[1].at("tensor"), "t.0");
}

TEST_F(Containers, APickleIsRefusedWithWordsThatHelp) {
  ScratchFolder place;
  test::write_file(place / "old.pt", "\x80\2}q\0.");
  const Ran ran = run(place, "old.pt");
  EXPECT_EQ(ran.exit, 3);
  EXPECT_PRED2(holds, ran.err, "old.pt: holds pickled Python objects");
  EXPECT_PRED2(holds, ran.err, "safetensors.torch.save_file");
}

TEST_F(Containers, ComplexTensorsHaveWhatAsksForNoOrder) {
  ScratchFolder place;
  const std::string header = R"({"z":{"dtype":"C64","shape":[3],"data_offsets":[0,24]}})";
  const float parts[] = {3, 4, 0, -0.0f, NAN, 1};
  test::write_file(place / "x.safetensors", std::string{static_cast<char>(header.size()), 0, 0, 0, 0, 0, 0, 0} +
                                                header +
                                                std::string(reinterpret_cast<const char*>(parts), sizeof parts));
  const Ran ran = run(
      place, "x.safetensors --stats max,count,nan-count,zero-count,l2norm,finite-l2norm,first-nan-index --format json");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  const json tensor = test::parsed_json(ran.out).at("tensors").at(0);
  EXPECT_EQ(tensor.at("dtype"), "complex64");
  EXPECT_EQ(tensor.at("stats"),
            test::parsed_json(R"({"max": null, "count": 3, "nan count": 1, "zero count": 1, "l2norm": "nan",
      "finite l2norm": 5, "first nan index": 2, "first nan index at": [2]})"));
}

TEST_F(Containers, OneWithATensorThatIsRefusedHasTheOthersAndExitThree) {
  ScratchFolder place;
  const std::string header =
      R"({"c":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,8]},"u":{"dtype":"U8","shape":[2],"data_offsets":[8,10]}})";
  std::string length(8, '\0');
  length[0] = static_cast<char>(header.size());
  test::write_file(place / "x.safetensors", length + header + "12345678\x01\x02");
  test::write_file(place / "none.safetensors", std::string("\x02\0\0\0\0\0\0\0{}", 10));
  const Ran ran = run(place, "x.safetensors none.safetensors --stats max --format csv --on host");
  EXPECT_EQ(ran.exit, 3);
  EXPECT_EQ(ran.err,
            "tensorstat: x.safetensors::c: dtype F6_E2M3 (float6_e2m3fn) is not supported: save it as F8_E4M3, "
            "which has each of its values\n"
            "tensorstat: none.safetensors: holds no tensor\n");
  EXPECT_PRED2(holds, ran.out, "\nTensor,u,0,0,");
}

}  // namespace command_containers_test
}  // namespace tensorstat
