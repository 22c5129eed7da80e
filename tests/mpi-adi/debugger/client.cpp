// client.cpp PTLRUN TARGET DLL: plays the debugger of a job (target.c), and compares what libportunus_mqs.so tells of each rank with what
// the ranks have done. Then it tells the library lies about the memory of a rank: each must be answered by a code with a sentence, or by
// something that may be wrong, in bounded time. Exit status 77: this host lets no process read another's memory.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <set>
#include <tuple>

#include <sys/stat.h>

#include "tests/mpi-adi/debugger/debugger.hpp"

namespace {

std::string ptlrun, target_program, dll_path;
Dll dll;

template <class Function>
void load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) ADD_FAILURE() << name << " is not there";
}

void load(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
#define LOAD(name) load(library, "mqs_" #name, dll.name)
  LOAD(setup_basic_callbacks), LOAD(version_string), LOAD(version_compatibility), LOAD(dll_taddr_width), LOAD(dll_error_string);
  LOAD(setup_image), LOAD(image_has_queues), LOAD(destroy_image_info), LOAD(setup_process), LOAD(process_has_queues);
  LOAD(destroy_process_info), LOAD(update_communicator_list), LOAD(setup_communicator_iterator), LOAD(get_communicator);
  LOAD(get_comm_group), LOAD(next_communicator), LOAD(setup_operation_iterator), LOAD(next_operation);
#undef LOAD
}

enum Place { kExact, kAnySource, kStrided, kAnyTag, kReversed, kStarted, kSelf, kSynchronous, kLongData };

struct Rank {
  pid_t process = -1;
  std::vector<uint64_t> places;
};

// A job that stands still, from its start to the end of this object.
class Job {
 public:
  explicit Job(int ranks, const char* how = nullptr) {
    char name[] = "/tmp/portunus-mqs-XXXXXX";
    folder_ = mkdtemp(name);
    for (int i = 0; i < ranks; ++i)
      for (const char* kind : {"ready", "go"}) mkfifo(pipe(kind, i).c_str(), 0600);
    child_ = fork();
    if (child_ == 0) {
      const std::string count = std::to_string(ranks);
      execl(ptlrun.c_str(), ptlrun.c_str(), "-n", count.c_str(), "--timeout", "280", target_program.c_str(), folder_.c_str(), how, nullptr);
      _exit(127);
    }
    for (int i = 0; i < ranks; ++i) {
      std::ifstream ready(pipe("ready", i));
      Rank rank;
      ready >> rank.process >> std::hex;
      for (uint64_t place; ready >> place;) rank.places.push_back(place);
      ranks_.push_back(rank);
    }
  }
  ~Job() {
    for (size_t i = 0; i < ranks_.size(); ++i)
      if (is_held(i)) std::ofstream(pipe("go", static_cast<int>(i)));
    int status = -1;
    waitpid(child_, &status, 0);
    EXPECT_EQ(status, 0);
    std::filesystem::remove_all(folder_);
  }
  const Rank& rank(int i) const { return ranks_[static_cast<size_t>(i)]; }

 private:
  bool is_held(size_t rank) const { return rank > 0 || ranks_.size() == 1; }  // rank 0 of several waits in MPI_Send
  std::string pipe(const char* kind, int rank) const { return folder_ + "/" + kind + "." + std::to_string(rank); }

  std::string folder_;
  pid_t child_ = -1;
  std::vector<Rank> ranks_;
};

// One message of a list, as far as it is compared.
struct Message {
  int status;
  mqs_tword_t local, global, tag, length, actual_tag, actual_length;
  int system_buffer;
  mqs_taddr_t buffer;

  bool operator==(const Message&) const = default;
};
void PrintTo(const Message& m, std::ostream* out) {
  *out << "status " << m.status << ", rank " << m.local << " (" << m.global << "), tag " << m.tag << ", " << m.length
       << " bytes; actual: tag " << m.actual_tag << ", " << m.actual_length << " bytes; system buffer " << m.system_buffer << ", at "
       << std::hex << m.buffer << std::dec;
}
constexpr int kNobody = MQS_INVALID_PROCESS, kAnyTagAtAll = -1;

