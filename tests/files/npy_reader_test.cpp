// Files from NumPy are read with NumPy's values: every dtype, order, byte order and version, through buffers and
// windows of any size.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "stats/data/files/tensor_source.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace npy_reader_test {

using test::npy;
using test::run_python;
using test::write_file;

std::string bytes_of(TensorReader& reader, TensorReader::Order order, TensorReader::View view,
                     std::size_t buffer_bytes) {
  reader.rewind(order, view);
  std::vector<std::byte> buffer(buffer_bytes);
  std::string bytes;
  for (;;) {
    const auto got = reader.read(buffer);
    if (!got) {
      ADD_FAILURE() << got.error().message;
      return bytes;
    }
    if (*got == 0) return bytes;
    bytes.append(reinterpret_cast<const char*>(buffer.data()), *got);
  }
}

// Saves each array in both orders and byte orders, in every version. Beside it, saves its bytes in C order and little
// endian. Writes a line `name dtype shape count` to manifest.txt for each.
constexpr std::string_view kNumpyProgram = R"(
import numpy as np
from numpy.lib import format
rng = np.random.default_rng(7)
manifest = open('manifest.txt', 'w')
shapes = [(), (0,), (1,), (7,), (3, 0, 2), (1, 5), (5, 1), (2, 3), (3, 5, 7), (2, 1, 3, 4), (67, 129)]
kinds = ['b1', 'i1', 'i2', 'i4', 'i8', 'u1', 'u2', 'u4', 'u8', 'f2', 'f4', 'f8']
for k, kind in enumerate(kinds):
    for s, shape in enumerate(shapes):
        size = np.dtype(kind).itemsize
        raw = rng.integers(0, 2 if kind == 'b1' else 256, shape + (size,), dtype='u1')
        array = raw.view('<' + kind).reshape(shape)
        for order in 'CF':
            for endian in '<>':
                version = (1 + (k + s) % 3, 0)
                name = f'{kind}_{s}_{order}_{"le" if endian == "<" else "be"}'
                with open(name + '.npy', 'wb') as file:
                    format.write_array(file, np.asarray(array.astype(endian + kind), order=order), version)
                open(name + '.bin', 'wb').write(raw.tobytes())
                dims = '(' + ','.join(map(str, shape)) + ')'
                manifest.write(f'{name} {np.dtype(kind).name} {dims} {array.size}\n')
)";

