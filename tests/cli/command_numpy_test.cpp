// The command's values equal NumPy's, from the host and from the device.

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/command_run.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace command_numpy_test {

using test::line_count;
using test::Ran;
using test::run;
using test::run_python;

// Each is a kernel to build: the quick test leaves some out.
const char* kinds() {
  return samples::full() ? "kinds = ['b1', 'i1', 'i2', 'i4', 'i8', 'u1', 'u2', 'u4', 'u8', 'f2', 'f4', 'f8']\n"
                         : "kinds = ['b1', 'i1', 'u2', 'i4', 'i8', 'f2', 'f4', 'f8']\n";
}

// Files of every dtype, order and special value, and a program that compares a report with NumPy.
constexpr std::string_view kMakeTree = R"(
import numpy as np, os
rng = np.random.default_rng(11)
os.makedirs('tree/sub')
for kind in kinds:
    for number, shape in enumerate([(), (0, 4), (33,), (17, 65)]):
        if kind == 'b1':
            array = rng.integers(0, 2, shape) > 0
        elif kind[0] == 'f':
            array = (rng.standard_normal(shape) * 100).astype('<' + kind)
        else:
            info = np.iinfo(kind)
            array = rng.integers(info.min, info.max, shape, dtype=kind, endpoint=True)
        array = np.asarray(array, order='CF'[number % 2]).astype('<>'[number % 2] + kind, order='K')
        np.save(f'tree/{kind}_{number}.npy', array)
special = rng.standard_normal((40, 50)).astype('<f4')
special[3, 4], special[5, 6], special[7, 8], special[9, 10] = np.nan, np.inf, -np.inf, -0.0
name = 'tree/sub/{}.Default_net_{}-op3.1.2.1733905446819790.{}.{}.DefaultFormat.{}.npy'
np.save(name.format('MatMul', 'MatMul', 'output', 0, 'float32'), special)
np.save(name.format('Cast', 'Cast', 'input', 1, 'bfloat16'), (special[:3].view('u4') & 0xffff0000).view('f4'))
np.save(name.format('Quant', 'Quant', 'output', 2, 'int4'), rng.integers(-8, 8, (6, 10), dtype='i1'))
)";

constexpr std::string_view kConfirm = R"(
import csv, glob, hashlib, math, os
from fractions import Fraction
import numpy as np
np.seterr(all='ignore')

def confirm(row, path):
    array = np.load(path)
    raw = np.ascontiguousarray(array).astype(array.dtype.newbyteorder('<')).tobytes()
    dtype, size = array.dtype.name, array.nbytes
    if 'bfloat16' in path:
        raw = (array.view('u4') >> 16).astype('<u2').tobytes()
        dtype, size = 'bfloat16', len(raw)
    if 'int4' in path:
        flat = array.reshape(-1, 2).astype('u1')
        raw = (flat[:, 0] & 15 | flat[:, 1] << 4 & 240).tobytes()
        dtype, size = 'int4', len(raw)
    same = lambda column, value: row[column] == str(value) or exit(f'{path}: {column} {row[column]} is not {value}')
    same('Data Type', dtype)
    same('Data Size', size)
    same('Shape', '(' + ','.join(map(str, array.shape)) + ')')
    same('MD5', hashlib.md5(raw).hexdigest())
    if hashes[path] != hashlib.sha1(raw).hexdigest(): exit(f'{path}: SHA1 {hashes[path]}')
    same('Count', array.size)
    same('Negative Zero Count', np.count_nonzero(array < 0))
    same('Positive Zero Count', np.count_nonzero(array > 0))
    same('Zero Count', np.count_nonzero(array == 0))
    same('NaN Count', np.count_nonzero(np.isnan(array)))
    same('Positive Inf Count', np.count_nonzero(np.isposinf(array)) if array.dtype.kind == 'f' else 0)
    same('Negative Inf Count', np.count_nonzero(np.isneginf(array)) if array.dtype.kind == 'f' else 0)
    if array.size == 0:
        for column in ['Max Value', 'Min Value', 'Avg Value']: same(column, '')
        same('L2Norm Value', '0')
        return
    number = lambda column: float(row[column])
    for column, value in [('Max Value', array.max()), ('Min Value', array.min())]:
        if array.dtype.kind in 'biu': same(column, int(value))
        elif np.isnan(value): same(column, 'nan')
        elif number(column) != float(value): exit(f'{path}: {column} {row[column]} is not {value}')
    if not np.isfinite(array).all():
        same('Avg Value', 'nan')
        same('L2Norm Value', 'nan')
        return
    exact = [Fraction(x.item()) for x in array.flat]
    close = lambda column, value: math.isclose(number(column), value, rel_tol=1e-13) or exit(f'{path}: {column} {row[column]} is not {value}')
    close('Avg Value', float(sum(exact) / len(exact)))
    close('L2Norm Value', math.sqrt(sum(x * x for x in exact)))

