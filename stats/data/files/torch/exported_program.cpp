// A zip archive. Since torch 2.8, weights and constants have a list in JSON each, and a member of plain bytes for each
// storage. Before, they are two files of torch.save.
// Source: https://github.com/pytorch/pytorch torch/export/pt2_archive/constants.py, torch/_export/serde/schema.py
#include "stats/data/files/torch/exported_program.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/dimensions.hpp"
#include "stats/data/files/io/random_file.hpp"
#include "stats/data/files/torch/torch_file.hpp"
#include "stats/data/files/torch/torch_storages.hpp"
#include "stats/data/json/json_text.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kLists[] = {"_weights_config.json", "_constants_config.json"};
constexpr std::string_view kSaved[] = {"serialized_state_dict.pt", "serialized_constants.pt"};

// ScalarType of the schema.
constexpr std::pair<std::uint64_t, Dtype> kScalarTypes[] = {
    {1, Dtype::kUint8},          {2, Dtype::kInt8},          {3, Dtype::kInt16},       {4, Dtype::kInt32},
    {5, Dtype::kInt64},          {6, Dtype::kFloat16},       {7, Dtype::kFloat32},     {8, Dtype::kFloat64},
    {10, Dtype::kComplex64},     {11, Dtype::kComplex128},   {12, Dtype::kBool},       {13, Dtype::kBfloat16},
    {28, Dtype::kUint16},        {29, Dtype::kFloat8E4m3fn}, {30, Dtype::kFloat8E5m2}, {31, Dtype::kFloat8E4m3fnuz},
    {32, Dtype::kFloat8E5m2fnuz}};

template <std::size_t N>
bool ends_as(std::string_view name, const std::string_view (&words)[N]) {
  return std::ranges::any_of(words, [&](std::string_view word) { return name.ends_with(word); });
}

// {"as_int": 3}
std::optional<std::uint64_t> whole_number(const std::optional<JsonValue>& value) {
  const auto number = value && value->is(JsonValue::Kind::kObject) ? value->find("as_int") : std::optional<JsonValue>();
  if (!number || !number->is(JsonValue::Kind::kNatural)) return std::nullopt;
  return number->natural();
}

std::optional<Shape> lengths(const JsonValue& tensor, std::string_view key) {
  const auto list = tensor.find(key);
  if (!list || !list->is(JsonValue::Kind::kArray) || list->size() > kMostDimensions) return std::nullopt;
  Shape shape;
  for (const JsonValue each : *list) {
    const auto length = whole_number(each);
    if (!length) return std::nullopt;
    shape.push_back(*length);
  }
  return shape;
}

Result<TorchTensor> tensor_of(std::string_view name, const JsonValue& entry) {
  const auto fault = [](const std::string& what) { return Error{Code::kUnreadable, what}; };
  if (!entry.is(JsonValue::Kind::kObject)) return fault("is not described");
  const auto path = entry.find("path_name"), is_pickled = entry.find("use_pickle"), tensor = entry.find("tensor_meta");
  if (is_pickled && is_pickled->text() == "true") return Error{Code::kUnsupported, "is pickled, which is not read"};
  if (!path || !path->is(JsonValue::Kind::kString) || !tensor || !tensor->is(JsonValue::Kind::kObject)) {
    return fault("is not described");
  }
  const auto dtype = tensor->find("dtype");
  const auto shape = lengths(*tensor, "sizes"), stride = lengths(*tensor, "strides");
  const auto offset = whole_number(tensor->find("storage_offset"));
  if (!shape || !stride || shape->size() != stride->size() || !offset || !dtype ||
      !dtype->is(JsonValue::Kind::kNatural)) {
    return fault("has no shape, strides, offset and dtype");
  }
  const auto* known = std::ranges::find(kScalarTypes, dtype->natural(), &std::pair<std::uint64_t, Dtype>::first);
  if (known == std::end(kScalarTypes)) {
    return Error{Code::kUnsupported, "has the dtype " + std::to_string(dtype->natural()) + ", which is not read"};
  }
  return TorchTensor{.name = std::string(name),
                     .storage = path->text(),
                     .dtype = known->second,
                     .offset = *offset,
                     .shape = *shape,
                     .stride = *stride};
}

OpenedSource open_list(const std::shared_ptr<const RandomFile>& file, const std::vector<ZipMember>& members,
                       const ZipMember& list, const ReadOptions& options) {
  const auto fail = [&](const Error& error) {
    return Error{error.code, printable(file->path()) + ": " + printable(list.name) + ": " + error.message};
  };
  const auto place = storage_in(*file, list);
  if (!place) return fail(place.error());
  if (place->bytes > kMostJsonBytes) return fail({Code::kUnreadable, "has more than 16 MiB"});
  std::string text(place->bytes, '\0');
  if (Status read = file->read_at(place->offset_bytes, std::as_writable_bytes(std::span(text))); !read) {
    return std::move(read).error();
  }
  const auto document = parse_json(text);
  if (!document) return fail(document.error());
  const JsonValue root = document->root();
  const auto config = root.is(JsonValue::Kind::kObject) ? root.find("config") : std::optional<JsonValue>();
  if (!config || !config->is(JsonValue::Kind::kObject)) return fail({Code::kUnreadable, "has no config"});
  ArchiveStorages storages(*file, members, std::string_view(list.name).substr(0, list.name.rfind('/') + 1));
  std::vector<Result<StoredTensor>> tensors;
  for (auto member = config->begin(); member != config->end();) {
    const JsonValue name = *member, entry = *++member;
    ++member;
    auto tensor = tensor_of(name.text(), entry);
    auto stored = tensor ? stored_of(*tensor, storages, false, options.window_bytes) : tensor.error();
    if (!stored) stored = error_of_tensor(file->path(), std::string(name.text()), stored.error());
    tensors.push_back(std::move(stored));
  }
  return source_of(file, std::move(tensors), options);
}

OpenedSource open_saved(const std::shared_ptr<const RandomFile>& file, const ZipMember& saved,
                        const ReadOptions& options) {
  const auto place = storage_in(*file, saved);
  if (!place) return Error{place.error().code, printable(file->path()) + ": " + place.error().message};
  auto part = std::make_shared<const RandomFile>(file->part(place->offset_bytes, place->bytes));
  const auto members = zip_members(*part);
  if (!members) return members.error();
  if (!is_torch_archive(*members)) {
    return Error{Code::kUnreadable,
                 printable(file->path()) + ": its member " + printable(saved.name) + " is no file of torch.save"};
  }
  return open_torch_archive(std::move(part), *members, options);
}

}  // namespace

bool is_exported_program(const std::vector<ZipMember>& members) {
  return std::ranges::any_of(members, [](const ZipMember& member) {
    return ("/" + member.name).ends_with("/" + std::string(kSaved[0])) ||
           (member.name.find("data/weights/") != member.name.npos && member.name.ends_with(kLists[0]));
  });
}

OpenedSource open_exported_program(std::shared_ptr<const RandomFile> file, const std::vector<ZipMember>& members,
                                   const ReadOptions& options) {
  std::vector<std::unique_ptr<TensorSource>> sources;
  for (const ZipMember& member : members) {
    const bool is_list = ends_as(member.name, kLists);
    if (!is_list && !ends_as(member.name, kSaved)) continue;
    auto source = is_list ? open_list(file, members, member, options) : open_saved(file, member, options);
    if (!source) return source;
    sources.push_back(*std::move(source));
  }
  return joined_sources(std::move(sources));
}

}  // namespace tensorstat
