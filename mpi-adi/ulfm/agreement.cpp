// agreement.cpp: the messages of agreements and what each member makes of them.
#include "mpi-adi/ulfm/agreement.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <utility>

#include "mpi-adi/comm/members.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/ulfm/ulfm.hpp"

namespace portunus::mpi::ulfm {
namespace {

constexpr int kTag = kMaxTag;  // in Traffic::groups
constexpr size_t kAllTell = 64;

enum class Kind : uint32_t { state, proposal, acknowledgement, decision };

struct Header {
  uint32_t number;  // of the agreement in its communicator
  Kind kind;
  uint32_t from, leader;
  int32_t proposed_by;  // state: the leader whose proposal the words are; -1: they are this member's own
  uint32_t words;
};

// The states that this member has heard, if it leads, as one: the and of the members' own words, and the latest proposal among the others.
struct Heard {
  std::vector<bool> from;
  Words all;  // empty: none of their own
  int32_t latest = -1;
  Words proposal;

  void clear() {
    from.assign(from.size(), false);
    all.clear();
    latest = -1;
  }
};

// Held while anything of an agreement changes. Messages are sent under it: none of them waits.
std::recursive_mutex& guard() {
  static auto& mutex = *new std::recursive_mutex;
  return mutex;
}

}  // namespace

// All agreements of a communicator: one receive that is always posted, and memory for all that one of them needs: once others have heard of
// it, want of memory could not end it.
class Agreements final : public Attachment, public std::enable_shared_from_this<Agreements> {
 public:
  explicit Agreements(Communicator& comm)
      : members_(members_of(comm)),
        me_(static_cast<uint32_t>(std::find(members_.begin(), members_.end(), own_job_rank) - members_.begin())),
        context_(comm.context_of(Traffic::groups)),
        room_(sizeof(Header) + most_words() * sizeof(uint64_t)),
        out_(room_.size()),
        living_(members_.size()),
        acknowledged_(members_.size()) {
    for (Words* words :
         {&own_, &proposal_, &incoming_, &decided_, &answer_, &next_, &heard_.all, &heard_.proposal, &ahead_.all, &ahead_.proposal})
      words->reserve(most_words());
    for (Heard* heard : {&heard_, &ahead_}) heard->from.resize(members_.size());
    for (const int member : members_) device::meet(member);
  }

  int begin(std::span<const uint64_t> words, Done done) {
    assert(words.size() + mask_words() <= most_words());
    if (!receiving_ && !receive()) return MPI_ERR_NO_MEM;
    if (ending_) {
      assert(!next_done_);
      next_.assign(words.begin(), words.end());
      next_done_ = std::move(done);
    } else if (pending_) {
      waiting_.emplace_back(Words(words.begin(), words.end()), std::move(done));
    } else {
      go(words, std::move(done));
    }
    return MPI_SUCCESS;
  }

  // Somebody has died, or a message has changed something.
  void advance() {
    if (!pending_) return;
    const uint32_t first = first_alive();
    if (first != leader_) follow(first);
    if (leader_ != me_) return;
    if (!proposing_ && all_alive([this](size_t i) { return heard_.from[i]; })) propose();
    if (proposing_ && all_alive([this](size_t i) { return acknowledged_[i]; })) decide(proposal_);
  }

