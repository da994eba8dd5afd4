// A wrong .npz file is refused with a short, printable reason. The sizes that it claims allocate no memory. One
// unreadable member does not affect the others.
#include <gtest/gtest.h>

#include <random>

#include "stats/core/base/crc32.hpp"
#include "stats/data/files/tensor_source.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/zip_files.hpp"

namespace tensorstat {
namespace malformed_npz_test {

using test::deflated;
using test::little;
using test::write_file;
using test::zip_archive;
using test::zip_end;
using test::zip_end64;
using test::zip_entry;
using test::zip_parts;
using test::ZipEntry;

const std::string kNpy = test::npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "12345678");

// The entry x.npy with a field changed.
template <typename Change>
ZipEntry with(Change change, bool deflate = false) {
  ZipEntry entry = zip_entry("x.npy", kNpy, deflate);
  change(entry);
  return entry;
}

class MalformedNpz : public testing::Test {
 protected:
  // The error of the archive, or of its first member that is refused or cannot be read to its end; empty if all are
  // read. Every message must be short and printable.
  std::string complaint_of(const std::string& bytes) {
    std::string complaint = complaint_about(write_file(folder / "x.npz", bytes));
    EXPECT_LT(complaint.size(), 500u);
    for (const unsigned char c : complaint) EXPECT_TRUE(c >= ' ' && c != 0x7f) << complaint;
    return complaint;
  }

  ScratchFolder folder;

