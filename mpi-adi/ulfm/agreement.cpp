// agreement.cpp: the messages of agreements and what each member makes of them.
#include "mpi-adi/ulfm/agreement.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include "mpi-adi/comm/members.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/ulfm/ulfm.hpp"

namespace portunus::mpi::ulfm {
namespace {

constexpr int kTag = kMaxTag;  // in Traffic::groups
constexpr size_t kMostWords = 16, kAllTell = 64;

enum class Kind : uint32_t { state, proposal, acknowledgement, decision };

struct Header {
  uint32_t number;  // of the agreement in its communicator
  Kind kind;
  uint32_t from, leader;
  int32_t proposed_by;  // state: the leader whose proposal the words are; -1: they are this member's own
  uint32_t words;
};

struct Message {
  Header header;
  Words words;
};

// Held while anything of an agreement changes. Messages are sent under it: none of them waits.
std::recursive_mutex& guard() {
  static auto& mutex = *new std::recursive_mutex;
  return mutex;
}

}  // namespace

// All agreements of a communicator: one receive that is always posted, and what has come too early.
class Agreements final : public Attachment, public std::enable_shared_from_this<Agreements> {
 public:
  explicit Agreements(Communicator& comm)
      : members_(members_of(comm)),
        me_(static_cast<uint32_t>(std::find(members_.begin(), members_.end(), own_job_rank) - members_.begin())),
        context_(comm.context_of(Traffic::groups)),
        room_(sizeof(Header) + (kMostWords + (members_.size() + 63) / 64) * sizeof(uint64_t)) {
    for (const int member : members_) device::meet(member);
  }

  size_t mask_words() const { return (members_.size() + 63) / 64; }
  const std::vector<int>& members() const { return members_; }

  int begin(Words words, Done done) {
    if (!receiving_ && !receive()) return MPI_ERR_NO_MEM;
    if (pending_ || ending_) {
      (ending_ ? next_ : waiting_).emplace_back(std::move(words), std::move(done));
      return MPI_SUCCESS;
    }
    go(std::move(words), std::move(done));
    return MPI_SUCCESS;
  }

  // Somebody has died, or a message has changed something.
  void advance() {
    if (!pending_) return;
    const uint32_t first = first_alive();
    if (first != leader_) follow(first);
    if (leader_ != me_) return;
    if (!proposing_ && all_alive([this](size_t i) { return states_[i].has_value(); })) propose();
    if (proposing_ && all_alive([this](size_t i) { return acknowledged_[i]; })) decide(*proposal_);
  }

  void completed(Request& request) override {
    const std::lock_guard lock(guard());
    receiving_ = false;
    const auto self = keep_;  // the communicator may be gone
    keep_.reset();
    Message message;
    const bool whole = request.failure == PTL_NI_OK && !closed_ && decode(request.length, message);
    if (!closed_) receive();
    if (whole) take(std::move(message));
  }
  void released() override {}

  // The communicator goes.
  void close() {
    closed_ = true;
    pending_ = false;
    if (!receiving_ || PtlMEUnlink(request_->entry) != PTL_OK) return;  // its message is being delivered: completed() ends it
    pool.release(request_);
    receiving_ = false;
    keep_.reset();
  }

 private:
  static constexpr uint32_t kNobody = ~uint32_t{0};

  void go(Words words, Done done) {
    ++number_;
    Words mine(mask_words(), 0);
    for (size_t i = 0; i < members_.size(); ++i) mine[i / 64] |= uint64_t{1} << i % 64;
    mine.insert(mine.end(), words.begin(), words.end());
    own_ = std::move(mine);
    done_ = std::move(done);
    pending_ = true;
    leader_ = kNobody;
    proposal_.reset();
    proposed_by_ = -1;
    proposing_ = false;
    states_.assign(members_.size(), std::nullopt);
    acknowledged_.assign(members_.size(), false);
    std::vector<Message> early = std::move(early_);
    early_.clear();
    advance();
    for (Message& message : early) take(std::move(message));
  }

  bool receive() {
    request_ = pool.claim(nullptr, true);
    if (request_ == nullptr) return false;
    request_->attached = this;
    request_->special = true;
    request_->state.store(mpi::State::detached, std::memory_order_relaxed);
    if (device::irecv_control(*request_, room_.data(), room_.size(), PTL_RANK_ANY, pattern(context_, MPI_ANY_SOURCE, kTag)) != PTL_OK) {
      pool.release(request_);
      return false;
    }
    keep_ = shared_from_this();
    return receiving_ = true;
  }

  bool decode(size_t bytes, Message& message) const {
    if (bytes < sizeof(Header)) return false;
    std::memcpy(&message.header, room_.data(), sizeof(Header));
    const Header& header = message.header;
    if (header.from >= members_.size() || header.words > kMostWords + mask_words() ||
        bytes != sizeof(Header) + header.words * sizeof(uint64_t))
      return false;
    message.words.resize(header.words);
    if (header.words > 0) std::memcpy(message.words.data(), room_.data() + sizeof(Header), header.words * sizeof(uint64_t));
    return true;
  }

  bool alive(size_t i) const { return device::failures.peers[members_[i]].load(std::memory_order_relaxed) != device::Peer::lost; }
  uint32_t first_alive() const {
    uint32_t i = 0;
    while (i != me_ && !alive(i)) ++i;
    return i;
  }
  template <class Holds>
  bool all_alive(Holds&& holds) const {
    for (size_t i = 0; i < members_.size(); ++i)
      if (i != me_ && alive(i) && !holds(i)) return false;
    return true;
  }

