// file_messenger.cpp: see file_messenger.hpp.
#include "mpi-adi/io/file_messenger.hpp"

#include <bit>
#include <cstring>

#include "mpi-adi/comm/members.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/io/portal.hpp"

namespace portunus::mpi::io {

ptl_match_bits_t FileMessenger::bits(Kind kind, int64_t number) const {
  return file_bits(comm_->context, kind, (operation_ & 0x1fff) << 32 | static_cast<uint32_t>(number));
}

int FileMessenger::open(const Communicator& comm) {
  comm_ = &comm;
  rank_ = static_cast<size_t>(comm.rank);
  size_ = static_cast<size_t>(comm.size);
  return size_ > 1 ? open_file_portal() : int{PTL_OK};
}

int FileMessenger::watch() { return watch_all(deaths_, members_of(*comm_)); }

int FileMessenger::open_entries() {
  if (size_ == 1) return PTL_OK;
  int result = watch();
  if (result == PTL_OK) result = small_.bind_all(device::device.ni, PTL_MD_VOLATILE);
  records_.resize(2 * size_);
  const auto append = [&](void* start, size_t bytes, ptl_handle_ct_t counter, unsigned options, Kind kind, int64_t number) {
    ptl_me_t entry = client::entry_of(start, bytes, kQuietEntry | options, bits(kind, number), counter);
    entry.uid = device::device.uid;
    client::MatchEntry appended;
    const int code = appended.append(device::device.ni, kFilePortal, entry);
    if (code == PTL_OK) entries_.push_back(std::move(appended));
    return code;
  };
  const auto rounds = static_cast<int>(std::bit_width(size_ - 1));
  for (int round = 0; round < rounds && result == PTL_OK; ++round) {
    result = heard_.emplace_back().open(device::device.ni);
    if (result == PTL_OK)
      result = append(records_.data(), records_.size() * sizeof(Record), heard_.back(), PTL_ME_EVENT_CT_COMM, records, round);
  }
  if (result == PTL_OK && rank_ == 0) result = append(words_.data(), sizeof words_, PTL_CT_NONE, PTL_ME_OP_GET, pointer, 0);
  return result;
}

void FileMessenger::Lane::abandon() {
  for (client::Counter* counter : {&sent, &arrived}) counter->let_go();
  for (client::Descriptor* descriptor : {&memory, &pieces}) descriptor->let_go();
}

void FileMessenger::close() {
  entries_.clear();
  small_.close();
  for (Lane& lane : lanes_) {
    if (broken_) lane.abandon();
    lane = Lane();
  }
  heard_.clear();
  deaths_.close();
  if (!broken_) SharedMemoryGroup::keep(std::move(group_));
  group_ = nullptr;
}

int FileMessenger::await(ptl_handle_ct_t counter, ptl_size_t count) {
  if (deaths_.await(counter, count)) return MPI_SUCCESS;
  broken_ = true;
  return MPI_ERR_PROC_ABORTED;
}

// In round r the records of 2^r ranks, from this one on, go to the rank 2^r below. A rank begins this only after all have
// begun the one before, so two sets of records are enough.
int FileMessenger::gather(const Record& own, std::vector<Record>& all) {
  all.assign(size_, own);
  if (size_ == 1) return MPI_SUCCESS;
  if (broken_) return MPI_ERR_PROC_ABORTED;
  if (group_) {
    const int error = group_->gather(own, all);
    broken_ = error != MPI_SUCCESS;
    return error;
  }
  const size_t set = gathers_ % 2 * size_;
  ++gathers_;
  records_[set] = own;
  int round = 0;
  for (size_t distance = 1; distance < size_; distance *= 2, ++round) {
    const size_t count = std::min(distance, size_ - distance);
    const int to = comm_->job_rank(static_cast<int>((rank_ + size_ - distance) % size_));
    const ptl_size_t bytes = count * sizeof(Record), offset = (set + distance) * sizeof(Record);
    const ptl_match_bits_t where = file_bits(comm_->context, records, static_cast<uint32_t>(round));
    int result = PTL_OK;
    if (bytes <= device::device.copy_limit) {
      result = PtlPut(small_, device::offset_of(&records_[set]), bytes, PTL_NO_ACK_REQ, device::process(to), kFilePortal, where, offset,
                      nullptr, 0);
    } else if ((result = ready()) == PTL_OK) {  // from memory that stays: nobody writes these records before the gather after the next
      Lane& lane = lanes_[kOwn];
      result = PtlPut(lane.memory, device::offset_of(&records_[set]), bytes, PTL_NO_ACK_REQ, device::process(to), kFilePortal, where,
                      offset, nullptr, 0);
      lane.puts += result == PTL_OK;
    }
    if (result != PTL_OK) return MPI_ERR_OTHER;
    if (int error = await(heard_[static_cast<size_t>(round)], gathers_)) return error;
  }
  for (size_t i = 0; i < size_; ++i) all[(rank_ + i) % size_] = records_[set + i];
  return MPI_SUCCESS;
}

int FileMessenger::fetch_add(unsigned which, int64_t by, int64_t& old) {
  if (rank_ == 0 || group_) {
    old = (group_ ? group_->words() : words_.data())[which].fetch_add(by, std::memory_order_acq_rel);
    return MPI_SUCCESS;
  }
  // Objects for one call, so that any number of threads can be in here.
  client::Operations once;
  int64_t words[2] = {by, -1};
  if (once.open(device::device.ni) != PTL_OK) return MPI_ERR_NO_MEM;
  const client::By own = once.own();
  const client::RemoteAddress word{device::process(comm_->job_rank(0)), kFilePortal, file_bits(comm_->context, pointer, 0),
                                   which * sizeof(int64_t)};
  const bool done =
      client::fetch(own, word, PTL_SUM, PTL_INT64_T, {own.memory, &words[0]}, &words[1], sizeof by) == PTL_OK && once.quiet() == PTL_OK;
  old = words[1];
  return done ? MPI_SUCCESS : MPI_ERR_PROC_ABORTED;
}

int FileMessenger::ready() {
  if (ready_) return PTL_OK;
  int result = watch();
  for (Lane& lane : lanes_) {
    const ptl_handle_ni_t ni = device::device.ni;
    if (result == PTL_OK) result = lane.sent.open(ni);
    if (result == PTL_OK) result = lane.arrived.open(ni);
    if (result == PTL_OK) result = lane.memory.bind_all(ni, PTL_MD_EVENT_CT_SEND | PTLX_MD_HEADER_FIRST, lane.sent);
    if (result == PTL_OK) result = lane.pieces.bind_all(ni, PTL_MD_EVENT_CT_SEND | PTLX_MD_HEADER_FIRST | PTLX_MD_LAYOUT, lane.sent);
  }
  ready_ = result == PTL_OK;
  return result;
}

int FileMessenger::put(unsigned buffer, const void* start, bool in_pieces, int64_t bytes, int rank, Kind kind, int64_t number) {
  Lane& lane = lanes_[buffer];
  const int result = PtlPut(in_pieces ? lane.pieces : lane.memory, device::offset_of(start), static_cast<ptl_size_t>(bytes), PTL_NO_ACK_REQ,
                            device::process(comm_->job_rank(rank)), kFilePortal, bits(kind, number), 0, nullptr, 0);
  if (result != PTL_OK) return MPI_ERR_NO_MEM;
  ++lane.puts;
  return MPI_SUCCESS;
}

int FileMessenger::accept(unsigned buffer, void* start, bool in_pieces, int64_t bytes, int rank, Kind kind, int64_t number) {
  Lane& lane = lanes_[buffer];
  constexpr unsigned kOnce = kQuietEntry | PTL_ME_USE_ONCE | PTL_ME_EVENT_CT_COMM | PTLX_ME_COMPLETE_UNEXPECTED;
  ptl_me_t entry =
      client::entry_of(start, static_cast<ptl_size_t>(bytes), kOnce | (in_pieces ? PTLX_ME_LAYOUT : 0), bits(kind, number), lane.arrived);
  entry.uid = device::device.uid;
  entry.match_id = device::process(comm_->job_rank(rank));
  ptl_handle_me_t handle;
  if (PtlMEAppend(device::device.ni, kFilePortal, &entry, PTL_PRIORITY_LIST, nullptr, &handle) != PTL_OK) return MPI_ERR_NO_MEM;
  ++lane.entries;
  return MPI_SUCCESS;
}

int FileMessenger::await_sent(unsigned buffer) { return await(lanes_[buffer].sent, lanes_[buffer].puts); }
int FileMessenger::await_arrived(unsigned buffer) { return await(lanes_[buffer].arrived, lanes_[buffer].entries); }

}  // namespace portunus::mpi::io
