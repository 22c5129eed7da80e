// library.cpp: see library.hpp.
#include "engine/transport/fabric/library.hpp"

#include <dlfcn.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>

#include "engine/host/kept_signals.hpp"
#include "engine/transport/fabric/workarounds.hpp"

namespace portunus::fabric {
namespace {

constexpr char kFilter[] = "FI_PROVIDER";
// libfabric's calls, each with the version that the structures of fabric.h, as compiled here, belong to; later libraries keep it.
struct Calls {
  decltype(&::fi_getinfo) getinfo;
  decltype(&::fi_freeinfo) freeinfo;
  decltype(&::fi_dupinfo) dupinfo;
  decltype(&::fi_fabric) open;
  decltype(&::fi_strerror) strerror;
};

template <typename Call>
void find(void* library, const char* name, const char* version, Call& call) {
  void* found = dlvsym(library, name, version);
  if (found == nullptr) found = dlsym(library, name);
  if (found == nullptr) throw std::runtime_error(std::string("libfabric has no ") + name + "; install libfabric 1.17 or later");
  call = reinterpret_cast<Call>(found);
}

Calls load() {
  const HeldSignals held;
  const KeptSignals kept;
  void* library = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw std::runtime_error(std::string("libfabric cannot be loaded (") + dlerror() + "); install libfabric1, or set PTL_DEBUG=no-fabric");
  Calls calls{};
  find(library, "fi_getinfo", "FABRIC_1.3", calls.getinfo);
  find(library, "fi_freeinfo", "FABRIC_1.3", calls.freeinfo);
  find(library, "fi_dupinfo", "FABRIC_1.3", calls.dupinfo);
  find(library, "fi_fabric", "FABRIC_1.1", calls.open);
  find(library, "fi_strerror", "FABRIC_1.0", calls.strerror);
  return calls;
}

const Calls& calls() {
  static const Calls loaded = load();
  return loaded;
}

struct FirstQuery {
  std::mutex mutex;
  bool made = false;
  std::string providers;
};
FirstQuery& first_query() {
  static FirstQuery& query = *new FirstQuery;
  return query;
}

}  // namespace

void want_providers(const std::string& names) {
  calls();
  const std::lock_guard lock(first_query().mutex);
  if (!first_query().made) first_query().providers = names;
}

std::string providers_to_set_up(const char* said, const std::string& wanted) {
  if (said == nullptr) return wanted;
  const std::string names = said;
  return names == kStreams ? names + "," + kStreamsAlone : names;
}

std::string providers_set_up() {
  const std::lock_guard lock(first_query().mutex);
  return first_query().made ? first_query().providers : "";
}

}  // namespace portunus::fabric

using portunus::fabric::calls;

extern "C" {

// The first query sets providers up. Libfabric's variables hold where the user has set them; else ours are set for that query alone.
int fi_getinfo(uint32_t version, const char* node, const char* service, uint64_t flags, const struct fi_info* hints,
               struct fi_info** info) {
  auto& first = portunus::fabric::first_query();
  const std::lock_guard lock(first.mutex);
  if (first.made) return calls().getinfo(version, node, service, flags, hints, info);
  const portunus::HeldSignals held;
  const portunus::KeptSignals kept;
  const char* const said = std::getenv(portunus::fabric::kFilter);
  const std::string before = said != nullptr ? said : "";
  first.providers = portunus::fabric::providers_to_set_up(said, first.providers);
  if (!first.providers.empty()) setenv(portunus::fabric::kFilter, first.providers.c_str(), 1);
  const int status = calls().getinfo(version, node, service, flags, hints, info);
  if (said == nullptr) unsetenv(portunus::fabric::kFilter);
  else setenv(portunus::fabric::kFilter, before.c_str(), 1);
  first.made = true;
  return status;
}

void fi_freeinfo(struct fi_info* info) { calls().freeinfo(info); }

struct fi_info* fi_dupinfo(const struct fi_info* info) {
  return calls().dupinfo(info);
}

int fi_fabric(struct fi_fabric_attr* attr, struct fid_fabric** fabric, void* context) { return calls().open(attr, fabric, context); }

const char* fi_strerror(int number) { return calls().strerror(number); }
}