paths = sorted(glob.glob('tree/*.npy')) + sorted(glob.glob('tree/sub/*.npy'))
# Within a directory names rule, whether they are files or directories.
paths.sort(key=lambda path: path.split('/'))
with open('hash.csv', newline='') as file: hashes = dict(zip(paths, (row['SHA1'] for row in csv.DictReader(file))))
for report in glob.glob('on_*.csv'):
    with open(report, newline='') as file: rows = list(csv.DictReader(file, strict=True))
    assert len(rows) == len(paths) == 4 * len(kinds) + 3, (len(rows), len(paths))
    for row, path in zip(rows, paths):
        assert None not in row and None not in row.values(), row
        if path.count('/') == 1:
            assert (row['Op Type'], row['Op Name']) == ('Tensor', os.path.basename(path)[:-4]), row
            assert int(row['Timestamp']) == os.stat(path).st_mtime_ns // 1000, row
        else:
            assert row['Op Name'] == f'Default_net_{row["Op Type"]}-op3', row
            assert (row['Task ID'], row['Stream ID'], row['Timestamp']) == ('1', '2', '1733905446819790'), row
            assert f'.{row["IO"]}.{row["Slot"]}.' in path, row
        confirm(row, path)
)";

TEST(Command, NumpyConfirmsADirectoryFromHostAndDevice) {
  ScratchFolder folder;
  run_python(folder, kinds() + std::string(kMakeTree));
  const bool has_device = std::getenv("TENSORSTAT_NO_DEVICE") == nullptr;
  for (const std::string on : {"host", "device"}) {
    if (on == "device" && !has_device) continue;
    const Ran ran = run(folder, "tree --stats all --on " + on + " --format csv -o on_" + on + ".csv");
    EXPECT_EQ(ran.exit, 0) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
  // Alone, because a digest covers the original's bytes in C order, whatever other statistics are requested.
  const Ran hashed = run(folder, "tree --stats hash -o hash.csv");
  EXPECT_EQ(hashed.exit, 0) << hashed.err;
  run_python(folder, kinds() + std::string(kConfirm));
  if (!samples::full() || !has_device) return;  // another kernel for each dtype
  const std::string exact =
      "tree --format csv --stats max,min,count,nan-count,zero-count,"
      "negative-zero-count,positive-zero-count,negative-inf-count,"
      "positive-inf-count,md5 --on ";
  const Ran host = run(folder, exact + "host"), device = run(folder, exact + "device");
  EXPECT_EQ(host.exit, 0) << host.err;
  EXPECT_EQ(device.exit, 0) << device.err;
  EXPECT_EQ(host.out, device.out);
}

TEST(Command, LargeFilesAreReadInPieces) {
  ScratchFolder folder;
  run_python(folder, R"(
import hashlib, numpy as np
array = np.random.default_rng(3).integers(-128, 128, (6000, 7000), dtype='i1')
np.save('c.npy', array)
np.save('f.npy', np.asfortranarray(array))
open('expected', 'w').write(f'{array.max()},{array.min()},{array.size},{np.count_nonzero(array == 0)},{hashlib.md5(array.tobytes()).hexdigest()}')
)");
  const std::string expected = content_of(folder / "expected");
  const Ran ran = run(folder, "c.npy f.npy --format csv --stats max,min,count,zero-count,md5");
  EXPECT_EQ(ran.exit, 0) << ran.err;
  ASSERT_EQ(line_count(ran.out), 3u);
  const std::size_t first = ran.out.find(expected + "\n");
  ASSERT_NE(first, std::string::npos) << ran.out << expected;
  EXPECT_NE(ran.out.find(expected + "\n", first + 1), std::string::npos) << ran.out << expected;
}

}  // namespace command_numpy_test
}  // namespace tensorstat
