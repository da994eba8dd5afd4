#include "stats/alerts/step_ring.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <utility>

#include "stats/files/io/folders.hpp"

namespace tensorstat {
namespace {

constexpr int kMostRingsOfARank = 8;
constexpr std::uint64_t kFirstSlotBytes = 16 * kRingPage;

std::uint64_t up_to_a_page(std::uint64_t bytes) { return (bytes + kRingPage - 1) / kRingPage * kRingPage; }

Error ring_fault(const std::string& path, int error) {
  return {Code::kUnwritable, path + ": " + std::strerror(error) + "; the last steps are not kept"};
}

// A store that a process that reads the file after our death must see in order.
void store(std::uint64_t& to, std::uint64_t value) { std::atomic_ref(to).store(value, std::memory_order_release); }

// Makes way for a new file. false: a living process writes this one.
bool make_way(const std::string& path, const std::string& old) {
  const int there = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (there < 0) return errno == ENOENT;
  const bool is_left = ::flock(there, LOCK_EX | LOCK_NB) == 0;
  const bool is_moved = is_left && std::rename(path.c_str(), old.c_str()) == 0;
  ::close(there);
  return is_moved;
}

}  // namespace

Result<std::unique_ptr<StepRing>> StepRing::open(StepRingOptions options) {
  if (const auto fault = make_folders(options.folder)) return ring_fault(fault->folder, fault->error);
  std::unique_ptr<StepRing> ring(new StepRing(std::move(options)));
  const std::string stem = ring->options_.folder + "/last_steps";
  for (int i = 1; i <= kMostRingsOfARank; ++i) {
    const std::string name = stem + (i == 1 ? "" : "_" + std::to_string(i));
    if (!make_way(name + ".ring", name + ".old.ring")) continue;
    const Status made = ring->replace(kFirstSlotBytes, name + ".ring", true);
    if (!made) return made.error();
    return ring;
  }
  return Error{Code::kUnwritable, stem +
                                      ".ring: other processes write this and its successors; the last steps are not "
                                      "kept. Give each process a rank or a path of its own"};
}

StepRing::~StepRing() {
  if (base_ != nullptr) ::munmap(base_, size_);
  if (file_ >= 0) ::close(file_);
}

// Makes a file with slots of this size, with the content of the present one, and puts it in its place.
Status StepRing::replace(std::uint64_t slot_bytes, const std::string& path, bool is_new) {
  const std::uint64_t slots_at = up_to_a_page(sizeof(RingHeader) + options_.about.size());
  const std::uint64_t size = slots_at + slot_bytes * options_.slot_count;
  if (size > options_.most_bytes) {
    return Error{Code::kUnwritable, path + ": " + std::to_string(options_.slot_count) + " steps of " +
                                        std::to_string(slot_bytes) + " bytes are more than the limit of " +
                                        std::to_string(options_.most_bytes) +
                                        " bytes; later rows of a step are not kept"};
  }
  const std::string made = path + ".new";
  const int file = ::open(made.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return ring_fault(made, errno);
  ::flock(file, LOCK_EX | LOCK_NB);
  const auto give_up = [&](int error) {
    ::close(file);
    ::unlink(made.c_str());
    return ring_fault(path, error);
  };
  // Without it the first store to a page would be a SIGBUS on a full disk.
  if (const int error = ::posix_fallocate(file, 0, static_cast<off_t>(size))) return give_up(error);
  void* const mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) return give_up(errno);
  auto* const base = static_cast<std::byte*>(mapped);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  RingHeader header{};
  std::memcpy(header.magic, kRingMagic, sizeof kRingMagic);
  header.version = 1;
  header.slot_count = options_.slot_count;
  header.slots_at = slots_at;
  header.slot_bytes = slot_bytes;
  header.rank = options_.rank;
  header.about_bytes = static_cast<std::uint32_t>(options_.about.size());
  header.process = static_cast<std::uint64_t>(::getpid());
  header.started_us =
      is_new ? static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count())
             : this->header().started_us;
  std::memcpy(base, &header, sizeof header);
  std::memcpy(base + sizeof header, options_.about.data(), options_.about.size());
  for (std::uint32_t i = 0; !is_new && i < options_.slot_count; ++i) {
    std::memcpy(base + slots_at + i * slot_bytes, base_ + slots_at + i * slot_bytes_, slot_bytes_);
  }
  if (std::rename(made.c_str(), path.c_str()) != 0) {
    const int error = errno;
    ::munmap(mapped, size);
    return give_up(error);
  }
  if (base_ != nullptr) ::munmap(base_, size_);
  if (file_ >= 0) ::close(file_);
  path_ = path;
  file_ = file;
  base_ = base;
  size_ = size;
  slot_bytes_ = slot_bytes;
  return {};
}

void StepRing::begin_step(std::uint64_t step) {
  if (number_ != 0 && slot().step == step) return store(slot().is_whole, 0);
  ++number_;
  SlotHeader& begun = slot();
  store(begun.number, 0);
  store(begun.bytes, 0);
  store(begun.step, step);
  store(begun.is_whole, 0);
  store(begun.lost_row_count, 0);
  store(begun.number, number_);
}

Status StepRing::append(std::string_view row) {
  const std::uint64_t wanted = sizeof(SlotHeader) + slot().bytes + row.size();
  if (wanted > slot_bytes_) {
    // A quarter more: few replacements in the first step, and little room that nobody needs.
    const Status grown = replace(up_to_a_page(std::max(wanted, slot_bytes_ + slot_bytes_ / 4)), path_, false);
    if (!grown) {
      store(slot().lost_row_count, slot().lost_row_count + 1);
      return grown;
    }
  }
  SlotHeader& now = slot();
  std::memcpy(reinterpret_cast<std::byte*>(&now + 1) + now.bytes, row.data(), row.size());
  store(now.bytes, now.bytes + row.size());
  return {};
}

void StepRing::end_step() {
  if (number_ != 0) store(slot().is_whole, 1);
}

void StepRing::close() { store(header().is_closed, 1); }

}  // namespace tensorstat
