// model.hpp: what the specification says of one portal table entry, in the shortest form: lists that are walked, no transport, no
// threads. model_test.cpp compares the library with it.
//
// Source: Portals 4.3, list entries, unexpected headers, search, events, counting, status registers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "portals/portals4.h"

namespace portals_test {

struct ModelEntry {
  ptl_me_t me{};
  ptl_list_t list = PTL_PRIORITY_LIST;
  uintptr_t id = 0;                           // its user_ptr
  int ct = -1;                                // which counter, -1 none
  bool for_us = true;                         // its uid admits the initiator
  uint64_t length = 0;                        // bytes
  std::vector<unsigned char> memory, shadow;  // the library's, the model's
  std::vector<ptl_iovec_t> iovec;
  ptl_handle_me_t handle = PTL_INVALID_HANDLE;
  uint64_t local_offset = 0;
  int headers = 0;
  bool linked = false, auto_unlinked = false;

  bool has(unsigned option) const { return (me.options & option) != 0; }
  // The address of byte `offset`.
  unsigned char* at(uint64_t offset) {
    if (!has(PTL_IOVEC)) return memory.data() + offset;
    for (const ptl_iovec_t& part : iovec) {
      if (offset < part.iov_len) return static_cast<unsigned char*>(part.iov_base) + offset;
      offset -= part.iov_len;
    }
    return nullptr;
  }
  bool matches(uint64_t bits, ptl_rank_t source, uint64_t rlength, uint64_t remote_offset) const {
    if (((bits ^ me.match_bits) & ~me.ignore_bits) != 0) return false;
    if (me.match_id.rank != PTL_RANK_ANY && me.match_id.rank != source) return false;
    const uint64_t offset = has(PTL_ME_MANAGE_LOCAL) ? local_offset : remote_offset;
    return !has(PTL_ME_NO_TRUNCATE) || (offset <= length && rlength <= length - offset);
  }
};
using ModelEntryPtr = std::shared_ptr<ModelEntry>;

struct ModelMessage {
  ptl_event_kind_t event = PTL_EVENT_PUT;  // at the target
  uint64_t bits = 0, rlength = 0, remote_offset = 0, hdr_data = 0;
  ptl_rank_t source = 0;
  std::vector<unsigned char> data;
};

struct ModelAnswer {
  ptl_ni_fail_t fail = PTL_NI_OK;
  ptl_list_t list = PTL_PRIORITY_LIST;
  uint64_t mlength = 0, offset = 0;
  bool beyond = false;  // the requested offset lies past the end
  std::vector<unsigned char> fetched;
  ModelEntryPtr entry;
};

class Model {
 public:
  std::vector<ptl_event_t> events;  // since the caller last cleared it
  std::array<ptl_ct_event_t, 3> counts{};
  std::array<int, 3> registers{};
  bool enabled = true;

  // True: consumed, and never linked.
  bool append(const ModelEntryPtr& entry);
  ModelAnswer arrive(const ModelMessage& message);
  void search(const ModelEntry& like, bool remove);
  // By the user: what the call returns.
  int unlink_by_hand(ModelEntry& entry);

 private:
  struct Header {
    ModelMessage message;
    ModelEntryPtr entry;
    uint64_t offset, mlength;
  };
  using Entries = std::list<ModelEntryPtr>;
  enum class Told { nobody, overflow, search };

  Entries& list_of(const ModelEntry& entry) { return entry.list == PTL_PRIORITY_LIST ? priority_ : overflow_; }
  void unlink(ModelEntry& entry);
  ModelEntryPtr find(const ModelMessage& message) const;
  ModelAnswer& refuse(ModelAnswer& answer, ptl_ni_fail_t fail, ptl_sr_index_t which);
  static void move(const ModelMessage& message, ModelAnswer& answer);
  void count(const ModelEntry& entry, uint64_t mlength);
  void about(const ModelEntry& entry, ptl_event_kind_t type);
  void tell(const Header& header, uintptr_t user, ptl_event_kind_t type, ptl_list_t list);
  void take(std::list<Header>::iterator header, const ModelEntry& by, Told as, bool remove);
  void idle(const ModelEntry& entry, bool just_unlinked);

  Entries priority_, overflow_;
  std::list<Header> headers_;
};

}  // namespace portals_test
