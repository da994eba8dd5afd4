// The fields of a structured array, and the arrays of one .npy, are measured each under its name. The values equal
// NumPy's.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/json_text.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace command_arrays_test {

using nlohmann::json;
using test::holds;
using test::Ran;
using test::run;
using test::run_python;

constexpr std::string_view kArrays = R"(
import json
import numpy as np

rng = np.random.default_rng(11)
inner = np.dtype([('u', 'u1'), ('v', '>f8', (2, 3))], align=True)
kinds = [np.dtype([('x', '<f4'), ('größe', '>i2', (3,)), ('text', '<U3'), (('a title', 'titled'), '?'), ('in', inner),
                   ('many', [('q', 'i4')], (2,)), ('when', 'M8[ns]'), ('last', '<f2', ())]),
         np.dtype([('a', 'i1'), ('b', '<f8'), ('c', '<i2')], align=True), np.dtype([('日', '<i4'), ('only', 'u1')])]
refused = {'text', 'many', 'when'}

def filled(kind, shape, order='C'):
    array = np.zeros(shape, kind, order)
    for name in kind.names:
        part = array[name]
        if part.dtype.names and name != 'many':
            for below in part.dtype.names: part[below] = rng.integers(0, 100, part[below].shape)
        elif name not in refused: part[...] = rng.integers(0, 2 if part.dtype.kind == 'b' else 100, part.shape)
    return array

def rows_of(array, prefix):
    for name in array.dtype.names:
        part = array[name]
        if part.dtype.names and name != 'many': yield from rows_of(part, prefix + name + '.')
        elif name not in refused:
            number = lambda x: None if part.size == 0 else float(x)
            yield {'tensor': prefix + name, 'shape': list(part.shape), 'dtype': str(part.dtype.newbyteorder('=')),
                   'count': part.size, 'zero count': int((part == 0).sum()),
                   'max': number(part.max() if part.size else 0), 'min': number(part.min() if part.size else 0)}

expected = {}
arrays = [filled(kind, shape) for kind in kinds for shape in [(), (0,), (5,), (70, 1001)]]
arrays.append(filled(kinds[1], (40, 30), 'F'))
for i, array in enumerate(arrays):
    np.save(f's{i}.npy', array)
    expected[f's{i}.npy'] = list(rows_of(array, ''))
small = [array for array in arrays if array.size < 1000]
for name, save in ('s.npz', np.savez), ('packed.npz', np.savez_compressed):
    save(name, *small)
    expected[name] = [row for i, array in enumerate(small) for row in rows_of(array, f'arr_{i}::')]
with open('several.npy', 'wb') as file:
    for array in small: np.save(file, array)
    np.save(file, np.arange(7.0))
expected['several.npy'] = [row for i, array in enumerate(small) for row in rows_of(array, f'{i}::' if i else '')]
expected['several.npy'].append({'tensor': str(len(small)), 'shape': [7], 'dtype': 'float64', 'count': 7, 'zero count': 1, 'max': 6.0, 'min': 0.0})
with open('arrays.json', 'w') as file: json.dump(expected, file)
)";

TEST(Arrays, EachFieldOfAStructureIsATensor) {
  ScratchFolder place;
  run_python(place, kArrays);
  const json arrays = test::parsed_json(content_of(place / "arrays.json"));
  for (const auto& [file, rows] : arrays.items()) {
    const Ran ran = run(place, file + " --stats max,min,count,zero-count --format json --on host");
    const json tensors = test::parsed_json(ran.out).at("tensors");
    ASSERT_EQ(tensors.size(), rows.size()) << file << '\n' << ran.err;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (const char* key : {"tensor", "shape", "dtype"})
        EXPECT_EQ(tensors[i].at(key), rows[i].at(key)) << file << tensors[i];
      for (const char* key : {"max", "min", "count", "zero count"}) {
        EXPECT_EQ(tensors[i].at("stats").at(key), rows[i].at(key)) << file << ": " << key << " of " << tensors[i];
      }
    }
    const bool has_refused = file == "s0.npy" || file == "several.npy" || file.ends_with(".npz");
    if (!has_refused) continue;
    EXPECT_EQ(ran.exit, 3);
    EXPECT_PRED2(holds, ran.err, "text: holds texts (dtype '<U3'), which have no statistics");
    EXPECT_PRED2(holds, ran.err, "many: holds several structures an element");
    EXPECT_PRED2(holds, ran.err, "when: dtype datetime64 '<M8[ns]' is not supported");
  }
}

TEST(Arrays, SeveralArraysOfAFileAreHeldApart) {
  ScratchFolder place;
  const auto array = [](const std::string& data) {
    return test::npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", data);
  };
  test::write_file(place / "cut.npy", array("abc") + array("de"));
  test::write_file(place / "longer.npy", array("abc") + array("def") + "rubbish");
  test::write_file(place / "odd.npy", array("abc") + "\x93NUMPY");
  const Ran ran = run(place, "cut.npy longer.npy odd.npy --stats max --format csv --on host");
  EXPECT_EQ(ran.exit, 3);
  EXPECT_PRED2(holds, ran.err, "cut.npy::1: is truncated: shape (3) of uint8 needs 3 bytes of data, 2 are there\n");
  EXPECT_PRED2(holds, ran.err, "longer.npy::1: is too long: shape (3) of uint8 needs 3 bytes of data, 10 are there\n");
  EXPECT_PRED2(holds, ran.err, "odd.npy::1: truncated before its header\n");
  EXPECT_EQ(std::ranges::count(ran.out, '\n'), 4) << "the first array of each: " << ran.out;
}

}  // namespace command_arrays_test
}  // namespace tensorstat