  void completed(Request& request) override {
    const std::lock_guard lock(guard());
    receiving_ = false;
    const auto self = keep_;  // the communicator may be gone
    keep_.reset();
    Header header;
    const bool well = request.failure == PTL_NI_OK && !closed_ && decode(request.length, header);
    if (!closed_) receive();
    if (well) take(header);
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

  size_t mask_words() const { return (members_.size() + 63) / 64; }
  size_t most_words() const { return kMostWords + 2 * mask_words(); }

  void go(std::span<const uint64_t> words, Done done) {
    ++number_;
    own_.assign(mask_words(), 0);
    for (size_t i = 0; i < members_.size(); ++i) own_[i / 64] |= uint64_t{1} << i % 64;
    own_.insert(own_.end(), words.begin(), words.end());
    done_ = std::move(done);
    pending_ = true;
    leader_ = kNobody;
    proposed_by_ = -1;
    proposing_ = false;
    std::swap(heard_, ahead_);
    ahead_.clear();
    acknowledged_.assign(members_.size(), false);
    advance();
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

  bool decode(size_t bytes, Header& header) {
    if (bytes < sizeof(Header)) return false;
    std::memcpy(&header, room_.data(), sizeof(Header));
    if (header.from >= members_.size() || header.words > most_words() || bytes != sizeof(Header) + header.words * sizeof(uint64_t))
      return false;
    incoming_.resize(header.words);
    if (header.words > 0) std::memcpy(incoming_.data(), room_.data() + sizeof(Header), header.words * sizeof(uint64_t));
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

  void send(uint32_t to, Kind kind, const Words& words, int32_t proposed_by = -1) {
    const Header header{number_, kind, me_, leader_, proposed_by, static_cast<uint32_t>(words.size())};
    const size_t bytes = words.size() * sizeof(uint64_t);
    std::memcpy(out_.data(), &header, sizeof header);
    if (bytes != 0) std::memcpy(out_.data() + sizeof header, words.data(), bytes);
    device::send_control(out_.data(), sizeof header + bytes, members_[to], match_bits(context_, static_cast<int>(me_), kTag));
  }

  void follow(uint32_t leader) {
    leader_ = leader;
    if (leader != me_) send(leader, Kind::state, proposed_by_ < 0 ? own_ : proposal_, proposed_by_);
  }

  // A state has come, in incoming_, that belongs to `heard`. Words of another length than the first ones count as not heard.
  void hear(Heard& heard, const Header& header) {
    heard.from[header.from] = true;
    if (header.proposed_by > heard.latest) {
      heard.latest = header.proposed_by;
      heard.proposal = incoming_;
    } else if (header.proposed_by < 0 && heard.all.empty()) {
      heard.all = incoming_;
    } else if (header.proposed_by < 0) {
      const bool fits = heard.all.size() == incoming_.size();
      for (size_t word = 0; fits && word < heard.all.size(); ++word) heard.all[word] &= incoming_[word];
      if (!fits) heard.all[header.from / 64] &= ~(uint64_t{1} << header.from % 64);
    }
  }

  void propose() {
    if (heard_.latest > proposed_by_ && heard_.proposal.size() == own_.size()) {
      proposal_ = heard_.proposal;
    } else if (proposed_by_ < 0) {
      const bool fits = heard_.all.size() == own_.size();
      proposal_ = own_;
      for (size_t word = 0; fits && word < proposal_.size(); ++word) proposal_[word] &= heard_.all[word];
      for (size_t i = 0; i < members_.size(); ++i)
        if (i != me_ && (!fits || !heard_.from[i])) proposal_[i / 64] &= ~(uint64_t{1} << i % 64);
    }
    proposing_ = true;
    proposed_by_ = static_cast<int32_t>(me_);
    for (uint32_t i = 0; i < members_.size(); ++i)
      if (i != me_ && alive(i)) send(i, Kind::proposal, proposal_);
  }

  // A message has come, its words in incoming_. States may come before this member begins the next agreement, which cannot be decided then.
  void take(const Header& header) {
    const bool state = header.kind == Kind::state && header.leader == me_ && incoming_.size() >= mask_words();
    const bool now = pending_ && header.number == number_;
    if (state && now) hear(heard_, header);
    if (state && header.number == number_ + 1) hear(ahead_, header);
    if (!now) return;
    switch (header.kind) {
      case Kind::state: break;
      case Kind::proposal:
        if (header.from != leader_ || incoming_.size() != own_.size()) return;  // of one that has died since
        proposal_ = incoming_;
        proposed_by_ = static_cast<int32_t>(header.from);
        send(header.from, Kind::acknowledgement, {});
        break;
      case Kind::acknowledgement:
        if (proposing_) acknowledged_[header.from] = true;
        break;
      case Kind::decision:
        if (incoming_.size() == own_.size()) decide(incoming_);
        return;
    }
    advance();
  }

  void decide(const Words& decided) {
    decided_ = decided;
    pending_ = false;
    const size_t n = members_.size();
    for (uint32_t i = 0; i < n; ++i) {
      const size_t up = (i + n - me_) % n, distance = std::min(up, n - up);
      if (i != me_ && alive(i) && (n <= kAllTell || (distance & (distance - 1)) == 0)) send(i, Kind::decision, decided_);
    }
    for (size_t i = 0; i < n; ++i) living_[i] = decided_[i / 64] >> i % 64 & 1;
    answer_.assign(decided_.begin() + static_cast<ptrdiff_t>(mask_words()), decided_.end());
    const Done done = std::exchange(done_, nullptr);
    ending_ = true;
    done(answer_, living_);
    ending_ = false;
    if (next_done_) return go(next_, std::exchange(next_done_, nullptr));
    if (waiting_.empty()) return;
    auto [words, end] = std::move(waiting_.front());
    waiting_.pop_front();
    go(words, std::move(end));
  }

  const std::vector<int> members_;
  const uint32_t me_;
  const uint16_t context_;
  std::vector<std::byte> room_, out_;  // for a message that comes, and one that goes
  Request* request_ = nullptr;
  std::shared_ptr<Agreements> keep_;  // while the request names this
  bool receiving_ = false, closed_ = false;

  uint32_t number_ = 0, leader_ = kNobody;
  bool pending_ = false, proposing_ = false, ending_ = false;
  Words own_, proposal_, incoming_, decided_, answer_;
  Done done_;
  Words next_;  // of an agreement that the last one's end has begun
  Done next_done_;
  std::deque<std::pair<Words, Done>> waiting_;  // begun by the user
  int32_t proposed_by_ = -1;                    // the leader whose proposal proposal_ is; -1: there is none
  Heard heard_, ahead_;                         // of this agreement, and of the next one
  std::vector<bool> living_, acknowledged_;
};

namespace {

std::vector<std::weak_ptr<Agreements>>& all_agreements() {
  static auto& all = *new std::vector<std::weak_ptr<Agreements>>;
  return all;
}

}  // namespace

int begin_agreement(Communicator& comm, std::span<const uint64_t> words, Done done) try {
  const std::lock_guard lock(guard());
  State& state = state_of(comm);
  if (!state.agreements) {
    auto made = std::make_shared<Agreements>(comm);
    std::erase_if(all_agreements(), [](const auto& known) { return known.expired(); });
    all_agreements().push_back(made);
    state.agreements = std::move(made);
  }
  return state.agreements->begin(words, std::move(done));
} catch (const std::bad_alloc&) {
  return MPI_ERR_NO_MEM;
}

int agree(Communicator& comm, std::span<uint64_t> words, std::vector<bool>& alive) {
  struct {
    std::span<uint64_t> words;
    std::vector<bool>& alive;
    Request whole{nullptr, false};
  } end{words, alive};
  if (alive.empty()) alive.resize(members_of(comm).size());
  const int error = begin_agreement(comm, words, [&end](const Words& agreed, const std::vector<bool>& living) {
    std::copy(agreed.begin(), agreed.end(), end.words.begin());
    end.alive = living;
    device::conclude(end.whole);
  });
  if (error != MPI_SUCCESS) return error;
  device::wait(end.whole);
  const std::lock_guard lock(guard());  // whoever has concluded it is done with it
  return MPI_SUCCESS;
}

void look_at_agreements() {
  const std::lock_guard lock(guard());
  const auto& all = all_agreements();
  for (size_t i = 0; i < all.size(); ++i)  // ends may begin others
    if (const auto agreements = all[i].lock()) agreements->advance();
}

void forget(Communicator& comm) {
  if (comm.is_revoked()) drop_messages(comm);  // those that have come since
  const std::lock_guard lock(guard());
  if (comm.ulfm && comm.ulfm->agreements) comm.ulfm->agreements->close();
  comm.ulfm.reset();
}

}  // namespace portunus::mpi::ulfm
