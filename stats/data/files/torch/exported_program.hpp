// .pt2: what torch.export.save wrote.
#pragma once

#include <memory>
#include <vector>

#include "stats/data/files/tensor_source.hpp"
#include "stats/data/files/zip/zip_directory.hpp"

namespace tensorstat {

bool is_exported_program(const std::vector<ZipMember>& members);

// Its weights and constants, under their names in the model. The inputs that it keeps as an example are left out.
OpenedSource open_exported_program(std::shared_ptr<const RandomFile> file, const std::vector<ZipMember>& members,
                                   const ReadOptions& options);

}  // namespace tensorstat
