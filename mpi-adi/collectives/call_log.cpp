// call_log.cpp: where the logs lie, and reading those of others.
#include "mpi-adi/collectives/call_log.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <mutex>

#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/long_waits.hpp"

namespace portunus::mpi::collectives {
namespace {

constexpr size_t kRoom = 4096;  // bytes of each communicator

// The logs of all communicators, by their contexts, which are the same on all ranks. Opened by the first collective, and then for ever:
// who has begun none has noted nothing.
class Shelf {
 public:
  Shelf() {
    void* memory = mmap(nullptr, kMaxCommunicators * kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    base_ = static_cast<std::byte*>(memory);
    readable_ = open();
  }

  void* place(const Communicator& comm) const { return base_ ? base_ + offset(comm) : nullptr; }

  enum class Answer : uint8_t { here, none, late };
  // late: it may come yet, nobody else can be asked until then, and the next call for the same gets it. `longest` in milliseconds; where it
  // is 0, an answer that waits for another communicator's next call is left to it, for a while.
  Answer get(const Communicator& comm, int job_rank, void* to, size_t bytes, ptl_time_t longest) {
    std::lock_guard lock(mutex_);
    if (!readable_) return Answer::none;
    if (!await_answer(longest)) return Answer::late;
    const Question question{offset(comm), job_rank};
    if (late_ != question) {
      if (longest == 0 && late_.job_rank >= 0 && ++passed_over_ < kPassedOver) return Answer::late;
      passed_over_ = 0;
      if (PtlGet(md_, 0, bytes, device::process(job_rank), device::kLogPortal, 0, question.offset, nullptr) != PTL_OK) return Answer::none;
      ++asked_;
      late_ = question;
      if (!await_answer(longest)) return Answer::late;
    }
    late_ = {};
    std::memcpy(to, answer_.data(), bytes);
    return good_ ? Answer::here : Answer::none;
  }
  // An answer that comes late is not used.
  void forget_question() {
    std::lock_guard lock(mutex_);
    late_ = {};
  }
  void forget_question_of(const Communicator& comm) {
    std::lock_guard lock(mutex_);
    if (late_.offset == offset(comm)) late_ = {};
  }

 private:
  static size_t offset(const Communicator& comm) { return comm.context / kContextsPerCommunicator * kRoom; }

  bool open() {
    ptl_pt_index_t portal;
    if (PtlPTAlloc(device::device.ni, 0, PTL_EQ_NONE, device::kLogPortal, &portal) != PTL_OK) return false;
    ptl_me_t all = client::entry_of(base_, kMaxCommunicators * kRoom, PTL_ME_OP_GET | client::kQuiet, 0);
    all.uid = device::device.uid;
    return entry_.append(device::device.ni, device::kLogPortal, all) == PTL_OK && answers_.open(device::device.ni) == PTL_OK &&
           md_.bind(device::device.ni, {answer_.data(), answer_.size(), PTL_MD_EVENT_CT_REPLY, PTL_EQ_NONE, answers_}) == PTL_OK;
  }

  // Whether nothing is on its way any more.
  bool await_answer(ptl_time_t longest) {
    if (asked_ == 0) return true;
    ptl_ct_event_t count;
    unsigned which;
    const ptl_handle_ct_t answers = answers_;
    if (PtlCTPoll(&answers, &asked_, 1, longest, &count, &which) != PTL_OK) return false;
    good_ = count.failure == 0;
    if (!good_) {
      PtlCTSet(answers_, {0, 0});
      asked_ = 0;
    }
    return true;
  }

  std::mutex mutex_;
  std::byte* base_ = nullptr;
  bool readable_ = false, good_ = true;
  client::Counter answers_;
  client::Descriptor md_;
  client::MatchEntry entry_;
  ptl_size_t asked_ = 0;
  struct Question {
    size_t offset = 0;
    int job_rank = -1;
    bool operator==(const Question&) const = default;
  } late_;  // has been asked, and its answer not been used
  static constexpr int kPassedOver = 64;
  int passed_over_ = 0;  // how many calls have left that answer to its communicator
  alignas(64) std::array<std::byte, kRoom> answer_{};
};

// Milliseconds until an answer is late: what the caller waits for may end meanwhile; nothing does at the end of all calls.
constexpr ptl_time_t kShort = 100, kLong = 1000;

Shelf& shelf() {
  static auto& all = *new Shelf;
  return all;
}

#define MPI_NAME(Name) #Name,
constexpr const char* kNames[] = {MPI_COLLECTIVES(MPI_NAME)};
#undef MPI_NAME

// As the user called it; what has come over a network may be anything.
std::string name_of(uint64_t what) {
  const size_t which = what >> 24 & 0xff;
  if (which >= std::size(kNames)) return "an unknown collective";
  const auto form = static_cast<Form>(what >> 16 & 0xff);
  std::string name = kNames[which];
  if (form == Form::nonblocking) name = "I" + std::string(1, static_cast<char>(name[0] + ('a' - 'A'))) + name.substr(1);
  return "MPI_" + name + (form == Form::persistent ? "_init" : "");
}

// The last call of a rank that calls nothing more on a communicator.
constexpr uint64_t kNothing = uint64_t{0xff} << 24;
constexpr uint64_t kFunction = 0xffff0000, kRoot = ~uint64_t{0} << 32;

}  // namespace

CallLog::CallLog(const Communicator& comm) : comm_(comm), next_(comm.rank) {
  static_assert(sizeof(Calls) <= kRoom);
  void* place = shelf().place(comm);
  calls_ = place ? new (place) Calls{} : new Calls{};
}

// The next communicator with this context has begun nothing yet.
CallLog::~CallLog() {
  shelf().forget_question_of(comm_);
  if (shelf().place(comm_) == calls_) std::memset(static_cast<void*>(calls_), 0, sizeof(Calls));
  else delete calls_;
}

bool CallLog::differs(In what) {
  constexpr int kAtATime = 64;
  all_fit_ = true;
  if (comm_.inter) return false;  // roots and sizes of two groups are not alike
  for (int i = 0; i < std::min(comm_.size, kAtATime) && all_fit_; ++i) {
    const int rank = (next_ + 1) % comm_.size;
    if (rank != comm_.rank && !compare(rank, what, kShort)) all_fit_ = false;
    else next_ = rank;
    if (has_differed()) all_fit_ = false;
  }
  return has_differed();
}

bool CallLog::overdue(bool again) {
  if (!again) {
    seconds_ = 0;
    all_fit_ = false;
    shelf().forget_question();
  }
  ++seconds_;
  const bool looks = !all_fit_ || device::long_waits::is_time_to_look(seconds_);
  if (looks ? differs() : has_differed()) return true;
  if (all_fit_)
    device::long_waits::tell(device::long_waits::of_all("the others in collective number " + std::to_string(number_), comm_), again);
  return false;
}

bool CallLog::is_of_another_call() {
  constexpr int kLooks = 10;
  lengths_.clear();
  for (int look = 0; look < kLooks && lengths_.empty(); ++look)
    if (differs(debug.calls ? In::anything : In::function)) return true;
  return false;
}

// Ranks that wait for this one in a later collective are told; those that are behind, what it has called.
void CallLog::give_up() {
  device::long_waits::be_silent();
  for (size_t i = 1; i < kKept / 2; ++i) {
    Entry& entry = calls_->entries[(number_ + i) % kKept];
    entry.what.store(kNothing, std::memory_order_relaxed);
    entry.number.store(number_ + i, std::memory_order_release);
  }
}

bool CallLog::fits(int rank, const Call& mine, const Call& other, In what) {
  const auto is_signed = [](const Call& call) { return call.signature != 0 && (call.signature & kHasPairs) == 0; };
  const bool signed_by_both = is_signed(mine) && is_signed(other);
  const uint64_t signatures = signed_by_both ? mine.signature ^ other.signature : 0;
  if (mine.what == other.what && mine.bytes == other.bytes && signatures == 0) return true;
  const bool same_call = ((mine.what ^ other.what) & kFunction) == 0, same_root = ((mine.what ^ other.what) & kRoot) == 0;
  const auto bytes_of = [](const Call& call) { return std::to_string(call.bytes); };
  if (same_call && what == In::function) {
    if (mine.bytes != other.bytes)
      lengths_ = "rank " + std::to_string(rank) + " has called " + name_of(mine.what) + " with " + bytes_of(other) +
                 " bytes for each rank, this one with " + bytes_of(mine) + ": the ranks' counts or types do not fit";
    return true;
  }
  const std::string ours = name_of(mine.what);
  const std::string who = "rank " + std::to_string(rank) + " has called ";
  const auto raise = [&](int error, const std::string& sentence) { return disagree(error, sentence, mine); };
  if (other.what == kNothing)
    return raise(MPI_ERR_OTHER,
                 "rank " + std::to_string(rank) + " has given up, as calls did not fit before: it does not come to " + ours + ", ");
  if (!same_call) return raise(MPI_ERR_OTHER, who + name_of(other.what) + ", this one " + ours + ", as ");
  const auto root = [](const Call& one) { return " with root " + std::to_string(static_cast<int>(one.what >> 32)); };
  if (!same_root) return raise(MPI_ERR_ROOT, who + ours + root(other) + ", this one" + root(mine) + ", as ");
  if (mine.bytes != other.bytes)
    return raise(MPI_ERR_TRUNCATE,
                 who + ours + " with " + bytes_of(other) + " bytes for each rank, this one with " + bytes_of(mine) + ", as ");
  if (!signed_by_both) return raise(MPI_ERR_OP, who + ours + " with another operation or datatype, as ");
  if (signatures >> 32 != 0) return raise(MPI_ERR_OP, who + ours + " with another operation, as ");
  return raise(MPI_ERR_TYPE, who + ours + " with datatypes of another signature, as ");
}

bool CallLog::disagree(int error, const std::string& sentence, const Call& mine) {
  error_ = error;
  complaint_ = sentence + "collective number " + std::to_string(mine.number) + " of this communicator";
  give_up();
  return false;
}

uint64_t CallLog::note_pairs(std::span<const Pair> sent, std::span<const Pair> received) {
  const size_t number = sent.size() + received.size();
  if (number > kKeptPairs) return 0;
  const uint64_t first = pairs_;
  calls_->pairs_begun.store(first + number, std::memory_order_relaxed);
  for (const auto& side : {sent, received})
    for (const Pair& pair : side) calls_->pairs[pairs_++ % kKeptPairs].store(pair, std::memory_order_release);
  return kHasPairs | first;
}

std::optional<CallLog::Mismatch> CallLog::mismatch(int rank, const Call& mine, const Call& other, const AllCalls& theirs,
                                                   uint64_t begun) const {
  if ((mine.signature & other.signature & kHasPairs) == 0) return {};
  const uint64_t here = mine.signature & ~kHasPairs, there = other.signature & ~kHasPairs;
  if (pairs_ - here > kKeptPairs || begun - there > kKeptPairs) return {};  // later ones lie in their place
  const auto size = static_cast<uint64_t>(comm_.size), from = static_cast<uint64_t>(comm_.rank), to = static_cast<uint64_t>(rank);
  const auto mine_at = [&](uint64_t i) { return calls_->pairs[(here + i) % kKeptPairs].load(std::memory_order_acquire); };
  const auto theirs_at = [&](uint64_t i) { return theirs.pairs[(there + i) % kKeptPairs]; };
  for (const Mismatch& one : {Mismatch{true, mine_at(to), theirs_at(size + from)}, {false, theirs_at(from), mine_at(size + to)}})
    if (one.sent.bytes != one.received.bytes || (one.sent.types != one.received.types && one.sent.types != 0 && one.received.types != 0))
      return one;
  return {};
}

bool CallLog::pairs_fit(int rank, const Call& mine, const Call& other, const AllCalls& theirs, uint64_t begun) {
  const std::optional<Mismatch> found = mismatch(rank, mine, other, theirs, begun);
  if (!found) return true;
  const std::string their_name = "rank " + std::to_string(rank), sender = found->sends ? "this rank" : their_name,
                    receiver = found->sends ? their_name : "this one", call = ", as " + name_of(mine.what) + ", ";
  if (found->sent.bytes != found->received.bytes)
    return disagree(MPI_ERR_TRUNCATE,
                    sender + " sends " + std::to_string(found->sent.bytes) + " bytes to " + receiver + ", which receives " +
                        std::to_string(found->received.bytes) + call,
                    mine);
  return disagree(MPI_ERR_TYPE, sender + " sends data to " + receiver + " with datatypes of another signature than are received" + call,
                  mine);
}

CallLog::Call CallLog::noted(size_t i) const {
  const Entry& entry = calls_->entries[i];
  return {entry.number.load(std::memory_order_acquire), entry.what.load(std::memory_order_relaxed),
          entry.bytes.load(std::memory_order_relaxed), entry.signature.load(std::memory_order_relaxed)};
}

bool CallLog::is_suspect(int rank, const AllCalls& theirs) const {
  constexpr auto without_place = [](uint64_t signature) { return (signature & kHasPairs) != 0 ? kHasPairs : signature; };
  for (size_t i = 0; i < kKept; ++i) {
    const Call mine = noted(i);
    const Call& other = theirs.entries[i];
    if (mine.number == 0 || mine.number != other.number) continue;
    if (mine.what != other.what || mine.bytes != other.bytes || without_place(mine.signature) != without_place(other.signature) ||
        mismatch(rank, mine, other, theirs, theirs.pairs_begun))
      return true;
  }
  return false;
}

// An entry may be written while it is read, so one that seems to differ is read twice.
bool CallLog::compare(int rank, In what, ptl_time_t longest) {
  const auto read = [&](AllCalls& calls) { return shelf().get(comm_, comm_.job_rank(rank), &calls, sizeof calls, longest); };
  using Answer = Shelf::Answer;
  AllCalls again;
  if (!suspect_ || suspect_->rank != rank) {
    suspect_.reset();
    if (const Answer answer = read(again); answer != Answer::here) return answer == Answer::none;
    if (!is_suspect(rank, again)) return true;
    suspect_ = std::make_unique<Suspect>(Suspect{rank, again});
  }
  if (const Answer answer = read(again); answer != Answer::here) return answer == Answer::none;
  const auto first = std::move(suspect_);
  for (size_t i = 0; i < kKept; ++i) {
    const Call mine = noted(i);
    const Call& other = first->calls.entries[i];
    if (mine.number == 0 || mine.number != other.number || other != again.entries[i]) continue;
    if (!fits(rank, mine, other, what)) break;
    if (what == In::anything && !pairs_fit(rank, mine, other, first->calls, again.pairs_begun)) break;
  }
  return true;
}

bool CallLog::compare_numbers(int rank) {
  AllCalls theirs;
  const Shelf::Answer answer = shelf().get(comm_, comm_.job_rank(rank), &theirs, sizeof theirs, kLong);
  if (answer != Shelf::Answer::here) return answer == Shelf::Answer::none;
  uint64_t number = 0;
  for (const Call& call : theirs.entries) {
    if (call.what == kNothing) return true;  // it has been told already
    number = std::max(number, call.number);
  }
  if (number == number_) return true;
  complaint_ = "rank " + std::to_string(rank) + " has made " + std::to_string(number) +
               " collective calls on this communicator, this one " + std::to_string(number_);
  const uint64_t first = std::min(number, number_) + 1;
  const Call left_out = number < number_ ? noted(first % kKept) : theirs.entries[first % kKept];
  if (left_out.number == first) complaint_ += "; the first that is left out is " + name_of(left_out.what);
  error_ = MPI_ERR_OTHER;
  return true;
}

// The look comes first: an entry is not whole in between. It never waits: what one call asks for, the next ones use.
void CallLog::watch(uint64_t signature) {
  constexpr uint64_t kBetweenLooks = kKept / 2;
  if (number_ >= next_look_ && !comm_.inter && comm_.size > 1 && !has_differed() && compare(next_rank(), In::anything, 0))
    next_look_ = number_ + kBetweenLooks;
  Entry& entry = calls_->entries[(number_ + 1) % kKept];
  entry.number.store(0, std::memory_order_relaxed);
  entry.signature.store(signature == kAnySignature ? 0 : signature, std::memory_order_release);
}

bool CallLog::differs_at_the_end() {
  if (comm_.inter || comm_.size == 1 || has_differed()) return false;
  constexpr int kLooks = 10;
  shelf().forget_question();
  // Ranks are compared with the next one, which is compared with its next one; pairs are each two ranks' own.
  const int others = pairs_ == 0 ? 1 : comm_.size - 1;
  for (int i = 1; i <= others && !has_differed(); ++i) {
    const int rank = (comm_.rank + i) % comm_.size;
    for (int look = 0; look < kLooks && !compare(rank, In::anything, kLong); ++look) {
    }
  }
  for (int look = 0; look < kLooks && !has_differed() && !compare_numbers(next_rank()); ++look) {
  }
  return has_differed();
}

}  // namespace portunus::mpi::collectives
