#include "stats/data/files/torch/torch_storages.hpp"

#include "stats/core/base/printable.hpp"

namespace tensorstat {

Result<Storage> storage_in(const RandomFile& file, const ZipMember& member) {
  if (!member.is_plain()) {
    return Error{Code::kUnsupported,
                 "the member " + shown(member.name, 200) + " is packed or encrypted, which torch does not do"};
  }
  const auto offset = zip_data_offset(file, member);
  if (!offset) return offset.error();
  return Storage{*offset, member.bytes};
}

ArchiveStorages::ArchiveStorages(const RandomFile& file, const std::vector<ZipMember>& members, std::string_view folder)
    : file_(file) {
  for (const ZipMember& member : members) {
    if (!member.name.starts_with(folder)) continue;
    const auto [entry, is_new] = members_.emplace(member.name.substr(folder.size()), &member);
    if (!is_new) entry->second = nullptr;
  }
}

Result<Storage> ArchiveStorages::find(std::string_view key) {
  const auto entry = members_.find(key);
  if (entry == members_.end()) {
    return Error{Code::kUnreadable, "the archive has no storage '" + shown(key, 200) + "'"};
  }
  if (entry->second != nullptr) return storage_in(file_, *entry->second);
  return Error{Code::kUnreadable, "the archive has the storage '" + shown(key, 200) + "' more than once"};
}

}  // namespace tensorstat
