#include "stats/answer/store/database.hpp"

#include <sys/stat.h>

#include "stats/answer/store/sqlite.hpp"
#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace {

constexpr int kMostBytes = 64 << 20;  // of a text, a blob or a row
constexpr int kWaitMs = 60'000;

// A path with # ? and % as SQLite's URI wants it.
std::string uri_of(const std::string& path, std::string_view mode) {
  std::string uri = path.starts_with('/') ? "file://" : "file:";  // "file://tmp/runs.db" would be of a host "tmp"
  for (const char c : path) {
    constexpr char kDigits[] = "0123456789abcdef";
    const auto code = static_cast<unsigned char>(c);
    if (c == '#' || c == '?' || c == '%') {
      uri.append({'%', kDigits[code >> 4], kDigits[code & 15]});
    } else {
      uri += c;
    }
  }
  return uri.append("?mode=").append(mode);
}

}  // namespace

Statement& Statement::bind(int parameter, std::uint64_t number) {
  return bind(parameter, static_cast<std::int64_t>(number));
}
Statement& Statement::bind(int parameter, std::int64_t number) {
  sqlite3_bind_int64(statement_.get(), parameter, number);
  return *this;
}
Statement& Statement::bind(int parameter, double number) {
  sqlite3_bind_double(statement_.get(), parameter, number);
  return *this;
}
// A null pointer would be NULL, and not an empty text.
Statement& Statement::bind(int parameter, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), parameter, text.empty() ? "" : text.data(), text.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}
Statement& Statement::bind_blob(int parameter, std::span<const std::byte> bytes) {
  sqlite3_bind_blob64(statement_.get(), parameter, bytes.empty() ? "" : static_cast<const void*>(bytes.data()),
                      bytes.size(), SQLITE_TRANSIENT);
  return *this;
}
Statement& Statement::bind_null(int parameter) {
  sqlite3_bind_null(statement_.get(), parameter);
  return *this;
}
void Statement::reset() { sqlite3_reset(statement_.get()); }
void Statement::finalize(sqlite3_stmt* statement) { sqlite3_finalize(statement); }

