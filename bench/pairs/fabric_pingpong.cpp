// fabric_pingpong.cpp: see fabric_pingpong.hpp.
#include "bench/pairs/fabric_pingpong.hpp"

#include <netinet/in.h>
#include <portals4_ext.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace portunus::bench {
namespace {

struct Close {
  template <class T>
  void operator()(T* object) const {
    fi_close(&object->fid);
  }
};
template <class T>
using Fid = std::unique_ptr<T, Close>;

struct FreeInfo {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

[[noreturn]] void fail(const char* what, long status) {
  PtlxJobAbort(1, (std::string("libfabric alone: ") + what + ": " + fi_strerror(static_cast<int>(-status))).c_str());
  std::abort();
}

Info find(const std::string& provider, uint32_t nid) {
  Info hints(fi_allocinfo());
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->fabric_attr->prov_name = strdup(provider.c_str());
  if (provider == "tcp") {
    auto* source = static_cast<sockaddr_in*>(std::calloc(1, sizeof(sockaddr_in)));  // fi_freeinfo frees it
    source->sin_family = AF_INET;
    source->sin_addr.s_addr = htonl(nid);
    hints->src_addr = source;
    hints->src_addrlen = sizeof *source;
    hints->addr_format = FI_SOCKADDR_IN;
  }
  fi_info* found = nullptr;
  return fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints.get(), &found) == 0 ? Info(found) : Info();
}

}  // namespace

struct FabricPingPong::Ends {
  Info info;
  Fid<fid_fabric> fabric;
  Fid<fid_domain> domain;
  Fid<fid_av> av;
  Fid<fid_cq> cq;
  Fid<fid_ep> ep;
  fi_addr_t peer = FI_ADDR_UNSPEC;
  fi_context2 context{};
  uint64_t out = 0, in = 0;

  // One call that makes an object.
  template <class T, class Call>
  static void make(Fid<T>& into, const char* what, Call&& call) {
    T* made = nullptr;
    if (const int status = call(&made); status != 0) fail(what, status);
    into.reset(made);
  }
  void post() {
    long status;
    while ((status = fi_recv(ep.get(), &in, sizeof in, nullptr, FI_ADDR_UNSPEC, &context)) == -FI_EAGAIN) {
    }
    if (status != 0) fail("a receive was refused", status);
  }
};

FabricPingPong::FabricPingPong(std::unique_ptr<Ends> ends) : ends_(std::move(ends)) {}
FabricPingPong::~FabricPingPong() = default;

std::unique_ptr<FabricPingPong> FabricPingPong::open(const std::string& provider, uint32_t nid, int me) {
  auto ends = std::make_unique<Ends>();
  Ends& e = *ends;
  e.info = find(provider, nid);
  if (!e.info || e.info->tx_attr->inject_size < sizeof e.out) {
    if (me == 0)
      std::fprintf(stderr, "libfabric's provider %s cannot be compared: it asks for more than messages of 8 bytes\n", provider.c_str());
    return nullptr;
  }
  Ends::make(e.fabric, "no fabric", [&](fid_fabric** made) { return fi_fabric(e.info->fabric_attr, made, nullptr); });
  Ends::make(e.domain, "no domain", [&](fid_domain** made) { return fi_domain(e.fabric.get(), e.info.get(), made, nullptr); });
  fi_av_attr av{};
  av.type = FI_AV_TABLE;
  Ends::make(e.av, "no address vector", [&](fid_av** made) { return fi_av_open(e.domain.get(), &av, made, nullptr); });
  fi_cq_attr cq{};
  cq.format = FI_CQ_FORMAT_CONTEXT;
  cq.wait_obj = FI_WAIT_NONE;
  Ends::make(e.cq, "no completion queue", [&](fid_cq** made) { return fi_cq_open(e.domain.get(), &cq, made, nullptr); });
  Ends::make(e.ep, "no endpoint", [&](fid_ep** made) { return fi_endpoint(e.domain.get(), e.info.get(), made, nullptr); });
  int status = fi_ep_bind(e.ep.get(), &e.av->fid, 0);
  if (status == 0) status = fi_ep_bind(e.ep.get(), &e.cq->fid, FI_TRANSMIT | FI_RECV);
  if (status == 0) status = fi_enable(e.ep.get());
  if (status != 0) fail("the endpoint does not start", status);
  std::vector<char> name(256);
  size_t size = name.size(), theirs = name.size();
  if ((status = fi_getname(&e.ep->fid, name.data(), &size)) != 0) fail("the endpoint has no name", status);
  if (PtlxJobPut("bench.fabric", name.data(), size) != PTL_OK || PtlxJobFence() != PTL_OK ||
      PtlxJobGet(1 - me, "bench.fabric", name.data(), &theirs) != PTL_OK ||
      fi_av_insert(e.av.get(), name.data(), 1, &e.peer, 0, nullptr) != 1)
    fail("the other rank's address cannot be had", -FI_EOTHER);
  e.post();
  return std::unique_ptr<FabricPingPong>(new FabricPingPong(std::move(ends)));
}

void FabricPingPong::send() {
  long status;
  fi_cq_entry entry;
  // The first one waits until the connection stands. Nothing arrives here before it is out.
  while ((status = fi_inject(ends_->ep.get(), &ends_->out, sizeof ends_->out, ends_->peer)) == -FI_EAGAIN)
    fi_cq_read(ends_->cq.get(), &entry, 0);
  if (status != 0) fail("a message was refused", status);
}

void FabricPingPong::receive() {
  fi_cq_entry entry;
  long status;
  while ((status = fi_cq_read(ends_->cq.get(), &entry, 1)) == -FI_EAGAIN) {
  }
  if (status != 1) fail("the completion queue broke", status);
  ends_->post();
}

void FabricPingPong::run(int me, int trips) {
  for (int i = 0; i < trips; ++i) {
    if (me == 0) send();
    receive();
    if (me != 0) send();
  }
}

}  // namespace portunus::bench
