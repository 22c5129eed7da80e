// endpoint.hpp: an opened libfabric endpoint and the objects it stands on.
//
// Thread: set-up and the holder of the baton.
// Invariants: opened completely or not at all. Members close in reverse order, as libfabric demands.
// Source: fi_getinfo(3), fi_endpoint(3), fi_domain(3).
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/transport/fabric/workarounds.hpp"

namespace portunus::fabric {

struct CloseFid {
  template <class T>
  void operator()(T* object) const {
    fi_close(&object->fid);
  }
};
template <class T>
using Fid = std::unique_ptr<T, CloseFid>;

struct FreeInfo {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

struct Endpoint {
  // `provider` empty: the best one here. `address`: of the interface, for providers of IPv4 addresses; others take the device that is
  // nearest to this process, whose number on its node is `local_rank`. `region_name` names what one without addresses (shm) leaves in
  // /dev/shm.
  Endpoint(const std::string& provider, uint32_t address, const std::string& region_name, size_t local_rank = 0);

  // The provider carries everything to one peer in one stream of bytes, in the order in which it was asked to.
  bool by_streams() const { return name_of_provider().starts_with(kStreams) || is_net(); }
  // Then fi_trywait does not work: the completion queue is read before anybody sleeps.
  bool is_net() const { return name_of_provider() == kStreamsAlone; }
  // Ends the provider's connections with a peer from whose host nothing comes any more, and those that other processes of that host have
  // made: what has been sent before the network went silent would be written to memory that is its owner's again.
  void shut_streams(fi_addr_t peer) const;
  bool needs(uint64_t mr_mode) const { return (info->domain_attr->mr_mode & mr_mode) != 0; }

  Info info;
  Fid<fid_fabric> fabric;
  Fid<fid_domain> domain;
  Fid<fid_av> av;
  Fid<fid_cq> cq;
  Fid<fid_ep> ep;
  bool is_one_of_several = false;  // devices; domain_attr->name says which
  int cq_fd = -1;                  // -1: the provider has no descriptor to sleep on
  std::vector<std::byte> name;

 private:
  std::string_view name_of_provider() const { return info->fabric_attr->prov_name; }
  void take_nearest_device(size_t local_rank);
  void open_cq();
  void open_ep(const std::string& region_name);
};

}  // namespace portunus::fabric
