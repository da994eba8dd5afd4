// A store: rows of many dumps in one SQLite file, an index of the files that hold them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/answer/store/database.hpp"
#include "stats/data/rows/row_source.hpp"
#include "stats/data/survey/row_files.hpp"

namespace tensorstat {

struct StoredRun {
  std::string name;
  std::uint64_t files = 0, rows = 0, ranks = 0, first_iteration = 0, last_iteration = 0;
};

// The result of `add`.
struct StoreAdded {
  std::uint64_t rows = 0, files = 0;  // the rows that were added, and the files that they came from
  std::uint64_t faults = 0;           // the errors that were reported
};

class Store {
 public:
  // kWrite creates a missing file.
  static Result<Store> open(const std::string& path, Access access);

  // Adds the rows of files that are not in the store yet. The rows and the position in their file are written in one
  // transaction, so a crash neither loses nor repeats a row. Returns an error if the store cannot be written. `told`
  // receives unreadable files and replaced rows.
  Result<StoreAdded> add(const std::vector<RowFile>& files, const std::string& run,
                         const std::function<void(std::string_view)>& told);

  Result<std::vector<StoredRun>> runs();

  // The files of a run, of all runs if `run` is empty, in the order in which they were added.
  Result<std::vector<StoredRows>> files(const std::string& run);
  // The rows of a file, in their order, as reading the file gave them.
  Result<RowsRead> read(const std::string& run, const std::string& file, const EachRow& each);
  Result<RowsRead> columns(const std::string& run, const std::string& file);

  // Runs an SQL query and passes its lines, the names of the columns first.
  Status ask(std::string_view sql, const std::function<void(const std::vector<std::string>&)>& each);

 private:
  explicit Store(Database database) : database_(std::move(database)) {}
  Database database_;
};

// "layer" for /dumps/layer: the name of a run to which nobody gave one.
std::string run_of_path(const std::string& path);

// Whether a run may be called so: a name is a folder, too, and holds no '/'.
bool is_name_of_run(std::string_view name);

// The argument of add_row_source(). A program that adds it can read rows from stores.
const RowSource& source_of_stores();

// Questions that `store ask` knows.
struct StoreQuestion {
  std::string_view name, says, sql;
};
std::vector<StoreQuestion> store_questions();

}  // namespace tensorstat
