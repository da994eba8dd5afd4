// SQLite behind values: a connection, statements, errors that name the store.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <utility>

#include "stats/answer/store/page_checksums.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace tensorstat {

enum class Access : std::uint8_t { kRead, kWrite };

class Statement {
 public:
  Statement() = default;
  explicit Statement(sqlite3_stmt* statement) : statement_(statement, &finalize) {}

  // Parameters and columns count from 1 and from 0, as SQLite counts them. A number of 64 bits keeps its bits.
  Statement& bind(int parameter, std::uint64_t number);
  Statement& bind(int parameter, std::int64_t number);
  Statement& bind(int parameter, double number);  // NaN becomes NULL: that is SQLite's rule
  Statement& bind(int parameter, std::string_view text);
  Statement& bind_blob(int parameter, std::span<const std::byte> bytes);
  Statement& bind_null(int parameter);
  void reset();

  enum class Type : std::uint8_t { kInteger, kReal, kText, kBlob, kNull };
  int column_count() const;
  std::string_view column_name(int column) const;
  Type type(int column) const;
  std::uint64_t number(int column) const;
  double real(int column) const;
  std::string_view text(int column) const;  // until the next step
  std::span<const std::byte> blob(int column) const;

 private:
  friend class Database;
  static void finalize(sqlite3_stmt* statement);
  std::unique_ptr<sqlite3_stmt, void (*)(sqlite3_stmt*)> statement_{nullptr, &finalize};
};

class Database {
 public:
  // kRead needs a file that is there. Every file is taken for a foreign one: SQLite trusts nothing that its schema
  // says, checks each page, and maps no memory. Where pages have checksums (page_checksums.hpp), a page that does not
  // match its own is an error. `makes_checksums`: a new file has them.
  static Result<Database> open(const std::string& path, Access access, bool makes_checksums = false);
  Database(Database&&) noexcept = default;
  Database& operator=(Database&&) noexcept = default;

  const std::string& path() const { return path_; }
  bool has_checksums() const { return checksums_ == PageChecksums::kLooked; }

  Status run(const std::string& sql);
  Result<Statement> prepare(std::string_view sql);
  Result<bool> step(Statement& statement);               // whether there is a row
  Status step_once(Statement& statement);                // a statement without rows; it is reset
  Result<std::uint64_t> number(const std::string& sql);  // the first column of the first row; 0 without a row
  std::uint64_t last_row() const;
  std::uint64_t changes() const;

  // Begins to write, after others have ended. Gives up after a minute.
  Status begin() { return run("BEGIN IMMEDIATE"); }
  Status commit() { return run("COMMIT"); }
  // Reads between this and roll_back() see one state of the store, while others commit.
  Status begin_reading() { return run("BEGIN"); }
  void roll_back();

 private:
  Database(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle, &close) {}
  static void close(sqlite3* handle);
  Error error() const;
  Status protect(Access access);

  std::string path_;
  PageChecksums checksums_ = PageChecksums::kAbsent;
  std::unique_ptr<sqlite3, void (*)(sqlite3*)> handle_;
};

}  // namespace tensorstat
