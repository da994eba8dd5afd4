// Files that torch.save wrote.
#pragma once

#include <memory>

#include "stats/data/files/tensor_source.hpp"
#include "stats/data/files/zip/zip_directory.hpp"

namespace tensorstat {

// Whether a zip archive of these members is one of torch.save or torch.jit.save: it has a member data.pkl in a folder.
bool is_torch_archive(const std::vector<ZipMember>& members);

OpenedSource open_torch_archive(std::shared_ptr<const RandomFile> file, const std::vector<ZipMember>& members,
                                const ReadOptions& options);

}  // namespace tensorstat
