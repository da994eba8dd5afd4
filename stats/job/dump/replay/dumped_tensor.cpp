#include "stats/job/dump/replay/dumped_tensor.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/tensor_source.hpp"
#include "stats/job/dump/session/pending_run.hpp"

namespace tensorstat {
namespace {

Io io_of(const Identity& identity) { return identity.io == "input" ? Io::kInput : Io::kOutput; }

Stored stored_as(std::string_view data_type) {
  if (data_type == "int4") return Stored::kInt4;
  return data_type == "uint1" ? Stored::kUint1 : Stored::kPlain;
}

// Whether this is a format of the device, with elements in another order than on the host.
bool is_of_device(std::string_view format) {
  constexpr std::string_view kOfHost[] = {"",   "DefaultFormat", "ND", "NCHW",     "NCDHW", "NC",
                                          "CN", "NCL",           "MD", "RESERVED", "ALL",   "NULL"};
  return std::ranges::count(kOfHost, format) == 0;
}

// `named_format` is the format in the file's name, for files without one inside.
Result<DumpTensor> read_tensor(const std::string& label, const Identity& identity, const std::string& named_format,
                               TensorReader& reader) {
  if (identity.slot > std::numeric_limits<std::uint32_t>::max()) {
    return Error{Code::kUnsupported,
                 printable_name(label) + ": slot " + std::to_string(identity.slot) + " is above 4294967295"};
  }
  const Stored stored = stored_as(reader.data_type());
  const bool is_plain = stored == Stored::kPlain;  // float4_e2m1fn, too: it is passed on as float8_e4m3fn
  reader.rewind(TensorReader::Order::kC, is_plain ? TensorReader::View::kElements : TensorReader::View::kOriginal);
  auto bits = std::make_shared<std::vector<std::byte>>(is_plain ? reader.element_count() * size_bytes(reader.dtype())
                                                                : reader.data_size_bytes());
  std::span<std::byte> room = *bits;
  while (!room.empty()) {
    const auto got = reader.read(room);
    if (!got) return got.error();
    if (*got == 0) return Error{Code::kUnreadable, printable_name(label) + ": ends early"};
    room = room.subspan(*got);
  }
  DumpTensor tensor;
  tensor.stored = stored;
  tensor.tensor = {.dtype = reader.dtype(), .element_count = reader.element_count(), .address = bits->data()};
  tensor.shape = reader.shape();
  tensor.io = io_of(identity);
  tensor.slot = static_cast<std::uint32_t>(identity.slot);
  const std::string_view format = reader.format().empty() ? std::string_view(named_format) : reader.format();
  if (!format.empty()) tensor.format = format;
  tensor.is_in_format = is_of_device(format);
  if (tensor.is_in_format) {
    const StoredTensor& stored_as_is = reader.stored();
    tensor.on_host = {stored_as_is.host_shape, stored_as_is.host_format, stored_as_is.groups};
  }
  tensor.timestamp_us = identity.timestamp_us > 1 ? identity.timestamp_us : reader.modified_us();
  tensor.keep_alive = std::move(bits);
  return tensor;
}

}  // namespace

void read_tensors(const DumpedFile& file, bool keeps_device_format, const std::function<bool(Io)>& wants,
                  const std::function<void(const Error&)>& unreadable, std::vector<DumpTensor>& tensors) {
  const auto add = [&](const std::string& label, const Identity& identity, TensorReader& reader) {
    auto tensor = read_tensor(label, identity, file.named.format, reader);
    if (!tensor) return unreadable(tensor.error());
    tensor->requires_grad = file.requires_grad;
    tensors.push_back(*std::move(tensor));
  };
  if (!file.holds_run) {
    if (!wants(io_of(file.named.identity))) return;
    auto reader = open_tensor(file.path, {original_from(file.named.original_dtype)});
    return reader ? add(file.path, file.named.identity, *reader) : unreadable(reader.error());
  }
  if (!wants(Io::kInput) && !wants(Io::kOutput)) return;
  auto source = open_tensors(file.path, {.keeps_device_format = keeps_device_format});
  if (!source) return unreadable(source.error());
  while (auto reader = (*source)->next()) {
    if (!*reader) {
      unreadable(reader->error());
      continue;
    }
    Identity identity = file.named.identity;
    const std::string label = tensor_label(file.path, (*reader)->name());
    if (!read_slot((*reader)->name().value_or(""), identity)) {
      unreadable(
          {Code::kUnreadable, printable_name(label) + ": is named as a file of inputs and outputs, and is neither"});
    } else if (wants(io_of(identity))) {
      add(label, identity, **reader);
    }
  }
}

}  // namespace tensorstat