 private:
  static std::string complaint_about(const std::string& path) {
    auto source = open_tensors(path, {});
    if (!source) return source.error().message;
    while (auto tensor = (*source)->next()) {
      if (!*tensor) return tensor->error().message;
      std::vector<std::byte> piece(1 << 20);
      for (;;) {
        const auto got = (*tensor)->read(piece);
        if (!got) return got.error().message;
        if (*got == 0) break;
      }
    }
    return "";
  }
};

TEST_F(MalformedNpz, WhatIsRightIsRead) {
  EXPECT_EQ(complaint_of(zip_archive({})), "");
  EXPECT_EQ(complaint_of(zip_archive({zip_entry("x.npy", kNpy)})), "");
  EXPECT_EQ(complaint_of(zip_archive({zip_entry("x.npy", kNpy, true), zip_entry("y.npy", kNpy)}, "a comment")), "");
  EXPECT_EQ(complaint_of(zip_archive({zip_entry("x.npy", kNpy)}, std::string(65'535, 'c'))), "");
  EXPECT_EQ(complaint_of(zip_archive({zip_entry("folder/", ""), zip_entry("folder/x.npy", kNpy)})), "");
  EXPECT_EQ(complaint_of(zip_archive({with([](ZipEntry& e) { e.local_extra = std::string(20, '\1'); })})), "");
  const auto parts = zip_parts({zip_entry("x.npy", kNpy)});
  const std::uint64_t start = parts.members.size(), end = start + parts.directory.size();
  EXPECT_EQ(complaint_of(parts.members + parts.directory + zip_end64(1, parts.directory.size(), start, end) +
                         zip_end(0xffff, 0xffffffff, 0xffffffff)),
            "");
  const std::string wide = little(7, 2) + little(1, 2) + "e" + little(1, 2) + little(24, 2) + little(kNpy.size(), 8) +
                           little(kNpy.size(), 8) + little(0, 8);
  EXPECT_EQ(complaint_of(zip_archive({with([&](ZipEntry& e) {
              e.bytes = e.packed_bytes = e.offset = 0xffffffff;
              e.extra = wide;
            })})),
            "");
}

// A header that was just read is known, but not what is behind it.
TEST_F(MalformedNpz, IsRefusedBehindAMemberWithTheSameHeader) {
  const auto behind_a_good_one = [&](const std::string& npy) {
    return complaint_of(zip_archive({zip_entry("x.npy", kNpy), zip_entry("y.npy", npy)}));
  };
  EXPECT_EQ(behind_a_good_one(kNpy), "");
  EXPECT_NE(behind_a_good_one(kNpy.substr(0, kNpy.size() - 1)).find("::y: is truncated"), std::string::npos);
  EXPECT_NE(behind_a_good_one(kNpy + "9").find("::y: is too long"), std::string::npos);
  EXPECT_NE(behind_a_good_one(kNpy.substr(0, 100)).find("::y: truncated in its header"), std::string::npos);
  EXPECT_NE(complaint_of(zip_archive({zip_entry("x.npy", ""), zip_entry("y.npy", kNpy)})).find("::x: is no .npy file"),
            std::string::npos);
}

TEST_F(MalformedNpz, IsRefusedWithTheReason) {
  const std::string good = zip_archive({zip_entry("x.npy", kNpy)});
  const auto parts = zip_parts({zip_entry("x.npy", kNpy)});
  const std::uint64_t start = parts.members.size(), bytes = parts.directory.size(), end = start + bytes;
  const std::string body = parts.members + parts.directory;
  const auto wide = [&](const std::string& record) { return body + record + zip_end(0xffff, 0xffffffff, 0xffffffff); };
  const auto changed = [](auto change, bool deflate = false) { return zip_archive({with(change, deflate)}); };
  const std::string bomb = deflated(std::string(10'000'000, '\0'));
  const std::string huge_npy = test::npy("{'descr': '|u1', 'fortran_order': False, 'shape': (1000000000000,), }", "");

  const std::pair<std::string, const char*> cases[] = {
      // The archive.
      {"PK\3\4", "is too short for a zip archive"},
      {good.substr(0, good.size() - 1), "has no end of a zip archive"},
      {good.substr(0, start), "has no end of a zip archive"},
      {good + "x", "has no end of a zip archive"},
      {"PK\3\4" + std::string(100'000, 'x'), "has no end of a zip archive"},
      {body + zip_end(1, bytes, start + 1), "does not end at byte"},
      {body + zip_end(1, bytes - 1, start), "does not end at byte"},
      {body + zip_end(1, 0xffffffff, start), "does not end at byte"},
      {body + zip_end(1, bytes, 0xffffffff), "does not end at byte"},
      {"PK\3\4 prepended" + good, "does not end at byte"},
      {body + zip_end(2, bytes, start), "cannot hold 2 members"},
      {body + zip_end(0xffff, bytes, start), "cannot hold 65535 members"},
      {body + zip_end(0, bytes, start), "bytes in its directory that are no entry"},
      {body + "PK\5\6" + little(1, 2) + little(0, 2) + zip_end(1, bytes, start).substr(8), "archive of several files"},
      {body + "PK\5\6" + little(0, 4) + little(1, 2) + little(2, 2) + zip_end(1, bytes, start).substr(12),
       "archive of several files"},
      {wide(zip_end64(1, bytes, start, end + 1)), "ZIP64 record would begin at byte"},
      {wide(zip_end64(1, bytes, start, ~std::uint64_t{0})), "ZIP64 record would begin at byte"},
      {wide(zip_end64(1, bytes, start, 0)), "has no ZIP64 record where its locator says"},
      {wide(zip_end64(1, bytes, start, end, "PK\6\5")), "has no ZIP64 record where its locator says"},
      {wide(zip_end64(~std::uint64_t{0}, bytes, start, end)), "cannot hold 18446744073709551615 members"},
      {wide(zip_end64(1, ~std::uint64_t{0}, start, end)), "does not end at byte"},
      {wide(zip_end64(1, bytes, ~std::uint64_t{0}, end)), "does not end at byte"},
      // The directory.
      {parts.members + "PK\1\3" + parts.directory.substr(4) + zip_end(1, bytes, start),
       "damaged directory at its entry 1"},
      {parts.members + parts.directory.substr(0, 28) + little(0xffff, 2) + parts.directory.substr(30) +
           zip_end(1, bytes, start),
       "damaged directory at its entry 1"},
      {changed([](ZipEntry& e) { e.packed_bytes = 1'000'000; }), "does not fit before the directory"},
      {changed([](ZipEntry& e) { e.offset = 1'000'000; }), "does not fit before the directory"},
      {changed([](ZipEntry& e) { e.packed_bytes = 0xffffffff; }), "has no ZIP64 field, which it needs"},
      {changed([](ZipEntry& e) { e.bytes = 0xffffffff, e.extra = little(1, 2) + little(4, 2) + "1234"; }),
       "has a short ZIP64 field"},
      {changed([](ZipEntry& e) { e.bytes = 0xffffffff, e.extra = little(1, 2) + little(400, 2) + "12345678"; }),
       "has no ZIP64 field, which it needs"},
      {changed([](ZipEntry& e) {
         e.packed_bytes = 0xffffffff, e.extra = little(1, 2) + little(8, 2) + little(~std::uint64_t{0}, 8);
       }),
       "does not fit before the directory"},
      {zip_archive(
           {zip_entry("x.npy", kNpy), with([](ZipEntry& e) { e.name = e.local_name = "y.npy", e.offset = 0; })}),
       "overlaps the one before it"},
      {zip_archive({with([](ZipEntry& e) { e.packed_bytes += 1, e.bytes += 1; }), zip_entry("y.npy", kNpy)}),
       "overlaps the one before it"},
      // A member.
      {changed([](ZipEntry& e) { e.offset = 1, e.packed_bytes = e.bytes = 1; }),
       "1 bytes in front of its first member"},
      {changed([](ZipEntry& e) { e.local_name = "y.npy"; }), "contradicts the directory"},
      {changed([](ZipEntry& e) { e.flags = 1; }), "x.npz::x: is encrypted"},
      {changed([](ZipEntry& e) { e.method = 9; }), "x.npz::x: is packed by deflate64; read are stored"},
      {changed([](ZipEntry& e) { e.bytes = 1; }), "is stored, but its two sizes differ"},
      {changed([](ZipEntry& e) { e.name = e.local_name = "x.txt"; }), "x.npz::x.txt: is no .npy member"},
      {zip_archive({zip_entry("x.npy", kNpy), zip_entry("x.npy", kNpy)}), "x.npz::x: is in the archive more than once"},
      {zip_archive({zip_entry("x.npy", "")}), "x.npz::x: is no .npy file: it is empty"},
      {zip_archive({zip_entry("x.npy", kNpy.substr(0, kNpy.size() - 1))}), "x.npz::x: is truncated"},
      {zip_archive({zip_entry("x.npy", kNpy + "1")}), "x.npz::x: is too long"},
      {zip_archive({zip_entry("x.npy", huge_npy)}), "x.npz::x: is truncated"},
      {zip_archive({zip_entry("x.npy", "\x80\4 a pickle")}), "looks like a Python pickle"},
      {zip_archive({zip_entry(std::string("../../\0\x1b[31m.npy", 16), "")}), "x.npz::../../\\x00\\x1b[31m: "},
      {zip_archive({zip_entry("archive/data.pkl", "\x80\2"), zip_entry("archive/data/0", kNpy)}),
       "the pickle does not end"},
      // Deflated data.
      {changed([](ZipEntry& e) { e.packed = std::string(e.packed.size(), '\xff'); }, true),
       "no bytes that deflate packed"},
      {changed([](ZipEntry& e) { e.packed.pop_back(), e.packed_bytes -= 1; }, true), "is damaged: it"},
      {changed([](ZipEntry& e) { e.packed_bytes = 0, e.packed = "", e.bytes = 100; }, true),
       "x.npz::x: is damaged: it unpacks to 0"},
      {changed([](ZipEntry& e) { e.bytes -= 1; }, true), "does not end where the 135 bytes that are due do"},
      {changed([](ZipEntry& e) { e.packed = deflated(kNpy + "1"), e.packed_bytes = e.packed.size(); }, true),
       "does not end where the 136 bytes that are due do"},
      {changed([](ZipEntry& e) { e.crc ^= 1; }, true), "do not match its checksum"},
      {changed([](ZipEntry& e) { e.bytes = 0xfffffffe; }, true), "nothing deflated does"},
      {changed([&](ZipEntry& e) { e.packed = bomb, e.packed_bytes = bomb.size(); }, true), "is damaged"},
      {changed([&](ZipEntry& e) { e.packed = bomb, e.packed_bytes = bomb.size(), e.bytes = 10'000'000; }, true),
       "does not begin with \\x93NUMPY"},
  };
  static_assert(std::size(cases) >= 40);
  for (const auto& [archive, words] : cases) {
    const std::string complaint = complaint_of(archive);
    EXPECT_NE(complaint.find(words), std::string::npos) << "'" << words << "': " << complaint;
  }
}

TEST_F(MalformedNpz, AMemberThatCannotBeReadLeavesTheOthers) {
  auto source = open_tensors(
      write_file(folder / "x.npz", zip_archive({zip_entry("a.npy", "?"), zip_entry("b.npy", kNpy, true)})), {});
  ASSERT_TRUE(source);
  EXPECT_EQ((*source)->count(), 2u);
  EXPECT_FALSE(*(*source)->next());
  auto b = (*source)->next();
  ASSERT_TRUE(b && *b) << (*b).error().message;
  EXPECT_EQ((*b)->name(), "b");
  std::vector<std::byte> bytes(8);
  // Deflated bytes cannot be read backwards, but rewind() works any number of times.
  for (int i = 0; i < 3; ++i) {
    (*b)->rewind(TensorReader::Order::kC, TensorReader::View::kElements);
    ASSERT_TRUE((*b)->read(bytes));
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), 8), "12345678");
  }
  EXPECT_FALSE((*source)->next());
}

TEST_F(MalformedNpz, AStoredMemberIsHeldToItsChecksumWhereAllOfItIsRead) {
  const std::string npy =
      test::npy("{'descr': '|u1', 'fortran_order': False, 'shape': (300000,), }", std::string(300'000, 'x'));
  for (const bool is_wrong : {false, true}) {
    ZipEntry entry = zip_entry("x.npy", npy);
    entry.crc ^= is_wrong ? 0x80000000 : 0;
    auto reader = open_tensor(write_file(folder / "x.npz", zip_archive({entry})), {});
    ASSERT_TRUE(reader) << reader.error().message;
    std::vector<std::byte> piece(70'001);
    for (int round = 0; round < 2; ++round) {
      reader->rewind(TensorReader::Order::kAny, TensorReader::View::kElements);
      std::size_t bytes = 0;
      Result<std::size_t> got(std::size_t{0});
      while ((got = reader->read(piece)) && *got != 0) bytes += *got;
      EXPECT_EQ(bool(got), !is_wrong) << "round " << round;
      if (!got) {
        EXPECT_TRUE(got.error().message.ends_with("x.npz::x: is damaged: its bytes do not match its checksum"));
      } else {
        EXPECT_EQ(bytes, 300'000u);
      }
    }
  }
}

TEST_F(MalformedNpz, TheChecksumIsZlibs) {
  constexpr std::uint32_t kSeed = 20261122;
  std::mt19937 random(kSeed);
  std::vector<std::byte> bytes(70'000);
  for (std::byte& each : bytes) each = static_cast<std::byte>(random());
  for (std::size_t i = 0; i < 3'000; ++i) {
    const std::size_t first = random() % 64, count = i < 1'000 ? i : random() % 60'000;
    const auto some = std::span<const std::byte>(bytes).subspan(first, count);
    const auto before = static_cast<std::uint32_t>(random());
    ASSERT_EQ(crc32_of(before, some), ::crc32(before, reinterpret_cast<const Bytef*>(some.data()), count))
        << "seed " << kSeed << ", run " << i;
  }
}

TEST_F(MalformedNpz, FortranOrderThatIsDeflatedIsTurnedOnlyWhereItFits) {
  const std::string npy = test::npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "abcdef");
  const std::string path = write_file(folder / "x.npz", zip_archive({zip_entry("x.npy", npy, true)}));
  for (const std::size_t window_bytes : {std::size_t{6}, std::size_t{5}}) {
    auto reader = open_tensor(path, {Original::kAsStored, window_bytes});
    ASSERT_TRUE(reader) << reader.error().message;
    std::vector<std::byte> bytes(6);
    const auto text = [&] { return std::string(reinterpret_cast<const char*>(bytes.data()), 6); };
    reader->rewind(TensorReader::Order::kAny, TensorReader::View::kElements);
    ASSERT_TRUE(reader->read(bytes));
    EXPECT_EQ(text(), "abcdef");
    reader->rewind(TensorReader::Order::kC, TensorReader::View::kElements);
    const auto got = reader->read(bytes);
    ASSERT_EQ(bool(got), window_bytes == 6);
    if (got) {
      EXPECT_EQ(text(), "acebdf");
    } else {
      EXPECT_NE(got.error().message.find("save it with numpy.savez"), std::string::npos) << got.error().message;
    }
  }
}

}  // namespace malformed_npz_test
}  // namespace tensorstat