struct Seen {
  int rank = -1, size = -1;
  std::vector<int> group;
  std::vector<Message> lists[3];  // by mqs_op_class
  std::vector<std::string> texts;
};

// A process and the library's records of it.
class Session {
 public:
  explicit Session(pid_t process) : debugged_(process) {
    dll.setup_basic_callbacks(&kBasicCallbacks);
    EXPECT_EQ(dll.setup_image(image(), &kImageCallbacks), mqs_ok);
    EXPECT_EQ(dll.setup_process(this->process(), &kProcessCallbacks), mqs_ok);
  }
  ~Session() {
    EXPECT_EQ(dll.destroy_process_info(debugged_.process_info), mqs_ok);
    EXPECT_EQ(dll.destroy_image_info(debugged_.image_info), mqs_ok);
  }
  mqs_image* image() { return reinterpret_cast<mqs_image*>(&debugged_); }
  mqs_process* process() { return reinterpret_cast<mqs_process*>(&debugged_); }
  Debugged& debugged() { return debugged_; }

  // All there is, by the names of communicators; answers the first code that is neither mqs_ok nor the end of something.
  int walk(std::map<std::string, Seen>& all) {
    int code = dll.update_communicator_list(process());
    if (code != mqs_ok) return code;
    for (code = dll.setup_communicator_iterator(process()); code == mqs_ok; code = dll.next_communicator(process())) {
      mqs_communicator comm;
      if ((code = dll.get_communicator(process(), &comm)) != mqs_ok) return code;
      Seen& seen = all[comm.name];
      EXPECT_EQ(seen.rank, -1) << "twice: " << comm.name;
      seen.rank = static_cast<int>(comm.local_rank);
      seen.size = static_cast<int>(comm.size);
      seen.group.resize(static_cast<size_t>(comm.size));
      if ((code = dll.get_comm_group(process(), seen.group.data())) != mqs_ok) return code;
      for (int op_class : {mqs_pending_sends, mqs_pending_receives, mqs_unexpected_messages}) {
        code = dll.setup_operation_iterator(process(), op_class);
        if (code == mqs_no_information) continue;
        if (code != mqs_ok) return code;
        mqs_pending_operation op;
        while ((code = dll.next_operation(process(), &op)) == mqs_ok) {
          seen.lists[op_class].push_back({op.status, op.desired_local_rank, op.desired_global_rank,
                                          op.tag_wild ? kAnyTagAtAll : op.desired_tag, op.desired_length, op.actual_tag, op.actual_length,
                                          op.system_buffer, op.buffer});
          for (const auto& line : op.extra_text) seen.texts.emplace_back(line);
        }
        if (code != mqs_end_of_list) return code;
      }
    }
    return code == mqs_end_of_list ? mqs_ok : code;
  }

 private:
  Debugged debugged_;
};

using Way = std::pair<int, const char*>;  // ranks, and how they start MPI
class Jobs : public testing::TestWithParam<Way> {};

