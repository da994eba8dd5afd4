// A file that is mapped may be cut or written by another process at any moment: the row is right, or the file is
// reported as cut. No row is wrong, and no process dies.
#include "stats/data/files/io/mapped_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <tensorstat/meter.hpp>
#include <thread>
#include <vector>

#include "stats/data/survey/survey.hpp"
#include "tests/support/npy_files.hpp"
#include "tests/support/samples.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat {
namespace mapped_file_test {

constexpr std::size_t kPage = 4096;

// A file that is open and some minutes old.
class OpenFile {
 public:
  OpenFile(const ScratchFolder& folder, const std::string& content)
      : descriptor_(::open(test::write_file(folder / "file", content).c_str(), O_RDWR | O_CLOEXEC)) {
    const timespec old[2] = {{.tv_sec = 1'700'000'000, .tv_nsec = 0}, {.tv_sec = 1'700'000'000, .tv_nsec = 0}};
    EXPECT_EQ(::futimens(descriptor_, old), 0);
  }
  ~OpenFile() { ::close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  int descriptor() const { return descriptor_; }
  void cut(std::size_t bytes) const { EXPECT_EQ(::ftruncate(descriptor_, static_cast<off_t>(bytes)), 0); }
  void write(std::size_t offset, std::string_view bytes) const {
    EXPECT_EQ(::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset)), ssize_t(bytes.size()));
  }

 private:
  const int descriptor_;
};

std::string text_of(const MappedFile& file, std::size_t bytes) {
  return {reinterpret_cast<const char*>(file.data()), bytes};
}

class Mapped : public testing::Test {
 protected:
  Mapped() {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    std::mt19937 any(1);
    for (char& each : content_) each = static_cast<char>(any() | 1);
  }

  const ScratchFolder folder_;
  std::string content_ = std::string(10 * kPage + 77, '\0');
};

TEST_F(Mapped, IsNothingInAProcessThatDidNotAllowIt) {
  const OpenFile file(folder_, content_);
  EXPECT_EXIT(std::_Exit(MappedFile::map(file.descriptor(), 0, kPage) == nullptr ? 0 : 1), testing::ExitedWithCode(0),
              "");
}

TEST_F(Mapped, HasTheBytesOfTheFileFromAnyPlace) {
  MappedFile::allow();
  const OpenFile file(folder_, content_);
  for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, kPage - 1, kPage, 3 * kPage + 5}) {
    const auto mapped = MappedFile::map(file.descriptor(), offset, content_.size() - offset);
    ASSERT_NE(mapped, nullptr);
    EXPECT_EQ(text_of(*mapped, content_.size() - offset), content_.substr(offset));
    EXPECT_TRUE(mapped->is_whole());
    EXPECT_EQ(MappedFile::map(file.descriptor(), 0, 1), nullptr) << "while there is another one";
  }
  EXPECT_EQ(MappedFile::map(file.descriptor(), 1, content_.size()), nullptr) << "beyond the end";
}

TEST_F(Mapped, HasZerosWhereTheFileWasCutAndSaysSo) {
  MappedFile::allow();
  for (const std::size_t left : {content_.size() - 1, 10 * kPage, 10 * kPage - 1, 3 * kPage + 100, std::size_t{0}}) {
    const OpenFile file(folder_, content_);
    const auto mapped = MappedFile::map(file.descriptor(), 0, content_.size());
    ASSERT_NE(mapped, nullptr);
    file.cut(left);
    const std::string zeros(content_.size() - left, '\0');
    EXPECT_EQ(text_of(*mapped, content_.size()), content_.substr(0, left) + zeros) << left;
    EXPECT_FALSE(mapped->is_whole()) << left;
    file.cut(content_.size());
    EXPECT_FALSE(mapped->is_whole()) << left << ", and as long as before";
  }
}

TEST_F(Mapped, SaysThatTheFileWasWritten) {
  MappedFile::allow();
  const OpenFile file(folder_, content_);
  const auto mapped = MappedFile::map(file.descriptor(), 0, content_.size());
  ASSERT_NE(mapped, nullptr);
  file.write(kPage, "x");
  EXPECT_FALSE(mapped->is_whole());
}

TEST_F(Mapped, LeavesOtherFaultsAsTheyAre) {
  MappedFile::allow();
  const OpenFile file(folder_, content_);
  const auto touch = [&] {
    const auto mapped = MappedFile::map(file.descriptor(), 0, kPage);
    const void* other = ::mmap(nullptr, 2 * kPage, PROT_READ, MAP_SHARED, file.descriptor(), 0);
    file.cut(kPage);
    std::_Exit(static_cast<const volatile char*>(other)[kPage]);
  };
  EXPECT_EXIT(touch(), testing::KilledBySignal(SIGBUS), "");
}

