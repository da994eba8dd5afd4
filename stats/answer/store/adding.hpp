// Adds rows to a store, which must outlive it: in sorted batches, in one transaction with the read positions of files.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/rows.hpp>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "stats/answer/store/database.hpp"
#include "stats/answer/store/row_cells.hpp"
#include "stats/data/rows/names/dump_place.hpp"
#include "stats/data/survey/growing_row_file.hpp"

namespace tensorstat {

// The state of a file in the store.
struct SourceState {
  std::uint64_t source = 0;  // 0: not in the store
  FileGrowth growth;
  std::string statistics, columns, framework;
};

class Adding {
 public:
  Adding(Database& database, std::uint64_t run) : database_(database), run_(run) {}

  // Begins to take rows of a file. `before`: its state in the store; `is_replaced`: its rows there are removed.
  void begin(const std::string& path, const std::string& folder, const SourceState& before, bool is_replaced);
  void add(const Row& row, const DumpPlace& place);
  // Ends the file. `after` is stored together with its rows.
  void end(const SourceState& after);

  bool is_full() const { return rows_.size() >= kMostRows; }
  bool is_empty() const { return files_.empty(); }

  // Writes the rows. Files that another process advanced meanwhile are left out and can be read again; `left` tells
  // whether there were any.
  Status flush(std::uint64_t& rows, bool& left);

 private:
  static constexpr std::size_t kMostRows = 500'000, kManyRows = 32'768;
  // The most columns that `rows` gets, whatever a hostile heading has: SQLite allows 2,000.
  static constexpr std::size_t kMostStatistics = 900;

  struct File {
    std::string path, folder;
    SourceState before, after;
    bool is_replaced = false, is_left = false;
    std::uint64_t rows = 0, least_tensor = 0, most_tensor = 0;
  };
  struct Kind {
    Categories categories;
    std::vector<bool> is_again;  // whether the value goes to `exact`: the statistic comes twice, or there are too many
    std::vector<int> columns;    // column numbers in `rows`, from 0, one a category; -1: no column
    ElementKind element = ElementKind::kReal;
    bool has_all = false;  // no column of a statistic is left
  };
  struct Pending {
    std::uint32_t file, tensor, place, kind, extra;
    std::uint64_t line, task_id, stream_id, time_us, nan;
    std::size_t first_cell;
  };
  // Texts with their numbers here and in the store (0: not known yet). Iterations repeat the same order of rows, so the
  // text that came after the last one is guessed first.
  struct Interned {
    std::unordered_map<std::string, std::uint32_t> numbers;
    std::vector<const std::string*> texts;
    std::vector<std::uint64_t> ids;
    std::vector<std::uint32_t> next;  // what came after each text, at first itself
    std::uint32_t last = 0;
    std::uint32_t of(const std::string& text);
  };
  // The further columns of a row, such as its iteration: consecutive rows often share them.
  struct PlaceAndExtra {
    std::vector<std::pair<std::string, Cell>> more;
    std::uint32_t place, extra;
  };
  // Where a row goes.
  struct Key {
    std::uint64_t tensor, place, source, line;
    std::uint32_t row;
    auto operator<=>(const Key&) const = default;
  };

  PlaceAndExtra place_and_extra(const Identity& identity, const DumpPlace& place);
  Status write(std::uint64_t& rows, bool& left);
  Status settle_file(File& file);
  Status remove_rows(const File& file);
  Status resolve();
  Status resolve(Interned& interned, const std::string& find, const std::string& make,
                 const std::function<void(Statement&, std::size_t)>& bind);
  Result<int> make_columns();  // how many the table has
  std::vector<Key> keys() const;
  Key key_of(std::size_t row) const;
  void bind(const Key& key, Statement& statement, int first, int columns) const;
  Status insert_rows(std::uint64_t& rows);
  Status insert_exact();
  Status save_files();

  Database& database_;
  const std::uint64_t run_;
  std::vector<File> files_;
  std::vector<Pending> rows_;
  std::vector<StoredCell> cells_;
  std::vector<std::string> texts_;
  std::vector<std::tuple<std::size_t, std::uint32_t, Value>> exact_;  // row, index among its statistics, value
  Interned tensors_, places_, kinds_, extras_;
  std::vector<Identity> tensor_facts_;
  std::vector<DumpPlace> place_facts_;
  std::vector<Row> kind_facts_;
  std::vector<Kind> kind_layouts_;
  std::optional<PlaceAndExtra> last_;  // of the last row of this file
  std::string key_;
};

}  // namespace tensorstat
