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
  uint64_t sent;  // what has come
};

// By the requests' places in their pool. nullptr: nothing is compared.
constinit Expected* all_expected = nullptr;

// nullptr: the request is in no pool, or nothing is compared.
Expected* expected_of(const Request& request) {
  return all_expected == nullptr || !pool.owns(request) ? nullptr : &all_expected[&request - pool.sent()];
}

std::string text_of(const Datatype& type, MPI_Count count) {
  if (type.name[0] != '\0') return std::to_string(count) + " " + type.name;
  return signature_text(sent_signature(type, count), static_cast<uint64_t>(count) * static_cast<uint64_t>(type.size));
}

thread_local const Arguments* original = nullptr;
thread_local const void* copied = nullptr;

}  // namespace

void open() {
  if (!debug.calls || all_expected != nullptr) return;
  void* memory = mmap(nullptr, pool.most() * sizeof(Expected), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) all_expected = static_cast<Expected*>(memory);
}

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
  request.special = request.compared = true;
}

uint64_t* place_of_header(const Request& request) {
  Expected* const expected = expected_of(request);
  return expected == nullptr ? nullptr : &expected->sent;
}

void compare(Request& request, ptl_hdr_data_t sent) {
  Expected& expected = *expected_of(request);
  if (expected.type == nullptr || request.cancelled || request.failed()) return;
  if (begins_with(*expected.type, expected.count, request.requested, sent)) return;
  expected.sent = sent;
  request.failure = kOtherTypes;
}
void compare(Request& request) { compare(request, expected_of(request)->sent); }

void hand_on(Request& part, Request& whole) {
  Expected *const from = expected_of(part), *const to = expected_of(whole);
  forget(whole);
  if (from == nullptr || to == nullptr) return;
  *to = std::exchange(*from, {});
  whole.compared = true;
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
  request.compared = false;
  if (expected == nullptr || expected->type == nullptr) return;
  release(expected->type);
  expected->type = nullptr;
}

}  // namespace portunus::mpi::signatures
