#include "stats/data/survey/surveyed_tensor.hpp"

#include <utility>

#include "stats/data/rows/names/mindspore_file_name.hpp"

namespace tensorstat {

SurveyedTensor surveyed(const SurveyedFile& file, std::uint64_t number, const TensorReader& reader,
                        const Request& request) {
  SurveyedTensor entry;
  entry.file = file.number;
  entry.number = number;
  entry.path = file.path;
  entry.tensor = reader.name();
  Identity identity = file.identity && !entry.tensor
                          ? *file.identity
                          : named_tensor(file.name, reader.modified_us(), entry.tensor).identity;
  entry.row = {std::move(identity), reader.data_size_bytes(), std::string(reader.data_type()), reader.shape(), {}};
  add_place(file.path, file.place, entry.row.identity);
  if (entry.tensor) entry.row.identity.set("tensor", *entry.tensor);
  if (!reader.shard().empty()) entry.row.identity.set("shard", std::string(reader.shard()));
  if (counts_scaled_casts(request)) entry.row.identity.set("cast_scale", to_string(Value(request.cast_scale)));
  return entry;
}

}  // namespace tensorstat
