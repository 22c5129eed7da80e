// demands.cpp: see demands.hpp.
#include "tests/engine/fabric/demanding/demands.hpp"

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

namespace demanding {
namespace {

const std::map<std::string, uint64_t> kModes = {{"mr-local", FI_MR_LOCAL},
                                                {"mr-allocated", FI_MR_ALLOCATED},
                                                {"mr-prov-key", FI_MR_PROV_KEY},
                                                {"mr-virt-addr", FI_MR_VIRT_ADDR | FI_MR_PROV_KEY},
                                                {"mr-endpoint", FI_MR_ENDPOINT}};
const std::map<std::string, bool Demands::*> kSwitches = {{"context2", &Demands::context2},
                                                          {"manual", &Demands::manual},
                                                          {"unordered", &Demands::unordered},
                                                          {"no-cq-data", &Demands::no_cq_data},
                                                          {"no-descriptor", &Demands::no_descriptor}};
const std::map<std::string, size_t Demands::*> kNumbers = {
    {"inject", &Demands::inject},   {"message", &Demands::message}, {"queue", &Demands::queue},
    {"regions", &Demands::regions}, {"address", &Demands::address}, {"domains", &Demands::domains},
    {"fail", &Demands::fail},       {"refuse", &Demands::refuse},   {"lose", &Demands::lose}};

void add(Demands& demands, const std::string& name, const std::string& value) {
  if (name == "all") {
    for (const auto& [mode, bit] : kModes) demands.mr_mode |= bit;
    for (const auto& [one, member] : kSwitches)
      if (one != "no-descriptor") demands.*member = true;
    demands.inject = 0;
    demands.message = 16384;
    demands.queue = 8;
    demands.regions = 12;
    demands.address = 64;
    demands.domains = 2;
  } else if (const auto mode = kModes.find(name); mode != kModes.end()) {
    demands.mr_mode |= mode->second;
  } else if (const auto one = kSwitches.find(name); one != kSwitches.end()) {
    demands.*one->second = true;
  } else if (const auto number = kNumbers.find(name); number != kNumbers.end() && !value.empty()) {
    demands.*number->second = std::strtoull(value.c_str(), nullptr, 10);
  } else if (name == "over") {
    demands.over = value;
  } else {
    die("DEMANDING has " + name + (value.empty() ? "" : "=" + value) + ", which is no demand");
  }
}

}  // namespace

Demands read_demands() {
  Demands demands;
  const char* const said = std::getenv("DEMANDING");
  std::istringstream words(said != nullptr ? said : "");
  for (std::string word; std::getline(words, word, ',');) {
    const size_t equal = word.find('=');
    add(demands, word.substr(0, equal), equal == std::string::npos ? "" : word.substr(equal + 1));
  }
  return demands;
}

void die(const std::string& sentence) {
  std::fprintf(stderr, "demanding: %s\n", sentence.c_str());
  std::abort();
}

}  // namespace demanding
