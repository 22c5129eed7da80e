// setup.cpp: opening and closing the fabric transport.
//
// Thread: set-up and shut-down, under the baton.
#include <rdma/fi_errno.h>
#include <sys/epoll.h>
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
constexpr size_t kDataAtATime = 16;  // for all links together, made when the first is sent
constexpr size_t kPage = 4096;
constexpr size_t kInjectMost = 4096;
constexpr auto kLinger = std::chrono::seconds(2);
constexpr auto kLingerAfterLoss = std::chrono::milliseconds(100);

// The name of what shm leaves in /dev/shm when a process is killed: portunus-fabric-<process id>-<pid>-<count>. The count is there because
// shm remembers names: a second endpoint of one process with the same name would be taken for the first.
std::string region_name(const ProcessId& self) {
  static std::atomic<unsigned> count{0};
  return "portunus-fabric-" + std::to_string(getpid()) + "-" + std::to_string(self.pid) + "-" + std::to_string(++count);
}

}  // namespace

FabricTransport::FabricTransport(Sink& sink, const FabricOptions& options)
    : Transport({.bundling = this}),
      sink_(sink),
      options_(options),
      connections_(choose_nid(options.interface), options.pid, options.timeout_s),
      endpoint_(options.provider, nearest_address(options.interface, options.local_rank), region_name(connections_.self()),
                options.local_rank),
      registrations_(endpoint_) {
  state.has_links = false;
  state.lends = kLends;
  size_messages();
  connections_.introduce_as(hello());
  receives_ = std::min(kReceives, endpoint_.info->rx_attr->size);
  missing_of(Kind::data) = kDataAtATime;
  if (!add_operations(Kind::send, kSends) || !add_operations(Kind::move, kMoves) || !add_operations(Kind::receive, receives_))
    throw std::runtime_error(name_ + " cannot have its buffers; allow more memory, or more locked memory (ulimit -l)");
  receive_more();
  if (!pool_of(Kind::receive).empty())
    throw std::runtime_error("the libfabric provider " + name_ + " takes no receive buffers; choose another by PTL_FABRIC_PROVIDER");
  open_wait();
}

FabricTransport::~FabricTransport() {
  drain_on_close();
  if (wait_ >= 0) close(wait_);
  // Regions are in use as long as the endpoint may receive into them; those that belong to it end before it.
  if (!endpoint_.needs(FI_MR_ENDPOINT)) endpoint_.ep.reset();
}

void FabricTransport::size_messages() {
  const fi_info& info = *endpoint_.info;
  const std::string provider = info.fabric_attr->prov_name;
  const std::string device =
      endpoint_.is_one_of_several || options_.interface.find(',') != std::string::npos ? std::string(", ") + info.domain_attr->name : "";
  name_ = "fabric(" + provider.substr(0, provider.find(';')) + device + ")";
  const size_t most = info.ep_attr->max_msg_size;
  // The eager limit is what Portals promises for ordered sizes, volatile copies and fetching atomics.
  if (most < fabric::kHeadSize + fabric::kEager)
    throw std::runtime_error("the libfabric provider " + provider + " sends too short messages; choose another by PTL_FABRIC_PROVIDER");
  limits_.eager = fabric::kEager;
  limits_.pull = std::min(kPullMost, most);
  // Eager RDMA needs writes that arrive in order. It pays where a read of the data would wake the process that owns them.
  if (endpoint_.by_streams() && most >= fabric::kEagerRdmaMost) limits_.whole = fabric::kEagerRdmaMost;
  inject_size_ = std::min(info.tx_attr->inject_size, kInjectMost);
}

size_t FabricTransport::buffer_size(Kind kind) {
  return kind == Kind::move ? 0 : kind == Kind::data ? fabric::kEagerRdmaMost : fabric::room_for(fabric::kEager);
}

