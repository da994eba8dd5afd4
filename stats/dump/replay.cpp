#include "stats/dump/replay.hpp"

#include <unistd.h>

#include <filesystem>
#include <limits>
#include <new>

#include "stats/dump/config_dialect.hpp"
#include "stats/dump/dump_output.hpp"
#include "stats/dump/dumped_runs.hpp"
#include "stats/files/shown.hpp"
#include "stats/files/tensor_source.hpp"

namespace tensorstat {
namespace {

// Eight values a byte, most significant bit first: what a uint1 tensor was.
std::vector<std::byte> packed_bits(std::span<const std::byte> values) {
  std::vector<std::byte> packed((values.size() + 7) / 8);
  for (std::size_t i = 0; i < values.size(); ++i) {
    packed[i / 8] |= (values[i] & std::byte{1}) << (7 - i % 8);
  }
  return packed;
}

Result<DumpTensor> read_tensor(const DumpedFile& file) {
  const std::string& dtype = file.named.original_dtype;
  const Identity& who = file.named.identity;
  if (who.slot > std::numeric_limits<std::uint32_t>::max()) {
    return Error{Code::kUnsupported,
                 printable(file.path) + ": slot " + std::to_string(who.slot) + " is above 4294967295"};
  }
  const bool is_complex = dtype == "complex64" || dtype == "complex128";
  auto reader = open_tensor(file.path, {is_complex ? Original::kComplex : original_from(dtype)});
  if (!reader) return reader.error();
  const bool is_int4 = dtype == "int4";
  reader->rewind(TensorReader::Order::kC,
                 is_int4 ? TensorReader::View::kOriginal : TensorReader::View::kElements);
  auto bits = std::make_shared<std::vector<std::byte>>(
      is_int4 ? reader->data_size_bytes() : reader->element_count() * size_bytes(reader->dtype()));
  std::span<std::byte> room = *bits;
  while (!room.empty()) {
    const auto got = reader->read(room);
    if (!got) return got.error();
    if (*got == 0) return Error{Code::kUnreadable, printable(file.path) + ": ends early"};
    room = room.subspan(*got);
  }
  DumpTensor tensor;
  const bool is_uint1 = dtype == "uint1" && reader->dtype() == Dtype::kUint8;
  if (is_uint1) *bits = packed_bits(*bits);
  tensor.stored = is_int4 ? Stored::kInt4 : is_uint1 ? Stored::kUint1 : Stored::kPlain;
  tensor.tensor = {
      .dtype = reader->dtype(), .element_count = reader->element_count(), .address = bits->data()};
  tensor.shape = reader->shape();
  if (is_complex) {
    tensor.stored = reader->dtype() == Dtype::kFloat32 ? Stored::kComplex64 : Stored::kComplex128;
    tensor.shape.pop_back();  // of the two parts
  }
  tensor.io = who.io == "input" ? Io::kInput : Io::kOutput;
  tensor.slot = static_cast<std::uint32_t>(who.slot);
  tensor.timestamp_us = who.timestamp_us > 1 ? who.timestamp_us : reader->modified_us();
  tensor.keep_alive = std::move(bits);
  return tensor;
}

}  // namespace

Result<DumpCounters> replay(std::string_view config_text, const std::vector<std::string>& files, DumpOptions options,
                            Existing existing, const ReplayListener& listener) try {
  Notices silent(nullptr);
  auto config = parse_config_here(config_text, silent, options.path);
  if (!config) return config.error();
  if (!options.path.empty()) config->path = options.path;
  ReplayOutput output(*config, existing, static_cast<std::uint64_t>(getpid()));
  options.path = output.path();
  options.names_are_escaped = true;
  auto session = DumpSession::from_json(config_text, options);
  if (!session) return session.error();

  // What was dumped under set_dump, or of an operator that failed, was meant to be.
  constexpr bool kSetDump = true, kFailed = true;
  const auto operator_of = [&](const DumpedRun& run) {
    const Identity& who = run[0].named.identity;
    return session->operator_named(who.op_type, who.op_name, kSetDump, who.stream_id, who.task_id);
  };
  const auto place_of = [&](const DumpedRun& run) {  // initial_iteration is in the folders' numbers already
    DumpPlace place = run[0].place;
    place.iteration -= config->initial_iteration;
    return place;
  };
  const auto runs = dumped_runs(files, listener.unreadable);
  for (const DumpedRun& run : runs) {
    const auto folder = config->form->folder(*config, options, run[0].place);
    if (!folder || !session->wants(place_of(run), operator_of(run), kFailed)) continue;
    const std::string source_folder = std::filesystem::path(run[0].path).parent_path().string();
    if (Status free = output.check(*folder, source_folder); !free) return free.error();
  }

  std::size_t done = 0;
  for (const DumpedRun& run : runs) {
    const auto* op = operator_of(run);
    if (op == nullptr) return out_of_memory();  // which the session would take for an operator that is not wanted
    const DumpPlace place = place_of(run);
    std::vector<DumpTensor> tensors;
    for (const DumpedFile& file : run) {
      const Io io = file.named.identity.io == "input" ? Io::kInput : Io::kOutput;
      if (session->wants(place, op, io, kFailed)) {
        if (auto tensor = read_tensor(file)) {
          tensors.push_back(*std::move(tensor));
        } else {
          listener.unreadable(tensor.error());
        }
      }
      listener.progressed(++done, files.size());
    }
    session->collect(place, op, tensors, kFailed);
  }
  session->close();
  const DumpCounters counters = session->counters();
  if (existing == Existing::kReplace && counters.lost_row_count + counters.lost_tensor_count != 0) {
    return Error{Code::kUnwritable, std::to_string(counters.lost_row_count) + " rows and " +
                                        std::to_string(counters.lost_tensor_count) +
                                        " tensors could not be written, so nothing is replaced"};
  }
  if (Status placed = output.finish(); !placed) return placed.error();
  return counters;
} catch (const std::bad_alloc&) {
  return out_of_memory();
} catch (const std::exception& fault) {  // of a listener
  return Error{Code::kInvalid, fault.what()};
}

}  // namespace tensorstat
