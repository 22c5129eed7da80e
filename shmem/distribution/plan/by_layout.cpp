// by_layout.cpp: entries and puts whose memory is a function (PTLX_ME_LAYOUT, PTLX_MD_LAYOUT).
#include "shmem/distribution/plan/by_layout.hpp"

#include "shmem/distribution/plan/network.hpp"

namespace portunus::distribution {

void LaidOut::pack(const void* context, ptl_size_t offset, ptl_size_t bytes, void* piece, int to_piece) {
  const auto& [move, array] = *static_cast<const Context*>(context);
  auto* const here = static_cast<std::byte*>(piece);
  if (to_piece) move->pack(static_cast<int64_t>(offset), static_cast<int64_t>(bytes), here, array);
  else move->unpack(static_cast<int64_t>(offset), static_cast<int64_t>(bytes), here, array);
}

int LaidOut::open(uint32_t plan, size_t out, size_t in) {
  plan_ = plan & 0xffffff;
  contexts_.resize(out + in);
  for (const Context& context : contexts_) layouts_.push_back({pack, &context});
  out_ = out;
  entries_.reserve(in);
  const ptl_handle_ni_t ni = Network::instance().ni();
  if (const int code = messages_.open(ni); code != PTL_OK) return code;
  if (out == 0) return PTL_OK;
  constexpr unsigned kOptions = PTLX_MD_LAYOUT | PTL_MD_EVENT_CT_SEND;
  return descriptor_.bind(ni, {layouts_.data(), out * sizeof(ptlx_layout_t), kOptions, PTL_EQ_NONE, messages_.counter()});
}

int LaidOut::watch(int pe) const { return PtlxCTWatch(messages_.counter(), process(pe)); }

void LaidOut::close() {
  for (const ptl_handle_me_t entry : entries_) client::take_out(entry);
  entries_.clear();
  if (!messages_.is_open()) return;
  messages_.counter().await_idle();  // after a failure puts may still read the array
  descriptor_.close();
  messages_.close();
}

int LaidOut::receive(const Peer& peer, Kind kind, uint64_t epoch, std::byte* to) {
  const size_t i = out_ + next_in_++;
  contexts_[i] = {&peer.move, to};
  constexpr unsigned kOptions =
      PTL_ME_OP_PUT | PTL_ME_USE_ONCE | PTL_ME_EVENT_CT_COMM | client::kQuiet | PTLX_ME_COMPLETE_UNEXPECTED | PTLX_ME_LAYOUT;
  ptl_me_t me = client::entry_of(&layouts_[i], static_cast<ptl_size_t>(peer.bytes), kOptions, bits(kind, epoch), messages_.counter());
  me.match_id = process(peer.pe);
  ptl_handle_me_t handle;
  const Network& network = Network::instance();
  const int code = messages_.one([&] { return PtlMEAppend(network.ni(), network.index(), &me, PTL_PRIORITY_LIST, nullptr, &handle); });
  if (code == PTL_OK) entries_.push_back(handle);
  return code;
}

int LaidOut::send(const Peer& peer, Kind kind, uint64_t epoch, const std::byte* from) {
  const size_t i = next_out_++;
  contexts_[i] = {&peer.move, const_cast<std::byte*>(from)};
  return messages_.one([&] {
    return PtlPut(descriptor_, i * sizeof(ptlx_layout_t), static_cast<ptl_size_t>(peer.bytes), PTL_NO_ACK_REQ, process(peer.pe),
                  Network::instance().index(), bits(kind, epoch), 0, nullptr, 0);
  });
}

bool LaidOut::done(bool* lost) {
  const client::Operations::State state = messages_.state();
  if (state == client::Operations::State::pending) return false;
  *lost = state == client::Operations::State::failed;
  if (!*lost) {
    entries_.clear();
    next_out_ = next_in_ = 0;
  }
  return true;
}

}  // namespace portunus::distribution
