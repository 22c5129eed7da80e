// setup.cpp: opening and closing the fabric transport.
//
// Thread: set-up and shut-down, under the baton.
#include <rdma/fi_errno.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "engine/host/address.hpp"
#include "engine/transport/fabric/fabric.hpp"
#include "engine/transport/fabric/message.hpp"

namespace portunus {

using fabric::LinkState;

namespace {

constexpr uint64_t kLends = 32 << 20;
constexpr size_t kPullMost = size_t{64} << 20;
constexpr size_t kSends = 256;
constexpr size_t kMoves = 256;
constexpr size_t kReceives = 256;
constexpr size_t kInjectMost = 4096;
constexpr auto kLinger = std::chrono::seconds(2);
constexpr auto kLingerAfterLoss = std::chrono::milliseconds(100);

// What shm leaves in /dev/shm when a process is killed: portunus-fabric-<process id>-<pid>-<count>. The count is there
// because shm remembers names: a second endpoint of one process with the same name would be taken for the first.
std::string region_name(const ProcessId& self) {
  static std::atomic<unsigned> count{0};
  return "portunus-fabric-" + std::to_string(getpid()) + "-" + std::to_string(self.pid) + "-" + std::to_string(++count);
}

}  // namespace

FabricTransport::Buffers::Buffers(size_t bytes) : size(bytes) {
  void* mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memory = mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
}

FabricTransport::Buffers::~Buffers() {
  if (memory != nullptr) munmap(memory, size);
}

FabricTransport::FabricTransport(Sink& sink, const FabricOptions& options)
    : Transport({.bundling = this}),
      sink_(sink),
      options_(options),
      guard_(choose_nid(options.interface), options.pid, options.timeout_s),
      endpoint_(options.provider, guard_.self().nid, region_name(guard_.self())),
      registrations_(endpoint_) {
  state.has_links = false;
  state.lends = kLends;
  size_messages();
  guard_.introduce_as(hello());
  if (!add_operations(Kind::send, kSends) || !add_operations(Kind::move, kMoves) ||
      !add_operations(Kind::receive, std::min(kReceives, endpoint_.info->rx_attr->size)))
    throw std::runtime_error(name_ + " cannot have its buffers; allow more memory, or more locked memory (ulimit -l)");
  receives_ = unposted_.size();
  receive_more();
  if (!unposted_.empty())
    throw std::runtime_error("the libfabric provider " + name_ + " takes no receive buffers; choose another by PTL_FABRIC_PROVIDER");
  open_wait();
}

FabricTransport::~FabricTransport() {
  linger();
  if (wait_ >= 0) close(wait_);
  for (fabric::Move& move : moves_) registrations_.release(move.registration);
  for (fabric::Registration* registration : buffer_registrations_) registrations_.release(registration);
  for (const auto& link : links_)
    if (link->here) registrations_.release(link->here->registration);
}

void FabricTransport::size_messages() {
  const fi_info& info = *endpoint_.info;
  const std::string provider = info.fabric_attr->prov_name;
  name_ = "fabric(" + provider.substr(0, provider.find(';')) + ")";
  const size_t most = info.ep_attr->max_msg_size;
  // Ordered sizes, volatile copies and fetching atomics are promised up to the eager limit, whatever the provider.
  if (most < fabric::kHeadSize + fabric::kEager)
    throw std::runtime_error("the libfabric provider " + provider + " sends too short messages; choose another by PTL_FABRIC_PROVIDER");
  limits_.eager = fabric::kEager;
  limits_.pull = std::min(kPullMost, most);
  // Where what asks for the data of a long message would wake the owner, and data that are written come in order.
  if (endpoint_.by_streams() && most >= fabric::kWholeMost) limits_.whole = fabric::kWholeMost;
  inject_size_ = std::min(info.tx_attr->inject_size, kInjectMost);
  inject_buffer_.resize(inject_size_);
}

size_t FabricTransport::buffer_size(Kind kind) {
  return kind == Kind::move ? 0 : kind == Kind::data ? fabric::kWholeMost : fabric::room_for(fabric::kEager);
}

// Adds operations, with a buffer each where their kind needs one, to the pool of their kind. False: no memory.
bool FabricTransport::add_operations(Kind kind, size_t count) {
  const size_t size = buffer_size(kind);
  std::byte* memory = nullptr;
  void* descriptor = nullptr;
  if (size > 0) {
    memory = buffers_.emplace_back(count * size).memory;
    if (memory == nullptr) return false;
    if (endpoint_.needs(FI_MR_LOCAL)) {
      fabric::Registration* registration = registrations_.acquire(memory, count * size, kind == Kind::data ? FI_WRITE : FI_SEND | FI_RECV);
      if (registration == nullptr) return false;
      buffer_registrations_.push_back(registration);
      descriptor = registration->descriptor;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    Operation& operation = operations_.emplace_back();
    operation.kind = kind;
    operation.descriptor = descriptor;
    if (memory != nullptr) operation.buffer = memory + i * size;
    pool_of(kind).push_back(&operation);
  }
  return true;
}

// One descriptor for all that may happen: completions, Hellos, ends.
void FabricTransport::open_wait() {
  if (endpoint_.cq_fd < 0) return;
  wait_ = epoll_create1(EPOLL_CLOEXEC);
  if (wait_ < 0) throw std::system_error(errno, std::generic_category(), "the fabric needs an epoll descriptor (see ulimit -n)");
  for (const int fd : {endpoint_.cq_fd, guard_.fd()}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    if (epoll_ctl(wait_, EPOLL_CTL_ADD, fd, &event) == 0) continue;
    const int error = errno;
    close(wait_);  // the destructor does not run when a constructor throws
    throw std::system_error(error, std::generic_category(), name_ + " has no descriptor that can be waited for");
  }
}

fabric::Hello FabricTransport::hello() const {
  const fi_info& info = *endpoint_.info;
  fabric::Hello hello;
  hello.nid = guard_.self().nid;
  hello.pid = guard_.self().pid;
  hello.uid = options_.uid;
  hello.address_format = info.addr_format;
  hello.protocol = info.ep_attr->protocol;
  hello.protocol_version = info.ep_attr->protocol_version;
  hello.name_size = static_cast<uint32_t>(endpoint_.name.size());
  if (endpoint_.name.size() >= fabric::kMaxName)
    throw std::runtime_error("the libfabric provider " + name_ + " has too long addresses; choose another by PTL_FABRIC_PROVIDER");
  std::memcpy(hello.name, endpoint_.name.data(), endpoint_.name.size());
  return hello;
}

// Of what was injected nobody learns when it has left a stream's buffers; but what is sent behind it tells. False: of some link not yet.
bool FabricTransport::confirm() {
  if (!endpoint_.by_streams()) return true;
  bool all = true;
  for (const auto& link : links_) {
    if (!link->unconfirmed || link->state != LinkState::ready) continue;
    Operation* const operation = claim(free_sends_, Kind::send);
    const fabric::Prefix prefix{fabric::kProbeMagic, link->remote_slot, self().pid, options_.uid};
    ssize_t status = -FI_EAGAIN;
    if (operation != nullptr) {
      std::memcpy(operation->buffer, &prefix, sizeof prefix);
      status = asked(fi_send(endpoint_.ep.get(), operation->buffer, sizeof prefix, operation->descriptor, link->address, operation));
    }
    if (status == 0) {
      hand_to_provider(*operation, *link);
      continue;
    }
    if (operation != nullptr) free_sends_.push_back(operation);
    if (status == -FI_EAGAIN) all = false;
    else disconnect(*link);
  }
  return all;
}

// `Sent::done` means copied, not gone: closing at once would drop what still lies in our buffers.
void FabricTransport::linger() {
  auto deadline = std::chrono::steady_clock::now() + kLinger;
  fi_cq_data_entry entries[kBatch];
  while ((flush(), state.keeps_back || !confirm() || sends_in_flight_ > 0) && std::chrono::steady_clock::now() < deadline) {
    const int n = fetch(entries, kBatch);
    for (int i = 0; i < n; ++i) {
      auto& operation = *static_cast<Operation*>(entries[i].op_context);
      if (operation.kind == Kind::send || operation.kind == Kind::data) finish(operation, true);
    }
    // Whoever ends takes nothing more, and some providers call him again and again.
    guard_.poll(*this);
    for (fabric::FabricLink* const gone : std::exchange(disconnected_, {})) {
      gone->state = LinkState::failed;
      abandon_sends(*gone);  // nobody listens any more for what else ends
    }
    // Somebody's end, or ours: what goes to others still may, but what went there may never be returned.
    if (n < 0) deadline = std::min(deadline, std::chrono::steady_clock::now() + kLingerAfterLoss);
    if (n == 0) std::this_thread::yield();
  }
}

}  // namespace portunus
