// compare.cpp: do the recordings of all ranks fit together?
//
// Each rank tells how many messages it sends to each other one, and the collectives in a number; then each sender tells each receiver its
// messages to it, in order. Between two ranks a receive takes the first message that no earlier receive has taken and whose tag fits, which
// is what happens in MPI, too; so receives with MPI_ANY_TAG get what they would get.
//
// Thread: the one that ends the capture.
#include <algorithm>
#include <cstring>

#include "mpi-adi/collectives/call_log.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/graph/graph.hpp"
#include "mpi-adi/rma/window.hpp"

namespace portunus::mpi::graph {
namespace {

constexpr const char* kNames[] = {
#define MPI_NAME(Name) "MPI_" #Name,
    MPI_COLLECTIVES(MPI_NAME)
#undef MPI_NAME
};

struct Header {
  uint64_t good, collectives, hash, meets, windows;
};
struct Message {
  uint64_t bytes;
  int32_t tag;
  uint32_t synchronous;
};

class Comparison {
 public:
  Comparison(Communicator& comm, Recording& recording) : comm_(comm), all_(handle_of(&comm)), ranks_(static_cast<size_t>(comm.size)) {
    for (const AccessedRank& target : recording.accessed())
      if (std::ranges::find(windows_, target.window->number) == windows_.end()) windows_.push_back(target.window->number);
    for (Node& node : recording.nodes()) {
      if (node.what == What::send) out_.resize(ranks_), out_[static_cast<size_t>(node.peer)].push_back(message_of(node));
      if (node.what == What::receive) in_.resize(ranks_), in_[static_cast<size_t>(node.peer)].push_back(&node);
      if (node.what == What::collective)
        collectives_.push_back(node.collective->key), meets_ = meets_ || GOAL_Call_meets(&node.collective->call) != 0;
    }
    out_.resize(ranks_);
    in_.resize(ranks_);
  }

  int run(const std::string& refusal, Agreement& agreement, std::string& sentence);

 private:
  static Message message_of(const Node& node) { return {node.count, node.tag, node.synchronous}; }
  uint64_t hash() const {
    uint64_t hash = 14695981039346656037u;  // FNV-1a, a word at a time
    for (const Collective::Key& key : collectives_)
      for (const uint64_t word : {key.which, key.root, key.types, key.bytes}) hash = (hash ^ word) * 1099511628211u;
    return hash;
  }
  // Bytes of what each rank tells: a header, and how many messages go to each rank.
  size_t record() const { return sizeof(Header) + (ranks_ + ranks_ % 2) * sizeof(uint32_t); }
  const Header& header_of(size_t rank) const { return *reinterpret_cast<const Header*>(&told_[rank * record()]); }
  uint32_t sends(size_t from, size_t to) const {
    uint32_t number;
    std::memcpy(&number, &told_[from * record() + sizeof(Header) + to * sizeof number], sizeof number);
    return number;
  }

  int tell(bool good);
  int compare_collectives(std::string& sentence);
  int tell_windows(std::vector<const rma::Window*>& all);
  int exchange_messages();
  bool match(size_t rank, std::string& sentence);
  bool each_is_in_a_circle() const;