// A large tensor that is measured as the command does it.
class MeasuredFile : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = std::size_t{24} << 20;  // `progressed` is called after 16 MiB

  struct Row {
    std::vector<Value> values;  // empty: not set
    std::string fault;
  };

  MeasuredFile() {
    MappedFile::allow();
    for (std::size_t offset = 0; offset < data_.size(); offset += 8) {
      const std::uint64_t bits = (random_() & 0xbfff'ffff'bfff'ffff) | 1;  // no NaN, no Inf, no zero
      std::memcpy(data_.data() + offset, &bits, 8);
    }
  }

  std::string npy_of(const std::string& descr, std::size_t element_bytes) const {
    return test::npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" +
                         std::to_string(kBytes / element_bytes) + ",), }",
                     data_);
  }

  Row measured(const std::function<void()>& while_it_reads = [] {}) {
    Row row;
    Survey::Listener listener;
    listener.measured = [&](SurveyedTensor&& entry) { row.values = entry.row.statistics.values; };
    listener.unreadable = [&](const Error& error) { row.fault = error.message; };
    listener.unmeasured = [&](const std::string&, const Error& error) { row.fault = "unmeasured: " + error.message; };
    listener.progressed = [&](const Survey::Progress&) { while_it_reads(); };
    Survey survey(meter_, request_, {.threads = 2}, std::move(listener));
    survey.add(folder_ / "file");
    survey.finish();
    return row;
  }

  const ScratchFolder folder_;
  std::mt19937_64 random_{20261126};
  std::string data_ = std::string(kBytes, '\0');
  Meter meter_{{.threads = 2}};
  Request request_{.categories = *categories_from("max,min,avg,l2norm,count,zero count,nan count"), .on = On::kHost};
};

TEST_F(MeasuredFile, IsCutAtAnyMomentWithoutAWrongRow) {
  const std::string content = npy_of("<f4", 4);
  const OpenFile file(folder_, content);
  const Row right = measured();
  ASSERT_EQ(right.fault, "");
  int rows = 0, reports = 0;
  for (int round = 0; round < (samples::full() ? 400 : 60); ++round) {
    const std::size_t least = content.size() - (round % 2 == 0 ? kBytes : 100);
    const std::size_t left = least + random_() % (content.size() - least);
    Row row;
    if (round % 4 < 2) {
      row = measured([&] { file.cut(left); });
    } else {
      std::thread other([&, wait = std::chrono::microseconds(random_() % 4000)] {
        std::this_thread::sleep_for(wait);
        file.cut(left);
      });
      row = measured();
      other.join();
    }
    file.write(left, std::string_view(content).substr(left));
    rows += row.fault.empty();
    reports += !row.fault.empty();
    if (row.fault.empty()) {
      EXPECT_EQ(row.values, right.values) << "round " << round << ", cut to " << left;
    } else if (row.fault.find("was cut short while being read") == row.fault.npos) {
      EXPECT_NE(row.fault.find("is truncated"), row.fault.npos) << "cut before it was opened: " << row.fault;
    }
  }
  std::printf("%d right rows, %d reports\n", rows, reports);
  EXPECT_GT(reports, 15);
}

// Under the sanitizers a fold that takes an address from a value which changes would be seen.
TEST_F(MeasuredFile, MayBeWrittenWhileItIsRead) {
  request_.categories = every_category();
  std::erase_if(request_.categories,
                [](Category each) { return is_of_bytes(each) || kind(each) == ValueKind::kIndex; });
  const std::pair<const char*, std::size_t> dtypes[] = {{"<f4", 4}, {"<f2", 2}, {"<f8", 8}, {"<i4", 4},  {"<i8", 8},
                                                        {"|i1", 1}, {"<u2", 2}, {"<c8", 8}, {"<c16", 16}};
  for (const auto& [descr, element_bytes] : dtypes) {
    const OpenFile file(folder_, npy_of(descr, element_bytes));
    std::atomic<bool> is_done{false};
    std::thread writer([&] {
      std::mt19937_64 random(1);
      std::string some(1 << 16, '\0');
      while (!is_done) {
        for (std::size_t offset = 0; offset < some.size(); offset += 8) {
          const std::uint64_t bits = random() & (std::uint64_t{0} - (random() % 4 != 0));  // zeros, too
          std::memcpy(some.data() + offset, &bits, 8);
        }
        for (int i = 0; i < 16; ++i) file.write(128 + random() % (kBytes - some.size()), some);
      }
    });
    for (int round = 0; round < (samples::full() ? 40 : 3); ++round) {
      const Row row = measured();
      EXPECT_EQ(row.fault, "") << descr;
      EXPECT_EQ(row.values.size(), request_.categories.size()) << descr;
    }
    is_done = true;
    writer.join();
  }
}

}  // namespace mapped_file_test
}  // namespace tensorstat
