// memory.cpp: registering memory as the provider's mr_mode asks.
//
// Thread: the holder of the baton.
// Source: fi_mr(3).
#include "engine/transport/fabric/memory.hpp"

#include <rdma/fi_errno.h>

namespace portunus::fabric {
namespace {

constexpr int kKeyAttempts = 16;

uint64_t mask_of(size_t key_size) { return key_size == 0 || key_size >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * key_size)) - 1; }

}  // namespace

Registrations::Registrations(Endpoint& endpoint)
    : endpoint_(endpoint), key_mask_(mask_of(endpoint.info->domain_attr->mr_key_size)), keys_(std::random_device{}()) {}

Registration* Registrations::acquire(const void* start, size_t size, uint64_t access) {
  const bool own_key = !endpoint_.needs(FI_MR_PROV_KEY);
  int status = -FI_ENOKEY;
  fid_mr* made = nullptr;
  for (int attempt = 0; attempt < kKeyAttempts && status == -FI_ENOKEY; ++attempt)
    status = fi_mr_reg(endpoint_.domain.get(), start, size, access, 0, own_key ? keys_() & key_mask_ : 0, 0, &made, nullptr);
  if (status != 0) return nullptr;
  Fid<fid_mr> mr(made);
  if (endpoint_.needs(FI_MR_ENDPOINT) && (fi_mr_bind(made, &endpoint_.ep->fid, 0) != 0 || fi_mr_enable(made) != 0)) return nullptr;
  const uint64_t key = fi_mr_key(made);
  if (key == FI_KEY_NOTAVAIL) return nullptr;
  // Without FI_MR_VIRT_ADDR peers count from its start.
  const wire::Region region{endpoint_.needs(FI_MR_VIRT_ADDR) ? reinterpret_cast<uintptr_t>(start) : 0, key};
  return &(used_[made] = {std::move(mr), region, fi_mr_desc(made)});
}

}  // namespace portunus::fabric
