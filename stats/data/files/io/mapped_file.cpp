#include "stats/data/files/io/mapped_file.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

namespace tensorstat {
namespace {

// The state that the signal handler reads. 0: nothing is mapped.
std::atomic<std::uintptr_t> mapped_begin{0}, mapped_end{0};
std::atomic<bool> is_allowed{false}, is_mapped{false}, has_torn{false};
std::uintptr_t page_bytes = 4096;

// Only atomics and system calls. A fault anywhere else ends the process, as without a handler.
void replace_by_zeros(int signal, siginfo_t* facts, void*) {
  const int before = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(facts->si_addr);
  const std::uintptr_t end = mapped_end, from = address - address % page_bytes;
  if (facts->si_code == BUS_ADRERR && address >= mapped_begin && address < end &&
      ::mmap(reinterpret_cast<void*>(from), end - from, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
          MAP_FAILED) {
    has_torn = true;
  } else {
    std::signal(signal, SIG_DFL);  // the instruction faults again
  }
  errno = before;
}

}  // namespace

void MappedFile::allow() {
  page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action = {};
  action.sa_sigaction = replace_by_zeros;
  action.sa_flags = SA_SIGINFO;
  sigset_t faults;
  sigemptyset(&faults);
  sigaddset(&faults, SIGBUS);
  is_allowed = ::sigaction(SIGBUS, &action, nullptr) == 0 && ::pthread_sigmask(SIG_UNBLOCK, &faults, nullptr) == 0;
}

std::unique_ptr<MappedFile> MappedFile::map(int descriptor, std::uint64_t offset_bytes, std::uint64_t bytes) {
  struct stat facts;
  if (!is_allowed || bytes == 0 || ::fstat(descriptor, &facts) != 0 ||
      offset_bytes + bytes > static_cast<std::uint64_t>(facts.st_size)) {
    return nullptr;
  }
  std::unique_ptr<MappedFile> file(new MappedFile(descriptor, offset_bytes, bytes, facts));
  return file->open() ? std::move(file) : nullptr;
}

bool MappedFile::open() {
  if (is_mapped.exchange(true)) return false;
  const std::uint64_t into_page = offset_bytes_ % page_bytes;
  mapping_bytes_ = bytes_ + into_page;
  mapping_ = ::mmap(nullptr, mapping_bytes_, PROT_READ, MAP_SHARED, descriptor_,
                    static_cast<off_t>(offset_bytes_ - into_page));
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    is_mapped = false;
    return false;
  }
  data_ = static_cast<const std::byte*>(mapping_) + into_page;
  has_torn = false;
  mapped_end = reinterpret_cast<std::uintptr_t>(data_ + bytes_ - 1) / page_bytes * page_bytes + page_bytes;
  mapped_begin = reinterpret_cast<std::uintptr_t>(mapping_);
  return true;
}

MappedFile::~MappedFile() {
  if (mapping_ == nullptr) return;
  mapped_begin = mapped_end = 0;
  ::munmap(mapping_, mapping_bytes_);
  is_mapped = false;
}

bool MappedFile::is_cached(std::uint64_t first_byte, std::uint64_t bytes) const {
  // cachestat(2), from Linux 6.5 on. On an older kernel the file is read in small pieces, where a mapping gains
  // nothing.
  constexpr long kCachestat = 451;
  const struct { std::uint64_t offset, length; } range{offset_bytes_ + first_byte, bytes};
  struct {
    std::uint64_t cached, dirty, in_writeback, evicted, recently_evicted;
  } pages = {};
  if (::syscall(kCachestat, descriptor_, &range, &pages, 0) != 0) return false;
  const std::uint64_t first_page = range.offset / page_bytes, end_page = (range.offset + bytes - 1) / page_bytes + 1;
  return pages.cached >= end_page - first_page;
}

void MappedFile::give_back(std::uint64_t first_byte, std::uint64_t bytes) const {
  // Whole pages: their ends may belong to what others still read.
  const auto begin = reinterpret_cast<std::uintptr_t>(data_ + first_byte), end = begin + bytes;
  const std::uintptr_t first = (begin + page_bytes - 1) / page_bytes * page_bytes, last = end / page_bytes * page_bytes;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

bool MappedFile::is_whole() const {
  struct stat now;
  return !has_torn && ::fstat(descriptor_, &now) == 0 && now.st_size == facts_.st_size &&
         now.st_mtim.tv_sec == facts_.st_mtim.tv_sec && now.st_mtim.tv_nsec == facts_.st_mtim.tv_nsec;
}

}  // namespace tensorstat
