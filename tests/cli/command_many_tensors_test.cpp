// Several threads read many tensors, of a container or of files. The rows equal those of one thread, in the same order.
// A damaged tensor loses only its own row.

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/json_text.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace command_many_tensors_test {

using nlohmann::json;
using test::holds;
using test::Ran;
using test::run;
using test::run_python;

// Sizes around the limits for tensors that are read together, folded in the cache, and folded by all threads. The seed
// is fixed.
constexpr std::string_view kProgram = R"(
import json, os, struct, zipfile
import numpy as np
rng = np.random.default_rng(11)
sizes = [0, 1, 1000, 4096, 30_000, 130_000, 300_000]
arrays = {}
for i in range(400):
    kind = ['f4', 'f2', 'i1', 'f8', '>f4', 'u2'][rng.integers(6)]
    size = sizes[min(int(rng.exponential(2)), len(sizes) - 1)] if i % 100 else 1_500_000
    array = rng.integers(-100, 100, size).astype(kind) if i % 3 else (rng.random(size) * 50).astype(kind)
    if i % 7 == 3 and size > 1: array = np.asfortranarray(array[:size // 2 * 2].reshape(2, -1))
    arrays[f'layer.{i}'] = array
np.savez('stored.npz', **arrays)
np.savez_compressed('deflated.npz', **arrays)
header, data = {}, b''
for name, array in arrays.items():
    raw = array.astype(array.dtype.newbyteorder('<')).tobytes()
    code = {'f4': 'F32', 'f2': 'F16', 'i1': 'I8', 'f8': 'F64', 'u2': 'U16'}[array.dtype.str[1:]]
    header[name] = {'dtype': code, 'shape': list(array.shape), 'data_offsets': [len(data), len(data) + len(raw)]}
    data += raw
text = json.dumps(header).encode()
with open('many.safetensors', 'wb') as file: file.write(struct.pack('<Q', len(text)) + text + data)
with open('expected.json', 'w') as file:
    json.dump([[name, int(array.size), float(array.max()) if array.size else None, int((array == 0).sum()),
                int(array.argmax()) if array.size else None] for name, array in arrays.items()], file)
os.mkdir('files')
for i, array in enumerate(arrays.values()): np.save(f'files/{i:03}.npy', array)
with open('files/100.npy', 'r+b') as file: file.truncate(1000)
np.savez('files/200a.npz', **{f'x{i}': np.full(1000, i, 'f4') for i in range(100)})
# One byte of some tensor in the middle is another.
np.savez('damaged.npz', **{f'x{i}': np.full(1000, i, 'f4') for i in range(500)})
with zipfile.ZipFile('damaged.npz') as archive: offset = archive.getinfo('x250.npy').header_offset
with open('damaged.npz', 'r+b') as file:
    file.seek(offset + 1000)
    byte = file.read(1)[0]
    file.seek(offset + 1000)
    file.write(bytes([byte ^ 1]))
)";

class ManyTensors : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new ScratchFolder;
    run_python(*folder, kProgram);
  }
  static void TearDownTestSuite() { delete std::exchange(folder, nullptr); }

  static inline ScratchFolder* folder = nullptr;
};

constexpr std::string_view kFiles[] = {"many.safetensors", "stored.npz", "deflated.npz"};

TEST_F(ManyTensors, HaveTheValuesOfNumpyInTheOrderOfTheFile) {
  const json expected = test::parsed_json(content_of(*folder / "expected.json"));
  for (const std::string_view file : kFiles) {
    const Ran ran = run(*folder, std::string(file) + " --threads 3 --stats count,max,zero-count,argmax --format json");
    ASSERT_EQ(ran.exit, 0) << ran.err;
    const json tensors = test::parsed_json(ran.out).at("tensors");
    ASSERT_EQ(tensors.size(), expected.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const json &tensor = tensors[i], &values = tensor.at("stats");
      EXPECT_EQ(json({tensor.at("tensor"), values.at("count"), values.at("max"), values.at("zero count"),
                      values.at("argmax")}),
                expected[i])
          << file;
    }
  }
}

TEST_F(ManyTensors, AreTheSameOnAnyNumberOfThreads) {
  for (const std::string_view file : kFiles) {
    for (const char* asked : {"--stats all", "--stats avg,l2norm,std --precision low", "--stats p50,exponents",
                              "--stats max,min,avg,l2norm", "--stats crc32,first-nan-index,md5"}) {
      const std::string call = std::string(file) + " " + asked + " --on host --format csv --threads ";
      const Ran one = run(*folder, call + "1");
      ASSERT_EQ(one.exit, 0) << call << one.err;
      for (const char* threads : {"2", "5"}) {
        const Ran several = run(*folder, call + threads);
        EXPECT_EQ(several.exit, 0) << call << several.err;
        EXPECT_TRUE(several.out == one.out) << call << threads;
      }
    }
  }
}

// A thread that measures also makes the texts of rows, where each row has one and is shown as it comes.
TEST_F(ManyTensors, AreToldAlikeByAnyNumberOfThreads) {
  for (const char* told :
       {"--format csv --columns path,tensor", "--format ndjson", "--format json", "--format markdown",
        "--format csv --where 'max > 20'", "--format ndjson --sort max --top 30", "--format csv --top 7",
        "--format json --fail-on 'zero count > 3'"}) {
    const std::string call = std::string("many.safetensors --stats max,min,avg --on host ") + told + " --threads ";
    const Ran one = run(*folder, call + "1"), several = run(*folder, call + "3");
    EXPECT_EQ(several.exit, one.exit) << call << several.err;
    EXPECT_TRUE(several.out == one.out) << call;
    EXPECT_EQ(several.err, one.err) << call;
  }
}

// 400 files and an archive among them. Few of them are open at a time.
TEST_F(ManyTensors, OfFilesAreTheSameOnAnyNumberOfThreads) {
  const std::string call = "files --stats count,max,zero-count,crc32 --on host --format csv --threads ";
  const Ran one = run(*folder, call + "1");
  EXPECT_EQ(one.exit, 3);  // one file is cut short
  EXPECT_EQ(std::ranges::count(one.out, '\n'), 1 + 399 + 100);
  for (const char* threads : {"2", "5"}) {
    const Ran several = run(*folder, call + threads, "prlimit --nofile=200");
    EXPECT_EQ(several.exit, 3) << several.err;
    EXPECT_TRUE(several.out == one.out) << threads;
    EXPECT_EQ(several.err, one.err);
  }
}

TEST_F(ManyTensors, ADamagedOneIsNamedAndTheOthersAreMeasured) {
  const Ran ran = run(*folder, "damaged.npz --threads 3 --stats max --format json");
  EXPECT_EQ(ran.exit, 3);
  EXPECT_TRUE(holds(ran.err, "damaged.npz::x250: is damaged")) << ran.err;
  const json tensors = test::parsed_json(ran.out).at("tensors");
  ASSERT_EQ(tensors.size(), 499u);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::size_t number = i + (i >= 250);
    EXPECT_EQ(tensors[i].at("tensor"), "x" + std::to_string(number));
    EXPECT_EQ(tensors[i].at("stats").at("max"), number);
  }
}

TEST_F(ManyTensors, SayOnceWhereTheyWereMeasured) {
  const Ran ran = run(*folder, "damaged.npz --threads 3 --stats max --on host --explain --format csv");
  EXPECT_TRUE(holds(ran.err, "499 tensors, the first: damaged.npz::x0")) << ran.err;
  EXPECT_TRUE(holds(ran.err, "max: host: asked for")) << ran.err;
}

}  // namespace command_many_tensors_test
}  // namespace tensorstat
