// info.cpp: info objects and the calls on them. Source: MPI-5.0, 10.
#include "mpi-adi/core/info.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>

#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/objects.hpp"
#include "mpi-adi/core/profiling.hpp"

namespace portunus::mpi {
namespace {

constinit ObjectPool<Info, 1 << 18> infos;

// The keys of MPI_INFO_ENV, without those that the launcher knows best.
Hints environment() {
  Hints hints;
  char directory[MPI_MAX_INFO_VAL];
  utsname system;
  if (getcwd(directory, sizeof directory) != nullptr) hints.emplace_back("wdir", directory);
  if (uname(&system) == 0) {
    hints.emplace_back("arch", system.machine);
    hints.emplace_back("host", system.nodename);
  }
  hints.emplace_back("thread_level", "MPI_THREAD_MULTIPLE");
  return with_memory_kinds(std::move(hints));
}

Info& environment_info() {
  static Info info{{}, environment()};
  return info;
}

int check(const char* function, MPI_Info handle, Info*& found, std::initializer_list<const void*> results) {
  found = find_info(handle);
  if (found == nullptr)
    return raise(function, nullptr, MPI_ERR_INFO, handle == MPI_INFO_NULL ? "the info is MPI_INFO_NULL" : "%p is no info",
                 static_cast<void*>(handle));
  return check_results(function, nullptr, results);
}
// An info that may be changed.
int check_own(const char* function, MPI_Info handle, Info*& found, std::initializer_list<const void*> results) {
  found = nullptr;
  if (handle == MPI_INFO_ENV) return raise(function, nullptr, MPI_ERR_INFO, "MPI_INFO_ENV cannot be changed");
  return check(function, handle, found, results);
}
int check_key(const char* function, const char* key) {
  const size_t length = strnlen(key, MPI_MAX_INFO_KEY);
  if (length > 0 && length < MPI_MAX_INFO_KEY) return MPI_SUCCESS;
  return raise(function, nullptr, MPI_ERR_INFO_KEY, "the key is %s", length == 0 ? "empty" : "longer than 255 characters");
}

bool get(const Info& info, const char* key, std::string& value) {
  std::lock_guard lock(info.mutex);
  for (const auto& [name, text] : info.hints)
    if (name == key) {
      value = text;
      return true;
    }
  return false;
}

int hand_out(const char* function, Hints hints, MPI_Info* result) {
  *result = make_info(std::move(hints));
  if (*result != MPI_INFO_NULL) return MPI_SUCCESS;
  return raise(function, nullptr, MPI_ERR_NO_MEM, "too many infos are in use; free some first");
}

}  // namespace

void for_each_info(const std::function<void(const Info&)>& action) { infos.for_each(action); }
Info* find_info(MPI_Info handle) { return handle == MPI_INFO_ENV ? &environment_info() : infos.find(handle); }

MPI_Info make_info(Hints hints) {
  Info* made = infos.claim();
  if (made == nullptr) return MPI_INFO_NULL;
  made->hints = std::move(hints);
  return reinterpret_cast<MPI_Info>(made);
}

Hints hints_of(MPI_Info handle) {
  const Info* found = find_info(handle);
  return found ? found->copy() : Hints{};
}

size_t alignment_in(const Hints& hints, size_t least) {
  constexpr uint64_t kMost = uint64_t{1} << 30;
  for (const auto& [key, text] : hints) {
    uint64_t value = 0;
    if (key != "mpi_minimum_memory_alignment") continue;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size() && value <= kMost && std::has_single_bit(value))
      return std::max<size_t>(least, value);
  }
  return least;
}

Hints with_memory_kinds(Hints hints) {
  set_hint(hints, "mpi_memory_alloc_kinds", "mpi,system");
  return hints;
}

void set_hint(Hints& hints, const std::string& key, const std::string& value) {
  for (auto& [name, text] : hints)
    if (name == key) {
      text = value;
      return;
    }
  hints.emplace_back(key, value);
}

}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Info_create(MPI_Info* info) try {
  static constexpr char kName[] = "MPI_Info_create";
  if (int error = check_results(kName, nullptr, {info})) return error;
  return hand_out(kName, {}, info);
}
MPI_WEAK_NAME(Info_create)

extern "C" int PMPI_Info_create_env(int, char*[], MPI_Info* info) try {
  static constexpr char kName[] = "MPI_Info_create_env";
  if (int error = check_results(kName, nullptr, {info})) return error;
  return hand_out(kName, environment(), info);
}
MPI_WEAK_NAME(Info_create_env)

