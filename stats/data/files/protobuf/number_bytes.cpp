#include "stats/data/files/protobuf/number_bytes.hpp"

#include <cstring>
#include <optional>
#include <utility>

#include "stats/data/files/io/random_file.hpp"
#include "stats/data/files/protobuf/wire_format.hpp"

namespace tensorstat {
namespace {

template <typename Word>
void put(std::uint64_t number, std::byte* out) {
  const auto word = static_cast<Word>(number);
  std::memcpy(out, &word, sizeof word);
}

class NumberBytes : public ByteSource {
 public:
  NumberBytes(std::shared_ptr<const RandomFile> file, std::vector<ByteRange> ranges, std::uint64_t count,
              unsigned number_bytes, std::string label)
      : file_(std::move(file)),
        ranges_(std::move(ranges)),
        count_(count),
        number_bytes_(number_bytes),
        label_(std::move(label)),
        window_(*file_) {}
  const std::string& path() const override { return file_->path(); }
  std::uint64_t modified_us() const override { return file_->modified_us(); }
  bool seeks() const override { return false; }

  // The library asks for whole elements. Those of packed dtypes may be asked for again from a few bytes before.
  Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) override {
    const std::uint64_t first = offset_bytes / number_bytes_;
    if (first < next_ || has_failed_) {
      next_ = 0;
      range_ = 0;
      reader_.reset();
    }
    has_failed_ = true;  // after an error the reader's position is behind the unread fields
    while (next_ < first) {
      if (const auto passed = next(); !passed) return passed.error();
    }
    for (std::size_t offset = 0; offset < out.size(); offset += number_bytes_) {
      const auto number = next();
      if (!number) return number.error();
      switch (number_bytes_) {
        case 1:
          put<std::uint8_t>(*number, &out[offset]);
          break;
        case 2:
          put<std::uint16_t>(*number, &out[offset]);
          break;
        case 4:
          put<std::uint32_t>(*number, &out[offset]);
          break;
        default:
          put<std::uint64_t>(*number, &out[offset]);
      }
    }
    has_failed_ = false;
    return {};
  }

 private:
  // The next number of the ranges; nullopt after the last.
  Result<std::optional<std::uint64_t>> next_of_ranges() {
    while (true) {
      if (reader_) {
        auto number = reader_->next_number();
        if (!number || *number) return number;
      }
      if (range_ == ranges_.size()) return std::optional<std::uint64_t>();
      reader_.emplace(window_, ranges_[range_++]);
    }
  }

  Result<std::uint64_t> next() {
    const auto wrong = [&](const std::string& has) {
      return Error{Code::kUnreadable,
                   label_ + ": has " + has + " numbers, and its shape needs " + std::to_string(count_)};
    };
    const auto number = next_of_ranges();
    if (!number) return number.error();
    if (!*number) return wrong(std::to_string(next_));
    if (++next_ == count_) {
      const auto more = next_of_ranges();
      if (!more) return more.error();
      if (*more) return wrong("more");
    }
    return **number;
  }

  const std::shared_ptr<const RandomFile> file_;
  const std::vector<ByteRange> ranges_;
  const std::uint64_t count_;
  const unsigned number_bytes_;
  const std::string label_;
  WindowedFile window_;
  std::optional<WireReader> reader_;
  std::size_t range_ = 0;   // the next of ranges_
  std::uint64_t next_ = 0;  // the number of the next element
  bool has_failed_ = false;
};

}  // namespace

std::unique_ptr<ByteSource> number_bytes(std::shared_ptr<const RandomFile> file, std::vector<ByteRange> ranges,
                                         std::uint64_t count, unsigned number_bytes, std::string label) {
  return std::make_unique<NumberBytes>(std::move(file), std::move(ranges), count, number_bytes, std::move(label));
}

}  // namespace tensorstat
