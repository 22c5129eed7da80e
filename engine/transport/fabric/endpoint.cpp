// endpoint.cpp: choosing the provider, opening the endpoint, ending connections.
//
// Thread: set-up; shut_streams: the holder of the baton.
// Source: fi_getinfo(3), fi_mr(3), fi_cq(3).
#include "engine/transport/fabric/endpoint.hpp"
#include "engine/host/nearby.hpp"
#include "engine/transport/fabric/library.hpp"
#include "engine/transport/fabric/providers.hpp"
#include "engine/transport/fabric/workarounds.hpp"

#include <netinet/in.h>
#include <rdma/fi_errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <stdexcept>
#include <system_error>

namespace portunus {
namespace fabric {
namespace {

constexpr uint32_t kVersion = FI_VERSION(1, 17);
constexpr uint64_t kCapabilities = FI_MSG | FI_RMA | FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
constexpr size_t kCqSize = 4096;
constexpr size_t kPeersHint = 64;

// Providers tried in this order when none is asked for. shm (reaches this host only; the node transport is better at that), udp and sockets
// (slow, unmaintained) come only when asked for by name.
constexpr std::array kPreferred = {"cxi", "efa", "verbs;ofi_rxm", kStreamsAlone, kStreams};

void check(int status, const fi_info& info, const char* what) {
  if (status == 0) return;
  const int error = status == -EIO && errno != 0 ? errno : -status;  // what providers call EIO was often said by a system call
  const std::string sentence = std::string("the libfabric provider ") + info.fabric_attr->prov_name + " cannot " + what +
                               "; choose another by PTL_FABRIC_PROVIDER (see fi_info -l)" + (error == EMFILE ? ", or raise ulimit -n" : "");
  // libfabric's codes below FI_ERRNO_OFFSET are errno's, the others only it can name.
  if (error < FI_ERRNO_OFFSET) throw std::system_error(error, std::generic_category(), sentence);
  throw std::runtime_error(sentence + ": " + fi_strerror(error));
}

// Opens an object, which make(&object) makes.
template <class T, class Make>
void open(Fid<T>& object, const fi_info& info, const char* what, Make&& make) {
  T* opened = nullptr;
  check(make(&opened), info, what);
  object.reset(opened);
}

Info make_hints(const std::string& provider) {
  Info hints(fi_allocinfo());
  if (!hints) throw std::bad_alloc();
  hints->caps = kCapabilities;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  if (!provider.empty()) hints->fabric_attr->prov_name = strdup(provider.c_str());
  return hints;
}

Info query(const fi_info& hints) {
  fi_info* found = nullptr;
  return fi_getinfo(kVersion, nullptr, nullptr, 0, &hints, &found) == 0 ? Info(found) : Info();
}

// An IP-addressed provider is bound to our interface; one that does not take IPv4 addresses chooses its own device.
Info query_provider(const std::string& provider, uint32_t nid) {
  Info hints = make_hints(provider);
  auto* source = static_cast<sockaddr_in*>(calloc(1, sizeof(sockaddr_in)));  // fi_freeinfo frees it
  if (source == nullptr) throw std::bad_alloc();
  source->sin_family = AF_INET;
  source->sin_addr.s_addr = htonl(nid);
  hints->src_addr = source;
  hints->src_addrlen = sizeof *source;
  hints->addr_format = FI_SOCKADDR_IN;
  if (Info info = query(*hints)) return info;
  return query(*make_hints(provider));
}

std::string available() {
  std::set<std::string> names;
  for (const FabricProvider& provider : fabric_providers()) names.insert(provider.name.substr(0, provider.name.find(';')));
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  if (text.empty()) text = "none";
  const std::string asked = providers_set_up();
  return asked.empty() ? text : text + " (of " + asked + ", which alone this process has asked for, or FI_PROVIDER names)";
}

// Returns what libfabric sets up for these; empty where we do not know a name, since anything may stand behind it.
std::string providers_for(std::span<const std::string> choice) {
  constexpr std::array kKnown = {"cxi", "efa", "verbs", "tcp", "shm", "sockets", "udp", "net"};
  std::string names;
  for (const std::string& name : choice) {
    const std::string core = name.substr(0, name.find(';'));
    if (std::find(kKnown.begin(), kKnown.end(), core) == kKnown.end()) return "";
    names += core + ",";
  }
  return names + "ofi_rxm,ofi_rxd";  // layers above others; without hardware
}

Info choose(const std::string& provider, uint32_t nid) {
  std::vector<std::string> choice(kPreferred.begin(), kPreferred.end());
  if (provider == kStreams) choice = {kStreamsAlone, kStreams};
  else if (!provider.empty()) choice = {provider};
  want_providers(providers_for(choice));
  for (const std::string& name : choice)
    if (Info info = query_provider(name, nid)) return info;
  throw std::runtime_error((provider.empty() ? "libfabric has no suitable provider here"
                                             : "PTL_FABRIC_PROVIDER=" + provider + ": libfabric has no such provider here") +
                           "; available: " + available() + "; choose one by PTL_FABRIC_PROVIDER (see fi_info -l)");
}

}  // namespace

Endpoint::Endpoint(const std::string& provider, uint32_t address, const std::string& region_name, size_t local_rank)
    : info(choose(provider, address)) {
  take_nearest_device(local_rank);
  open(fabric, *info, "open its fabric", [&](auto opened) { return fi_fabric(info->fabric_attr, opened, nullptr); });
  open(domain, *info, "open its domain", [&](auto opened) { return fi_domain(fabric.get(), info.get(), opened, nullptr); });
  fi_av_attr av_attr{};
  av_attr.type = info->domain_attr->av_type == FI_AV_UNSPEC ? FI_AV_TABLE : info->domain_attr->av_type;
  av_attr.count = kPeersHint;
  open(av, *info, "open an address vector", [&](auto opened) { return fi_av_open(domain.get(), &av_attr, opened, nullptr); });
  open_cq();
  open_ep(region_name);
}

// Takes the nearest of the devices that are of the kind which libfabric prefers; others follow these in the list.
void Endpoint::take_nearest_device(size_t local_rank) {
  std::vector<const fi_info*> devices;
  std::vector<std::vector<int>> near;
  std::set<std::string> names;
  for (const fi_info* one = info.get(); one != nullptr; one = one->next) {
    const fi_bus_attr* const bus = one->nic != nullptr ? one->nic->bus_attr : nullptr;
    if (bus == nullptr || bus->bus_type != FI_BUS_PCI || name_of_provider() != one->fabric_attr->prov_name ||
        info->addr_format != one->addr_format || !names.insert(one->domain_attr->name).second)
      continue;
    char place[32];
    const fi_pci_attr& pci = bus->attr.pci;
    std::snprintf(place, sizeof place, "%04x:%02x:%02x.%x", pci.domain_id, pci.bus_id, pci.device_id, pci.function_id);
    devices.push_back(one);
    near.push_back(processors_near(std::string("/sys/bus/pci/devices/") + place));
  }
  is_one_of_several = devices.size() > 1;
  if (is_one_of_several) info.reset(fi_dupinfo(devices[nearest(near, own_processors(), local_rank)]));
  if (!info) throw std::bad_alloc();
}

void Endpoint::open_cq() {
  fi_cq_attr attr{};
  attr.size = kCqSize;
  attr.format = FI_CQ_FORMAT_DATA;
  attr.wait_obj = FI_WAIT_FD;
  if (fid_cq* opened = nullptr; fi_cq_open(domain.get(), &attr, &opened, nullptr) == 0) {
    cq.reset(opened);
    if (fi_control(&cq->fid, FI_GETWAIT, &cq_fd) == 0) {
      if (is_net()) cq_fd = sockets_behind(cq_fd);
      return;
    }
    cq.reset();
    cq_fd = -1;
  }
  attr.wait_obj = FI_WAIT_NONE;
  open(cq, *info, "open a completion queue", [&](auto opened) { return fi_cq_open(domain.get(), &attr, opened, nullptr); });
}

void Endpoint::open_ep(const std::string& region_name) {
  open(ep, *info, "open an endpoint", [&](auto opened) { return fi_endpoint(domain.get(), info.get(), opened, nullptr); });
  // The endpoint has a name of ours, so that a launcher can remove what a killed process left behind.
  if (info->addr_format == FI_ADDR_STR) {
    std::string wanted = region_name;
    check(fi_setname(&ep->fid, wanted.data(), wanted.size() + 1), *info, "name its endpoint");
  }
  check(fi_ep_bind(ep.get(), &av->fid, 0), *info, "use an address vector");
  check(fi_ep_bind(ep.get(), &cq->fid, FI_TRANSMIT | FI_RECV), *info, "use one completion queue");
  check(fi_enable(ep.get()), *info, "start its endpoint");
  size_t size = 0;
  fi_getname(&ep->fid, nullptr, &size);
  name.resize(size);
  check(fi_getname(&ep->fid, name.data(), &size), *info, "tell its address");
  name.resize(size);
}

// The provider has no call for it: fi_av_remove leaves the connection as it is. Its sockets are those that come from the address which the
// endpoint is known by, or lead to that of the peer.
void Endpoint::shut_streams(fi_addr_t peer) const {
  if (!by_streams() || info->addr_format != FI_SOCKADDR_IN || peer == FI_ADDR_UNSPEC) return;
  sockaddr_in wanted{}, own{};
  size_t size = sizeof wanted;
  if (name.size() < sizeof own || fi_av_lookup(av.get(), peer, &wanted, &size) != 0 || size != sizeof wanted) return;
  std::memcpy(&own, name.data(), sizeof own);
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", none)) {
    const int fd = std::atoi(entry.path().filename().c_str());
    sockaddr_in there{}, here{};
    socklen_t there_size = sizeof there, here_size = sizeof here;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&there), &there_size) != 0 || there.sin_family != AF_INET ||
        getsockname(fd, reinterpret_cast<sockaddr*>(&here), &here_size) != 0 || there.sin_addr.s_addr != wanted.sin_addr.s_addr)
      continue;
    if (there.sin_port == wanted.sin_port || here.sin_port == own.sin_port) shutdown(fd, SHUT_RDWR);
  }
}

}  // namespace fabric

std::vector<FabricProvider> fabric_providers() {
  std::set<std::string> preferred;
  for (const char* name : fabric::kPreferred)
    if (const fabric::Info info = fabric::query(*fabric::make_hints(name))) preferred.insert(info->fabric_attr->prov_name);
  std::vector<FabricProvider> found;
  const fabric::Info all = fabric::query(*fabric::make_hints(""));
  for (const fi_info* info = all.get(); info != nullptr; info = info->next) {
    FabricProvider one;
    one.name = info->fabric_attr->prov_name;
    if (std::any_of(found.begin(), found.end(), [&](const FabricProvider& known) { return known.name == one.name; })) continue;
    if (info->fabric_attr->name) one.fabric = info->fabric_attr->name;
    if (info->domain_attr->name) one.domain = info->domain_attr->name;
    one.max_message = info->ep_attr->max_msg_size;
    one.automatic = preferred.contains(one.name);
    found.push_back(std::move(one));
  }
  return found;
}

std::string fabric_provider_for(const std::string& asked, uint32_t nid) {
  try {
    return fabric::choose(asked, nid)->fabric_attr->prov_name;
  } catch (const std::runtime_error&) {
    return {};
  }
}

}  // namespace portunus
