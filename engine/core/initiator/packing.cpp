// packing.cpp: see packing.hpp.
#include "engine/core/initiator/packing.hpp"

#include <algorithm>
#include <cassert>

#include "engine/core/initiator/way.hpp"
#include "engine/core/memory.hpp"

namespace portunus {
namespace {

constexpr uint64_t kBytesPerStep = Staging::kBytes;  // copied together in one step, over all operations

bool complete(const Operation& operation) { return operation.staging.filled() == operation.length; }

}  // namespace

uint16_t Packing::facts(const Command& command) {
  uint16_t facts = 0;
  if (command.length < Staging::kMost && (command.verb == Verb::put || command.verb == Verb::atomic)) facts |= fact::kStaging;
  return facts;
}

bool Packing::open(Operation& operation) {
  StagingAreas* const areas = operation.peer->transport->can().staging;
  return areas && areas->stage(*operation.peer->link, operation.staging, operation.exposed.region);
}

bool Packing::begin(Operation& operation) {
  uint64_t budget = kBytesPerStep;
  assert(operation.staging.filled() == 0 && !operation.source_read);
  pack(operation, budget);
  if (complete(operation)) return true;
  operations_.push_back(&operation);
  core_.maybe_busy = true;
  return false;
}

// True: some work was done.
bool Packing::pack(Operation& operation, uint64_t& budget) {
  const Memory memory{operation.source.base, operation.source.iov_count};
  const uint64_t before = operation.staging.filled();
  while (budget > 0 && !complete(operation)) {
    const uint64_t at = operation.staging.filled();
    const iovec room = operation.staging.room(operation.length - at);
    if (room.iov_len == 0) break;
    assert(room.iov_len <= operation.length - at);
    memory.copy_out(operation.source.offset + at, room.iov_base, room.iov_len);
    if (operation.staging.add(room.iov_len)) operation.peer->transport->can().notify->notify(*operation.peer->link);
    budget -= std::min<uint64_t>(budget, room.iov_len);
  }
  return operation.staging.filled() != before;
}

int Packing::advance(std::vector<Operation*>& packed) {
  int work = 0;
  uint64_t budget = kBytesPerStep;
  for (Operation* operation : operations_) {
    if (budget == 0) break;
    work += pack(*operation, budget);
    if (complete(*operation)) packed.push_back(operation);
  }
  for (Operation* operation : packed) std::erase(operations_, operation);
  return work;
}

void Packing::end(Operation& operation) {
  if (!operation.staging.open()) return;
  std::erase(operations_, &operation);
  operation.peer->transport->can().staging->unstage(*operation.peer->link, operation.staging);
}

std::vector<Operation*> Packing::unfinished(uint32_t ni) const {
  std::vector<Operation*> of_interface;
  std::copy_if(operations_.begin(), operations_.end(), std::back_inserter(of_interface),
               [ni](const Operation* operation) { return operation->ni == ni; });
  return of_interface;
}

bool Packing::has_room() const {
  return std::any_of(operations_.begin(), operations_.end(), [](const Operation* operation) {
    return operation->staging.room(operation->length - operation->staging.filled()).iov_len > 0;
  });
}

}  // namespace portunus
