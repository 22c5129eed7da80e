// provider.cpp: the provider `demanding` of libfabric, which lies over another one and asks of its user what devices ask for (demands.hpp).
// A user that does not do it is told by a sentence, and ended.
//
// Libfabric finds it by FI_PROVIDER_PATH, the folder of libdemanding-fi.so.
// Source: fi_provider(7), fi_getinfo(3), rdma/providers/fi_prov.h.
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/engine/fabric/demanding/objects.hpp"

namespace demanding {
namespace {

constexpr char kName[] = "demanding";
constexpr uint32_t kVersion = FI_VERSION(1, 17);
constexpr uint32_t kAddressFormat = 1u << 31 | 0x44;  // the highest bit: a provider's own
constexpr uint64_t kAnyOrder = 0;                     // libfabric 2 calls its name deprecated

char* copy_of(const std::string& text) { return strdup(text.c_str()); }

// Asks the provider below, of the interface with this address.
Info query(const Demands& demands, const void* address, size_t size) {
  const Info hints(fi_allocinfo());
  hints->caps = FI_MSG | FI_RMA;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->addr_format = FI_SOCKADDR_IN;
  hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->fabric_attr->prov_name = copy_of(demands.over);
  if (size > 0) {
    hints->src_addr = std::malloc(size);
    std::memcpy(hints->src_addr, address, hints->src_addrlen = size);
  }
  fi_info* found = nullptr;
  return fi_getinfo(kVersion, nullptr, nullptr, 0, hints.get(), &found) == 0 ? Info(found) : Info();
}

// Tells whether the user can do what we demand.
bool agrees(const Demands& demands, const fi_info* hints) {
  if (hints == nullptr || !hints->fabric_attr->prov_name || std::strcmp(hints->fabric_attr->prov_name, kName) != 0) return false;
  if ((demands.mr_mode & ~static_cast<uint64_t>(hints->domain_attr->mr_mode)) != 0) return false;
  if (demands.context2 && (hints->mode & FI_CONTEXT2) == 0) return false;
  if (demands.no_cq_data && hints->domain_attr->cq_data_size != 0) return false;
  const bool strict = (hints->rx_attr->comp_order | hints->tx_attr->comp_order) != kAnyOrder;
  return !(demands.unordered && strict) && (demands.address == 0 || hints->addr_format == FI_FORMAT_UNSPEC);
}

int close_nic(fid* id) {
  auto* const nic = reinterpret_cast<fid_nic*>(id);
  std::free(nic->bus_attr);
  std::free(nic->device_attr);
  std::free(nic->link_attr);
  std::free(nic);
  return 0;
}
int control_nic(fid* id, int command, void* copy);
fi_ops nic_ops = {sizeof(fi_ops), close_nic, nullptr, control_nic, nullptr, nullptr, nullptr};

// Makes a device at a place on the PCI bus.
fid_nic* make_nic(const fi_pci_attr& place) {
  auto* const nic = static_cast<fid_nic*>(std::calloc(1, sizeof(fid_nic)));
  nic->fid = {FI_CLASS_NIC, nullptr, &nic_ops};
  nic->bus_attr = static_cast<fi_bus_attr*>(std::calloc(1, sizeof(fi_bus_attr)));
  nic->device_attr = static_cast<fi_device_attr*>(std::calloc(1, sizeof(fi_device_attr)));
  nic->link_attr = static_cast<fi_link_attr*>(std::calloc(1, sizeof(fi_link_attr)));
  nic->bus_attr->bus_type = FI_BUS_PCI;
  nic->bus_attr->attr.pci = place;
  return nic;
}

// Copies a device, as fi_dupinfo asks for.
int control_nic(fid* id, int command, void* copy) {
  if (command != FI_DUP) return -FI_ENOSYS;
  *static_cast<fid_nic**>(copy) = make_nic(reinterpret_cast<fid_nic*>(id)->bus_attr->attr.pci);
  return 0;
}

// Makes what the provider below offers ours.
void alter(const Demands& demands, fi_info& info, size_t number) {
  std::free(std::exchange(info.fabric_attr->prov_name, nullptr));  // libfabric sets it
  std::free(info.fabric_attr->name);
  info.fabric_attr->name = copy_of(kName);
  if (demands.domains > 1) {
    std::free(info.domain_attr->name);
    info.domain_attr->name = copy_of(kName + std::to_string(number));
    info.nic = make_nic({0, static_cast<uint8_t>(0x10 * (number + 1)), 0, 0});  // a bus of its own
  }
  info.mode = demands.context2 ? FI_CONTEXT2 : 0;
  info.domain_attr->mr_mode = static_cast<int>(demands.mr_mode);
  info.domain_attr->threading = FI_THREAD_DOMAIN;
  info.domain_attr->data_progress = info.domain_attr->control_progress = FI_PROGRESS_MANUAL;
  if (demands.regions != 0) info.domain_attr->mr_cnt = demands.regions;
  if (demands.no_cq_data) info.domain_attr->cq_data_size = 0;
  info.tx_attr->inject_size = std::min(info.tx_attr->inject_size, demands.inject);
  info.ep_attr->max_msg_size = std::min(info.ep_attr->max_msg_size, demands.message);
  if (demands.queue != 0) info.tx_attr->size = info.rx_attr->size = demands.queue;
  if (demands.unordered) info.tx_attr->comp_order = info.rx_attr->comp_order = kAnyOrder;
  if (demands.address == 0) return;
  info.addr_format = kAddressFormat;
  std::free(std::exchange(info.src_addr, nullptr));
  info.src_addrlen = 0;
}

int getinfo(uint32_t, const char* node, const char* service, uint64_t, const fi_info* hints, fi_info** found) {
  const Demands demands = read_demands();
  if (node != nullptr || service != nullptr || !agrees(demands, hints)) return -FI_ENODATA;
  const Info below = query(demands, hints->src_addr, hints->src_addrlen);
  if (!below) return -FI_ENODATA;
  *found = nullptr;
  for (size_t i = demands.domains; i-- > 0;) {
    fi_info* const one = fi_dupinfo(below.get());
    if (one == nullptr) return -FI_ENOMEM;
    alter(demands, *one, i);
    one->next = *found;
    *found = one;
  }
  return 0;
}

int close_domain(fid* id) {
  Domain& domain = object_of<Domain, fid_domain>(id);
  if (!domain.regions.empty()) die("a domain is closed while it has regions");
  const int status = fi_close(&domain.below->fid);
  delete &domain;
  return status;
}

fi_ops domain_fid_ops = {sizeof(fi_ops), close_domain, nullptr, nullptr, nullptr, nullptr, nullptr};
fi_ops_domain domain_ops = {sizeof(fi_ops_domain),
                            open_addresses,
                            open_queue,
                            open_endpoint,
                            nullptr,
                            nullptr,
                            nullptr,
                            nullptr,
                            nullptr,
                            nullptr,
                            nullptr,
                            nullptr};

int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** opened, void* context) {
  auto domain = std::make_unique<Domain>();
  domain->demands = read_demands();
  domain->info = query(domain->demands, info->src_addr, info->src_addrlen);
  if (!domain->info) return -FI_ENODATA;
  domain->fid = {FI_CLASS_DOMAIN, context, &domain_fid_ops};
  domain->ops = &domain_ops;
  open_memory(*domain);
  if (const int status = fi_domain(static_cast<Fabric*>(fabric)->below, domain->info.get(), &domain->below, nullptr); status != 0)
    return status;
  *opened = domain.release();
  return 0;
}

int close_fabric(fid* id) {
  Fabric& fabric = object_of<Fabric, fid_fabric>(id);
  const int status = fi_close(&fabric.below->fid);
  delete &fabric;
  return status;
}

fi_ops fabric_fid_ops = {sizeof(fi_ops), close_fabric, nullptr, nullptr, nullptr, nullptr, nullptr};
fi_ops_fabric fabric_ops = {sizeof(fi_ops_fabric), open_domain, nullptr, nullptr, nullptr, try_wait, nullptr};

int open_fabric(fi_fabric_attr* attr, fid_fabric** opened, void* context) {
  const Demands demands = read_demands();
  const Info below = query(demands, nullptr, 0);
  if (!below) return -FI_ENODATA;
  auto fabric = std::make_unique<Fabric>();
  fabric->fid = {FI_CLASS_FABRIC, context, &fabric_fid_ops};
  fabric->ops = &fabric_ops;
  fabric->api_version = attr->api_version;
  if (const int status = fi_fabric(below->fabric_attr, &fabric->below, nullptr); status != 0) return status;
  *opened = fabric.release();
  return 0;
}

void clean_up() {}

fi_provider provider = {FI_VERSION(1, 0), FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), {}, kName, getinfo, open_fabric, clean_up};

}  // namespace
}  // namespace demanding

extern "C" __attribute__((visibility("default"))) fi_provider* fi_prov_ini() { return &demanding::provider; }
