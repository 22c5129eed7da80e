// memory.cpp: regions of memory, and whether a request may use one.
//
// Source: fi_mr(3); madvise(2) for MADV_POPULATE_READ.
#include <rdma/fi_errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "tests/engine/fabric/demanding/objects.hpp"

namespace demanding {
namespace {

constexpr unsigned kKeyBits = 16;  // of a key that tells an address, too
constexpr uint64_t kRemote = FI_REMOTE_READ | FI_REMOTE_WRITE;

std::string text_of(const void* start, size_t size) {
  char text[64];
  std::snprintf(text, sizeof text, "%zu bytes at %p", size, start);
  return text;
}

// Makes the memory known to the provider below, from where peers reach it.
int enable(Region& region) {
  Domain& domain = *region.domain;
  region.enabled = true;
  region.key = region.wanted_key;
  if ((region.access & kRemote) == 0) return 0;
  const int status =
      fi_mr_reg(domain.below, region.start, region.size, region.access & kRemote, 0, region.wanted_key, 0, &region.below, nullptr);
  if (status == 0 && fi_mr_key(region.below) != region.wanted_key) die("the provider below gives keys of its own");
  return status;
}

int close_region(fid* id) {
  Region& region = object_of<Region, fid_mr>(id);
  const Alone alone(*region.domain);
  // Receives may go on to the end of an endpoint that has to outlive its regions.
  if (region.requests > 0 && !region.bound) die("a region of " + text_of(region.start, region.size) + " is closed while requests use it");
  if (region.below != nullptr && fi_close(&region.below->fid) != 0) die("the provider below does not close a region");
  region.domain->regions.erase(&region);
  delete &region;
  return 0;
}

int bind_region(fid* id, fid* to, uint64_t) {
  Region& region = object_of<Region, fid_mr>(id);
  const Alone alone(*region.domain);
  if (to->fclass != FI_CLASS_EP || region.bound || region.enabled) die("a region is bound twice, too late, or to what is no endpoint");
  region.bound = true;
  return 0;
}

int control_region(fid* id, int command, void*) {
  Region& region = object_of<Region, fid_mr>(id);
  const Alone alone(*region.domain);
  if (command != FI_ENABLE) return -FI_ENOSYS;
  if (!region.bound || region.enabled) die("a region is enabled twice, or before it is bound to an endpoint");
  return enable(region);
}

fi_ops region_ops = {sizeof(fi_ops), close_region, bind_region, control_region, nullptr, nullptr, nullptr};

// Tells whether pages are behind the memory, as a device that pins them finds out.
int pages_behind(const void* start, size_t size, bool write) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = reinterpret_cast<uintptr_t>(start) / page * page, end = reinterpret_cast<uintptr_t>(start) + size;
  const int status =
      madvise(reinterpret_cast<void*>(first), (end - first + page - 1) / page * page, write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
  return status == 0 || errno == EINVAL ? 0 : -FI_EFAULT;  // EINVAL: the kernel is older than the call
}

// Makes a key of the provider's own. With FI_MR_VIRT_ADDR it tells where the region begins, since the provider below counts from there.
uint64_t new_key(Domain& domain, const void* start) {
  const uint64_t random = domain.random();
  if ((domain.demands.mr_mode & FI_MR_VIRT_ADDR) == 0) return random;
  return reinterpret_cast<uint64_t>(start) << kKeyBits | (random >> (64 - kKeyBits));
}

int reg(fid* id, const void* start, size_t size, uint64_t access, uint64_t offset, uint64_t key, uint64_t flags, fid_mr** opened, void*) {
  Domain& domain = object_of<Domain, fid_domain>(id);
  const Alone alone(domain);
  const Demands& demands = domain.demands;
  if (size == 0 || access == 0 || offset != 0 || flags != 0) die("a region is registered with no bytes, no access, an offset or flags");
  if (demands.regions != 0 && domain.regions.size() >= demands.regions) return -FI_ENOSPC;
  const bool writes = (access & (FI_RECV | FI_READ | FI_REMOTE_WRITE)) != 0;
  if ((demands.mr_mode & FI_MR_ALLOCATED) != 0)
    if (const int status = pages_behind(start, size, writes); status != 0) return status;
  auto region = std::make_unique<Region>();
  region->fid = {FI_CLASS_MR, nullptr, &region_ops};
  region->domain = &domain;
  region->start = static_cast<const std::byte*>(start);
  region->size = size;
  region->access = access;
  region->wanted_key = (demands.mr_mode & FI_MR_PROV_KEY) != 0 ? new_key(domain, start) : key;
  region->mem_desc = region.get();
  region->key = FI_KEY_NOTAVAIL;
  if ((demands.mr_mode & FI_MR_ENDPOINT) == 0)
    if (const int status = enable(*region); status != 0) return status;
  domain.regions.insert(region.get());
  *opened = region.release();
  return 0;
}

fi_ops_mr mr_ops = {sizeof(fi_ops_mr), reg, nullptr, nullptr};

}  // namespace

void open_memory(Domain& domain) { domain.mr = &mr_ops; }

uint64_t offset_of(const Domain& domain, const fi_rma_iov& remote) {
  return (domain.demands.mr_mode & FI_MR_VIRT_ADDR) != 0 ? remote.addr - (remote.key >> kKeyBits) : remote.addr;
}

Region* region_for(Domain& domain, void* descriptor, const iovec& local, uint64_t access, const char* call) {
  if ((domain.demands.mr_mode & FI_MR_LOCAL) == 0) return nullptr;
  const std::string where = std::string(call) + " of " + text_of(local.iov_base, local.iov_len);
  auto* const region = static_cast<Region*>(descriptor);
  if (!domain.regions.contains(region)) die(where + ": the memory is not registered, and FI_MR_LOCAL asks for that");
  const auto* const start = static_cast<const std::byte*>(local.iov_base);
  if (start < region->start || local.iov_len > region->size || start - region->start > static_cast<ptrdiff_t>(region->size - local.iov_len))
    die(where + " is outside of its region of " + text_of(region->start, region->size));
  if ((region->access & access) == 0) die(where + ": its region was not registered for that");
  if (!region->enabled) die(where + ": its region is not enabled, and FI_MR_ENDPOINT asks for that");
  ++region->requests;
  return region;
}

}  // namespace demanding
