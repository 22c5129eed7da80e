// signatures.cpp: see signatures.hpp.
#include "mpi-adi/pt2pt/signatures.hpp"

#include <sys/mman.h>

#include <utility>

#include "mpi-adi/types/signature.hpp"

namespace portunus::mpi::signatures {
namespace {

// The receive that a request is of.
struct Expected {
  Datatype* type;  // retained; nullptr: nothing is compared
  MPI_Count count;
  const char* function;
  uint64_t sent;  // what has come, where it differs
};

// By the requests' places in their pool. Reserved once, and touched where used.
Expected* all_expected() {
  static Expected* const all = [] {
    void* memory =
        mmap(nullptr, pool.most() * sizeof(Expected), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<Expected*>(memory);
  }();
  return all;
}
// nullptr: the request is in no pool, or there is no memory.
Expected* expected_of(const Request& request) {
  Expected* const all = pool.owns(request) ? all_expected() : nullptr;
  return all == nullptr ? nullptr : &all[&request - pool.sent()];
}

std::string text_of(const Datatype& type, MPI_Count count) {
  if (type.name[0] != '\0') return std::to_string(count) + " " + type.name;
  return signature_text(sent_signature(type, count), static_cast<uint64_t>(count) * static_cast<uint64_t>(type.size));
}

thread_local const Arguments* original = nullptr;
thread_local const void* copied = nullptr;

}  // namespace

uint64_t find(const Arguments& given) {
  const Arguments& sent = original != nullptr && given.buf == copied ? *original : given;
  return sent_signature(*find_type(sent.datatype, sent.count), sent.count);
}

Original::Original(const Arguments& given, const void* copy) {
  original = &given;
  copied = copy;
}
Original::~Original() { original = nullptr; }

void note(Request& request, const Arguments& given) {
  forget(request);
  Expected* const expected = expected_of(request);
  if (expected == nullptr) return;
  *expected = {retain(find_type(given.datatype, given.count)), given.count, given.function, 0};
  request.special = true;  // so that it completes by an event
}

void compare(Request& request, const ptl_event_t& event) {
  Expected* const expected = expected_of(request);
  if (expected == nullptr || expected->type == nullptr || event.ni_fail_type != PTL_NI_OK || request.truncated()) return;
  if (begins_with(*expected->type, expected->count, event.rlength, event.hdr_data)) return;
  expected->sent = event.hdr_data;
  request.failure = kOtherTypes;
}

void hand_on(Request& part, Request& whole) {
  Expected *const from = expected_of(part), *const to = expected_of(whole);
  forget(whole);
  if (from != nullptr && to != nullptr) *to = std::exchange(*from, {});
}

std::string complaint(const Request& request) {
  const Expected& expected = *expected_of(request);
  const auto bytes = static_cast<uint64_t>(expected.count) * static_cast<uint64_t>(expected.type->size);
  return "rank " + std::to_string(source_of(request.match_bits)) + " has sent " + signature_text(expected.sent, request.requested) +
         " with tag " + std::to_string(tag_of(request.match_bits)) + ", where " + expected.function + " receives " +
         (bytes > request.requested ? "up to " : "") + text_of(*expected.type, expected.count) + "; the datatypes must match";
}

void forget(Request& request) {
  Expected* const expected = expected_of(request);
  if (expected == nullptr || expected->type == nullptr) return;
  release(expected->type);
  *expected = {};
}

}  // namespace portunus::mpi::signatures
