// A wrong .npy file is refused with a message that says what is wrong. It never crashes the reader, and the sizes in
// its header allocate no memory.

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "stats/data/files/npy/npy_header.hpp"
#include "stats/data/files/tensor_source.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace malformed_npy_test {

using test::npy;
using test::write_file;
using namespace std::string_literals;

struct Malformed {
  std::string bytes;
  std::string_view complaint;  // a part of the message
};

// A file with the header `dictionary` and four bytes of data.
std::string with(std::string_view dictionary) { return npy(dictionary, "data"); }

std::string with_descr(std::string_view descr) {
  return with("{'descr': " + std::string(descr) + ", 'fortran_order': False, 'shape': (1,), }");
}

std::string with_order(std::string_view order) {
  return with("{'descr': '<f4', 'fortran_order': " + std::string(order) + ", 'shape': (1,), }");
}

std::string with_shape(std::string_view shape, std::string_view data = "data") {
  return npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + std::string(shape) + ", }", data);
}

// A file from its parts: magic and version, then the length as given, then the rest.
std::string raw(std::string_view length, std::string_view rest, char major = 1, char minor = 0) {
  return "\x93NUMPY"s + major + minor + std::string(length) + std::string(rest);
}

std::vector<Malformed> malformed_files() {
  const std::string good = with_shape("(1,)");
  std::string sixty_five_dimensions = "(";
  for (int i = 0; i < 65; ++i) sixty_five_dimensions += "1,";
  sixty_five_dimensions += ")";
  std::string nested = "'|i1'";
  for (int i = 0; i < 17; ++i) nested = "[('a', " + nested + ")]";

  std::vector<Malformed> files = {
      // Other contents.
      {"", "it is empty"},
      {"x", "does not begin with"},
      {"hello, world", "does not begin with"},
      {"PK\x03\x04 an archive", ".npz"},
      {"\x80\x04\x95 a pickle", "pickle"},
      {"\x93numpy\x01\0 lower case"s, "does not begin with"},
      {" "s + good, "does not begin with"},
      {std::string(1000, '\0'), "does not begin with"},
      // Truncated before the header.
      {"\x93", "magic number"},
      {"\x93NUM", "magic number"},
      {"\x93NUMPY", "before its header"},
      {"\x93NUMPY\x01", "before its header"},
      {"\x93NUMPY\x01\0"s, "before its header"},
      {"\x93NUMPY\x01\0\x76"s, "before its header"},
      {raw("\x76\0"s, "", 2), "before its header"},
      {raw("\x76\0\0"s, "", 3), "before its header"},
      // Versions.
      {raw("\x10\0"s, std::string(16, ' '), 0), "version 0.0"},
      {raw("\x10\0"s, std::string(16, ' '), 4), "version 4.0"},
      {raw("\x10\0"s, std::string(16, ' '), 1, 1), "version 1.1"},
      {raw("\x10\0"s, std::string(16, ' '), 3, 7), "version 3.7"},
      {raw("\x10\0"s, std::string(16, ' '), '\xff', '\xff'), "version 255.255"},
      // Wrong lengths.
      {raw("\xff\xff"s, "{}"), "65535 bytes are promised, 2 are there"},
      {raw("\x01\0"s, ""), "1 bytes are promised, 0 are there"},
      {raw("\xff\xff\xff\xff"s, "{}", 2), "4294967295 bytes are promised"},
      {raw("\xff\xff\xff\x7f"s, "{}", 3), "2147483647 bytes are promised"},
      {raw("\x01\0\0\x01"s, std::string((1 << 24) + 1, ' '), 2), "a header of 16777217 bytes"},
      {raw("\0\0"s, "{'descr': '<f4'}"), "expected '{'"},
      {raw("\x05\0"s, good.substr(10)), "expected a quoted string"},
      // Not a dictionary.
      {with(""), "expected '{'"},
      {with("()"), "expected '{'"},
      {with("[]"), "expected '{'"},
      {with("None"), "expected '{'"},
      {with("'descr'"), "expected '{'"},
      {with("{"), "expected a quoted string"},
      {with("{{}}"), "expected a quoted string"},
      {with("{,}"), "expected a quoted string"},
      {with("{'descr'}"), "expected ':'"},
      {with("{'descr' '<f4'}"), "expected ':'"},
      {with("{'descr': }"), "expected a quoted string"},
      {with("{'descr': '<f4' 'shape': (1,)}"), "expected ',' or '}'"},
      {with("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)"), "expected ',' or '}'"},
      {with("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), "), "expected a quoted string"},
      {with("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }}"), "follows the closing '}'"},
      {with("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x"), "follows the closing '}'"},
      {with("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\0"s), "follows the closing '}'"},
      {with("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } # end"), "follows the closing"},
      {with("{'descr': '<f4', 'fortran_order': False, 'shape': (1,),, }"), "expected a quoted string"},
      {with("{\0'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"s), "expected a quoted string"},
      {with("__import__('os').system('true')"), "expected '{'"},
      // Keys.
      {with("{}"), "'descr' is missing"},
      {with("{'descr': '<f4'}"), "'fortran_order' is missing"},
      {with("{'descr': '<f4', 'fortran_order': False}"), "'shape' is missing"},
      {with("{'fortran_order': False, 'shape': (1,)}"), "'descr' is missing"},
      {with("{'descr': '<f4', 'shape': (1,)}"), "'fortran_order' is missing"},
      {with("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}"), "comes twice"},
      {with("{'descr': '<f4', 'fortran_order': False, 'fortran_order': False, 'shape': (1,)}"),
       "'fortran_order' comes twice"},
      {with("{'shape': (1,), 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}"), "'shape' comes twice"},
      {with("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'extra': 1}"), "unknown key 'extra'"},
      {with("{'Descr': '<f4'}"), "unknown key 'Descr'"},
      {with("{'': '<f4'}"), "unknown key ''"},
      {with("{'\x1b[31m': 1}"), "unknown key '\\x1b[31m'"},
      {with("{descr: '<f4'}"), "expected a quoted string"},
      {with("{1: '<f4'}"), "expected a quoted string"},
      {with("{b'descr': '<f4'}"), "expected a quoted string"},
      {with("{'descr\": '<f4'}"), "unknown key"},
      {with("{'descr: 1}"), "expected a quoted string"},
      {with("{'de\\x73cr': '<f4'}"), "backslash"},
      // Byte orders and dtypes.
      {with_descr("''"), "dtype '' is not supported"},
      {with_descr("'<'"), "dtype '<' is not supported"},
      {with_descr("'<float32'"), "dtype '<float32' is not supported"},
      {with_descr("'float32 single'"), "dtype 'float32 single' is not supported"},
      {with_descr("'<f3'"), "dtype '<f3' is not supported"},
      {with_descr("'<f4 '"), "dtype '<f4 ' is not supported"},
      {with_descr("' <f4'"), "dtype ' <f4' is not supported"},
      {with_descr("'<<f4'"), "dtype '<<f4' is not supported"},
      {with_descr("'<F4'"), "dtype '<F4' is not supported"},
      {with_descr("'<c16'"), "is truncated: shape"},
      {with_descr("'<c4'"), "dtype '<c4' is not supported"},
      {with_descr("'<f16'"), "long double"},
      {with_descr("'<c32'"), "long double"},
      {with_descr("'<U1'"), "holds texts (dtype '<U1')"},
      {with_descr("'|S4'"), "holds texts (dtype '|S4')"},
      {with_descr("'<M8[ns]'"), "datetime64"},
      {with_descr("'<m8[s]'"), "timedelta64"},
      {with_descr("'|V4'"), "void"},
      {with_descr("'|O'"), "pickled Python objects"},
      {with_descr("'O8'"), "pickled Python objects"},
      // Structured dtypes.
      {with_descr("[]"), "structures without a field"},
      {with_descr("[('', '|V4')]"), "structures without a field"},
      {with_descr("[('a', '|V0')]"), "structures of no bytes"},
      {with_descr("[('a', '<f4', (0,))]"), "structures of no bytes"},
      {with_descr("['<f4']"), "expected '(' before a field"},
      {with_descr("[(]"), "expected a quoted string"},
      {with_descr("[('a')]"), "expected ',' after a field's name"},
      {with_descr("[('a', )]"), "expected a quoted string"},
      {with_descr("[('a', '<f4', -2)]"), "negative dimension"},
      {with_descr("[('a', ('<f4', 2), 2)]"), "two shapes"},
      {with_descr("[['a', '<f4')]"), "expected ']' after a field"},
      {with_descr("('<f4', 2)"), "expected a quoted string"},
      {with_descr("[('a', '<f4', (2,), 3)]"), "expected ')' after a field"},
      {with_descr("[('a', '<f4') ('b', '<f4')]"), "expected ',' or ']'"},
      {with_descr("[('a', '<f4')"), "expected '(' before a field"},
      {with_descr("[(('t', 'a', 'b'), '<f4')]"), "expected ')' after a name"},
      {with_descr("[('a', '<f4'), ('a', '<i4')]"), "the field 'a' comes twice"},
      {with_descr("[('a.b', '<f4'), ('a', [('b', '<i4')])]"), "the field 'a.b' comes twice"},
      {with_descr("[('a', '|O')]"), "pickled Python objects"},
      {with_descr("[('a', '<f4'), ('b', [('c', 'O')])]"), "pickled Python objects"},
      {with_descr("[('a', 'floating')]"), "dtype 'floating' is not supported"},
      {with_descr("[('a', '<f4', (4611686018427387904,))]"), "exceeds 2^63-1 bytes"},
      {with_descr("[('a', '|i1', (4611686018427387904,)), ('b', '|i1')]"), "more than 2^62 bytes"},
      {with_descr("[('a', '<f4'), ('b', '<f4')]"), "shape (1) of 8-byte structures needs 8 bytes of data, 4 are there"},
      {with_descr(std::string(5000, '[')), "expected a quoted string"},
      {with_descr(nested), "structures lie deeper in each other than 16"},
      {with_descr("('<f4', (2,))"), "expected a quoted string"},
      {with_descr("None"), "expected a quoted string"},
      {with_descr("'" + std::string(1000, 'x') + "'"), "xxx...' is not supported"},
      // fortran_order.
      {with_order("1"), "neither True nor False"},
      {with_order("0"), "neither True nor False"},
      {with_order("true"), "neither True nor False"},
      {with_order("'True'"), "neither True nor False"},
      {with_order("None"), "neither True nor False"},
      {with_order(""), "neither True nor False"},
      {with_order("Truely"), "expected ',' or '}'"},
      // Shapes.
      {with_shape("1"), "not a tuple"},
      {with_shape("[1]"), "not a tuple"},
      {with_shape("(1)"), "not a tuple"},
      {with_shape("None"), "not a tuple"},
      {with_shape("'(1,)'"), "not a tuple"},
      {with_shape("("), "not a whole number"},
      {with_shape("(,)"), "not a whole number"},
      {with_shape("(1,,)"), "not a whole number"},
      {with_shape("(1 1)"), "expected ',' or ')'"},
      {with_shape("(-1,)"), "negative dimension"},
      {with_shape("(1, -9223372036854775808)"), "negative dimension"},
      {with_shape("(+1,)"), "not a whole number"},
      {with_shape("(1.0,)"), "expected ',' or ')'"},
      {with_shape("(1e0,)"), "expected ',' or ')'"},
      {with_shape("(0x1,)"), "expected ',' or ')'"},
      {with_shape("(01,)"), "begins with 0"},
      {with_shape("(True,)"), "not a whole number"},
      {with_shape("('1',)"), "not a whole number"},
      {with_shape("((1,),)"), "not a whole number"},
      {with_shape("(1_0,)"), "expected ',' or ')'"},
      {with_shape("(18446744073709551616,)"), "exceeds 2^64-1"},
      {with_shape("(99999999999999999999999999,)"), "exceeds 2^64-1"},
      {with_shape("(18446744073709551615,)"), "exceeds 2^63-1 bytes"},
      {with_shape("(2305843009213693952,)"), "exceeds 2^63-1 bytes"},
      {with_shape("(4294967296, 4294967296)"), "exceeds 2^63-1 bytes"},
      {with_shape("(3, 6148914691236517206)"), "exceeds 2^63-1 bytes"},
      {with_shape(sixty_five_dimensions), "more than 64 dimensions"},
      // The data does not fit the header.
      {with_shape("(1,)", ""), "truncated: shape (1) of float32 needs 4 bytes of data, 0 are there"},
      {with_shape("(1,)", "dat"), "needs 4 bytes of data, 3 are there"},
      {with_shape("(1,)", "data!"), "too long: shape (1) of float32 needs 4 bytes of data, 5"},
      {with_shape("(2,)"), "needs 8 bytes of data, 4 are there"},
      {with_shape("()", ""), "shape () of float32 needs 4 bytes"},
      {with_shape("(0,)"), "too long: shape (0) of float32 needs 0 bytes of data, 4 are there"},
      {with_shape("(5, 0, 7)"), "too long"},
      {with_shape("(1000000000000,)"), "needs 4000000000000 bytes of data, 4 are there"},
      {with_shape("(2305843009213693951,)"), "needs 9223372036854775804 bytes"},
  };
  return files;
}

