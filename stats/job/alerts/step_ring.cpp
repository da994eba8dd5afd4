#include "stats/job/alerts/step_ring.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "stats/core/base/unfinished_files.hpp"
#include "stats/data/files/io/folders.hpp"

namespace tensorstat {
namespace {

constexpr std::uint64_t kFirstSlotBytes = 16 * kRingPage, kMostCopied = std::uint64_t{1} << 20;

std::uint64_t up_to_a_page(std::uint64_t bytes) { return (bytes + kRingPage - 1) / kRingPage * kRingPage; }

template <typename Value>
std::string_view bytes_of_value(const Value& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

Result<std::unique_ptr<StepRing>> StepRing::open(StepRingOptions options) {
  std::unique_ptr<StepRing> ring(new StepRing(std::move(options)));
  const StepRingOptions& wanted = ring->options_;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  RingHeader& header = ring->header_;
  std::memcpy(header.magic, kRingMagic, sizeof kRingMagic);
  header.version = 1;
  header.slot_count = wanted.slot_count;
  header.slots_at = up_to_a_page(sizeof header + wanted.about.size());
  header.slot_bytes = kFirstSlotBytes;
  header.rank = wanted.rank;
  header.about_bytes = static_cast<std::uint32_t>(wanted.about.size());
  header.process = static_cast<std::uint64_t>(::getpid());
  header.started_us = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  auto file = ring->new_file(header);
  if (!file) return file.error();
  if (Status claimed = file->claim(); !claimed) return claimed.error();
  ring->file_ = *std::move(file);
  return ring;
}

// A file with this header and empty slots, which has no name yet.
Result<RingFile> StepRing::new_file(RingHeader& header) const {
  const std::uint64_t size = header.slots_at + header.slot_bytes * options_.slot_count;
  if (size > options_.most_bytes) {
    return Error{Code::kOverBudget, options_.folder + "/last_steps.ring: " + std::to_string(options_.slot_count) +
                                        " steps of " + std::to_string(header.slot_bytes) +
                                        " bytes are more than the limit of " + std::to_string(options_.most_bytes) +
                                        " bytes; later rows of a step are not kept"};
  }
  if (const auto fault = make_folders(options_.folder)) {
    return Error{Code::kUnwritable,
                 fault->folder + ": " + std::strerror(fault->error) + "; the last steps are not kept"};
  }
  remove_unfinished_files(options_.folder);
  auto file = RingFile::create(options_.folder, size);
  if (!file) return file.error();
  Status written = file->write(0, bytes_of_value(header));
  if (written) written = file->write(sizeof header, options_.about);
  if (!written) return written.error();
  return file;
}

Status StepRing::write_slot() {
  // `number` is in the slot only while the rest of it is right.
  const std::uint64_t number = std::exchange(slot_.number, 0);
  Status written = file_.write(slot_at(), bytes_of_value(slot_));
  slot_.number = number;
  return written ? file_.write(slot_at() + offsetof(SlotHeader, number), bytes_of_value(slot_.number)) : written;
}

// Puts a file with longer slots in the place of the present one.
Status StepRing::grow(std::uint64_t slot_bytes) {
  RingHeader header = header_;
  header.slot_bytes = slot_bytes;
  auto grown = new_file(header);
  if (!grown) return grown.error();
  std::vector<char> piece(std::min(kMostCopied, header_.slot_bytes));
  for (std::uint32_t i = 0; i < options_.slot_count; ++i) {
    const std::uint64_t from = header_.slots_at + i * header_.slot_bytes, to = header.slots_at + i * header.slot_bytes;
    for (std::uint64_t offset = 0; offset < header_.slot_bytes; offset += piece.size()) {
      const auto bytes = std::span(piece).first(std::min<std::uint64_t>(piece.size(), header_.slot_bytes - offset));
      Status copied = file_.read(from + offset, std::as_writable_bytes(bytes));
      if (copied) copied = grown->write(to + offset, {bytes.data(), bytes.size()});
      if (!copied) return copied;
    }
  }
  if (Status named = grown->take_name_of(file_); !named) return named;
  file_ = *std::move(grown);
  header_ = header;
  return {};
}

// Begins a file without the steps so far. The rows of the step that runs are counted as lost.
Status StepRing::begin_anew(const Error& why) {
  file_ = RingFile();  // else the name of the old file would be a living process's
  auto made = new_file(header_);
  Status named = made ? made->claim() : Status(made.error());
  if (named) {
    file_ = *std::move(made);
    slot_.lost_row_count += std::exchange(row_count_, 0);
    slot_.bytes = 0;
    if (number_ != 0) named = write_slot();
  }
  return Error{why.code, why.message + (named ? "; the steps before are lost, and " + file_.path() + " begins anew"
                                              : "; " + named.error().message)};
}

Status StepRing::check() {
  if (!file_.is_open()) return Error{Code::kUnwritable, options_.folder + "/last_steps.ring: is lost"};
  return file_.check();
}

// Whether the file begins as it was written.
Status StepRing::check_beginning() {
  if (Status there = check(); !there) return there;
  RingHeader header{};
  Status read = file_.read(0, std::as_writable_bytes(std::span(&header, 1)));
  if (!read || std::memcmp(&header, &header_, sizeof header) == 0) return read;
  return Error{Code::kUnreadable, file_.path() + ": somebody has written to it"};
}

Status StepRing::begin_step(std::uint64_t step) {
  const bool goes_on = number_ != 0 && slot_.step == step;
  if (goes_on) {
    slot_.is_whole = 0;
  } else {
    slot_ = {.number = ++number_, .step = step, .bytes = 0, .is_whole = 0, .lost_row_count = 0, .spare = {}};
    row_count_ = 0;
  }
  if (Status there = check_beginning(); !there) return begin_anew(there.error());
  file_.look_at_limit();
  return write_slot();
}

Status StepRing::append(std::string_view rows, std::uint64_t row_count) {
  Status appended = check();
  if (!appended && file_.is_open()) {
    const Error why = begin_anew(appended.error()).error();
    if (file_.is_open()) appended = append_checked(rows, row_count);
    if (appended) return why;
  } else if (appended) {
    appended = append_checked(rows, row_count);
  }
  if (appended) return appended;
  slot_.lost_row_count += row_count;
  if (file_.is_open()) {
    [[maybe_unused]] const Status counted =
        file_.write(slot_at() + offsetof(SlotHeader, lost_row_count), bytes_of_value(slot_.lost_row_count));
  }
  return appended;
}

Status StepRing::append_checked(std::string_view rows, std::uint64_t row_count) {
  const std::uint64_t wanted = sizeof(SlotHeader) + slot_.bytes + rows.size();
  if (wanted > header_.slot_bytes) {
    // A quarter more: few replacements in the first step, and little room that nobody needs.
    const std::uint64_t slot_bytes = up_to_a_page(std::max(wanted, header_.slot_bytes + header_.slot_bytes / 4));
    if (Status grown = grow(slot_bytes); !grown) return grown;
  }
  if (Status written = file_.write(slot_at() + sizeof(SlotHeader) + slot_.bytes, rows); !written) return written;
  slot_.bytes += rows.size();
  row_count_ += row_count;
  return file_.write(slot_at() + offsetof(SlotHeader, bytes), bytes_of_value(slot_.bytes));
}

Status StepRing::end_step() {
  if (number_ == 0) return {};
  slot_.is_whole = 1;
  if (Status there = check(); !there) return file_.is_open() ? begin_anew(there.error()) : there;
  return file_.write(slot_at() + offsetof(SlotHeader, is_whole), bytes_of_value(slot_.is_whole));
}

void StepRing::close() {
  header_.is_closed = 1;
  if (!check()) return;
  [[maybe_unused]] const Status status =
      file_.write(offsetof(RingHeader, is_closed), bytes_of_value(header_.is_closed));
}

Result<std::string> StepRing::content() {
  if (Status there = check(); !there) return there.error();
  std::string bytes(file_.bytes(), '\0');
  if (Status read = file_.read(0, std::as_writable_bytes(std::span(bytes))); !read) return read.error();
  return bytes;
}

}  // namespace tensorstat
