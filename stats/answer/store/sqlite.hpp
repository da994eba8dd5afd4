// SQLite, loaded when the first store is opened. Without it everything but stores works. The names of SQLite's
// functions are bound to the loaded library; a function that is missing in the list does not link.
#pragma once

#include <sqlite3.h>

#include "stats/core/base/loaded_library.hpp"

namespace tensorstat {

#define TENSORSTAT_SQLITE_FUNCTIONS(F) \
  F(sqlite3_bind_blob64)               \
  F(sqlite3_bind_double)               \
  F(sqlite3_bind_int64)                \
  F(sqlite3_bind_null)                 \
  F(sqlite3_bind_text64)               \
  F(sqlite3_busy_timeout)              \
  F(sqlite3_changes64)                 \
  F(sqlite3_close_v2)                  \
  F(sqlite3_column_blob)               \
  F(sqlite3_column_bytes)              \
  F(sqlite3_column_count)              \
  F(sqlite3_column_double)             \
  F(sqlite3_column_int64)              \
  F(sqlite3_column_name)               \
  F(sqlite3_column_type)               \
  F(sqlite3_db_config)                 \
  F(sqlite3_errmsg)                    \
  F(sqlite3_exec)                      \
  F(sqlite3_extended_errcode)          \
  F(sqlite3_extended_result_codes)     \
  F(sqlite3_file_control)              \
  F(sqlite3_finalize)                  \
  F(sqlite3_get_autocommit)            \
  F(sqlite3_last_insert_rowid)         \
  F(sqlite3_limit)                     \
  F(sqlite3_open_v2)                   \
  F(sqlite3_prepare_v3)                \
  F(sqlite3_reset)                     \
  F(sqlite3_step)

struct Sqlite {
  TENSORSTAT_LOADED_FUNCTIONS(TENSORSTAT_SQLITE_FUNCTIONS)
};

// nullptr if SQLite is not installed, or is older than 3.37. Not null while a Database exists.
inline const Sqlite* sqlite() noexcept { return loaded<Sqlite>(TENSORSTAT_SQLITE_LIBRARY); }

}  // namespace tensorstat

// A macro cannot define macros: these are the names of the list once more.
#define sqlite3_bind_blob64 tensorstat::sqlite()->sqlite3_bind_blob64_
#define sqlite3_bind_double tensorstat::sqlite()->sqlite3_bind_double_
#define sqlite3_bind_int64 tensorstat::sqlite()->sqlite3_bind_int64_
#define sqlite3_bind_null tensorstat::sqlite()->sqlite3_bind_null_
#define sqlite3_bind_text64 tensorstat::sqlite()->sqlite3_bind_text64_
#define sqlite3_busy_timeout tensorstat::sqlite()->sqlite3_busy_timeout_
#define sqlite3_changes64 tensorstat::sqlite()->sqlite3_changes64_
#define sqlite3_close_v2 tensorstat::sqlite()->sqlite3_close_v2_
#define sqlite3_column_blob tensorstat::sqlite()->sqlite3_column_blob_
#define sqlite3_column_bytes tensorstat::sqlite()->sqlite3_column_bytes_
#define sqlite3_column_count tensorstat::sqlite()->sqlite3_column_count_
#define sqlite3_column_double tensorstat::sqlite()->sqlite3_column_double_
#define sqlite3_column_int64 tensorstat::sqlite()->sqlite3_column_int64_
#define sqlite3_column_name tensorstat::sqlite()->sqlite3_column_name_
#define sqlite3_column_type tensorstat::sqlite()->sqlite3_column_type_
#define sqlite3_db_config tensorstat::sqlite()->sqlite3_db_config_
#define sqlite3_errmsg tensorstat::sqlite()->sqlite3_errmsg_
#define sqlite3_exec tensorstat::sqlite()->sqlite3_exec_
#define sqlite3_extended_errcode tensorstat::sqlite()->sqlite3_extended_errcode_
#define sqlite3_extended_result_codes tensorstat::sqlite()->sqlite3_extended_result_codes_
#define sqlite3_file_control tensorstat::sqlite()->sqlite3_file_control_
#define sqlite3_finalize tensorstat::sqlite()->sqlite3_finalize_
#define sqlite3_get_autocommit tensorstat::sqlite()->sqlite3_get_autocommit_
#define sqlite3_last_insert_rowid tensorstat::sqlite()->sqlite3_last_insert_rowid_
#define sqlite3_limit tensorstat::sqlite()->sqlite3_limit_
#define sqlite3_open_v2 tensorstat::sqlite()->sqlite3_open_v2_
#define sqlite3_prepare_v3 tensorstat::sqlite()->sqlite3_prepare_v3_
#define sqlite3_reset tensorstat::sqlite()->sqlite3_reset_
#define sqlite3_step tensorstat::sqlite()->sqlite3_step_
