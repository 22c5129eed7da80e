// environment.cpp: reading them.
#include "shmem/environment.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace portunus::shmem {

const char* setting(const char* name) {
  const char* value = getenv((std::string("SHMEM_") + name).c_str());
  return value ? value : getenv((std::string("SMA_") + name).c_str());
}

bool switched_on(const char* name) {
  const char* text = setting(name);
  if (!text || std::string_view(text) == "0") return false;
  if (std::string_view(text) == "1") return true;
  throw std::runtime_error(std::string("SHMEM_") + name + " is \"" + text + "\"; it must be 0 or 1");
}

}  // namespace portunus::shmem