TEST(NpyReader, ReadsWhatNumpyWrites) {
  ScratchFolder folder;
  run_python(folder, kNumpyProgram);
  std::istringstream manifest(content_of(folder / "manifest.txt"));
  std::string file, dtype, shape;
  std::uint64_t count = 0;
  int files = 0;
  for (; manifest >> file >> dtype >> shape >> count; ++files) {
    SCOPED_TRACE(file);
    // A window of a few elements cuts inner axes, one of 1,000 bytes cuts some rows, the last one cuts nothing.
    for (const std::size_t window_bytes : {0, 20, 1'000, 1 << 20}) {
      auto reader = open_tensor(folder / file + ".npy", {Original::kAsStored, window_bytes});
      ASSERT_TRUE(reader) << reader.error().message;
      EXPECT_EQ(name(reader->dtype()), dtype);
      EXPECT_EQ(reader->data_type(), dtype);
      EXPECT_EQ(to_string(reader->shape()), shape);
      EXPECT_EQ(reader->element_count(), count);
      EXPECT_EQ(reader->data_size_bytes(), count * size_bytes(reader->dtype()));
      const std::string expected = content_of(folder / file + ".bin");
      for (const std::size_t buffer_bytes : {8, 61, 1 << 20}) {
        for (const auto view : {TensorReader::View::kElements, TensorReader::View::kOriginal}) {
          ASSERT_EQ(bytes_of(*reader, TensorReader::Order::kC, view, buffer_bytes), expected)
              << "window " << window_bytes << ", buffer " << buffer_bytes;
        }
      }
      std::string any = bytes_of(*reader, TensorReader::Order::kAny, {}, 64);
      ASSERT_EQ(any.size(), expected.size());
      if (size_bytes(reader->dtype()) == 1) {  // the elements are the same in both byte orders
        EXPECT_TRUE(std::is_permutation(any.begin(), any.end(), expected.begin()));
      }
    }
  }
  EXPECT_EQ(files, 12 * 11 * 4);
}

// Columns longer than a tile, and so far apart that they are read one by one.
TEST(NpyReader, TurnsLargeFortranFiles) {
  ScratchFolder folder;
  run_python(folder, R"(
import numpy as np
rng = np.random.default_rng(8)
for name, shape, kind in [('a', (70001, 70), 'i1'), ('b', (9001, 9, 8), '>f8'), ('c', (3, 200001), '<u2')]:
    array = rng.integers(0, 256, shape + (np.dtype(kind).itemsize,), dtype='u1').view(kind)[..., 0]
    np.save(name + '.npy', np.asfortranarray(array))
    open(name + '.bin', 'wb').write(array.astype(array.dtype.newbyteorder('<')).tobytes())
)");
  for (const char* file : {"a", "b", "c"}) {
    const std::string expected = content_of(folder / std::string(file) + ".bin");
    for (const std::size_t window_bytes : {200'000, 1'000'000, 1 << 24}) {
      auto reader = open_tensor(folder / std::string(file) + ".npy", {Original::kAsStored, window_bytes});
      ASSERT_TRUE(reader) << reader.error().message;
      EXPECT_TRUE(bytes_of(*reader, TensorReader::Order::kC, {}, 1 << 20) == expected)
          << file << ", window " << window_bytes;
    }
  }
}

TEST(NpyReader, BfloatSixteenNeedsAVoucher) {
  ScratchFolder folder;
  const std::string data("\x80\x3f\xc0\x7f\x01\x00", 6);
  for (const char* descr : {"<V2", "|V2", "bfloat16", "<E2"}) {
    const std::string path =
        write_file(folder / "x.npy",
                   npy("{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (3,), }", data));
    const auto refused = open_tensor(path, {Original::kAsStored});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kUnsupported);
    EXPECT_NE(refused.error().message.find("bfloat16"), std::string::npos);
    for (const Original original : {Original::kVoidIsBfloat16, Original::kBfloat16}) {
      auto reader = open_tensor(path, {original});
      ASSERT_TRUE(reader) << reader.error().message;
      EXPECT_EQ(reader->dtype(), Dtype::kBfloat16);
      EXPECT_EQ(reader->data_size_bytes(), 6u);
      EXPECT_EQ(bytes_of(*reader, TensorReader::Order::kC, {}, 64), data);
    }
  }
}

TEST(NpyReader, TheUsersWordLeavesOtherDtypesAlone) {
  ScratchFolder folder;
  const std::string path =
      write_file(folder / "x.npy", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "abcd"));
  auto reader = open_tensor(path, {Original::kVoidIsBfloat16});
  ASSERT_TRUE(reader);
  EXPECT_EQ(reader->dtype(), Dtype::kFloat32);
}

