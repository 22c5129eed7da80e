// target.hpp: the memory of the process that is debugged, read by the debugger's functions.
//
// Thread: the one that called. Invariants: nothing that is read is trusted; whoever walks a list bounds the walk. Functions throw a Code
// where they cannot answer, which calls.cpp gives back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/client/debugger.hpp"
#include "mpi-adi/debugger/mqs.h"

namespace portunus::mpi::debugger {

using client::Field;

// The reason of a failure; mqs_dll_error_string has the sentences.
enum Code : int { kNoMpi = mqs_first_user_code, kOtherVersion, kOtherWords, kUnreadable, kDamaged, kOutOfOrder, kNoMemory, kLast };

// A copy of an object.
using Object = std::vector<std::byte>;

class Target {
 public:
  Target(mqs_process* process, const mqs_process_callbacks& calls) : process_(process), calls_(&calls) {}

  void fetch(uint64_t address, void* to, size_t bytes) const;
  Object object(uint64_t address, size_t bytes) const;
  // Whether its numbers are as this process has them; all below need that.
  bool has_our_order() const;
  // `of`: the first byte of a copy that holds the field.
  static uint64_t number(const std::byte* of, Field field);
  static uint64_t number(const Object& of, Field field) {
    return field.offset <= of.size() && field.bytes <= of.size() - field.offset ? number(of.data(), field) : throw kDamaged;
  }
  uint64_t number_at(uint64_t address, uint32_t bytes) const;
  uint64_t pointer_at(uint64_t address) const { return number_at(address, sizeof(uint64_t)); }
  // Characters up to a 0 or the end of the field.
  static std::string text(const Object& of, Field field);

 private:
  mqs_process* process_;
  const mqs_process_callbacks* calls_;
};

inline int signed_number(uint64_t value) { return static_cast<int>(static_cast<uint32_t>(value)); }

}  // namespace portunus::mpi::debugger
