// exposure.cpp: see exposure.hpp.
#include "shmem/graph/exposure.hpp"

#include "engine/client/numbers.hpp"

namespace portunus::shmem::graph {
namespace {

struct State {
  ptl_handle_ni_t ni = PTL_INVALID_HANDLE;
  ptl_ni_limits_t limits{};
  bool has_index = false;
  client::MatchEntry entries[kSegments];
};
constinit client::Undestroyed<State> storage;
constexpr State& state = storage.it;

}  // namespace

int Exposure::open() {
  if (state.has_index) return PTL_OK;
  int code = PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_LOGICAL, PTL_PID_ANY, nullptr, &state.limits, &state.ni);
  if (code != PTL_OK) {
    state.ni = PTL_INVALID_HANDLE;
    return code;
  }
  ptl_pt_index_t index;
  code = PtlPTAlloc(state.ni, 0, PTL_EQ_NONE, client::kTeamMemoryPortal, &index);
  state.has_index = code == PTL_OK;
  for (const Segment segment : {kHeap, kData}) {
    const auto& [start, size] = runtime.segment[segment];
    if (code == PTL_OK && size != 0)
      code = client::expose(state.ni, index, reinterpret_cast<void*>(start), size, segment, state.entries[segment]);
  }
  if (code != PTL_OK) close();
  return code;
}

void Exposure::close() {
  for (client::MatchEntry& entry : state.entries) entry.close();
  if (state.has_index) PtlPTFree(state.ni, client::kTeamMemoryPortal);
  if (state.ni != PTL_INVALID_HANDLE) PtlNIFini(state.ni);
  state.has_index = false;
  state.ni = PTL_INVALID_HANDLE;
}

ptl_handle_ni_t Exposure::ni() { return state.ni; }

client::RemoteAddress Exposure::at(int pe, Place place) {
  return {client::process(pe), client::kTeamMemoryPortal, place.segment, place.offset};
}

size_t Exposure::most() { return state.has_index ? state.limits.max_msg_size : SIZE_MAX; }
size_t Exposure::in_order() { return state.limits.max_waw_ordered_size; }

}  // namespace portunus::shmem::graph
