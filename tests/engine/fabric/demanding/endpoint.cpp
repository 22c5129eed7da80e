// endpoint.cpp: requests on their way down, and back.
//
// Source: fi_endpoint(3), fi_msg(3), fi_rma(3).
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>

#include "tests/engine/fabric/demanding/objects.hpp"

namespace demanding {
namespace {

constexpr unsigned char kLent = 0xd5;
constexpr uint64_t kRefusals = 3;  // one of so many calls is refused for now where queues are short
constexpr const char* kCalls[] = {"fi_recv", "fi_inject", "fi_send", "fi_readmsg", "fi_writemsg"};
constexpr uint64_t kAccess[] = {FI_RECV, 0, FI_SEND, FI_READ, FI_WRITE};

const char* call_of(const Request& request) { return kCalls[static_cast<size_t>(request.what)]; }

Endpoint& endpoint_of(fid_ep* ep) { return *static_cast<Endpoint*>(ep); }

int close_endpoint(fid* id) {
  Endpoint& endpoint = object_of<Endpoint, fid_ep>(id);
  const Alone alone(*endpoint.domain);
  for (const Region* region : endpoint.domain->regions)
    if (region->bound) die("an endpoint is closed while regions are bound to it");
  const int status = fi_close(&endpoint.below->fid);
  if (endpoint.queue != nullptr) endpoint.queue->endpoint = nullptr;
  for (const Region* region : endpoint.domain->regions) const_cast<Region*>(region)->requests = 0;
  for (const Request* request : endpoint.held) delete request;
  delete &endpoint;
  return status;
}

int bind_endpoint(fid* id, fid* to, uint64_t flags) {
  Endpoint& endpoint = object_of<Endpoint, fid_ep>(id);
  const Alone alone(*endpoint.domain);
  if (to->fclass == FI_CLASS_AV) return fi_ep_bind(endpoint.below, &object_of<Addresses, fid_av>(to).below->fid, flags);
  if (to->fclass != FI_CLASS_CQ) return -FI_ENOSYS;
  endpoint.queue = &object_of<Queue, fid_cq>(to);
  endpoint.queue->endpoint = &endpoint;
  return fi_ep_bind(endpoint.below, &endpoint.queue->below->fid, flags);
}

int control_endpoint(fid* id, int command, void*) {
  Endpoint& endpoint = object_of<Endpoint, fid_ep>(id);
  const Alone alone(*endpoint.domain);
  return command == FI_ENABLE ? fi_enable(endpoint.below) : -FI_ENOSYS;
}

int getname(fid* id, void* address, size_t* size) {
  Endpoint& endpoint = object_of<Endpoint, fid_ep>(id);
  const Alone alone(*endpoint.domain);
  return name_of(endpoint, address, size);
}

ssize_t begin(fid_ep* ep, What what, void* user, void* descriptor, const iovec& local, fi_addr_t peer, const fi_rma_iov& remote = {},
              uint64_t flags = 0) {
  Endpoint& endpoint = endpoint_of(ep);
  const Alone alone(*endpoint.domain);
  Request request{};
  request.what = what;
  request.user = user;
  request.local = local;
  request.peer = peer;
  request.remote = remote;
  request.remote.addr = offset_of(*endpoint.domain, remote);
  request.flags = flags;
  const Demands& demands = endpoint.domain->demands;
  if (what == What::inject && local.iov_len > demands.inject)
    die("fi_inject of " + std::to_string(local.iov_len) + " bytes, which are too many");
  if (what != What::receive && local.iov_len > demands.message)
    die(std::string(call_of(request)) + " of " + std::to_string(local.iov_len) + " bytes, which are too many");
  if ((flags & FI_REMOTE_CQ_DATA) != 0 && demands.no_cq_data) die("data are sent for a completion, and completions have none");
  if (what != What::inject)
    request.region = region_for(*endpoint.domain, descriptor, local, kAccess[static_cast<size_t>(what)], call_of(request));
  Region* const region = request.region;
  const ssize_t status = endpoint.begin(std::move(request));
  if (status != 0 && region != nullptr) --region->requests;
  return status;
}

ssize_t receive(fid_ep* ep, void* start, size_t size, void* descriptor, fi_addr_t from, void* context) {
  return begin(ep, What::receive, context, descriptor, {start, size}, from);
}
ssize_t send(fid_ep* ep, const void* start, size_t size, void* descriptor, fi_addr_t to, void* context) {
  return begin(ep, What::send, context, descriptor, {const_cast<void*>(start), size}, to);
}
ssize_t inject(fid_ep* ep, const void* start, size_t size, fi_addr_t to) {
  return begin(ep, What::inject, nullptr, nullptr, {const_cast<void*>(start), size}, to);
}
ssize_t move(fid_ep* ep, What what, const fi_msg_rma* message, uint64_t flags) {
  if (message->iov_count != 1 || message->rma_iov_count != 1 || message->msg_iov->iov_len != message->rma_iov->len) return -FI_EINVAL;
  return begin(ep, what, message->context, message->desc != nullptr ? message->desc[0] : nullptr, *message->msg_iov, message->addr,
               *message->rma_iov, flags);
}
ssize_t read(fid_ep* ep, const fi_msg_rma* message, uint64_t flags) { return move(ep, What::read, message, flags); }
ssize_t write(fid_ep* ep, const fi_msg_rma* message, uint64_t flags) { return move(ep, What::write, message, flags); }

fi_ops endpoint_ops = {sizeof(fi_ops), close_endpoint, bind_endpoint, control_endpoint, nullptr, nullptr, nullptr};
fi_ops_cm cm_ops = {sizeof(fi_ops_cm), nullptr, getname, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr};
fi_ops_msg msg_ops = {sizeof(fi_ops_msg), receive, nullptr, nullptr, send, nullptr, nullptr, inject, nullptr, nullptr};
fi_ops_rma rma_ops = {sizeof(fi_ops_rma), nullptr, nullptr, read, nullptr, nullptr, write, nullptr, nullptr, nullptr};

}  // namespace

// Begins a request, at once or in the next read of the queue.
ssize_t Endpoint::begin(Request given) {
  const Demands& demands = domain->demands;
  if (full(given)) return -FI_EAGAIN;
  const bool transfer = given.what != What::receive, ends = transfer && given.what != What::inject;
  if (transfer && ++domain->transfers == demands.refuse) return -FI_EIO;
  auto request = std::make_unique<Request>(std::move(given));
  if (request->what != What::inject) lend(request->user);
  ssize_t status = 0;
  if (ends && domain->transfers == demands.fail) {
    fi_cq_err_entry entry{};
    entry.err = FI_EIO;
    ++transfers;
    ended(std::move(request), entry);
    return 0;
  }
  if (request->what == What::read && domain->transfers == demands.lose) {
    held.insert(request.release());  // as good as lost
    return 0;
  }
  if (transfer && demands.manual) {
    if (request->what == What::inject) {
      const auto* const bytes = static_cast<const std::byte*>(request->local.iov_base);
      request->copy.assign(bytes, bytes + request->local.iov_len);
      request->local.iov_base = request->copy.data();
    }
    waiting.push_back(std::move(request));
  } else if ((status = give(*request)) != 0) {
    if (request->what != What::inject) take_back(request->user);
    domain->transfers -= transfer;
    return status;
  } else if (request->what != What::inject) {
    held.insert(request.release());
  }
  if (ends) ++transfers;
  else if (!transfer) ++receives;
  return status;
}

// Hands a request to the provider below.
ssize_t Endpoint::give(Request& request) {
  const fi_msg_rma message{&request.local, nullptr, 1, request.peer, &request.remote, 1, &request, 0};
  switch (request.what) {
    case What::receive: return fi_recv(below, request.local.iov_base, request.local.iov_len, nullptr, request.peer, &request);
    case What::inject: return fi_inject(below, request.local.iov_base, request.local.iov_len, request.peer);
    case What::send: return fi_send(below, request.local.iov_base, request.local.iov_len, nullptr, request.peer, &request);
    case What::read: return fi_readmsg(below, &message, request.flags);
    default: return fi_writemsg(below, &message, request.flags);
  }
}

void Endpoint::give_waiting() {
  while (!waiting.empty()) {
    Request& request = *waiting.front();
    const ssize_t status = give(request);
    if (status == -FI_EAGAIN) return;
    std::unique_ptr<Request> taken = std::move(waiting.front());
    waiting.pop_front();
    if (status != 0 && request.what != What::inject) {
      fi_cq_err_entry entry{};
      entry.err = static_cast<int>(-status);
      ended(std::move(taken), entry);
    } else if (request.what != What::inject) {
      held.insert(taken.release());
    }
  }
}

void Endpoint::ended(std::unique_ptr<Request> request, fi_cq_err_entry entry) {
  if (!request) {  // an error of nobody's
    queue->ready.push_back(entry);
    return;
  }
  take_back(request->user);
  if (request->region != nullptr) --request->region->requests;
  --(request->what == What::receive ? receives : transfers);
  entry.op_context = request->user;
  queue->ready.push_back(entry);
}

// Tells whether a request has to come again later.
bool Endpoint::full(const Request& request) {
  const size_t most = domain->demands.queue;
  if (most == 0) return false;
  if (request.what == What::receive) return receives >= most;
  return transfers + waiting.size() >= most || ++calls % kRefusals == 0;
}

// Takes the memory that the user lends for the time of a request.
void Endpoint::lend(void* context) {
  if (!domain->demands.context2) return;
  if (context == nullptr || !contexts.insert(context).second) die("a request lends no context, or that of another one (FI_CONTEXT2)");
  std::memset(context, kLent, sizeof(fi_context2));
}

void Endpoint::take_back(void* context) {
  if (!domain->demands.context2) return;
  const auto* const bytes = static_cast<const unsigned char*>(context);
  if (std::any_of(bytes, bytes + sizeof(fi_context2), [](unsigned char byte) { return byte != kLent; }))
    die("the context of a request was written to before its end (FI_CONTEXT2)");
  contexts.erase(context);
}

int open_endpoint(fid_domain* in, fi_info* info, fid_ep** opened, void* context) {
  Domain& domain = *static_cast<Domain*>(in);
  const Alone alone(domain);
  if (domain.demands.queue != 0 && (info->tx_attr->size > domain.demands.queue || info->rx_attr->size > domain.demands.queue))
    return -FI_EINVAL;
  auto endpoint = std::make_unique<Endpoint>();
  endpoint->fid = {FI_CLASS_EP, context, &endpoint_ops};
  endpoint->cm = &cm_ops;
  endpoint->msg = &msg_ops;
  endpoint->rma = &rma_ops;
  endpoint->domain = &domain;
  if (const int status = fi_endpoint(domain.below, domain.info.get(), &endpoint->below, nullptr); status != 0) return status;
  *opened = endpoint.release();
  return 0;
}

}  // namespace demanding
