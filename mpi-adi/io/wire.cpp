// wire.cpp: see wire.hpp.
#include "mpi-adi/io/wire.hpp"

#include <sched.h>

#include <bit>
#include <cstring>
#include <mutex>

#include "mpi-adi/core/adi.hpp"

namespace portunus::mpi::io {
namespace {

constexpr ptl_pt_index_t kFilePortal = 58;
constexpr unsigned kQuietEntry = PTL_ME_OP_PUT | PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_LINK_DISABLE | PTL_ME_EVENT_UNLINK_DISABLE;

// Once per run of MPI: the table entry, and what keeps data that come before there is room for them.
int open_portal() {
  static std::mutex mutex;
  static ptl_handle_ni_t opened_on = PTL_INVALID_HANDLE;
  static bool opened = false;
  std::lock_guard lock(mutex);
  if (opened && opened_on == adi::device.ni) return PTL_OK;
  ptl_pt_index_t portal;
  int result = PtlPTAlloc(adi::device.ni, 0, PTL_EQ_NONE, kFilePortal, &portal);
  if (result != PTL_OK) return result;
  ptl_me_t early{};
  early.ct_handle = PTL_CT_NONE;
  early.uid = adi::device.uid;
  early.options = kQuietEntry | PTLX_ME_HOLD;
  early.match_id.rank = PTL_RANK_ANY;
  early.ignore_bits = ~ptl_match_bits_t{0};
  ptl_handle_me_t handle;
  result = PtlMEAppend(adi::device.ni, kFilePortal, &early, PTL_OVERFLOW_LIST, nullptr, &handle);
  opened = result == PTL_OK;
  opened_on = adi::device.ni;
  return result;
}

int bind(unsigned options, ptl_handle_ct_t counter, ptl_handle_md_t& md) {
  ptl_md_t all{};
  all.length = PTL_SIZE_MAX;
  all.options = options;
  all.eq_handle = PTL_EQ_NONE;
  all.ct_handle = counter;
  return PtlMDBind(adi::device.ni, &all, &md);
}

void release(ptl_handle_md_t md) {
  while (md != PTL_INVALID_HANDLE && PtlMDRelease(md) == PTL_IN_USE)
    if (PtlxProgress() == 0) sched_yield();
}
void release(ptl_handle_ct_t counter, bool) {
  if (counter != PTL_INVALID_HANDLE) PtlCTFree(counter);
}

}  // namespace

ptl_match_bits_t Wire::bits(Kind kind, int64_t number) const {
  return ptl_match_bits_t{comm_->context} << 48 | static_cast<ptl_match_bits_t>(kind) << 45 | (operation_ & 0x1fff) << 32 |
         static_cast<uint32_t>(number);
}

int Wire::open(const Communicator& comm) {
  comm_ = &comm;
  rank_ = static_cast<size_t>(comm.rank);
  size_ = static_cast<size_t>(comm.size);
  if (size_ == 1) return PTL_OK;
  int result = open_portal();
  if (result == PTL_OK) result = PtlCTAlloc(adi::device.ni, &deaths_);
  for (size_t i = 0; i < size_ && result == PTL_OK; ++i)
    if (i != rank_) result = PtlxCTWatch(deaths_, adi::process(comm.job_rank(static_cast<int>(i))));
  if (result == PTL_OK) result = bind(PTL_MD_VOLATILE, PTL_CT_NONE, small_);
  records_.resize(2 * size_);
  const auto append = [&](void* start, size_t bytes, ptl_handle_ct_t counter, unsigned options, Kind kind, int64_t number) {
    ptl_me_t entry{};
    entry.start = start;
    entry.length = bytes;
    entry.ct_handle = counter;
    entry.uid = adi::device.uid;
    entry.options = kQuietEntry | options;
    entry.match_id.rank = PTL_RANK_ANY;
    entry.match_bits = bits(kind, number);
    ptl_handle_me_t handle;
    const int code = PtlMEAppend(adi::device.ni, kFilePortal, &entry, PTL_PRIORITY_LIST, nullptr, &handle);
    if (code == PTL_OK) entries_.push_back(handle);
    return code;
  };
  const auto rounds = static_cast<int>(std::bit_width(size_ - 1));
  for (int round = 0; round < rounds && result == PTL_OK; ++round) {
    ptl_handle_ct_t counter;
    result = PtlCTAlloc(adi::device.ni, &counter);
    if (result != PTL_OK) break;
    heard_.push_back(counter);
    result = append(records_.data(), records_.size() * sizeof(Record), counter, PTL_ME_EVENT_CT_COMM, records, round);
  }
  if (result == PTL_OK && rank_ == 0) result = append(words_.data(), sizeof words_, PTL_CT_NONE, PTL_ME_OP_GET, pointer, 0);
  return result;
}

void Wire::close() {
  for (const ptl_handle_me_t entry : entries_)
    while (PtlMEUnlink(entry) == PTL_IN_USE)
      if (PtlxProgress() == 0) sched_yield();
  entries_.clear();
  release(small_);
  small_ = PTL_INVALID_HANDLE;
  for (Lane& lane : lanes_) {
    if (!broken_) {  // else something may refer to them for ever
      release(lane.memory);
      release(lane.pieces);
      release(lane.sent, true);
      release(lane.arrived, true);
    }
    lane = Lane();
  }
  for (const ptl_handle_ct_t counter : heard_) release(counter, true);
  heard_.clear();
  release(deaths_, true);
  deaths_ = PTL_INVALID_HANDLE;
}

int Wire::await(ptl_handle_ct_t counter, ptl_size_t count) {
  const ptl_handle_ct_t counters[] = {counter, deaths_};
  const ptl_size_t counts[] = {count, PTL_SIZE_MAX};
  ptl_ct_event_t seen;
  unsigned which;
  const int result = PtlCTPoll(counters, counts, 2, PTL_TIME_FOREVER, &seen, &which);
  if (result == PTL_OK && which == 0 && seen.success >= count) return MPI_SUCCESS;
  broken_ = true;
  return MPI_ERR_PROC_ABORTED;
}

// In round r the records of 2^r ranks, from this one on, go to the rank 2^r below. A rank begins this only after all have
// begun the one before, so two sets of records are enough.
int Wire::gather(const Record& own, std::vector<Record>& all) {
  all.assign(size_, own);
  if (size_ == 1) return MPI_SUCCESS;
  if (broken_) return MPI_ERR_PROC_ABORTED;
  const size_t set = gathers_ % 2 * size_;
  ++gathers_;
  records_[set] = own;
  int round = 0;
  for (size_t distance = 1; distance < size_; distance *= 2, ++round) {
    const size_t count = std::min(distance, size_ - distance);
    const int to = comm_->job_rank(static_cast<int>((rank_ + size_ - distance) % size_));
    const ptl_size_t bytes = count * sizeof(Record), offset = (set + distance) * sizeof(Record);
    const ptl_match_bits_t where = ptl_match_bits_t{comm_->context} << 48 | ptl_match_bits_t{records} << 45 | static_cast<uint32_t>(round);
    int result = PTL_OK;
    if (bytes <= adi::device.copy_limit) {
      result =
          PtlPut(small_, adi::offset_of(&records_[set]), bytes, PTL_NO_ACK_REQ, adi::process(to), kFilePortal, where, offset, nullptr, 0);
    } else if ((result = ready()) == PTL_OK) {  // from memory that stays: nobody writes these records before the gather after the next
      Lane& lane = lanes_[kOwn];
      result = PtlPut(lane.memory, adi::offset_of(&records_[set]), bytes, PTL_NO_ACK_REQ, adi::process(to), kFilePortal, where, offset,
                      nullptr, 0);
      lane.puts += result == PTL_OK;
    }
    if (result != PTL_OK) return MPI_ERR_OTHER;
    if (int error = await(heard_[static_cast<size_t>(round)], gathers_)) return error;
  }
  for (size_t i = 0; i < size_; ++i) all[(rank_ + i) % size_] = records_[set + i];
  return MPI_SUCCESS;
}

int Wire::fetch_add(unsigned which, int64_t by, int64_t& old) {
  if (rank_ == 0 || mapped_) {
    old = (mapped_ ? mapped_ : words_.data())[which].fetch_add(by, std::memory_order_acq_rel);
    return MPI_SUCCESS;
  }
  // Objects for one call, so that any number of threads can be in here.
  ptl_handle_ct_t counter;
  ptl_handle_md_t md = PTL_INVALID_HANDLE;
  int64_t words[2] = {by, -1};
  if (PtlCTAlloc(adi::device.ni, &counter) != PTL_OK) return MPI_ERR_NO_MEM;
  int error = bind(PTL_MD_EVENT_CT_REPLY, counter, md) == PTL_OK ? MPI_SUCCESS : MPI_ERR_NO_MEM;
  if (error == MPI_SUCCESS) {
    const ptl_match_bits_t where = ptl_match_bits_t{comm_->context} << 48 | ptl_match_bits_t{pointer} << 45;
    const int result =
        PtlFetchAtomic(md, adi::offset_of(&words[1]), md, adi::offset_of(&words[0]), sizeof by, adi::process(comm_->job_rank(0)),
                       kFilePortal, where, which * sizeof(int64_t), nullptr, 0, PTL_SUM, PTL_INT64_T);
    ptl_ct_event_t seen;
    error = result == PTL_OK && PtlCTWait(counter, 1, &seen) == PTL_OK && seen.failure == 0 ? MPI_SUCCESS : MPI_ERR_PROC_ABORTED;
  }
  release(md);
  PtlCTFree(counter);
  old = words[1];
  return error;
}

int Wire::ready() {
  if (ready_) return PTL_OK;
  int result = PTL_OK;
  for (Lane& lane : lanes_) {
    if (result == PTL_OK) result = PtlCTAlloc(adi::device.ni, &lane.sent);
    if (result == PTL_OK) result = PtlCTAlloc(adi::device.ni, &lane.arrived);
    if (result == PTL_OK) result = bind(PTL_MD_EVENT_CT_SEND | PTLX_MD_HEADER_FIRST, lane.sent, lane.memory);
    if (result == PTL_OK) result = bind(PTL_MD_EVENT_CT_SEND | PTLX_MD_HEADER_FIRST | PTLX_MD_LAYOUT, lane.sent, lane.pieces);
  }
  ready_ = result == PTL_OK;
  return result;
}

int Wire::put(unsigned buffer, const void* start, bool in_pieces, int64_t bytes, int rank, Kind kind, int64_t number) {
  Lane& lane = lanes_[buffer];
  const int result = PtlPut(in_pieces ? lane.pieces : lane.memory, adi::offset_of(start), static_cast<ptl_size_t>(bytes), PTL_NO_ACK_REQ,
                            adi::process(comm_->job_rank(rank)), kFilePortal, bits(kind, number), 0, nullptr, 0);
  if (result != PTL_OK) return MPI_ERR_NO_MEM;
  ++lane.puts;
  return MPI_SUCCESS;
}

int Wire::accept(unsigned buffer, void* start, bool in_pieces, int64_t bytes, int rank, Kind kind, int64_t number) {
  Lane& lane = lanes_[buffer];
  ptl_me_t entry{};
  entry.start = start;
  entry.length = static_cast<ptl_size_t>(bytes);
  entry.ct_handle = lane.arrived;
  entry.uid = adi::device.uid;
  entry.options = kQuietEntry | PTL_ME_USE_ONCE | PTL_ME_EVENT_CT_COMM | PTLX_ME_COMPLETE_UNEXPECTED | (in_pieces ? PTLX_ME_LAYOUT : 0);
  entry.match_id = adi::process(comm_->job_rank(rank));
  entry.match_bits = bits(kind, number);
  ptl_handle_me_t handle;
  if (PtlMEAppend(adi::device.ni, kFilePortal, &entry, PTL_PRIORITY_LIST, nullptr, &handle) != PTL_OK) return MPI_ERR_NO_MEM;
  ++lane.entries;
  return MPI_SUCCESS;
}

int Wire::await_sent(unsigned buffer) { return await(lanes_[buffer].sent, lanes_[buffer].puts); }
int Wire::await_arrived(unsigned buffer) { return await(lanes_[buffer].arrived, lanes_[buffer].entries); }

}  // namespace portunus::mpi::io
