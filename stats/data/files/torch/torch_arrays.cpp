#include "stats/data/files/torch/torch_arrays.hpp"

#include <memory>
#include <string>
#include <utility>

#include "stats/data/files/npy/npy_dtype.hpp"

namespace tensorstat {
namespace {

using ArrayKind = Pickle::Kind;

Error damaged_array() { return {Code::kUnreadable, "is a NumPy array whose pickle is damaged"}; }

bool is_function(const Pickle::Node& node, std::string_view module, std::string_view name) {
  return node.kind == ArrayKind::kName && node.text == module && node.more == name;
}

// "<f4" of numpy.dtype('f4', False, True) with the state (3, '<', None, ...).
Result<NpyElement> element_of(const Pickle& pickle, const Pickle::Node& dtype) {
  if (dtype.kind != ArrayKind::kCall || dtype.items.size() != 3) return damaged_array();
  const Pickle::Node &callee = pickle[dtype.items[0]], &arguments = pickle[dtype.items[1]],
                     &state = pickle[dtype.items[2]];
  if (!is_function(callee, "numpy", "dtype") || arguments.items.empty() || state.items.size() < 4)
    return damaged_array();
  const Pickle::Node &kind = pickle[arguments.items[0]], &order = pickle[state.items[1]];
  if (kind.kind != ArrayKind::kText || order.kind != ArrayKind::kText) return damaged_array();
  return lay_out({.text = std::string(order.text) + std::string(kind.text)}, true);
}

// Bytes as protocol 2 has them: a text of their values, as UTF-8. nullopt where the text has others.
std::optional<std::string> latin1_of(std::string_view utf8) {
  std::string bytes;
  bytes.reserve(utf8.size());
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto first = static_cast<unsigned char>(utf8[i]);
    if (first < 0x80) {
      bytes += utf8[i];
    } else {
      if (first > 0xc3 || first < 0xc2 || ++i == utf8.size()) return std::nullopt;
      bytes += static_cast<char>((first & 3) << 6 | (static_cast<unsigned char>(utf8[i]) & 0x3f));
    }
  }
  return bytes;
}

Result<std::string> bytes_of_array(const Pickle& pickle, const Pickle::Node& data, std::size_t most_bytes) {
  const bool is_encoded = data.kind == ArrayKind::kCall;
  const Pickle::Node* text = &data;
  if (is_encoded) {
    const Pickle::Node& arguments = pickle[data.items[1]];
    if (!is_function(pickle[data.items[0]], "_codecs", "encode") || arguments.items.size() != 2) return damaged_array();
    text = &pickle[arguments.items[0]];
  }
  if (text->kind != ArrayKind::kText) return damaged_array();
  if (text->text.size() > most_bytes) {
    return Error{Code::kUnreadable, "is a NumPy array that shares its elements with too many others"};
  }
  if (!is_encoded) return std::string(text->text);
  auto bytes = latin1_of(text->text);
  return bytes ? Result<std::string>(*std::move(bytes)) : damaged_array();
}

}  // namespace

bool is_array(const Pickle& pickle, std::uint32_t id) {
  const Pickle::Node& call = pickle[id];
  if (call.kind != ArrayKind::kCall) return false;
  const Pickle::Node& callee = pickle[call.items[0]];
  return is_function(callee, "numpy.core.multiarray", "_reconstruct") ||
         is_function(callee, "numpy._core.multiarray", "_reconstruct");
}

Result<TorchTensor> array_of(const Pickle& pickle, std::uint32_t id, std::size_t most_bytes) {
  if (pickle[id].items.size() != 3) return damaged_array();
  // The version, the shape, the dtype, whether it is in Fortran order, the elements.
  const Pickle::Node& state = pickle[pickle[id].items[2]];
  if (state.kind != ArrayKind::kTuple || state.items.size() != 5) return damaged_array();
  const Pickle::Node &shape = pickle[state.items[1]], &order = pickle[state.items[3]];
  if (shape.kind != ArrayKind::kTuple || shape.items.size() > 64 || order.kind != ArrayKind::kInteger)
    return damaged_array();
  const auto element = element_of(pickle, pickle[state.items[2]]);
  if (!element) return element.error();
  const NpyField& field = element->fields.front();
  if (field.refusal) return *field.refusal;
  if (field.is_void) return Error{Code::kUnsupported, "is a NumPy array of void elements, which is not read"};
  TorchTensor array;
  array.dtype = field.dtype;
  array.is_swapped = field.swapped;
  array.is_fortran = order.number != 0;
  for (const std::uint32_t item : shape.items) {
    if (pickle[item].kind != ArrayKind::kInteger || pickle[item].number < 0) return damaged_array();
    array.shape.push_back(static_cast<std::uint64_t>(pickle[item].number));
  }
  const auto count = element_count(array.shape, element->element_bytes);
  if (!count) return count.error();
  auto bytes = bytes_of_array(pickle, pickle[state.items[4]], most_bytes);
  if (!bytes) return bytes.error();
  if (bytes->size() != *count * element->element_bytes) return damaged_array();
  array.elements = std::make_shared<const std::string>(*std::move(bytes));
  return array;
}

}  // namespace tensorstat
