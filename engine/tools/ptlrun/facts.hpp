// The facts about their job that ranks can ask the PMIx server for, in libpmix's form.
//
// Thread: the main thread of the process that serves PMIx.
// Source: PMIx standard 4.1, section 16.2.3 (PMIx_server_register_nspace: what a host must give).
#pragma once

#include <pmix_server.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "engine/tools/ptlrun/job.hpp"

namespace portunus::launch {

// Throws std::runtime_error: what could not be done, why, and what to look at.
[[noreturn]] void refuse(const std::string& what, pmix_status_t status);

// A growing list of PMIx facts, freed at the end of the scope.
class Facts {
 public:
  Facts() = default;
  Facts(const Facts&) = delete;
  Facts& operator=(const Facts&) = delete;
  ~Facts() {
    for (pmix_info_t& info : list_) PMIX_INFO_DESTRUCT(&info);
  }
  void text(const char* key, const std::string& value) { add(key, value.c_str(), PMIX_STRING); }
  void number(const char* key, size_t value) {
    const auto narrow = static_cast<uint32_t>(value);
    add(key, &narrow, PMIX_UINT32);
  }
  void small(const char* key, int value) {
    const auto narrow = static_cast<uint16_t>(value);
    add(key, &narrow, PMIX_UINT16);
  }
  void rank(const char* key, int value) {
    const auto narrow = static_cast<pmix_rank_t>(value);
    add(key, &narrow, PMIX_PROC_RANK);
  }
  void yes(const char* key) {
    const bool value = true;
    add(key, &value, PMIX_BOOL);
  }
  void add(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t info{};
    PMIX_INFO_LOAD(&info, key, value, type);
    list_.push_back(info);
  }
  // One fact that holds all of `inner`, which is left empty.
  void group(const char* key, Facts& inner) {
    pmix_info_t info{};
    PMIX_INFO_CONSTRUCT(&info);
    std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
    pmix_data_array_t* array = nullptr;
    PMIX_DATA_ARRAY_CREATE(array, inner.list_.size(), PMIX_INFO);
    std::copy(inner.list_.begin(), inner.list_.end(), static_cast<pmix_info_t*>(array->array));
    inner.list_.clear();
    info.value.type = PMIX_DATA_ARRAY;
    info.value.data.darray = array;
    list_.push_back(info);
  }
  pmix_info_t* data() { return list_.data(); }
  size_t size() const { return list_.size(); }

 private:
  std::vector<pmix_info_t> list_;
};

void describe_job(const JobPlan& plan, Facts& job);

}  // namespace portunus::launch