TEST_P(Jobs, EachRankHasWhatItHasPosted) {
  const auto [ranks, how] = GetParam();
  const Job job(ranks, how);
  for (int me = 0; me < ranks; ++me) {
    SCOPED_TRACE("rank " + std::to_string(me));
    const Rank& rank = job.rank(me);
    ASSERT_EQ(rank.places.size(), size_t{kLongData} + 1);
    const auto at = [&](Place place) { return rank.places[place]; };
    const int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
    Session session(rank.process);
    char* sentence = nullptr;
    EXPECT_EQ(dll.image_has_queues(session.image(), &sentence), mqs_ok);
    EXPECT_EQ(dll.process_has_queues(session.process(), &sentence), mqs_ok);
    std::map<std::string, Seen> all;
    int code;
    do {  // rank 0 is about to call MPI_Send: what is read before it waits there may not fit together
      all.clear();
      code = session.walk(all);
    } while (me == 0 && (code != mqs_ok || all["MPI_COMM_WORLD"].lists[mqs_pending_sends].size() < 3));
    ASSERT_EQ(code, mqs_ok);

    std::set<std::string> names;
    for (const auto& [name, seen] : all) names.insert(name);
    EXPECT_EQ(names,
              (std::set<std::string>{"MPI_COMM_WORLD", "MPI_COMM_SELF", "the second", "reversed", "(an intercommunicator without name)"}));
    std::vector<int> everybody, backwards;
    for (int i = 0; i < ranks; ++i) everybody.push_back(i), backwards.push_back(ranks - 1 - i);
    const Seen &world = all["MPI_COMM_WORLD"], &second = all["the second"], &reversed = all["reversed"];
    EXPECT_EQ(world.rank, me);
    EXPECT_EQ(world.size, ranks);
    EXPECT_EQ(world.group, everybody);
    EXPECT_EQ(second.group, everybody);
    EXPECT_EQ(reversed.rank, ranks - 1 - me);
    EXPECT_EQ(reversed.group, backwards);
    EXPECT_EQ(all["MPI_COMM_SELF"].group, std::vector<int>{me});
    EXPECT_EQ(all["(an intercommunicator without name)"].size, me == 0 ? 1 : ranks - 1);

    const Message none{mqs_st_pending, kNobody, kNobody, 0, 0, 0, 0, 0, 0};
    const auto receive = [&](int local, int global, int tag, int length, Place place) {
      Message made = none;
      made.local = local, made.global = global, made.tag = tag, made.length = length, made.buffer = at(place);
      return made;
    };
    Message complete = receive(me, me, kAnyTagAtAll, 16, kSelf);
    // With several threads nothing keeps what a receive was once it has its message.
    if (how != nullptr && world.lists[mqs_pending_receives].size() == 5 && world.lists[mqs_pending_receives][4].buffer == 0)
      complete.tag = 30, complete.length = 12, complete.buffer = 0;
    complete.status = mqs_st_complete, complete.actual_tag = 30, complete.actual_length = 12;
    EXPECT_EQ(world.lists[mqs_pending_receives],
              (std::vector<Message>{receive(before, before, 5, 100, kExact), receive(kNobody, kNobody, 6, 800, kAnySource),
                                    receive(before, before, 8, 64, kStrided), receive(before, before, 78, 48, kStarted), complete}));
    EXPECT_EQ(second.lists[mqs_pending_receives], std::vector<Message>{receive(before, before, kAnyTagAtAll, 8, kAnyTag)});
    EXPECT_EQ(reversed.lists[mqs_pending_receives], std::vector<Message>{receive(0, ranks - 1, 40, 32, kReversed)});

    const auto send = [&](int tag, int length, Place place) {
      Message made = receive(next, next, tag, length, place);
      made.actual_tag = tag, made.actual_length = length;
      return made;
    };
    std::vector<Message> sends{send(9, 4 << 20, kLongData), send(10, 16, kSynchronous)};
    if (me == 0) sends.push_back(send(11, 4 << 20, kLongData));
    EXPECT_EQ(world.lists[mqs_pending_sends], sends);
    EXPECT_EQ(second.lists[mqs_pending_sends], std::vector<Message>{});

    std::vector<std::pair<int, int>> early{{9, 4 << 20}, {10, 16}, {20, 8}, {21, 3000}};
    std::vector<Message> unexpected = world.lists[mqs_unexpected_messages];
    if (before == 0 && unexpected.size() == 5) early.emplace_back(11, 4 << 20);
    ASSERT_EQ(unexpected.size(), early.size());
    for (size_t i = 0; i < early.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(unexpected[i].local, before);
      EXPECT_EQ(unexpected[i].global, before);
      EXPECT_EQ(unexpected[i].tag, early[i].first);
      EXPECT_EQ(unexpected[i].length, early[i].second);
      EXPECT_EQ(unexpected[i].system_buffer, early[i].second <= 3000);
    }
    char data[8] = "";
    ASSERT_TRUE(session.debugged().read(unexpected[2].buffer, data, sizeof data));
    EXPECT_EQ(std::string(data, sizeof data), "8 bytes.");
    ASSERT_EQ(reversed.lists[mqs_unexpected_messages].size(), 1u);
    EXPECT_EQ(reversed.lists[mqs_unexpected_messages][0].local, ranks - 1 - before);
    EXPECT_EQ(reversed.lists[mqs_unexpected_messages][0].global, before);
    char path[1024] = "";
    ASSERT_TRUE(session.debugged().read(session.debugged().find("MPIR_dll_name"), path, sizeof path));
    EXPECT_EQ(std::filesystem::canonical(path), std::filesystem::canonical(dll_path));
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Jobs, testing::Values(Way{2, nullptr}, Way{3, nullptr}, Way{3, "threads"}));

// ---- what is not as it should be ----

// The code has a sentence of its own.
void expect_refusal(int code, int expected, const std::string& word) {
  EXPECT_EQ(code, expected);
  EXPECT_NE(std::string(dll.dll_error_string(code)).find(word), std::string::npos) << dll.dll_error_string(code);
}
constexpr int kNoMpi = mqs_first_user_code, kOtherVersion = kNoMpi + 1, kUnreadable = kNoMpi + 3, kOutOfOrder = kNoMpi + 5;

TEST(Refusals, AProgramWithoutMpiHasNoQueues) {
  Session session(getpid());
  char* sentence = nullptr;
  expect_refusal(dll.image_has_queues(session.image(), &sentence), kNoMpi, "no MPI");
  EXPECT_STREQ(sentence, dll.dll_error_string(kNoMpi));
  expect_refusal(dll.process_has_queues(session.process(), &sentence), kNoMpi, "no MPI");
  expect_refusal(dll.update_communicator_list(session.process()), kNoMpi, "no MPI");
}

TEST(Refusals, AProcessThatHasNotCalledMpiHasNoCommunicators) {
  const Job job(1, "before");
  Session session(job.rank(0).process);
  EXPECT_EQ(dll.process_has_queues(session.process(), nullptr), mqs_ok);
  EXPECT_EQ(dll.update_communicator_list(session.process()), mqs_ok);
  EXPECT_EQ(dll.setup_communicator_iterator(session.process()), mqs_end_of_list);
  EXPECT_EQ(dll.next_communicator(session.process()), mqs_end_of_list);
}

TEST(Refusals, CallsOutOfOrderAreRefused) {
  Session session(getpid());
  mqs_communicator comm;
  mqs_pending_operation op;
  expect_refusal(dll.setup_communicator_iterator(session.process()), kOutOfOrder, "order");
  expect_refusal(dll.get_communicator(session.process(), &comm), kOutOfOrder, "order");
  expect_refusal(dll.setup_operation_iterator(session.process(), mqs_pending_sends), kOutOfOrder, "order");
  EXPECT_EQ(dll.next_operation(session.process(), &op), mqs_end_of_list);
}

TEST(Refusals, LibrariesOfAnotherVersionAndMemoryThatCannotBeReadAreTold) {
  const Job job(2);
  Session session(job.rank(1).process);
  Debugged& debugged = session.debugged();
  for (const char* table : {"portunus_mpi_description", "portunus_engine_description"}) {
    const uint64_t version = debugged.find(table);
    ASSERT_NE(version, 0u);
    debugged.disturb = [&](uint64_t address, std::vector<char>& data) { return address != version || (data[0] = 99) != 0; };
    char* sentence = nullptr;
    expect_refusal(dll.process_has_queues(session.process(), &sentence), kOtherVersion, "version");
    EXPECT_STREQ(sentence, dll.dll_error_string(kOtherVersion));
  }
  debugged.disturb = nullptr;
  std::map<std::string, Seen> whole;
  ASSERT_EQ(session.walk(whole), mqs_ok);

  size_t reads = 0, fails_at = 0;
  debugged.disturb = [&](uint64_t, std::vector<char>&) { return ++reads != fails_at; };
  std::map<std::string, Seen> same;
  ASSERT_EQ(session.walk(same), mqs_ok);
  const size_t all = reads;
  EXPECT_GT(all, 20u);
  for (fails_at = 1; fails_at <= all; ++fails_at) {
    reads = 0;
    std::map<std::string, Seen> part;
    expect_refusal(session.walk(part), kUnreadable, "cannot be read");
  }
}

TEST(Refusals, DamagedMemoryEndsWalksInBoundedTime) {
  const Job job(2);
  Session session(job.rank(1).process);
  Debugged& debugged = session.debugged();
  std::map<std::string, Seen> whole;
  ASSERT_EQ(session.walk(whole), mqs_ok);
  std::mt19937 random(1);
  std::map<size_t, std::vector<char>> earlier;  // by size: what comes again makes lists that end in themselves
  size_t reads = 0, wrong_at = 0;
  int kind = 0;
  uint64_t lying = 0;  // whoever lies there goes on lying
  std::vector<char> lie;
  debugged.disturb = [&](uint64_t address, std::vector<char>& data) {
    std::vector<char>& before = earlier[data.size()];
    const std::vector<char> right = data;
    if (++reads == wrong_at) {
      if (kind == 0 || kind == 1) std::fill(data.begin(), data.end(), kind == 0 ? '\0' : '\xff');
      if (kind == 2 && !before.empty()) lying = address, lie = before;
      if (kind == 3)
        for (char& byte : data) byte = static_cast<char>(random());
      if (kind == 4) data[random() % data.size()] = static_cast<char>(random());
    }
    if (address == lying && lie.size() == data.size()) data = lie;
    before = right;
    return true;
  };
  std::map<std::string, Seen> same;
  ASSERT_EQ(session.walk(same), mqs_ok);
  const size_t all = reads;
  size_t refused = 0;
  for (kind = 0; kind < 5; ++kind) {
    for (wrong_at = 1; wrong_at <= all; ++wrong_at) {
      reads = lying = 0;
      const int code = dll.update_communicator_list(session.process());
      if (code == mqs_ok) continue;
      ++refused;
      EXPECT_GE(code, mqs_first_user_code);
      EXPECT_STRNE(dll.dll_error_string(code), dll.dll_error_string(-1));
    }
  }
  EXPECT_GT(refused, 10u);
}

TEST(Version, IsThatOfTheInterface) {
  EXPECT_EQ(dll.version_compatibility(), MQS_INTERFACE_COMPATIBILITY);
  EXPECT_EQ(dll.dll_taddr_width(), int{sizeof(mqs_taddr_t)});
  EXPECT_EQ(std::string(dll.version_string()).rfind("Portunus ", 0), 0u);
}

// Whether a process may read its child.
bool may_read() {
  static int word = 5;
  int ends[2];
  if (pipe(ends) != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    char byte;
    close(ends[1]);
    _exit(read(ends[0], &byte, 1) < 0);
  }
  int seen = 0;
  const iovec here{&seen, sizeof seen}, there{&word, sizeof word};
  const bool good = process_vm_readv(child, &here, 1, &there, 1, 0) == sizeof seen;
  if (!good) std::perror("process_vm_readv");
  close(ends[0]), close(ends[1]);
  waitpid(child, nullptr, 0);
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 4) return 2;
  ptlrun = argv[1], target_program = argv[2], dll_path = argv[3];
  if (!may_read()) return 77;
  load(dll_path.c_str());
  return RUN_ALL_TESTS();
}