Result<NpyHeader> parse(const std::string& bytes) {
  // On the heap with exactly the file's size, so that a sanitizer detects reads beyond it.
  const std::vector<char> head(bytes.begin(), bytes.begin() + std::min(bytes.size(), kMostNpyHeaderBytes));
  return parse_npy_header(std::as_bytes(std::span(head)), bytes.size());
}

TEST(MalformedNpy, ThereAreEnough) { EXPECT_GE(malformed_files().size(), 100u); }

TEST(MalformedNpy, SoundOnesAreRead) {
  for (const std::string& sound :
       {with_descr("[('a', '<f2'), ('b', '|V2')]"), with_descr("[(('title', 'a'), '>f4', ())]"),
        with_descr("[('a', '|i1', (2, 2)),]"), with_descr("[('a', [('b', '|i1'), ('', '|V1')], (2,))]"),
        with_descr("[('a', '|S1'), ('b', '<U0'), ('c', '|V3')]"), with_shape("(1,)"), with_shape("()"),
        with_shape("( 1 , )"), with_shape("(1,1)"), with_shape("(1L,)"), with_shape("(1, 1,)"), with_shape("(0,)", ""),
        with("{\"shape\":(1,),\"fortran_order\":True,\"descr\":\">i4\"}"), with_descr("'<u4'"),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "data", 2),
        npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "data", 3)}) {
    const auto header = parse(sound);
    EXPECT_TRUE(header) << sound << "\n" << header.error().message;
  }
}