  void send(uint32_t to, Kind kind, const Words& words, int32_t proposed_by = -1) const {
    std::vector<std::byte> bytes(sizeof(Header) + words.size() * sizeof(uint64_t));
    const Header header{number_, kind, me_, leader_, proposed_by, static_cast<uint32_t>(words.size())};
    std::memcpy(bytes.data(), &header, sizeof header);
    if (!words.empty()) std::memcpy(bytes.data() + sizeof header, words.data(), words.size() * sizeof(uint64_t));
    device::send_control(bytes.data(), bytes.size(), members_[to], match_bits(context_, static_cast<int>(me_), kTag));
  }

  void follow(uint32_t leader) {
    leader_ = leader;
    if (leader != me_) send(leader, Kind::state, proposal_ ? *proposal_ : own_, proposed_by_);
  }

  void propose() {
    Words words = own_;
    int32_t latest = proposed_by_;
    if (proposal_) words = *proposal_;
    for (const auto& state : states_) {
      if (!state || state->header.proposed_by <= latest || state->words.size() != own_.size()) continue;
      latest = state->header.proposed_by;
      words = state->words;
    }
    if (latest < 0) {
      for (size_t i = 0; i < members_.size(); ++i) {
        if (i == me_) continue;
        if (!states_[i] || states_[i]->words.size() != own_.size()) words[i / 64] &= ~(uint64_t{1} << i % 64);
        else
          for (size_t word = 0; word < words.size(); ++word) words[word] &= states_[i]->words[word];
      }
    }
    proposing_ = true;
    proposal_ = words;
    proposed_by_ = static_cast<int32_t>(me_);
    for (uint32_t i = 0; i < members_.size(); ++i)
      if (i != me_ && alive(i)) send(i, Kind::proposal, words);
  }

  void take(Message message) {
    const Header& header = message.header;
    if (!pending_ || header.number != number_) {
      const auto ahead = static_cast<int32_t>(header.number - number_);
      if (ahead > 0) early_.push_back(std::move(message));
      return;
    }
    switch (header.kind) {
      case Kind::state:
        if (header.leader == me_) states_[header.from] = std::move(message);
        break;
      case Kind::proposal:
        if (header.from != leader_ || message.words.size() != own_.size()) return;  // of one that has died since
        proposal_ = message.words;
        proposed_by_ = static_cast<int32_t>(header.from);
        send(header.from, Kind::acknowledgement, {});
        break;
      case Kind::acknowledgement:
        if (proposing_) acknowledged_[header.from] = true;
        break;
      case Kind::decision:
        if (message.words.size() == own_.size()) decide(message.words);
        return;
    }
    advance();
  }

  void decide(const Words& decided) {
    const Words result = decided;
    pending_ = false;
    const size_t n = members_.size();
    for (uint32_t i = 0; i < n; ++i) {
      const size_t up = (i + n - me_) % n, distance = std::min(up, n - up);
      if (i != me_ && alive(i) && (n <= kAllTell || (distance & (distance - 1)) == 0)) send(i, Kind::decision, result);
    }
    std::vector<bool> living(n);
    for (size_t i = 0; i < n; ++i) living[i] = result[i / 64] >> i % 64 & 1;
    const Done done = std::move(done_);
    ending_ = true;
    done(Words(result.begin() + static_cast<ptrdiff_t>(mask_words()), result.end()), living);
    ending_ = false;
    auto& others = next_.empty() ? waiting_ : next_;
    if (others.empty()) return;
    auto [words, end] = std::move(others.front());
    others.pop_front();
    go(std::move(words), std::move(end));
  }

  const std::vector<int> members_;
  const uint32_t me_;
  const uint16_t context_;
  std::vector<std::byte> room_;
  Request* request_ = nullptr;
  std::shared_ptr<Agreements> keep_;  // while the request names this
  bool receiving_ = false, closed_ = false;
  std::vector<Message> early_;

  uint32_t number_ = 0, leader_ = kNobody;
  bool pending_ = false, proposing_ = false, ending_ = false;
  Words own_;
  Done done_;
  std::deque<std::pair<Words, Done>> next_, waiting_;  // begun by the last one's end; by the user
  std::optional<Words> proposal_;
  int32_t proposed_by_ = -1;
  std::vector<std::optional<Message>> states_;
  std::vector<bool> acknowledged_;
};

namespace {

std::vector<std::weak_ptr<Agreements>>& all_agreements() {
  static auto& all = *new std::vector<std::weak_ptr<Agreements>>;
  return all;
}

}  // namespace

int begin_agreement(Communicator& comm, Words words, Done done) {
  const std::lock_guard lock(guard());
  State& state = state_of(comm);
  if (!state.agreements) {
    state.agreements = std::make_shared<Agreements>(comm);
    std::erase_if(all_agreements(), [](const auto& known) { return known.expired(); });
    all_agreements().push_back(state.agreements);
  }
  return state.agreements->begin(std::move(words), std::move(done));
}

int agree(Communicator& comm, Words& words, std::vector<bool>& alive) {
  Request whole(nullptr, false);
  const int error = begin_agreement(comm, words, [&](const Words& agreed, const std::vector<bool>& living) {
    words = agreed;
    alive = living;
    device::conclude(whole);
  });
  if (error != MPI_SUCCESS) return error;
  device::wait(whole);
  const std::lock_guard lock(guard());  // whoever has concluded it is done with it
  return MPI_SUCCESS;
}

void look_at_agreements() {
  const std::lock_guard lock(guard());
  const auto known = all_agreements();  // ends may begin others
  for (const auto& each : known)
    if (const auto agreements = each.lock()) agreements->advance();
}

void forget(Communicator& comm) {
  if (comm.is_revoked()) drop_messages(comm);  // those that have come since
  const std::lock_guard lock(guard());
  if (comm.ulfm && comm.ulfm->agreements) comm.ulfm->agreements->close();
  comm.ulfm.reset();
}

}  // namespace portunus::mpi::ulfm
