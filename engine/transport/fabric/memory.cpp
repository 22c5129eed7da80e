// memory.cpp: registering memory as the provider's mr_mode asks.
//
// Thread: the holder of the baton.
// Source: fi_mr(3).
#include "engine/transport/fabric/memory.hpp"

#include <rdma/fi_errno.h>

#include <cassert>

namespace portunus::fabric {
namespace {

constexpr int kKeyAttempts = 16;

uint64_t mask_of(size_t key_size) { return key_size == 0 || key_size >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * key_size)) - 1; }

}  // namespace

Registrations::Registrations(Endpoint& endpoint)
    : endpoint_(endpoint), key_mask_(mask_of(endpoint.info->domain_attr->mr_key_size)), keys_(std::random_device{}()) {}

Registration* Registrations::acquire(const void* start, size_t size, uint64_t access) {
  const Registration::Range range{reinterpret_cast<uintptr_t>(start), size, access};
  auto found = used_.find(range);
  if (found == used_.end()) {
    Fid<fid_mr> mr = enroll(range);
    if (!mr) return nullptr;
    found = used_.emplace(range, Registration{}).first;
    found->second.key = fi_mr_key(mr.get());
    found->second.descriptor = fi_mr_desc(mr.get());
    found->second.range = range;
    found->second.mr = std::move(mr);
  }
  ++found->second.users;
  return &found->second;
}

void Registrations::release(Registration* registration) {
  assert(registration == nullptr || registration->users > 0);
  if (registration == nullptr || --registration->users > 0) return;
  const Registration::Range range = registration->range;
  used_.erase(range);
}

// Returns how peers address a registration: without FI_MR_VIRT_ADDR they count from its start.
wire::Region Registrations::region_of(const Registration& registration) const {
  return {endpoint_.needs(FI_MR_VIRT_ADDR) ? registration.range.start : 0, registration.key};
}

Fid<fid_mr> Registrations::enroll(const Registration::Range& range) {
  const bool own_key = !endpoint_.needs(FI_MR_PROV_KEY);
  int status = -FI_ENOKEY;
  fid_mr* mr = nullptr;
  for (int attempt = 0; attempt < kKeyAttempts && status == -FI_ENOKEY; ++attempt)
    status = fi_mr_reg(endpoint_.domain.get(), reinterpret_cast<void*>(range.start), range.size, range.access, 0,
                       own_key ? keys_() & key_mask_ : 0, 0, &mr, nullptr);
  if (status != 0) return nullptr;
  Fid<fid_mr> held(mr);
  if (endpoint_.needs(FI_MR_ENDPOINT) && (fi_mr_bind(mr, &endpoint_.ep->fid, 0) != 0 || fi_mr_enable(mr) != 0)) return nullptr;
  if (fi_mr_key(mr) == FI_KEY_NOTAVAIL) return nullptr;
  return held;
}

}  // namespace portunus::fabric