TEST(NpyReader, NarrowsWhatWasBfloatSixteen) {
  ScratchFolder folder;
  // Every bfloat16 pattern, widened, in both orders and byte orders.
  run_python(folder, R"(
import numpy as np
half = np.arange(65536, dtype='u2').reshape(512, 128)
wide = (half.astype('u4') << 16).view('f4')
np.save('c.npy', wide)
np.save('f.npy', np.asfortranarray(wide))
np.save('b.npy', wide.view('u4').astype('>u4').view('>f4'))
open('expected.bin', 'wb').write(half.tobytes())
)");
  const std::string expected = content_of(folder / "expected.bin");
  for (const char* file : {"c.npy", "f.npy", "b.npy"}) {
    auto reader = open_tensor(folder / file, {Original::kBfloat16, 10'000});
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_EQ(reader->dtype(), Dtype::kBfloat16);
    EXPECT_EQ(reader->data_type(), "bfloat16");
    EXPECT_EQ(reader->data_size_bytes(), 131'072u);
    for (const std::size_t buffer_bytes : {2, 4'098, 1 << 20}) {
      EXPECT_EQ(bytes_of(*reader, TensorReader::Order::kC, {}, buffer_bytes), expected) << file;
    }
  }
}

std::string first_fault(const std::string& path, Original original) {
  auto reader = open_tensor(path, {original});
  if (!reader) return reader.error().message;
  std::vector<std::byte> buffer(1 << 12);
  const auto got = reader->read(buffer);
  return got ? "none" : got.error().message;
}

TEST(NpyReader, NameAndDataMayContradictEachOther) {
  ScratchFolder folder;
  const auto file = [&](std::string descr, std::string shape, std::string_view data) {
    return write_file(folder / "x.npy",
                      npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }", data));
  };
  const auto holds = [](const std::string& text, const std::string& part) { return text.find(part) != text.npos; };
  const std::string no_bfloat16 =
      first_fault(file("<f4", "(1,)", std::string_view("\x01\0\x80\x3f", 4)), Original::kBfloat16);
  EXPECT_PRED2(holds, no_bfloat16, "x.npy: its name says bfloat16, but it holds");
  EXPECT_PRED2(holds, first_fault(file("<i4", "(1,)", "abcd"), Original::kBfloat16), "int32");
  EXPECT_PRED2(holds, first_fault(file("<f4", "(1,)", "abcd"), Original::kInt4), "float32");
  EXPECT_PRED2(holds, first_fault(file("|i1", "(2,)", "\1\x08"), Original::kInt4), "-8..7");
  EXPECT_PRED2(holds, first_fault(file("|i1", "(2,)", "\xf7\1"), Original::kInt4), "-8..7");
}

TEST(NpyReader, ComplexValuesHaveBothPartsInAnyOrder) {
  ScratchFolder folder;
  const auto file = [&](const std::string& descr, const std::string& order, const std::string& shape,
                        std::string_view data) {
    return write_file(
        folder / "x.npy",
        npy("{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }", data));
  };
  const auto read = [](const std::string& path) {
    auto reader = open_tensor(path, {Original::kAsStored});
    if (!reader) return reader.error().message;
    return std::string(reader->data_type()) + to_string(reader->shape()) +
           bytes_of(*reader, TensorReader::Order::kC, TensorReader::View::kElements, 64);
  };
  const std::string a = "\x01\x02\x03\x04", b = "abcd", c = "efgh", d = "ijkl", e = "mnop", f = "qrst", g = "uvwx",
                    h = "yzAB";
  const std::string four = a + b + c + d + e + f + g + h;
  EXPECT_EQ(read(file("<c8", "False", "(2,2)", four)), "complex64(2,2)" + four);
  EXPECT_EQ(read(file("<c8", "True", "(2,2)", four)), "complex64(2,2)" + a + b + e + f + c + d + g + h);
  EXPECT_EQ(read(file("<c16", "True", "(1,2)", four)), "complex128(1,2)" + four);
  EXPECT_EQ(read(file("<c16", "True", "(2,1)", four)), "complex128(2,1)" + four);
  const auto turned = [](std::string bytes) { return std::string(bytes.rbegin(), bytes.rend()); };
  EXPECT_EQ(read(file(">c8", "False", "(1,)", turned(a) + turned(b))), "complex64(1)" + a + b);
  EXPECT_EQ(read(file(">c16", "False", "(1,)", turned(a + b) + turned(c + d))), "complex128(1)" + a + b + c + d);
}

TEST(NpyReader, PacksIntFourLowNibbleFirst) {
  ScratchFolder folder;
  std::string values, packed;
  for (int i = 0; i < 256; ++i) {  // every pair of values
    const int low = i % 16 < 8 ? i % 16 : i % 16 - 16, high = i / 16 < 8 ? i / 16 : i / 16 - 16;
    values.push_back(static_cast<char>(low));
    values.push_back(static_cast<char>(high));
    packed.push_back(static_cast<char>(i));
  }
  const std::string path =
      write_file(folder / "x.npy", npy("{'descr': '|i1', 'fortran_order': False, 'shape': (16, 32), }", values));
  auto reader = open_tensor(path, {Original::kInt4});
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->data_type(), "int4");
  EXPECT_EQ(reader->dtype(), Dtype::kInt8);
  EXPECT_EQ(reader->element_count(), 512u);
  EXPECT_EQ(reader->data_size_bytes(), 256u);
  for (const std::size_t buffer_bytes : {1, 7, 1'000}) {
    EXPECT_EQ(bytes_of(*reader, TensorReader::Order::kC, TensorReader::View::kElements, buffer_bytes), values);
    EXPECT_EQ(bytes_of(*reader, TensorReader::Order::kC, TensorReader::View::kOriginal, buffer_bytes), packed);
  }
}

TEST(NpyReader, AnOddNumberOfIntFourEndsInHalfAByte) {
  ScratchFolder folder;
  for (const auto& [shape, packed] :
       {std::pair("(3, 3)", "\x21\x43\x65\x87\x0f"), std::pair("(9,)", "\x21\x43\x65\x87\x0f")}) {
    const std::string path = write_file(
        folder / "x.npy", npy("{'descr': '|i1', 'fortran_order': False, 'shape': " + std::string(shape) + ", }",
                              "\1\2\3\4\5\6\7\xf8\xff"));
    auto reader = open_tensor(path, {Original::kInt4});
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_EQ(reader->data_size_bytes(), 5u);
    for (const std::size_t buffer_bytes : {1, 2, 1'000}) {
      EXPECT_EQ(bytes_of(*reader, TensorReader::Order::kC, TensorReader::View::kOriginal, buffer_bytes), packed);
    }
  }
}

TEST(NpyReader, AFileCutShortWhileReadIsAnError) {
  ScratchFolder folder;
  for (const char* order : {"True", "False"}) {
    const std::string path = write_file(
        folder / "x.npy", npy("{'descr': '<f8', 'fortran_order': " + std::string(order) + ", 'shape': (1500, 1500), }",
                              std::string(18'000'000, 'x')));
    auto reader = open_tensor(path, {Original::kAsStored, 100'000});
    ASSERT_TRUE(reader);
    std::vector<std::byte> buffer(18'000'000);
    ASSERT_TRUE(reader->read(std::span(buffer).first(800)));
    std::filesystem::resize_file(path, 5'000);
    const auto got = reader->read(buffer);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, Code::kUnreadable);
    EXPECT_NE(got.error().message.find(path + ": was cut short"), std::string::npos) << got.error().message;
  }
}

TEST(NpyReader, OnlyRegularFilesAreOpened) {
  ScratchFolder folder;
  ASSERT_EQ(std::system(("mkfifo '" + (folder / "pipe.npy") + "'").c_str()), 0);
  for (const std::string& path :
       {folder / "pipe.npy", folder.path(), folder / "absent.npy", std::string("/dev/zero"), std::string()}) {
    const auto reader = open_tensor(path, {Original::kAsStored});
    ASSERT_FALSE(reader) << path;
    EXPECT_EQ(reader.error().code, Code::kUnreadable);
    EXPECT_TRUE(reader.error().message.starts_with(path + ": "));
  }
}

TEST(NpyReader, AShapeLargerThanMemoryCostsNothing) {
  ScratchFolder folder;
  // A sparse Fortran-ordered file of 2^40 elements: opened, and read with a window of a few bytes.
  const std::string path =
      write_file(folder / "x.npy", npy("{'descr': '|u1', 'fortran_order': True, 'shape': (1048576, 1048576), }", ""));
  std::error_code error;
  std::filesystem::resize_file(path, (std::uint64_t{1} << 40) + std::filesystem::file_size(path), error);
  ASSERT_FALSE(error) << "no sparse files of 1 TiB here: " << error.message();
  auto reader = open_tensor(path, {Original::kAsStored, 64});
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(reader->element_count(), std::uint64_t{1} << 40);
  std::vector<std::byte> buffer(32);
  const auto got = reader->read(buffer);
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, 32u);
}

}  // namespace npy_reader_test
}  // namespace tensorstat