TEST(MalformedNpy, IsRefusedWithTheReason) {
  for (const auto& [bytes, complaint] : malformed_files()) {
    const auto header = parse(bytes);
    ASSERT_FALSE(header) << complaint;
    EXPECT_NE(header.error().message.find(complaint), std::string::npos)
        << "wanted: " << complaint << "\ngot:    " << header.error().message;
    EXPECT_LT(header.error().message.size(), 400u);
    for (const char c : header.error().message) {
      ASSERT_TRUE(c >= ' ' && c <= '~') << "a control character in: " << header.error().message;
    }
  }
}

TEST(MalformedNpy, TheReaderAddsThePath) {
  ScratchFolder folder;
  for (const auto& [bytes, complaint] : malformed_files()) {
    const std::string path = write_file(folder / "bad.npy", bytes);
    const auto reader = open_tensor(path, {Original::kAsStored});
    ASSERT_FALSE(reader) << complaint;
    EXPECT_TRUE(reader.error().message.starts_with(path + ": ")) << reader.error().message;
    EXPECT_NE(reader.error().message.find(complaint), std::string::npos) << reader.error().message;
  }
}

TEST(MalformedNpy, EveryPrefixOfASoundFileIsRefused) {
  const std::string sound = with_shape("(1,)");
  for (std::size_t length = 0; length < sound.size(); ++length) {
    EXPECT_FALSE(parse(sound.substr(0, length))) << length;
  }
}

TEST(MalformedNpy, DamagedBytesNeverHarm) {
  constexpr std::uint32_t kSeed = 99;
  std::mt19937 random(kSeed);
  const std::vector<Malformed> files = malformed_files();
  const std::string sound = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", std::string(24, 'd'));
  int read = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string bytes = i % 2 == 0 ? sound : files[random() % files.size()].bytes.substr(0, 300);
    for (int changes = random() % 4; changes > 0 && !bytes.empty(); --changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random() % 3 ? "{}()',:<>|0123L \\"[random() % 17] : random());
    }
    const auto header = parse(bytes);
    if (!header) continue;
    ++read;
    // Accepted data is within the file and fills it.
    ASSERT_EQ(header->data_offset_bytes + header->data_bytes(), bytes.size()) << "seed " << kSeed << ", run " << i;
  }
  EXPECT_GT(read, 0);
}

}  // namespace malformed_npy_test
}  // namespace tensorstat
