// recording.cpp: see recording.hpp.
#include "shmem/graph/recording.hpp"

#include <algorithm>
#include <cstring>

#include "engine/goal/copy.hpp"
#include "shmem/graph/exposure.hpp"

namespace portunus::shmem::graph {

namespace {

// Words are raw: sums and bits do not depend on the sign, and a swap moves bits.
ptl_datatype_t word_of(const Access::Message& message) { return message.bytes == sizeof(uint32_t) ? PTL_UINT32_T : PTL_UINT64_T; }

}  // namespace

constinit std::atomic<uint64_t> Access::done_by_memory{0};

bool Access::is_by_memory() const {
  size_t bytes = 0;
  for (const Message& one : messages) bytes += one.bytes;
  return runtime.peers[pe].on_node() && bytes <= kMostByMemory;
}

// In a step of the engine: stores, and tells the PE as a message would.
int Access::do_by_memory(void* access) {
  const Access& all = *static_cast<const Access*>(access);
  const Peer& peer = runtime.peers[all.pe];
  bool has_stored = false;
  for (const Message& one : all.messages) {
    void* const there = peer.at<void>(one.at);
    switch (one.verb) {
      case Message::Verb::put: copy_run(there, one.from, one.bytes); break;
      case Message::Verb::get: copy_run(one.to, there, one.bytes); continue;
      case Message::Verb::update:
      case Message::Verb::fetch:
        if (PtlxNodeAtomic(one.op, word_of(one), there, one.from, one.bytes, one.to, one.expected) != PTL_OK) return 1;
        break;
    }
    has_stored = true;
    stored(peer, one.at, one.bytes);
  }
  done_by_memory.fetch_add(1, std::memory_order_relaxed);
  if (has_stored) PtlxNodeCall(&peer.watch, 1);
  return 0;
}

int Access::park(void* access, ptl_handle_ct_t trigger, ptl_size_t threshold, ptl_handle_ct_t counter) {
  Access& all = *static_cast<Access*>(access);
  if (all.is_by_memory()) return PtlxTriggeredCall(Exposure::ni(), do_by_memory, access, counter, trigger, threshold);
  int code = all.memory.bind_all(Exposure::ni(), client::Operations::kCounted, counter);
  const client::By by{all.memory};
  const client::When when{trigger, threshold};
  for (const Message& one : all.messages) {
    if (code != PTL_OK) break;
    const client::RemoteAddress at = Exposure::at(all.pe, one.at);
    const ptl_datatype_t word = word_of(one);
    switch (one.verb) {
      case Message::Verb::put: code = client::put(by, at, one.from, one.bytes, when); break;
      case Message::Verb::get: code = client::get(by, at, one.to, one.bytes, when); break;
      case Message::Verb::update: code = client::update(by, at, one.op, word, one.from, one.bytes, when); break;
      case Message::Verb::fetch:
        code = client::fetch(by, at, one.op, word, {all.memory, one.from, one.expected}, one.to, one.bytes, when);
        break;
    }
  }
  return code;
}

int Await::park(void* await, ptl_handle_ct_t trigger, ptl_size_t threshold, ptl_handle_ct_t counter) {
  const Await& it = *static_cast<const Await*>(await);
  return PtlxTriggeredAwait(Exposure::ni(), it.word, it.type, it.comparison, &it.value, it.watched, counter, trigger, threshold);
}

std::byte* kept(Recording& recording, const void* bytes, size_t size) {
  std::byte* const copy = recording.memory(size);
  memcpy(copy, bytes, size);
  return copy;
}

}  // namespace portunus::shmem::graph
