// Any file call may fail. An .npy file is then written whole, or the old one stays. A read returns the file's contents,
// or an error with the reason.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <set>

#include "stats/data/files/npy/npy_writer.hpp"
#include "stats/data/files/tensor_source.hpp"
#include "tests/support/file_faults.hpp"
#include "tests/support/npy_files.hpp"

namespace tensorstat {
namespace npy_file_faults_test {

using test::FileFault;

FileFault fault;
int calls = 0;
std::string watched;      // a path
std::string found_there;  // its contents when the first call failed

Verdict judge(FileCall call) {
  if (call != fault.call) return {};
  ++calls;
  if (calls == fault.first) {
    judge_file_call = nullptr;  // do not judge this read: it is the test's own
    found_there = content_of(watched);
    judge_file_call = judge;
  }
  return calls >= fault.first && calls <= fault.last ? fault.verdict : Verdict{};
}

// Runs `work` with the fault. Returns whether the fault occurred.
template <typename Work>
bool did_with(const FileFault& wanted, Work work) {
  fault = wanted;
  calls = 0;
  judge_file_call = judge;
  work();
  judge_file_call = nullptr;
  return calls >= wanted.first;
}

// Runs `check` for each file call that can fail, in each way. Returns how many there were.
template <typename Check>
int with_every_fault(Check check) {
  int injected = 0;
  for (int nth = 1, before = -1; injected != before; ++nth) {
    before = injected;
    for (const FileFault& wanted : test::faults_at(nth)) {
      SCOPED_TRACE(wanted.words());
      injected += check(wanted);
    }
    if (nth > 1000) {
      ADD_FAILURE() << "there is no end to its file calls";
      break;
    }
  }
  return injected;
}

void expect_said(const Error& error, const std::string& path, int number) {
  EXPECT_NE(error.message.find(path), std::string::npos) << error.message;
  EXPECT_NE(error.message.find(std::strerror(number)), std::string::npos) << error.message;
}

void check_writer(bool had_one, bool synced, const NpyContent& content, const std::string& expected) {
  const int injected = with_every_fault([&](const FileFault& wanted) {
    ScratchFolder folder;
    const std::string path = watched = folder / "x.npy";
    if (had_one) test::write_file(path, "old");
    Status status;
    const bool came = did_with(wanted, [&] { status = write_npy(path, content, synced); });
    if (!status) {
      expect_said(status.error(), path, wanted.verdict.error);
      EXPECT_EQ(status.error().code, Code::kUnwritable);
      EXPECT_EQ(std::filesystem::exists(path), had_one);
      EXPECT_EQ(content_of(path), had_one ? "old" : "");
    } else {
      EXPECT_EQ(content_of(path), expected);
    }
    const auto left = std::distance(std::filesystem::directory_iterator(folder.path()), {});
    EXPECT_EQ(left, status || had_one ? 1 : 0);
    // The first close is that of the written file, before it gets its name, because some disks report only then that
    // they are full. The second close, of the complete and named file, only releases the lock.
    const bool is_of_the_lock = wanted.call == FileCall::kClose && wanted.first == 2 && found_there == expected;
    EXPECT_TRUE(!came || !status || is_of_the_lock) << "it failed, and nobody was told";
    return came;
  });
  EXPECT_GE(injected, 30);
  std::cout << injected << " faults injected\n";
}

TEST(NpyFileFaults, WritingLeavesTheOldFileOrTheNewOne) {
  const std::string values(300'000, 'v');
  const NpyContent content{.descr = "<f4", .shape = {75'000}, .bytes = std::as_bytes(std::span(values))};
  for (const bool had_one : {false, true}) {
    check_writer(had_one, had_one, content, npy_header("<f4", {75'000}) + values);
  }
}

TEST(NpyFileFaults, AndSoDoesWritingInPieces) {
  const std::string ones(50'000, '\x11');
  const NpyContent content{
      .descr = "|i1", .shape = {100'000}, .widening = Widening::kInt4, .bytes = std::as_bytes(std::span(ones))};
  check_writer(true, true, content, npy_header("|i1", {100'000}) + std::string(100'000, '\1'));
}

TEST(NpyFileFaults, InterruptedOrHalfDoneWritesAreDoneAgain) {
  const std::string values(999, 'v');
  const NpyContent content{.descr = "|u1", .shape = {999}, .bytes = std::as_bytes(std::span(values))};
  for (const Verdict& verdict : {Verdict{.error = EINTR}, Verdict{.most_bytes = 1}}) {
    ScratchFolder folder;
    Status status;
    const int last = verdict.error != 0 ? 3 : test::kForEver;
    EXPECT_TRUE(did_with({FileCall::kWrite, 1, last, verdict}, [&] { status = write_npy(folder / "x.npy", content); }));
    EXPECT_TRUE(status);
    EXPECT_EQ(content_of(folder / "x.npy"), npy_header("|u1", {999}) + values);
  }
}

// The elements of a file in C order, or the error.
Result<std::string> elements_of(const std::string& path, Original original) {
  constexpr std::size_t kWindowBytes = 64;
  auto reader = open_tensor(path, {original, kWindowBytes});
  if (!reader) return reader.error();
  reader->rewind(TensorReader::Order::kC, TensorReader::View::kElements);
  std::string all;
  std::byte piece[48];
  while (true) {
    const auto got = reader->read(piece);
    if (!got) return got.error();
    if (*got == 0) return all;
    all.append(reinterpret_cast<const char*>(piece), *got);
  }
}

struct Readable {
  const char* dictionary;
  Original original;
};
constexpr Readable kReadable[] = {
    {"{'descr': '<i2', 'fortran_order': False, 'shape': (6, 20000), }", Original::kAsStored},
    {"{'descr': '>i2', 'fortran_order': True, 'shape': (6, 20000), }", Original::kAsStored},
    {"{'descr': '|i1', 'fortran_order': False, 'shape': (12, 20000), }", Original::kInt4}};

// More than the read-ahead.
std::string counted() {
  std::string bytes;
  for (int i = 0; i < 240'000; ++i) bytes += static_cast<char>(i % 16 - 8);
  return bytes;
}

TEST(NpyFileFaults, WhatIsReadIsRightOrAnError) {
  ScratchFolder folder;
  int injected = 0;
  for (const Readable& readable : kReadable) {
    SCOPED_TRACE(readable.dictionary);
    const Original original = readable.original;
    const std::string path = test::write_file(folder / "x.npy", test::npy(readable.dictionary, counted()));
    const auto right = elements_of(path, original);
    ASSERT_TRUE(right) << right.error().message;
    injected += with_every_fault([&](const FileFault& wanted) {
      std::optional<Result<std::string>> got;
      const bool came = did_with(wanted, [&] { got = elements_of(path, original); });
      if (*got) {
        EXPECT_EQ(**got, *right);
        EXPECT_TRUE(!came || wanted.call == FileCall::kClose) << "it failed, and nobody was told";
      } else {
        EXPECT_EQ(got->error().code, Code::kUnreadable);
        expect_said(got->error(), path, wanted.verdict.error);
      }
      return came;
    });
  }
  EXPECT_GE(injected, 100);
  std::cout << injected << " faults injected\n";
}

TEST(NpyFileFaults, ShortReadsAreReadOnAndAShorterFileIsSaid) {
  ScratchFolder folder;
  for (const Readable& readable : kReadable) {
    SCOPED_TRACE(readable.dictionary);
    const Original original = readable.original;
    const std::string path = test::write_file(folder / "x.npy", test::npy(readable.dictionary, counted()));
    const auto right = elements_of(path, original);
    ASSERT_TRUE(right);
    for (const Verdict& verdict : {Verdict{.error = EINTR}, Verdict{.most_bytes = 1}}) {
      const int last = verdict.error != 0 ? 3 : test::kForEver;
      std::optional<Result<std::string>> got;
      EXPECT_TRUE(did_with({FileCall::kRead, 1, last, verdict}, [&] { got = elements_of(path, original); }));
      ASSERT_TRUE(*got) << got->error().message;
      EXPECT_EQ(**got, *right);
    }
    for (int nth = 1;; ++nth) {
      std::optional<Result<std::string>> got;
      if (!did_with({FileCall::kRead, nth, nth, {.most_bytes = 0}}, [&] { got = elements_of(path, original); })) {
        break;
      }
      ASSERT_FALSE(*got) << nth;
      EXPECT_NE(got->error().message.find("was cut short while being read"), std::string::npos) << got->error().message;
    }
  }
}

}  // namespace npy_file_faults_test
}  // namespace tensorstat