int Statement::column_count() const { return sqlite3_column_count(statement_.get()); }
std::string_view Statement::column_name(int column) const {
  const char* name = sqlite3_column_name(statement_.get(), column);
  return name ? name : "";
}
Statement::Type Statement::type(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_INTEGER:
      return Type::kInteger;
    case SQLITE_FLOAT:
      return Type::kReal;
    case SQLITE_TEXT:
      return Type::kText;
    case SQLITE_BLOB:
      return Type::kBlob;
    default:
      return Type::kNull;
  }
}
std::uint64_t Statement::number(int column) const {
  return static_cast<std::uint64_t>(sqlite3_column_int64(statement_.get(), column));
}
double Statement::real(int column) const { return sqlite3_column_double(statement_.get(), column); }
std::string_view Statement::text(int column) const {
  const auto bytes = blob(column);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::span<const std::byte> Statement::blob(int column) const {
  const auto* bytes = static_cast<const std::byte*>(sqlite3_column_blob(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return {bytes, bytes == nullptr || size < 0 ? 0 : static_cast<std::size_t>(size)};
}

void Database::close(sqlite3* handle) { sqlite3_close_v2(handle); }

Error Database::error() const {
  const int code = sqlite3_extended_errcode(handle_.get());
  const std::string where = printable(path_) + ": ";
  if (is_of_page_checksum(code)) {
    return {Code::kUnreadable,
            where + "the store is damaged: a page does not match its checksum; add its dumps to a new one"};
  }
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      return {Code::kUnreadable, where + "is no store: it is no SQLite file"};
    case SQLITE_CORRUPT:
      return {Code::kUnreadable, where + "the store is damaged; add its dumps to a new one"};
    case SQLITE_BUSY:
      return {Code::kUnwritable, where + "another process holds the store for longer than a minute"};
    case SQLITE_NOMEM:
      return out_of_memory();
    case SQLITE_CANTOPEN:
      return {Code::kUnreadable, where + "the store cannot be opened"};
    case SQLITE_READONLY:
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return {Code::kUnwritable, where + "the store cannot be written: " + shown(sqlite3_errmsg(handle_.get()))};
    default:
      return {Code::kUnreadable, where + "the store cannot be read: " + shown(sqlite3_errmsg(handle_.get()))};
  }
}

Status Database::protect(Access access) {
  sqlite3* handle = handle_.get();
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMostBytes);
  sqlite3_limit(handle, SQLITE_LIMIT_SQL_LENGTH, 1 << 20);
  sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_busy_timeout(handle, kWaitMs);
  const std::string only = access == Access::kRead ? "PRAGMA query_only=ON;" : "PRAGMA cache_size=-65536;";
  return run("PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;" + only);
}

Result<Database> Database::open(const std::string& path, Access access, bool makes_checksums) {
  // If a writer was killed, the store has a journal, and only a connection that may write can undo it. So a reader
  // opens the store for writing if it may; query_only keeps it from writing.
  if (sqlite() == nullptr) {
    return Error{Code::kUnsupported, printable(path) + ": a store, for which " TENSORSTAT_SQLITE_LIBRARY
                                                       " is needed: apt-get install libsqlite3-0"};
  }
  // SQLite would wait for a pipe's other end.
  if (struct stat facts; ::stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode)) {
    return Error{Code::kUnreadable, printable(path) + ": is no regular file"};
  }
  sqlite3* handle = nullptr;
  int code = SQLITE_OK;
  for (const char* mode : {access == Access::kRead ? "rw" : "rwc", "ro"}) {
    sqlite3_close_v2(handle);
    code = sqlite3_open_v2(uri_of(path, mode).c_str(), &handle,
                           (mode[1] == 'o' ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) | SQLITE_OPEN_URI |
                               SQLITE_OPEN_NOMUTEX | (mode[1] == 'w' && mode[2] == 'c' ? SQLITE_OPEN_CREATE : 0),
                           nullptr);
    if (code == SQLITE_OK || access == Access::kWrite) break;
  }
  Database database(path, handle);
  if (handle == nullptr) return out_of_memory();
  if (code != SQLITE_OK) {
    Error fault = database.error();
    const bool is_closed = access == Access::kWrite && (code & 0xff) == SQLITE_CANTOPEN;
    if (!is_closed) return fault;
    return Error{Code::kUnwritable, printable(path) +
                                        ": the store cannot be made or written: its folder is not there, or "
                                        "the permission is missing"};
  }
  database.checksums_ = look_at_page_checksums(handle, makes_checksums && access == Access::kWrite);
  if (Status safe = database.protect(access); !safe) return safe.error();
  return database;
}

Status Database::run(const std::string& sql) {
  return sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK ? Status() : error();
}

Result<Statement> Database::prepare(std::string_view sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()), 0, &statement, nullptr);
  if (code != SQLITE_OK) return error();
  return Statement(statement);
}

Result<bool> Database::step(Statement& statement) {
  const int code = sqlite3_step(statement.statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return error();
}

Status Database::step_once(Statement& statement) {
  auto stepped = step(statement);
  statement.reset();
  return stepped ? Status() : stepped.error();
}

Result<std::uint64_t> Database::number(const std::string& sql) {
  auto statement = prepare(sql);
  if (!statement) return statement.error();
  const auto row = step(*statement);
  if (!row) return row.error();
  return *row ? statement->number(0) : 0;
}

std::uint64_t Database::last_row() const {
  return static_cast<std::uint64_t>(sqlite3_last_insert_rowid(handle_.get()));
}
std::uint64_t Database::changes() const { return static_cast<std::uint64_t>(sqlite3_changes64(handle_.get())); }

void Database::roll_back() {
  if (sqlite3_get_autocommit(handle_.get()) == 0) sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

}  // namespace tensorstat
