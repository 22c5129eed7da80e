// addresses.cpp: addresses of any length from 4 bytes on, which stand for the socket addresses of the provider below.
//
// The bytes behind the port and the IPv4 address follow from these, so that a cut or foreign address is found out. Where there is no place
// for all of the IPv4 address, all processes are of one network of 65536. Source: fi_av(3), fi_cm(3).
#include <netinet/in.h>
#include <rdma/fi_errno.h>

#include <cstring>
#include <utility>

#include "tests/engine/fabric/demanding/objects.hpp"

namespace demanding {
namespace {

using Address = std::vector<unsigned char>;

sockaddr_in own(const Domain& domain) {
  sockaddr_in address{};
  if (domain.info->src_addrlen >= sizeof address) std::memcpy(&address, domain.info->src_addr, sizeof address);
  return address;
}

Address encode(const sockaddr_in& address, size_t size) {
  unsigned char key[6];
  std::memcpy(key, &address.sin_port, 2);
  std::memcpy(key + 2, reinterpret_cast<const unsigned char*>(&address.sin_addr) + 2, 2);
  std::memcpy(key + 4, &address.sin_addr, 2);
  Address all(size);
  for (size_t i = 0; i < size; ++i) all[i] = i < sizeof key ? key[i] : static_cast<unsigned char>(all[i % sizeof key] + 37 * i);
  return all;
}

sockaddr_in decode(const Domain& domain, const unsigned char* bytes) {
  const size_t size = domain.demands.address;
  sockaddr_in address = own(domain);
  address.sin_family = AF_INET;
  std::memcpy(&address.sin_port, bytes, 2);
  std::memcpy(reinterpret_cast<unsigned char*>(&address.sin_addr) + 2, bytes + 2, 2);
  if (size >= 6) std::memcpy(&address.sin_addr, bytes + 4, 2);
  if (encode(address, size) != Address(bytes, bytes + size)) die("an address is not one that an endpoint has told");
  return address;
}

int close_addresses(fid* id) {
  Addresses& addresses = object_of<Addresses, fid_av>(id);
  const int status = fi_close(&addresses.below->fid);
  delete &addresses;
  return status;
}

int insert(fid_av* av, const void* given, size_t count, fi_addr_t* found, uint64_t flags, void* context) {
  Addresses& addresses = *static_cast<Addresses*>(av);
  const Alone alone(*addresses.domain);
  const size_t size = addresses.domain->demands.address;
  if (size == 0) return fi_av_insert(addresses.below, given, count, found, flags, context);
  std::vector<sockaddr_in> below;
  for (size_t i = 0; i < count; ++i) below.push_back(decode(*addresses.domain, static_cast<const unsigned char*>(given) + i * size));
  return fi_av_insert(addresses.below, below.data(), count, found, flags, context);
}

int give_out(const Domain& domain, const sockaddr_in& address, void* to, size_t* size) {
  const Address all = encode(address, domain.demands.address);
  const size_t room = std::exchange(*size, all.size());
  if (to != nullptr) std::memcpy(to, all.data(), std::min(room, all.size()));
  return room < all.size() ? -FI_ETOOSMALL : 0;
}

int lookup(fid_av* av, fi_addr_t which, void* address, size_t* size) {
  Addresses& addresses = *static_cast<Addresses*>(av);
  const Alone alone(*addresses.domain);
  if (addresses.domain->demands.address == 0) return fi_av_lookup(addresses.below, which, address, size);
  sockaddr_in below{};
  size_t below_size = sizeof below;
  const int status = fi_av_lookup(addresses.below, which, &below, &below_size);
  return status != 0 ? status : give_out(*addresses.domain, below, address, size);
}

fi_ops addresses_ops = {sizeof(fi_ops), close_addresses, nullptr, nullptr, nullptr, nullptr, nullptr};
// libfabric 2 has more of them.
fi_ops_av av_ops = [] {
  fi_ops_av ops{};
  ops.size = sizeof ops;
  ops.insert = insert;
  ops.lookup = lookup;
  return ops;
}();

}  // namespace

int open_addresses(fid_domain* in, fi_av_attr* attr, fid_av** opened, void* context) {
  Domain& domain = *static_cast<Domain*>(in);
  const Alone alone(domain);
  auto addresses = std::make_unique<Addresses>();
  addresses->fid = {FI_CLASS_AV, context, &addresses_ops};
  addresses->ops = &av_ops;
  addresses->domain = &domain;
  if (const int status = fi_av_open(domain.below, attr, &addresses->below, nullptr); status != 0) return status;
  *opened = addresses.release();
  return 0;
}

int name_of(Endpoint& endpoint, void* address, size_t* size) {
  if (endpoint.domain->demands.address == 0) return fi_getname(&endpoint.below->fid, address, size);
  sockaddr_in below{};
  size_t below_size = sizeof below;
  const int status = fi_getname(&endpoint.below->fid, &below, &below_size);
  return status != 0 ? status : give_out(*endpoint.domain, below, address, size);
}

}  // namespace demanding