extern "C" int PMPI_Info_set(MPI_Info info, const char* key, const char* value) try {
  static constexpr char kName[] = "MPI_Info_set";
  Info* found;
  if (int error = check_own(kName, info, found, {key, value})) return error;
  if (int error = check_key(kName, key)) return error;
  if (strnlen(value, MPI_MAX_INFO_VAL) == MPI_MAX_INFO_VAL)
    return raise(kName, nullptr, MPI_ERR_INFO_VALUE, "the value of %s is longer than %d characters", key, MPI_MAX_INFO_VAL - 1);
  std::lock_guard lock(found->mutex);
  set_hint(found->hints, key, value);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Info_set)

extern "C" int PMPI_Info_get(MPI_Info info, const char* key, int valuelen, char* value, int* flag) try {
  static constexpr char kName[] = "MPI_Info_get";
  Info* found;
  if (int error = check(kName, info, found, {key, value, flag})) return error;
  if (int error = check_key(kName, key)) return error;
  if (valuelen < 0) return raise(kName, nullptr, MPI_ERR_ARG, "the length %d is negative", valuelen);
  std::string text;
  *flag = get(*found, key, text);
  if (*flag) std::snprintf(value, static_cast<size_t>(valuelen) + 1, "%s", text.c_str());
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Info_get)

extern "C" int PMPI_Info_get_valuelen(MPI_Info info, const char* key, int* valuelen, int* flag) try {
  static constexpr char kName[] = "MPI_Info_get_valuelen";
  Info* found;
  if (int error = check(kName, info, found, {key, valuelen, flag})) return error;
  if (int error = check_key(kName, key)) return error;
  std::string text;
  *flag = get(*found, key, text);
  if (*flag) *valuelen = static_cast<int>(text.size());
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Info_get_valuelen)

extern "C" int PMPI_Info_get_string(MPI_Info info, const char* key, int* buflen, char* value, int* flag) try {
  static constexpr char kName[] = "MPI_Info_get_string";
  Info* found;
  if (int error = check(kName, info, found, {key, buflen, flag})) return error;
  if (int error = check_key(kName, key)) return error;
  if (*buflen > 0)
    if (int error = check_results(kName, nullptr, {value})) return error;
  std::string text;
  *flag = get(*found, key, text);
  if (!*flag) return MPI_SUCCESS;
  if (*buflen > 0) std::snprintf(value, static_cast<size_t>(*buflen), "%s", text.c_str());
  *buflen = static_cast<int>(text.size()) + 1;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Info_get_string)

extern "C" int PMPI_Info_delete(MPI_Info info, const char* key) try {
  static constexpr char kName[] = "MPI_Info_delete";
  Info* found;
  if (int error = check_own(kName, info, found, {key})) return error;
  if (int error = check_key(kName, key)) return error;
  std::unique_lock lock(found->mutex);
  const size_t erased = std::erase_if(found->hints, [&](const auto& hint) { return hint.first == key; });
  lock.unlock();
  return erased != 0 ? MPI_SUCCESS : raise(kName, nullptr, MPI_ERR_INFO_NOKEY, "there is no key %s", key);
}
MPI_WEAK_NAME(Info_delete)

extern "C" int PMPI_Info_get_nkeys(MPI_Info info, int* nkeys) try {
  Info* found;
  if (int error = check("MPI_Info_get_nkeys", info, found, {nkeys})) return error;
  *nkeys = static_cast<int>(found->copy().size());
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Info_get_nkeys)

extern "C" int PMPI_Info_get_nthkey(MPI_Info info, int n, char* key) try {
  static constexpr char kName[] = "MPI_Info_get_nthkey";
  Info* found;
  if (int error = check(kName, info, found, {key})) return error;
  const Hints hints = found->copy();
  if (n < 0 || static_cast<size_t>(n) >= hints.size())
    return raise(kName, nullptr, MPI_ERR_ARG, "there is no key number %d among %zu", n, hints.size());
  std::snprintf(key, MPI_MAX_INFO_KEY, "%s", hints[static_cast<size_t>(n)].first.c_str());
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Info_get_nthkey)

extern "C" int PMPI_Info_dup(MPI_Info info, MPI_Info* newinfo) try {
  static constexpr char kName[] = "MPI_Info_dup";
  Info* found;
  if (int error = check(kName, info, found, {newinfo})) return error;
  return hand_out(kName, found->copy(), newinfo);
}
MPI_WEAK_NAME(Info_dup)

extern "C" int PMPI_Info_free(MPI_Info* info) try {
  static constexpr char kName[] = "MPI_Info_free";
  if (int error = check_results(kName, nullptr, {info})) return error;
  Info* found;
  if (int error = check_own(kName, *info, found, {})) return error;
  infos.release(found);
  *info = MPI_INFO_NULL;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Info_free)
