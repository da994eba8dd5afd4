// Any contents of the kernel cache's folder are harmless: an entry is used only if it is complete and was written under
// its own key.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <tensorstat/meter.hpp>
#include <vector>

#include "kernels-cl/program/binary_cache.hpp"
#include "stats/core/base/unfinished_files.hpp"
#include "tests/support/file_calls.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat::cl_engine {
namespace kernel_cache_test {

namespace fs = std::filesystem;

class KernelCache : public testing::Test {
 protected:
  KernelCache() { setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1); }
  ~KernelCache() override { unsetenv("XDG_CACHE_HOME"); }

  std::string path(const std::string& key) const { return folder_ / ("tensorstat/" + entry_name(key)); }
  std::string stored(const std::string& key, std::size_t bytes) {
    Binary binary(bytes);
    std::iota(binary.begin(), binary.end(), static_cast<unsigned char>(key.size()));
    store_binary(key, binary);
    EXPECT_EQ(load_binary(key), binary) << key;
    return key;
  }

  const ScratchFolder folder_;
};

// Two keys may have the same name. Their entries take each other's place.
TEST_F(KernelCache, AKeyOfTheSameNameIsAnotherKey) {
  const std::string first = stored("first", 50), second = stored("second", 50);
  fs::rename(path(first), path(second));
  EXPECT_TRUE(load_binary(second).empty());
  store_binary(second, Binary(60));
  EXPECT_EQ(load_binary(second), Binary(60));
}

TEST_F(KernelCache, GivesBackWhatWasStored) {
  for (const std::size_t bytes : {1, 2, 80, 112, 113, 4096, 100'000}) stored(std::to_string(bytes), bytes);
  EXPECT_TRUE(load_binary("nobody has stored this").empty());
  EXPECT_TRUE(load_binary("").empty());
  store_binary("", Binary(3));
  EXPECT_TRUE(load_binary("").empty());
  stored("../outside" + std::string(100'000, '\0') + "x", 3);  // a key is a text of any kind
  EXPECT_FALSE(fs::exists(folder_ / "outside"));
}

TEST_F(KernelCache, WhatAKilledProcessLeftIsRemovedByTheNext) {
  stored("kernel", 50);
  const auto left = [&] { return std::distance(fs::directory_iterator(folder_ / "tensorstat"), {}); };
  for (int i = 0; i < 2; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      judge_file_call = [](FileCall call) { return Verdict{.die_before = call == FileCall::kRename}; };
      store_binary("another kernel", Binary(50));
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(left(), 2) << "the entry, and what this one left";
  }
  stored("kernel", 50);
  EXPECT_EQ(left(), 1);
}

// A cleanup runs just before the nth file call of a store. Only before the first call, which locks the file, does the
// file look abandoned; then there is no entry.
TEST_F(KernelCache, WhatALivingProcessWritesStays) {
  static std::string folder;
  static int calls_until_cleaning;
  const std::string key = stored("kernel", 50);
  folder = folder_ / "tensorstat";
  for (int nth = 1; nth <= 6; ++nth) {
    fs::remove(path(key));
    calls_until_cleaning = nth;
    judge_file_call = [](FileCall) {
      if (--calls_until_cleaning == 0) remove_unfinished_files(folder);
      return Verdict{};
    };
    store_binary(key, Binary(50));
    judge_file_call = nullptr;
    EXPECT_EQ(load_binary(key).empty(), nth == 1) << nth;
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), nth == 1 ? 0 : 1) << nth;
  }
}

TEST_F(KernelCache, AnEntryCopiedOverAnotherIsNotUsed) {
  std::vector<std::string> keys, entries;
  for (std::size_t i = 0; i < 8; ++i) {
    keys.push_back(stored("kernel " + std::to_string(i), 1000 + i / 2));  // each two keys have the same length
    entries.push_back(content_of(path(keys.back())));
  }
  for (std::size_t from = 0; from < keys.size(); ++from) {
    for (std::size_t to = 0; to < keys.size(); ++to) {
      test::write_file(path(keys[to]), entries[from]);
      EXPECT_EQ(load_binary(keys[to]).empty(), from != to) << from << " over " << to;
      test::write_file(path(keys[to]), entries[to]);
    }
  }
}

TEST_F(KernelCache, ADamagedEntryIsNotUsed) {
  const std::string key = stored("kernel", 50), entry = content_of(path(key));
  for (std::size_t offset = 0; offset < entry.size(); ++offset) {
    std::string damaged = entry;
    damaged[offset] = static_cast<char>(damaged[offset] ^ 1);
    test::write_file(path(key), damaged);
    EXPECT_TRUE(load_binary(key).empty()) << "byte " << offset;
    test::write_file(path(key), entry.substr(0, offset));
    EXPECT_TRUE(load_binary(key).empty()) << "cut at " << offset;
  }
  test::write_file(path(key), entry + '\0');
  EXPECT_TRUE(load_binary(key).empty());
  test::write_file(path(key), entry);
  EXPECT_FALSE(load_binary(key).empty());
}

// Opening the first of these would block for ever.
TEST_F(KernelCache, WhatIsNoFileOfThisUserIsNotRead) {
  const std::string key = stored("kernel", 50), entry = content_of(path(key));
  fs::remove(path(key));
  ASSERT_EQ(mkfifo(path(key).c_str(), 0600), 0);
  EXPECT_TRUE(load_binary(key).empty());
  fs::remove(path(key));
  fs::create_directory(path(key));
  EXPECT_TRUE(load_binary(key).empty());
  store_binary(key, Binary(3));  // fails to replace it, and leaves nothing behind
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "tensorstat"), {}), 1);
  fs::remove(path(key));
  for (const char* target : {"/dev/zero", "/dev/null", "nowhere"}) {
    fs::create_symlink(target, path(key));
    EXPECT_TRUE(load_binary(key).empty()) << target;
    fs::remove(path(key));
  }
  test::write_file(folder_ / "elsewhere", entry);
  fs::create_symlink(folder_ / "elsewhere", path(key));
  EXPECT_TRUE(load_binary(key).empty());
  fs::remove(path(key));

  test::write_file(path(key), entry);
  // a sparse file: takes no disk, but reading it would take all memory
  fs::resize_file(path(key), std::uint64_t{1} << 40);
  EXPECT_TRUE(load_binary(key).empty());
  fs::remove(path(key));
  test::write_file(path(key), entry);
  chmod(path(key).c_str(), 0666);
  EXPECT_TRUE(load_binary(key).empty());
  chmod(path(key).c_str(), 0600);
  EXPECT_FALSE(load_binary(key).empty());
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(chown(path(key).c_str(), 65534, 0), 0);
  EXPECT_TRUE(load_binary(key).empty());
}

