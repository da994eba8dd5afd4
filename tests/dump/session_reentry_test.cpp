// The log and the deleters of keep_alive are called under no lock: they may use the session, and may take a lock of
// their own.
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/dump_session.hpp"

namespace tensorstat {
namespace session_reentry_test {

class SessionReentry : public SessionTest {
 protected:
  DumpSession open_with(Log log) {
    options.log = std::move(log);
    const auto keys = nlohmann::json{{"path", folder.path()}, {"net_name", "Net"}, {"saved_data", "statistic"}};
    auto session = DumpSession::from_json(config_text(keys.dump(), "{}"), options);
    EXPECT_TRUE(session) << session.error().message;
    return std::move(*session);
  }
  const std::vector<float> values{1, 2};
};

TEST_F(SessionReentry, ALogUsesTheSession) {
  DumpSession session;
  int calls = 0;
  session = open_with([&](Severity, std::string_view) {
    ++calls;
    static_cast<void>(session.counters());
    collect(session, {}, "from-the-log", {tensor(values, Dtype::kFloat32)});
    EXPECT_TRUE(session.flush() || session.counters().lost_tensor_count != 0);
  });
  auto refused = tensor(values, Dtype::kFloat32);
  refused.shape = {7};
  collect(session, {}, "x", {refused});  // reported by the thread that hands over
  collect(session, {}, "x", {tensor(std::vector<float>{}, Dtype::kFloat32)});
  EXPECT_EQ(calls, 2);
  std::ofstream(folder / "rank_0/.dump_metadata") << "in the way";
  collect(session, {.rank = 1}, "x", {tensor(values, Dtype::kFloat32)});
  session.close();
  EXPECT_EQ(rows().size(), static_cast<std::size_t>(2));
}

TEST_F(SessionReentry, ALogOfTheSessionsOwnThreadIsCalledByWhoeverCallsNext) {
  std::mutex of_the_caller;  // such as an interpreter's lock
  DumpSession session;
  int calls = 0;
  std::thread::id caller = std::this_thread::get_id();
  session = open_with([&](Severity, std::string_view) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    ++calls;
  });
  std::filesystem::create_directories(folder / "rank_0/Net/0/0/statistic.csv");  // a folder is in the place of the file
  const std::lock_guard lock(of_the_caller);
  collect(session, {}, "x", {tensor(values, Dtype::kFloat32)});
  session.flush();
  EXPECT_GE(calls, 1);
  session.close();
}

TEST_F(SessionReentry, ALogThatThrowsEndsNothing) {
  auto session = open_with([](Severity, std::string_view) { throw std::runtime_error("a log"); });
  auto refused = tensor(values, Dtype::kFloat32);
  refused.shape = {7};
  collect(session, {}, "x", {refused});
  collect(session, {}, "x", {tensor(values, Dtype::kFloat32)});
  session.close();
  EXPECT_EQ(rows().size(), 1u);
}

TEST_F(SessionReentry, ADeleterUsesTheSession) {
  for (const std::uint64_t memory_bytes : {std::uint64_t{0}, std::uint64_t{1} << 20}) {
    std::filesystem::remove_all(folder / "rank_0");
    options.memory_bytes = memory_bytes;
    auto session = open();
    std::promise<void> done;
    auto given = tensor(values, Dtype::kFloat32);
    given.keep_alive = std::shared_ptr<const void>(values.data(), [&](const void*) {
      EXPECT_EQ(session.counters().operator_count, 1u);
      collect(session, {}, "from-the-deleter", {tensor(values, Dtype::kFloat32)});
      session.step_end({});
      session.flush();
      done.set_value();
    });
    collect(session, {}, "x", {given});
    given.keep_alive = nullptr;
    session.flush();
    done.get_future().wait();
    session.close();
    const auto table = rows();
    ASSERT_EQ(table.size(), 2u);
    EXPECT_EQ(table[1].identity.op_name, "from-the-deleter");
  }
}

TEST_F(SessionReentry, ADeleterWaitsForALockThatTheCallerHoldsWhileItFlushes) {
  auto session = open();
  std::mutex of_the_caller;
  std::promise<void> done;
  auto given = tensor(values, Dtype::kFloat32);
  given.keep_alive = std::shared_ptr<const void>(values.data(), [&, caller = std::this_thread::get_id()](const void*) {
    std::unique_lock lock(of_the_caller, std::defer_lock);
    if (std::this_thread::get_id() != caller) lock.lock();  // the caller's thread already holds it
    done.set_value();
  });
  {
    const std::lock_guard lock(of_the_caller);
    collect(session, {}, "x", {given});
    given.keep_alive = nullptr;
    session.flush();
    EXPECT_EQ(rows().size(), 1u);
  }
  done.get_future().wait();
  session.close();
}

TEST_F(SessionReentry, ADeleterClosesTheSession) {
  auto session = open();
  std::promise<void> done;
  auto given = tensor(values, Dtype::kFloat32);
  given.keep_alive = std::shared_ptr<const void>(values.data(), [&](const void*) {
    session.close();
    done.set_value();
  });
  collect(session, {}, "x", {given});
  given.keep_alive = nullptr;
  done.get_future().wait();
  session.close();
  EXPECT_EQ(rows().size(), 1u);
}

}  // namespace session_reentry_test
}  // namespace tensorstat
