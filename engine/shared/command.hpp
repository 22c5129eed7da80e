// command.hpp: one fixed record = one Portals verb with its arguments.
//
// The same record is executed fresh, from the command queue, or when a counter reaches a threshold, by one function
// (Engine::execute). What a memory descriptor said is copied in at the call, so releasing the descriptor afterwards
// harms nothing that is under way or parked.
//
// Thread: filled by the caller, then the baton holder's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace portunus {

enum class Verb : uint8_t {
  none,
  put,
  get,
  atomic,
  fetch_atomic,
  swap,  // messages
  counter_add,
  counter_set,
  append,
  unlink,
  local,  // what a trigger may do besides
  arm,    // park `armed` on a counter
};
constexpr bool is_message(Verb verb) { return verb >= Verb::put && verb <= Verb::swap; }

// A piece of the caller's memory together with what its descriptor wants reported.
struct Local {
  void* base = nullptr;    // first byte of the piece; with `iov_count`: the ptl_iovec_t array
  uint64_t offset = 0;     // with `iov_count`: where the piece begins in the concatenation
  uint32_t iov_count = 0;  // 0 = contiguous
  uint32_t options = 0;    // PTL_MD_*
  uint32_t eq = PTL_EQ_NONE;
  uint32_t ct = PTL_CT_NONE;
};

constexpr uint8_t kNotify = 0xff;   // Verb::local: not one of PTLX_ADD .. but E4, with extra.notice
constexpr uint8_t kAwait = 0xfe;    // neither, but E12: the word at source.base, with extra.awaited
constexpr uint8_t kCall = 0xfd;     // nor that, but E13, with extra.call
constexpr size_t kMaxOperand = 32;  // the largest datatype: long double complex

struct Command {
  Verb verb = Verb::none;
  uint8_t ni = 0;
  uint8_t ack = PTL_NO_ACK_REQ;
  uint8_t op = 0;
  uint8_t datatype = 0;
  bool owns_payload = false;  // source.base is a malloc'ed copy made for a volatile descriptor
  uint16_t pt_index = 0;
  uint32_t handle = 0;      // the object a non-message verb acts on
  uint32_t trigger_ct = 0;  // arm: the counter to park on
  Local source;             // put, atomic, swap: data out; get: data in
  uint64_t length = 0;      // bytes (local: elements)
  ptl_process_t target{};
  uint64_t match_bits = 0;
  uint64_t remote_offset = 0;
  uint64_t hdr_data = 0;
  void* user_ptr = nullptr;
  uint64_t threshold = 0;  // arm
  Local result;            // fetch_atomic, swap: old data in; local: second operand in base
  union {
    std::byte operand[kMaxOperand];  // swap
    ptl_ct_event_t count;            // counter_add, counter_set
    struct {
      void* base;
      uint64_t pieces;  // 0: contiguous, else base is an array of so many ptl_iovec_t
    } operand_a;        // local: first operand
    struct {
      uint64_t* word;
      uint32_t flags;  // PTLX_NOTIFY_*
      int descriptor;  // or -1
    } notice;          // local with kNotify
    struct {
      uint64_t value;       // its low bytes
      uint32_t comparison;  // PTLX_EQUAL ..
      uint32_t watched;     // bits of the process's watch
    } awaited;              // local with kAwait
    struct {
      int (*work)(void* argument);
      void* argument;
    } call;  // local with kCall
  } extra{};
  Verb armed = Verb::none;  // arm: the verb to run when ripe
};
static_assert(sizeof(Command) <= 256);

// Whether running the command, or its answer, adds to this counter.
constexpr bool counts_on(const Command& command, uint32_t ct) {
  if (is_message(command.verb)) return command.source.ct == ct || command.result.ct == ct;
  return command.verb == Verb::local && command.handle == ct;
}

}  // namespace portunus