// Returns memory that lives as long as this transport, registered unless `access` is 0; null: there is none.
std::byte* FabricTransport::allocate(size_t size, uint64_t access, fabric::Registration*& registration) {
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(kPage, (size + kPage - 1) / kPage * kPage));
  if (memory == nullptr) return nullptr;
  buffers_.emplace_back(memory);
  if (access == 0) return memory;
  registration = registrations_.acquire(memory, size, access);
  return registration != nullptr ? memory : nullptr;
}

// Adds operations of a kind to their pool, with a buffer each where the kind needs one. False: there is no memory.
bool FabricTransport::add_operations(Kind kind, size_t count) {
  const size_t size = buffer_size(kind);
  const uint64_t access = !endpoint_.needs(FI_MR_LOCAL) ? 0 : kind == Kind::data ? FI_WRITE : FI_SEND | FI_RECV;
  fabric::Registration* registration = nullptr;
  std::byte* const memory = size > 0 ? allocate(count * size, access, registration) : nullptr;
  if (size > 0 && memory == nullptr) return false;
  for (size_t i = 0; i < count; ++i) {
    Operation& operation = operations_.emplace_back();
    operation.kind = kind;
    operation.descriptor = registration != nullptr ? registration->descriptor : nullptr;
    if (memory != nullptr) operation.buffer = memory + i * size;
    pool_of(kind).push_back(&operation);
  }
  return true;
}

// Makes one descriptor to sleep on, for completions and for connections.
void FabricTransport::open_wait() {
  if (endpoint_.cq_fd < 0) return;
  wait_ = epoll_create1(EPOLL_CLOEXEC);
  if (wait_ < 0) throw std::system_error(errno, std::generic_category(), "the fabric needs an epoll descriptor (see ulimit -n)");
  for (const int fd : {endpoint_.cq_fd, connections_.fd()}) {
    if (fabric::watch_descriptor(wait_, fd)) continue;
    const int error = errno;
    close(wait_);  // the destructor does not run when a constructor throws
    throw std::system_error(error, std::generic_category(), name_ + " has no descriptor that can be waited for");
  }
}

fabric::Hello FabricTransport::hello() const {
  const fi_info& info = *endpoint_.info;
  fabric::Hello hello;
  hello.nid = connections_.self().nid;
  hello.pid = connections_.self().pid;
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

// Sends a probe behind injected messages: its completion says that they have left, which fi_inject does not tell. False: a probe could not
// be sent yet. With shm they lie in the peer's memory at once.
bool FabricTransport::confirm() {
  if (endpoint_.info->addr_format == FI_ADDR_STR) return true;
  bool all = true;
  for (const auto& link : links_) {
    if (!link->unconfirmed || link->state != LinkState::ready) continue;
    const ssize_t status = send_probe(*link, true);
    if (status == -FI_EAGAIN) all = false;
    else if (status != 0) disconnect(*link);
  }
  return all;
}

// Waits for what was sent to leave: `Sent::done` means copied, and closing at once would drop what lies in our buffers.
void FabricTransport::drain_on_close() {
  auto deadline = std::chrono::steady_clock::now() + kLinger;
  fi_cq_data_entry entries[kBatch];
  while ((flush(), state.keeps_back || !confirm() || sends_in_flight_ > 0) && std::chrono::steady_clock::now() < deadline) {
    const int n = fetch(entries, kBatch);
    for (int i = 0; i < n; ++i) {
      auto& operation = *static_cast<Operation*>(entries[i].op_context);
      if (operation.kind == Kind::send || operation.kind == Kind::data) finish(operation, true);
    }
    // The connections go on: a peer that ends takes nothing more, and some providers call it again and again.
    connections_.poll(*this);
    for (fabric::FabricLink* const gone : std::exchange(disconnected_, {})) {
      gone->state = LinkState::failed;
      abandon_sends(*gone);  // the engine hears of no more ends
    }
    // An error may be one peer's end: messages to others may still go, but its own may never be returned.
    if (n < 0) deadline = std::min(deadline, std::chrono::steady_clock::now() + kLingerAfterLoss);
    if (n == 0) std::this_thread::yield();
  }
}

}  // namespace portunus