  Communicator& comm_;
  MPI_Comm all_;
  size_t ranks_;
  std::vector<std::vector<Message>> out_;
  std::vector<std::vector<Node*>> in_;
  std::vector<Collective::Key> collectives_;
  std::vector<uint16_t> windows_;  // that this rank accesses
  bool meets_ = false;
  std::vector<std::byte> told_;
  std::vector<Message> coming_;
  std::vector<MPI_Count> coming_bytes_;
  std::vector<MPI_Aint> coming_at_;
};

int Comparison::tell(bool good) {
  std::vector<std::byte> mine(record());
  const Header header{good, collectives_.size(), hash(), meets_, windows_.size()};
  std::memcpy(mine.data(), &header, sizeof header);
  for (size_t i = 0; i < ranks_; ++i) {
    const auto number = static_cast<uint32_t>(out_[i].size());
    std::memcpy(&mine[sizeof header + i * sizeof number], &number, sizeof number);
  }
  told_.resize(record() * ranks_);
  return PMPI_Allgather(mine.data(), static_cast<int>(record()), MPI_BYTE, told_.data(), static_cast<int>(record()), MPI_BYTE, all_);
}

// All ranks find the same: the first collective that differs from that of rank 0.
int Comparison::compare_collectives(std::string& sentence) {
  size_t most = 0;
  bool alike = true;
  for (size_t i = 0; i < ranks_; ++i) {
    most = std::max<size_t>(most, header_of(i).collectives);
    alike = alike && header_of(i).collectives == header_of(0).collectives && header_of(i).hash == header_of(0).hash;
  }
  if (alike) return MPI_SUCCESS;
  const Collective::Key none{std::size(kNames), 0, 0, 0};
  std::vector<Collective::Key> mine = collectives_, theirs(most * ranks_);
  mine.resize(most, none);
  const auto bytes = static_cast<int>(most * sizeof none);
  if (int error = PMPI_Allgather(mine.data(), bytes, MPI_BYTE, theirs.data(), bytes, MPI_BYTE, all_)) return error;
  const auto name = [](const Collective::Key& key) { return key.which < std::size(kNames) ? kNames[key.which] : "nothing"; };
  for (size_t i = 0; i < most; ++i) {
    for (size_t rank = 1; rank < ranks_; ++rank) {
      const Collective::Key &one = theirs[i], &other = theirs[rank * most + i];
      if (one == other) continue;
      const bool same = one.which == other.which;
      sentence =
          "collective number " + std::to_string(i + 1) + " of the graph is " + name(other) + " on rank " + std::to_string(rank) +
          (same ? ", with another root, type, operation or length than on rank 0" : std::string(", but ") + name(one) + " on rank 0");
      return MPI_ERR_ARG;
    }
  }
  return MPI_SUCCESS;
}

// Each rank has the windows of the others, too, and knows them by the same numbers.
int Comparison::tell_windows(std::vector<const rma::Window*>& all) {
  constexpr uint16_t kNone = UINT16_MAX;
  size_t most = 0;
  for (size_t i = 0; i < ranks_; ++i) most = std::max<size_t>(most, header_of(i).windows);
  if (most == 0) return MPI_SUCCESS;
  std::vector<uint16_t> mine = windows_, theirs(most * ranks_);
  mine.resize(most, kNone);
  const auto bytes = static_cast<int>(most * sizeof kNone);
  if (int error = PMPI_Allgather(mine.data(), bytes, MPI_BYTE, theirs.data(), bytes, MPI_BYTE, all_)) return error;
  rma::windows.for_each([&](const rma::Window& window) {
    if (window.comm != nullptr && std::ranges::find(theirs, window.number) != theirs.end()) all.push_back(&window);
  });
  return MPI_SUCCESS;
}

int Comparison::exchange_messages() {
  std::vector<Message> going;
  std::vector<MPI_Count> bytes(ranks_);
  std::vector<MPI_Aint> at(ranks_);
  coming_bytes_.resize(ranks_);
  coming_at_.resize(ranks_);
  size_t number = 0;
  for (size_t i = 0; i < ranks_; ++i) {
    at[i] = static_cast<MPI_Aint>(going.size() * sizeof(Message));
    going.insert(going.end(), out_[i].begin(), out_[i].end());
    bytes[i] = static_cast<MPI_Count>(out_[i].size() * sizeof(Message));
    coming_at_[i] = static_cast<MPI_Aint>(number * sizeof(Message));
    coming_bytes_[i] = static_cast<MPI_Count>(sends(i, static_cast<size_t>(comm_.rank)) * sizeof(Message));
    number += sends(i, static_cast<size_t>(comm_.rank));
  }
  going.resize(going.size() + 1);  // arrays have an address
  coming_.resize(number + 1);
  return PMPI_Alltoallv_c(going.data(), bytes.data(), at.data(), MPI_BYTE, coming_.data(), coming_bytes_.data(), coming_at_.data(),
                          MPI_BYTE, all_);
}

// The messages of one sender to this rank. False: they do not fit.
bool Comparison::match(size_t rank, std::string& sentence) {
  const std::span<const Message> messages(&coming_[static_cast<size_t>(coming_at_[rank]) / sizeof(Message)],
                                          static_cast<size_t>(coming_bytes_[rank]) / sizeof(Message));
  std::vector<bool> taken(messages.size());
  size_t first = 0;  // that is not taken
  for (Node* node : in_[rank]) {
    size_t i = first;
    while (i < messages.size() && (taken[i] || (node->tag != MPI_ANY_TAG && node->tag != messages[i].tag))) ++i;
    if (i == messages.size()) {
      sentence = "a receive from rank " + std::to_string(rank) + " with tag " + std::to_string(node->tag) +
                 " has no message: that rank has captured no other send to rank " + std::to_string(comm_.rank) + " that fits";
      return false;
    }
    taken[i] = true;
    while (first < messages.size() && taken[first]) ++first;
    node->match = static_cast<uint32_t>(i);
    node->arrives = messages[i].bytes;
    node->synchronous = messages[i].synchronous != 0;
  }
  if (first == messages.size()) return true;
  sentence = "rank " + std::to_string(rank) + " sends " + std::to_string(messages[first].bytes) + " bytes with tag " +
             std::to_string(messages[first].tag) + " to rank " + std::to_string(comm_.rank) + ", which has captured no receive for them";
  return false;
}

// Whether each receiver's messages get back to the sender over other ranks: then no rank can be more than `ranks` runs ahead of one that it
// sends to.
bool Comparison::each_is_in_a_circle() const {
  constexpr size_t kMostAhead = 200;  // GOAL tells 255 runs apart
  if (ranks_ > kMostAhead) return false;
  std::vector<std::vector<bool>> reaches(ranks_, std::vector<bool>(ranks_));
  for (size_t i = 0; i < ranks_; ++i)
    for (size_t j = 0; j < ranks_; ++j) reaches[i][j] = sends(i, j) > 0;
  for (size_t k = 0; k < ranks_; ++k)
    for (size_t i = 0; i < ranks_; ++i)
      for (size_t j = 0; reaches[i][k] && j < ranks_; ++j) reaches[i][j] = reaches[i][j] || reaches[k][j];
  for (size_t i = 0; i < ranks_; ++i)
    for (size_t j = 0; j < ranks_; ++j)
      if (sends(i, j) > 0 && !reaches[j][i]) return false;
  return true;
}

int Comparison::run(const std::string& refusal, Agreement& agreement, std::string& sentence) {
  if (int error = tell(refusal.empty())) return error;
  sentence = refusal;
  for (size_t i = 0; i < ranks_; ++i) {
    if (header_of(i).good) continue;
    if (sentence.empty()) sentence = "the capture of rank " + std::to_string(i) + " is void; see its error";
    return MPI_ERR_UNSUPPORTED_OPERATION;
  }
  if (int error = compare_collectives(sentence)) return error;
  if (int error = tell_windows(agreement.windows)) return error;
  if (int error = exchange_messages()) return error;
  bool fits = true;
  for (size_t i = 0; i < ranks_ && fits; ++i) fits = match(i, sentence);
  int wrong = fits ? 0 : comm_.rank + 1, anywhere = 0;
  if (int error = PMPI_Allreduce(&wrong, &anywhere, 1, MPI_INT, MPI_MAX, all_)) return error;
  if (anywhere > 0 && fits) sentence = "rank " + std::to_string(anywhere - 1) + " has captured messages that do not fit; see its error";
  const bool meets_by_itself = meets_ || (collectives_.empty() && each_is_in_a_circle());
  agreement.meets = ranks_ > 1 && !meets_by_itself;
  return anywhere > 0 ? MPI_ERR_ARG : MPI_SUCCESS;
}

}  // namespace

int compare(Communicator& comm, Recording& recording, const std::string& refusal, Agreement& agreement, std::string& sentence) {
  return Comparison(comm, recording).run(refusal, agreement, sentence);
}

}  // namespace portunus::mpi::graph
