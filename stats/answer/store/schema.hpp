// The tables of a store.
#pragma once

#include <string>
#include <string_view>
#include <tensorstat/catalog.hpp>
#include <tensorstat/status.hpp>
#include <vector>

#include "stats/answer/store/database.hpp"

namespace tensorstat {

// "negative_zero_count", "p99_9"
std::string sql_name(Category category);

// Makes the tables in an empty file; of a store, checks that it is one. An error says what the file is instead.
Status make_or_check_schema(Database& database);
Status check_schema(Database& database);

// The statistics that have a column in `rows`.
Result<Categories> statistics_columns(Database& database);

// A question to the view tensorstat, in which statistics that no row has are NULL.
Result<std::string> with_every_statistic(Database& database, std::string_view sql);

// Adds a column for each of these, and makes the view tensorstat anew. In a transaction of the caller.
Status add_statistics(Database& database, const Categories& had, const Categories& more);

}  // namespace tensorstat
