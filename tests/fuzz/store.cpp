// A store whose bytes were changed. The first byte of the input chooses a question. Then comes a list of changes of
// four bytes each, a place and what is exclusive-ored into the byte there; a change of 0 cuts the file off at its
// place.
#include "stats/answer/store/store.hpp"

#include <fstream>
#include <vector>

#include "tests/fuzz/targets.hpp"
#include "tests/support/scratch_folder.hpp"

namespace tensorstat::fuzz {

#ifdef TENSORSTAT_STORE
namespace {

struct StoreFile {
  ScratchFolder folder{"/dev/shm"};
  std::string path = folder / "runs.db", sound;

  StoreFile() {
    std::ofstream csv(folder / "statistic.csv");
    csv << "Op Type,Op Name,Task ID,Stream ID,Timestamp,IO,Slot,Data Size,Data Type,Shape,Max Value,L2Norm Value,NaN "
           "Count,MD5,Exponents,P99.9,Iteration,Path\n";
    for (int i = 0; i < 12; ++i) {
      csv << "Add,a/" << i % 7 << ",0,0," << i << ",output,0,8,uint64,\"(2,1)\","
          << (i % 2 ? "18446744073709551615" : "7") << ",nan," << i
          << ",0123456789abcdef0123456789abcdef,zero:2 subnormal:0 -1:7 inf:0 nan:1,5," << i << ",p\n";
    }
    csv.close();
    auto store = Store::open(path, Access::kWrite);
    const std::vector<RowFile> files{{folder / "statistic.csv", ""}};
    demand(store && store->add(files, "run", [](std::string_view) {}), "a store is made");
    sound = content_of(path);
  }
  const std::vector<StoreQuestion> questions = store_questions();
};

void demand_fault(const Error& error) { demand_message(error.message, 1000); }

}  // namespace

void store(Input changes) {
  static const StoreFile file;
  if (changes.empty()) return;
  const StoreQuestion& question = file.questions[static_cast<unsigned char>(changes[0]) % file.questions.size()];
  changes.remove_prefix(1);
  std::string bytes = file.sound;
  for (; changes.size() >= 4 && !bytes.empty(); changes.remove_prefix(4)) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(changes[i]); };
    const std::size_t offset = (byte(0) | byte(1) << 8 | byte(2) << 16) % bytes.size();
    if (byte(3) == 0) {
      bytes.resize(offset);
    } else {
      bytes[offset] = static_cast<char>(bytes[offset] ^ changes[3]);
    }
  }
  std::ofstream(file.path, std::ios::binary | std::ios::trunc) << bytes;
  auto store = Store::open(file.path, Access::kRead);
  if (!store) return demand_fault(store.error());
  if (const auto runs = store->runs(); !runs) demand_fault(runs.error());
  const auto files = store->files("run");
  if (!files) return demand_fault(files.error());
  for (const StoredRows& each : *files) {
    const std::size_t run = each.path.find("//") + 2, source = each.path.find('/', run);
    if (source == each.path.npos) continue;
    const std::string name = each.path.substr(run, source - run);
    std::uint64_t rows = 0;
    const auto read = store->read(name, each.path.substr(source), [&](Row&& row) {
      demand(row.statistics.values.size() == row.statistics.categories.size(), "a value a category");
      return ++rows < 1000 ? Status() : Status(Error{Code::kInvalid, "enough"});
    });
    if (!read) demand_fault(read.error());
  }
  Status answered = store->ask(question.sql, [](const std::vector<std::string>&) {});
  if (!answered) demand_fault(answered.error());
}
#else
void store(Input) {}
#endif

}  // namespace tensorstat::fuzz
