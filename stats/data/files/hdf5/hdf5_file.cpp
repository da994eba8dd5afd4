// .h5, .hdf5: the datasets of HDF5 files, such as the weights of Keras. Read by libhdf5, if it is installed.
// Format: https://docs.hdfgroup.org/hdf5/v1_10
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/hdf5/hdf5_datasets.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kMostHdf5Tensors = 100'000;

bool begins_as_hdf5(std::string_view head) { return head.starts_with("\x89HDF\r\n\x1a\n"); }

bool is_named_as_hdf5(std::string_view name) { return name.ends_with(".h5") || name.ends_with(".hdf5"); }

OpenedSource open_hdf5(std::shared_ptr<const RandomFile> file, const ReadOptions& options) {
  const auto opened = Hdf5File::open(file);
  if (!opened) return opened.error();
  auto names = hdf5_names(**opened);
  if (!names) return names.error();
  std::vector<Result<SourcedTensor>> tensors;
  tensors.reserve(names->size());
  for (Result<std::string>& name : *names) {
    if (!name) {
      tensors.push_back(name.error());
      continue;
    }
    std::vector<std::string> members = hdf5_members_of(**opened, *name);
    if (members.empty()) members.emplace_back();
    if (tensors.size() + members.size() > kMostHdf5Tensors) {
      tensors.push_back(Error{Code::kUnreadable, printable(file->path()) + ": has more than 100000 tensors"});
      break;
    }
    for (const std::string& member : members) {
      tensors.push_back(hdf5_dataset(*opened, *name, member));
      const std::string called = *name + (member.empty() ? "" : "::" + member);
      if (!tensors.back()) tensors.back() = error_of_tensor(file->path(), called, tensors.back().error());
    }
  }
  return source_of(std::move(file), std::move(tensors), options);
}

}  // namespace

extern const TensorFormat hdf5_format;
const TensorFormat hdf5_format = {
    .extension = "", .begins = begins_as_hdf5, .open = open_hdf5, .label = ".h5", .is_named = is_named_as_hdf5};

}  // namespace tensorstat
