#include "stats/data/rows/dump_json/dump_json.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/job/dump/msprobe/dump_json_carrier.hpp"
#include "tests/fuzz/targets.hpp"

namespace tensorstat::fuzz {
namespace {

Status read_calls(Input text, const EachRow& each, const CallListener& listener, RowsRead& read) {
  const NextPiece all = [&](std::string& piece) -> Result<bool> {
    piece += text;
    text = {};
    return false;
  };
  return read_dump_json("dump.json", all, each, read, listener);
}

std::vector<std::string> layouts_in(Input text) {
  std::vector<std::string> layouts;
  RowsRead read;
  const CallListener keep{{}, [&](CallRead&& call) { return layouts.push_back(std::move(call.layout)), Status(); }};
  demand(static_cast<bool>(read_calls(
             text, [](Row&&) { return Status(); }, keep, read)),
         "what is read is read again");
  return layouts;
}

// Writes the rows again and reads the result: it must have the same number of rows. `are_calls`: also writes what is
// around the rows.
void written_again(Input text, const std::string& framework, bool are_calls) {
  std::string again;
  ConversionLosses losses;
  DumpJsonCarrier carrier(
      framework, [&](std::string_view piece) { return again.append(piece), Status(); }, losses);
  RowsRead ignored;
  CallListener listener;
  if (are_calls) {
    listener = {[&] { return carrier.begin_call(); },
                [&](CallRead&& call) { return carrier.end_call(std::move(call)); }};
  }
  const Status carried = read_calls(
      text, [&](Row&& row) { return carrier.carry(std::move(row)); }, listener, ignored);
  demand(static_cast<bool>(carried) && static_cast<bool>(carrier.finish()), "what is read is carried");
  for (const std::string& loss : losses.words()) demand_message(loss, 4000);
  std::uint64_t count = 0;
  const auto read = read_rows(again, [&](Row&&) { return ++count, Status(); });
  demand(static_cast<bool>(read), "what is written is read");
  demand(count == carrier.rows(), "every row that was carried is there");
  if (!are_calls || !losses.words().empty()) return;
  const auto before = layouts_in(text);
  const bool has_all = std::ranges::count(before, "") == 0;
  demand(!has_all || before == layouts_in(again), "what stands around the tensors is kept");
}

}  // namespace

void dump_json(Input text) {
  std::uint64_t count = 0;
  const auto each = [&](Row&& row) -> Status {
    ++count;
    demand(row.identity.io == "input" || row.identity.io == "output", "a row is of an input or an output");
    demand(row.identity.find("tensor") != nullptr, "a tensor has its name");
    demand(row.statistics.categories.size() == row.statistics.values.size(), "a category has its value");
    demand(row.shape.size() <= 1024, "a shape is bounded");
    const Value* average = row.statistics.find(Category::kAvg);
    demand(average == nullptr || average->index() == 0 || std::holds_alternative<double>(*average),
           "a mean is binary64");
    return {};
  };
  // In pieces of three bytes: the result does not depend on the pieces.
  Input rest = text;
  const NextPiece next = [&](std::string& piece) -> Result<bool> {
    piece += rest.substr(0, 3);
    rest.remove_prefix(std::min<std::size_t>(rest.size(), 3));
    return !rest.empty();
  };
  RowsRead read_in_pieces, read;
  const Status in_pieces = read_dump_json("dump.json", next, each, read_in_pieces);
  const std::uint64_t count_in_pieces = count;
  count = 0;
  rest = text;
  const NextPiece all = [&](std::string& piece) -> Result<bool> {
    piece += rest;
    rest = {};
    return false;
  };
  const Status whole = read_dump_json("dump.json", all, each, read);
  demand(static_cast<bool>(in_pieces) == static_cast<bool>(whole) && count == count_in_pieces,
         "pieces make no difference");
  if (!whole) {
    demand(whole.error().message == in_pieces.error().message, "pieces make no difference to a message");
    return demand_message(whole.error().message, 1000);
  }
  demand(read.row_count == count && read_in_pieces.row_count == count, "every row is counted");
  if (!is_dump_json(text)) return;
  written_again(text, read.framework, false);
  written_again(text, read.framework, true);
}

}  // namespace tensorstat::fuzz
