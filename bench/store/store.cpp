// The store beside raw SQLite and beside reading alone: bytes a row, rows a second, a series of one tensor.
//   store_bench FOLDER [TENSORS] [ITERATIONS]
#include "stats/answer/store/store.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

namespace {

using namespace tensorstat;
namespace fs = std::filesystem;

// Of the processor: on a machine that others use the clock says little. What waits for the disk is not in it.
double seconds_of(const auto& run) {
  const std::clock_t start = std::clock();
  run();
  return double(std::clock() - start) / CLOCKS_PER_SEC;
}

void must(bool is_good, const char* what) {
  if (is_good) return;
  std::fprintf(stderr, "%s failed\n", what);
  std::exit(1);
}

// Rows of 14 statistics, 4 of them reals, in the order of iterations.
void write_rows(const std::string& path, int tensors, int iterations) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> real(0, 10);
  std::ofstream file(path);
  file << "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,Min Value,Avg Value,"
          "Count,Negative Zero Count,Positive Zero Count,NaN Count,Negative Inf Count,Positive Inf Count,Zero "
          "Count,L2Norm Value,Finite Count,Subnormal Count,Minus Zero Count,Iteration\n";
  char line[512];
  for (int step = 0; step < iterations; ++step) {
    for (int tensor = 0; tensor < tensors; ++tensor) {
      const int negative = static_cast<int>(random() % 1048000);
      const int length = std::snprintf(
          line, sizeof line,
          "Linear,model/layers/%d/mlp/op%d,0,0,%lld,output,0,4194304,float32,\"(1024,1024)\",%.17g,%.17g,%.17g,1048576,"
          "%d,%d,0,0,0,3,%.17g,1048576,0,0,%d\n",
          tensor / 8, tensor % 8, 1700000000000000LL + step * 2000000LL + tensor * 100LL, real(random), -real(random),
          real(random) - 5, negative, 1048573 - negative, real(random) * 100, step);
      file.write(line, length);
    }
  }
}

// The same rows into one table, in the order in which they come: prepared, in one transaction. With the store's key, or
// with a row number alone.
double raw_inserts(const std::string& csv, const std::string& path, bool has_key) {
  std::vector<Row> rows;
  must(static_cast<bool>(read_rows_of_file(csv, [&](Row&& row) { return rows.push_back(row), Status(); })), "reading");
  sqlite3* handle = nullptr;
  must(sqlite3_open(path.c_str(), &handle) == SQLITE_OK, "opening");
  const std::string key = has_key ? ", PRIMARY KEY(tensor, place, source, line)) WITHOUT ROWID" : ")";
  sqlite3_exec(handle,
               ("PRAGMA journal_mode=TRUNCATE; PRAGMA cache_size=-65536; CREATE TABLE r(tensor, place, source, line, "
                "kind, extra, task, stream, time, nan, a, b, c, d, e, f, g, h, i, j, k, l, m, n" +
                key)
                   .c_str(),
               nullptr, nullptr, nullptr);
  sqlite3_stmt* insert = nullptr;
  sqlite3_prepare_v2(handle, "INSERT INTO r VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", -1, &insert,
                     nullptr);
  const double taken = seconds_of([&] {
    sqlite3_exec(handle, "BEGIN", nullptr, nullptr, nullptr);
    std::int64_t number = 0;
    for (const Row& row : rows) {
      sqlite3_bind_int64(insert, 1, number % 2000);
      sqlite3_bind_int64(insert, 2, number / 2000);
      sqlite3_bind_int64(insert, 3, 1);
      sqlite3_bind_int64(insert, 4, number++);
      for (const int column : {5, 6, 7, 8}) sqlite3_bind_int64(insert, column, column < 7);
      sqlite3_bind_int64(insert, 9, static_cast<std::int64_t>(row.identity.timestamp_us));
      int column = 11;  // 10 is NULL
      for (const Value& value : row.statistics.values) {
        if (const auto* real = std::get_if<double>(&value)) sqlite3_bind_double(insert, column++, *real);
        if (const auto* count = std::get_if<std::uint64_t>(&value)) {
          sqlite3_bind_int64(insert, column++, static_cast<std::int64_t>(*count));
        }
      }
      must(sqlite3_step(insert) == SQLITE_DONE, "inserting");
      sqlite3_reset(insert);
    }
    sqlite3_exec(handle, "COMMIT", nullptr, nullptr, nullptr);
  });
  sqlite3_finalize(insert);
  sqlite3_close(handle);
  return taken;
}

double add(const std::string& csv, const std::string& path) {
  return seconds_of([&] {
    auto store = Store::open(path, Access::kWrite);
    must(store && store->add({{csv, ""}}, "run",
                             [](std::string_view words) { std::printf("%.*s\n", int(words.size()), words.data()); }),
         "adding");
  });
}

// The least of some, as the first ones read the file.
double series(const std::string& path) {
  auto store = Store::open(path, Access::kRead);
  must(static_cast<bool>(store), "opening");
  double least = 1e9;
  for (int i = 0; i < 50; ++i) {
    least = std::min(
        least, seconds_of([&] {
          must(static_cast<bool>(store->ask(
                   "SELECT iteration, l2norm FROM tensorstat WHERE op_name = 'model/layers/3/mlp/op1' AND io = "
                   "'output' AND slot = 0 LIMIT 10",
                   [](const std::vector<std::string>&) {})),
               "asking");
        }));
  }
  return least;
}

}  // namespace

int main(int count, char** words) {
  must(count > 1, "store_bench FOLDER [TENSORS] [ITERATIONS]:");
  const std::string folder = words[1];
  const int tensors = count > 2 ? std::atoi(words[2]) : 2000, iterations = count > 3 ? std::atoi(words[3]) : 1000;
  const double rows = static_cast<double>(tensors) * iterations;
  fs::create_directories(folder);
  const std::string csv = folder + "/statistic.csv", small = folder + "/small.csv", store = folder + "/runs.db";
  for (const char* old : {"/runs.db", "/small.db", "/raw.db", "/keyed.db"}) fs::remove(folder + old);
  write_rows(csv, tensors, iterations);
  write_rows(small, tensors, std::max(10, iterations / 100));
  const double parse =
      seconds_of([&] { must(static_cast<bool>(read_rows_of_file(csv, [](Row&&) { return Status(); })), "reading"); });
  const double added = add(csv, store);
  const double raw = raw_inserts(csv, folder + "/raw.db", false);
  const double keyed = raw_inserts(csv, folder + "/keyed.db", true);
  add(small, folder + "/small.db");
  std::printf("%.0f rows, %.0f bytes a row of csv\n", rows, double(fs::file_size(csv)) / rows);
  std::printf("bytes a row            %8.1f   at most 110\n", double(fs::file_size(store)) / rows);
  std::printf("add                    %8.0f rows/s\n", rows / added);
  std::printf("parse alone            %8.0f rows/s; add / parse %.2f\n", rows / parse, parse / added);
  std::printf("raw inserts            %8.0f rows/s; add without parsing / raw %.2f, at least 0.7\n", rows / raw,
              raw / (added - parse));
  std::printf("raw, with the same key %8.0f rows/s; add without parsing / raw %.2f\n", rows / keyed,
              keyed / (added - parse));
  const double of_all = series(store), of_few = series(folder + "/small.db");
  std::printf("10 rows of a series    %8.3f ms of all, %.3f ms of a hundredth: %.2f, at most 2\n", of_all * 1e3,
              of_few * 1e3, of_all / of_few);
}
