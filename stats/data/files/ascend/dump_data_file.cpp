// Ascend's dump files (dump_data.hpp). Each input or output is a tensor named input.0 or output.1, by its slot. A slot
// without bytes was not dumped and is skipped.
#include <algorithm>
#include <bit>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/ascend/device_format.hpp"
#include "stats/data/files/ascend/dump_data.hpp"
#include "stats/data/files/ascend/long_name.hpp"
#include "stats/data/files/ascend/operator_run_name.hpp"
#include "stats/data/files/tensor_source.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kBinExtension = ".bin";  // most of these files have no extension

bool is_named(std::string_view name) {
  if (name.ends_with(kBinExtension)) name.remove_suffix(kBinExtension.size());
  // Names of other files may end in numbers, too. Opdebug files hold no tensors.
  if (is_number(name, kLeastDigits) && name.find('.') == name.npos) return true;  // a long name; mapping.csv has it
  const auto run = OperatorRunName::from(name);
  return run && run->is_of_this_age() && run->op_type != "Opdebug";
}

bool was_not_dumped(const DumpDataTensor& tensor) {
  return tensor.size_bytes == 0 && std::ranges::count(tensor.shape, 0u) == 0;
}

Error unsupported(const std::string& what) { return {Code::kUnsupported, what}; }

// The tensor as the host has it, if the message says how: without the device's padding. Else it stays as it is.
void convert_to_host(const DumpDataTensor& given, StoredTensor& tensor) {
  if (given.original_shape.empty() || tensor.is_packed) return;
  auto layout =
      host_layout(tensor.format, tensor.shape, given.original_shape, dump_format(given.original_format), given.groups);
  const auto count = element_count(given.original_shape, 16);
  if (!layout || !count) return;
  const std::uint64_t size = size_bytes(tensor.dtype);
  tensor.tiles = Tiles{.at_bytes = std::exchange(tensor.offset_bytes, 0),
                       .span_bytes = tensor.element_count * size,
                       .element_bytes = size,
                       .axes = std::move(layout->axes)};
  tensor.shape = given.original_shape;
  tensor.element_count = *count;
  tensor.format = layout->format;
  tensor.host_shape.clear();
}

Result<StoredTensor> stored_tensor(const DumpDataTensor& given, bool keeps_device_format) {
  const DumpDtype* type = dump_dtype(given.data_type);
  if (type == nullptr) return unsupported("its data type " + std::to_string(given.data_type) + " is not supported");
  const std::string type_name = std::string(type->enumerator) + " (" + std::string(type->name) + ")";
  StoredTensor tensor{.swapped = std::endian::native != std::endian::little,
                      .shape = given.shape,
                      .offset_bytes = given.data.offset_bytes,
                      .format = dump_format(given.format)};
  const auto dtype = dtype_from(type->name);
  if (!dtype) return unsupported("dtype " + type_name + " is not supported");
  tensor.dtype = *dtype;
  if (is_packed(*dtype)) {
    const auto [original, widest] = widened(*dtype);
    tensor.original = original;
    tensor.dtype = widest;
    tensor.is_packed = true;
    tensor.packed_at_bytes = std::exchange(tensor.offset_bytes, 0);
  }

  // No dimensions in the message mean a scalar or an unknown shape.
  const std::uint64_t count = given.size_bytes / ((type->bits + 7) / 8);
  if (tensor.shape.empty() && count != 1 && !tensor.is_packed) tensor.shape = {count};
  const auto values = element_count(tensor.shape, 16);
  if (!values) return values.error();
  const std::uint64_t needed = (*values * type->bits + 7) / 8;
  if (needed > given.size_bytes) {
    return Error{Code::kUnreadable, "shape " + to_string(tensor.shape) + " of " + type_name + " needs " +
                                        std::to_string(needed) + " bytes, and it has " +
                                        std::to_string(given.size_bytes)};
  }
  tensor.element_count = *values;
  tensor.host_shape = given.original_shape;
  tensor.host_format = dump_format(given.original_format);
  tensor.groups = given.groups;
  if (!keeps_device_format) convert_to_host(given, tensor);
  return tensor;
}

OpenedSource open_dump_data(std::shared_ptr<const RandomFile> file, const ReadOptions& options) {
  const auto dumped = read_dump_data(*file);
  if (!dumped) return dumped.error();
  std::vector<Result<StoredTensor>> tensors;
  const auto add_all = [&](const std::vector<DumpDataTensor>& slots, std::string_view io) {
    for (std::size_t slot = 0; slot < slots.size(); ++slot) {
      if (was_not_dumped(slots[slot])) continue;
      const std::string name = std::string(io) + "." + std::to_string(slot);
      auto tensor = stored_tensor(slots[slot], options.keeps_device_format);
      if (tensor) {
        tensor->name = name;
      } else {
        tensor = error_of_tensor(file->path(), name, tensor.error());
      }
      tensors.push_back(std::move(tensor));
    }
  };
  add_all(dumped->inputs, "input");
  add_all(dumped->outputs, "output");
  return source_of(std::move(file), std::move(tensors), options);
}

}  // namespace

extern const TensorFormat dump_data_format;
const TensorFormat dump_data_format = {.extension = "",
                                       .begins = begins_as_dump_data,
                                       .open = open_dump_data,
                                       .label = "dump files of Ascend's",
                                       .is_named = is_named};

}  // namespace tensorstat
