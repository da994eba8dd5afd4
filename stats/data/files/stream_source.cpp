#include "stats/data/files/stream_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>
#include <vector>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/byte_source.hpp"
#include "stats/data/files/io/open_file.hpp"
#include "stats/data/files/npy/npy_header.hpp"
#include "stats/data/files/npy/npy_tensor.hpp"

namespace tensorstat {

extern const TensorFormat npy_format;

namespace {

constexpr std::size_t kPassedOverBytes = std::size_t{1} << 16;

// Reads a descriptor and counts the offset in the stream.
class Stream {
 public:
  Stream(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {
    struct stat facts = {};
    if (::fstat(descriptor_, &facts) == 0 && facts.st_mtim.tv_sec > 0) {
      modified_us_ = std::uint64_t(facts.st_mtim.tv_sec) * 1'000'000 + facts.st_mtim.tv_nsec / 1'000;
    }
  }
  ~Stream() { ::close(descriptor_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  const std::string& path() const { return path_; }
  std::uint64_t modified_us() const { return modified_us_; }
  Error fault(const std::string& what) const { return {Code::kUnreadable, printable(path_) + ": " + what}; }

  Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) {
    if (offset_bytes < at_) return fault("is a pipe: its bytes can be read once, and this needs them twice");
    if (Status passed = pass_over(offset_bytes); !passed) return passed;
    const auto got = read(out);
    if (!got) return got.error();
    if (*got == out.size()) return {};
    return fault("ends at its byte " + std::to_string(at_) + ", before the tensor does");
  }

  // Fills `out`, or less at the end of the stream. Returns the number of bytes.
  Result<std::size_t> read(std::span<std::byte> out) {
    std::size_t done = 0;
    while (done < out.size()) {
      const ssize_t got = ::read(descriptor_, out.data() + done, std::min(out.size() - done, std::size_t{1} << 30));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fault("cannot be read: " + std::generic_category().message(errno));
      if (got == 0) break;
      done += got;
      at_ += got;
    }
    return done;
  }

  Status pass_over(std::uint64_t offset_bytes) {
    std::vector<std::byte> passed(at_ < offset_bytes ? kPassedOverBytes : 0);
    while (at_ < offset_bytes) {
      const std::size_t count = std::min<std::uint64_t>(passed.size(), offset_bytes - at_);
      const auto got = read(std::span(passed).first(count));
      if (!got) return got.error();
      if (*got < count) return fault("ends at its byte " + std::to_string(at_) + ", before the tensor does");
    }
    return {};
  }

 private:
  const std::string path_;
  const int descriptor_;
  std::uint64_t modified_us_ = 0, at_ = 0;
};

// The stream from some offset on. Its first bytes have already been read to detect the format.
class StreamBytes : public ByteSource {
 public:
  StreamBytes(std::shared_ptr<Stream> stream, std::uint64_t begin = 0, std::vector<std::byte> seen = {})
      : stream_(std::move(stream)), begin_(begin), seen_(std::move(seen)) {}
  const std::string& path() const override { return stream_->path(); }
  std::uint64_t modified_us() const override { return stream_->modified_us(); }
  bool seeks() const override { return false; }
  bool is_separate() const override { return false; }
  Status read_at(std::uint64_t offset_bytes, std::span<std::byte> out) override {
    if (offset_bytes >= begin_ && offset_bytes < begin_ + seen_.size()) {
      const auto known = std::span(seen_).subspan(offset_bytes - begin_);
      const std::size_t count = std::min(known.size(), out.size());
      std::ranges::copy(known.first(count), out.begin());
      offset_bytes += count;
      out = out.subspan(count);
    }
    return out.empty() ? Status() : stream_->read_at(offset_bytes, out);
  }

 private:
  const std::shared_ptr<Stream> stream_;
  const std::uint64_t begin_;
  const std::vector<std::byte> seen_;
};

// If it is not an array, it may be another format, and a pipe can only be read once, from its first byte.
Error of_no_array(const Error& error, std::string_view begin) {
  if (npy_format.begins(begin)) return error;
  std::string_view label;
  for (const TensorFormat* format : tensor_formats()) {
    if (label.empty() && format->begins(begin)) label = format->label;
  }
  return {Code::kUnsupported,
          error.message + (label.empty() ? "" : ", and begins as " + std::string(label) + " does") +
              ". A pipe holds .npy arrays, or one tensor that --dtype and --shape tell; write other "
              "formats to a file"};
}

class ArraysOfStream : public TensorSource {
 public:
  ArraysOfStream(std::shared_ptr<Stream> stream, const ReadOptions& options)
      : stream_(std::move(stream)), options_(options) {}

  std::optional<std::uint64_t> count() const override { return std::nullopt; }

  std::optional<Result<TensorReader>> next() override try {
    if (is_over_) return std::nullopt;
    is_over_ = true;  // assumed until this array is known to be complete: otherwise the begin of the next one is
                      // unknown
    if (!stream_->pass_over(at_)) return std::nullopt;  // the reader of the tensor has received the error
    std::vector<std::byte> magic(kBeginsBytes);
    const auto got = stream_->read(magic);
    if (!got) return got.error();
    if (*got == 0 && number_ > 0) return std::nullopt;
    magic.resize(*got);
    const std::string begin(reinterpret_cast<const char*>(magic.data()), magic.size());
    const auto name = number_ == 0 ? std::nullopt : std::optional(std::to_string(number_));
    auto bytes = std::make_unique<StreamBytes>(stream_, at_, std::move(magic));
    auto array = read_npy_array(*bytes, name, {at_, *got < kBeginsBytes ? *got : kUnknownBytes}, options_.original);
    if (!array) return number_ == 0 ? of_no_array(array.error(), begin) : array.error();
    at_ = array->end_bytes;
    ++number_;
    is_over_ = false;
    if (array->tensors.size() != 1) {
      return Error{Code::kUnsupported,
                   printable_name(tensor_label(stream_->path(), name)) +
                       ": holds structures, and a pipe can be read once, not once for each field: write it to a file"};
    }
    if (!array->tensors.front()) return array->tensors.front().error();
    return TensorReader(std::move(bytes), *std::move(array->tensors.front()), options_.window_bytes);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }

 private:
  const std::shared_ptr<Stream> stream_;
  const ReadOptions options_;
  std::uint64_t at_ = 0;  // the offset of the next array
  std::uint64_t number_ = 0;
  bool is_over_ = false;
};

// One tensor that is the whole stream.
class RawStream : public TensorSource {
 public:
  RawStream(std::shared_ptr<Stream> stream, StoredTensor tensor, std::size_t window_bytes)
      : stream_(std::move(stream)), tensor_(std::move(tensor)), window_bytes_(window_bytes) {}

  std::optional<std::uint64_t> count() const override { return is_given_ ? 0 : 1; }

  std::optional<Result<TensorReader>> next() override try {
    if (is_over_) return std::nullopt;
    if (!is_given_) {
      is_given_ = true;
      return TensorReader(std::make_unique<StreamBytes>(stream_), tensor_, window_bytes_);
    }
    is_over_ = true;
    if (!stream_->pass_over(tensor_.element_count * size_bytes(tensor_.dtype))) return std::nullopt;
    std::byte more;
    const auto got = stream_->read({&more, 1});
    if (!got) return got.error();
    if (*got == 0) return std::nullopt;
    return stream_->fault("has more bytes than shape " + to_string(tensor_.shape) + " of " +
                          std::string(name(tensor_.dtype)) + " needs");
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }

 private:
  const std::shared_ptr<Stream> stream_;
  const StoredTensor tensor_;
  const std::size_t window_bytes_;
  bool is_given_ = false, is_over_ = false;
};

Result<StoredTensor> raw_tensor(const RawTensor& raw, std::optional<std::uint64_t> bytes) {
  const std::uint64_t element_bytes = size_bytes(raw.dtype);
  if (is_packed(raw.dtype) && !bytes) {
    return Error{Code::kUnsupported, "is a pipe of " + std::string(name(raw.dtype)) +
                                         ", where several elements share a byte: write it to a file"};
  }
  if (!raw.shape && !bytes) return Error{Code::kInvalid, "is a pipe: say --shape, as its length is not known"};
  if (!raw.shape && *bytes % element_bytes != 0) {
    return Error{Code::kUnreadable, "has " + std::to_string(*bytes) + " bytes, which are no whole number of " +
                                        std::string(name(raw.dtype))};
  }
  const Shape shape = raw.shape ? *raw.shape : Shape{elements_of(raw.dtype, *bytes)};
  const auto count = element_count(shape, element_bytes);
  if (!count) return count.error();
  const std::uint64_t needed = bytes_of(raw.dtype, *count);
  if (bytes && *bytes != needed) {
    return Error{Code::kUnreadable, "shape " + to_string(shape) + " of " + std::string(name(raw.dtype)) + " needs " +
                                        std::to_string(needed) + " bytes, and it has " + std::to_string(*bytes)};
  }
  const auto [original, widest] = widened(raw.dtype);
  return StoredTensor{.dtype = widest,
                      .original = original,
                      .shape = shape,
                      .element_count = *count,
                      .is_packed = is_packed(raw.dtype)};
}

}  // namespace

bool is_stream(const std::string& path) {
  struct stat facts = {};
  return path == "-" || (::stat(path.c_str(), &facts) == 0 && (S_ISFIFO(facts.st_mode) || S_ISSOCK(facts.st_mode)));
}

OpenedSource open_stream(const std::string& path, const ReadOptions& options) try {
  const int descriptor = path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
                                     : open_file(path.c_str(), O_RDONLY | O_NOCTTY);
  if (descriptor < 0) {
    return Error{Code::kUnreadable, printable(path) + ": cannot be opened: " + std::generic_category().message(errno)};
  }
  const auto stream = std::make_shared<Stream>(path, descriptor);
  if (!options.raw) return OpenedSource(std::make_unique<ArraysOfStream>(stream, options));
  auto tensor = raw_tensor(*options.raw, std::nullopt);
  if (!tensor) return Error{tensor.error().code, printable(path) + ": " + tensor.error().message};
  return OpenedSource(std::make_unique<RawStream>(stream, *std::move(tensor), options.window_bytes));
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

OpenedSource open_raw(const std::string& path, const ReadOptions& options) try {
  auto opened = RandomFile::open(path);
  if (!opened) return opened.error();
  auto file = std::make_shared<const RandomFile>(*std::move(opened));
  auto tensor = raw_tensor(*options.raw, file->size_bytes());
  if (!tensor) return Error{tensor.error().code, printable(path) + ": " + tensor.error().message};
  return source_of(std::move(file), {*std::move(tensor)}, options);
} catch (const std::bad_alloc&) {
  return out_of_memory();
}

}  // namespace tensorstat