// With the kernel of another dtype a driver would write out of bounds. Each kernel is built again instead.
TEST_F(KernelCache, KernelsInEachOthersPlacesGiveTheSameRows) {
  const std::vector<double> memory(10'000, 1.5);
  const auto measured = [&](Dtype dtype) {
    const Tensor tensor{
        .dtype = dtype, .element_count = memory.size() * 8 / size_bytes(dtype), .address = memory.data()};
    Meter meter;
    const auto rows = meter.measure({&tensor, 1}, {.categories = *categories_from("max,avg,count"), .on = On::kDevice});
    if (!rows) return rows.error().message;
    std::string words;
    for (const Value& value : rows->front().statistics.values) words += to_string(value) + " ";
    return words;
  };
  const std::vector<Dtype> dtypes = {Dtype::kInt8, Dtype::kFloat32, Dtype::kFloat64};
  std::vector<std::string> rows, names, entries;
  for (const Dtype dtype : dtypes) {
    rows.push_back(measured(dtype));
    for (const auto& each : fs::directory_iterator(folder_ / "tensorstat")) {
      if (std::ranges::find(names, each.path().string()) == names.end()) names.push_back(each.path().string());
    }
    ASSERT_EQ(names.size(), rows.size());
    entries.push_back(content_of(names.back()));
  }
  for (std::size_t from = 0; from < dtypes.size(); ++from) {
    for (std::size_t to = 0; to < dtypes.size(); ++to) {
      test::write_file(names[to], entries[from]);
      EXPECT_EQ(measured(dtypes[to]), rows[to]) << from << " over " << to;
      EXPECT_EQ(content_of(names[to]) == entries[from], from == to) << "it was not stored again";
    }
  }
}

}  // namespace kernel_cache_test
}  // namespace tensorstat::cl_engine
