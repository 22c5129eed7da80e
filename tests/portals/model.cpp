// model.cpp: the walks.
#include "tests/portals/model.hpp"

#include <algorithm>

namespace portals_test {

bool Model::append(const ModelEntryPtr& entry) {
  bool consumed = false;
  for (auto h = headers_.begin(); entry->list == PTL_PRIORITY_LIST && h != headers_.end() && !consumed;) {
    const auto here = h++;
    if (!entry->matches(here->message.bits, here->message.source, here->message.rlength, here->message.remote_offset)) continue;
    const uint64_t rlength = here->message.rlength;
    take(here, *entry, entry->has(PTL_ME_EVENT_OVER_DISABLE | PTL_ME_EVENT_SUCCESS_DISABLE) ? Told::nobody : Told::overflow, true);
    consumed = entry->has(PTL_ME_USE_ONCE);
    if (!entry->has(PTL_ME_LOCAL_INC_UH_RLENGTH)) continue;
    entry->local_offset = std::min(entry->length, entry->local_offset + rlength);
    consumed |= entry->length - entry->local_offset < entry->me.min_free;
  }
  if (consumed) {
    entry->auto_unlinked = true;
    idle(*entry, true);
    return true;
  }
  entry->linked = true;
  list_of(*entry).push_back(entry);
  if (!entry->has(PTL_ME_EVENT_LINK_DISABLE)) about(*entry, PTL_EVENT_LINK);
  return false;
}

ModelAnswer Model::arrive(const ModelMessage& message) {
  ModelAnswer answer;
  if (!enabled) return refuse(answer, PTL_NI_PT_DISABLED, PTL_SR_DROP_COUNT);
  const ModelEntryPtr entry = find(message);
  if (!entry) return refuse(answer, PTL_NI_DROPPED, PTL_SR_DROP_COUNT);
  if (!entry->for_us) return refuse(answer, PTL_NI_PERM_VIOLATION, PTL_SR_PERMISSION_VIOLATIONS);
  const bool reads = message.event == PTL_EVENT_GET || message.event == PTL_EVENT_FETCH_ATOMIC, writes = message.event != PTL_EVENT_GET;
  if ((reads && !entry->has(PTL_ME_OP_GET)) || (writes && !entry->has(PTL_ME_OP_PUT)))
    return refuse(answer, PTL_NI_OP_VIOLATION, PTL_SR_OPERATION_VIOLATIONS);
  const bool managed = entry->has(PTL_ME_MANAGE_LOCAL);
  answer.entry = entry;
  answer.list = entry->list;
  answer.offset = managed ? entry->local_offset : message.remote_offset;
  answer.beyond = answer.offset > entry->length;
  answer.offset = std::min(answer.offset, entry->length);
  answer.mlength = std::min(message.rlength, entry->length - answer.offset);
  if (managed) entry->local_offset += answer.mlength;
  const bool last =
      entry->has(PTL_ME_USE_ONCE) || (managed && entry->me.min_free != 0 && entry->length - entry->local_offset < entry->me.min_free);
  if (last) unlink(*entry), entry->auto_unlinked = true;
  move(message, answer);
  if (entry->has(PTL_ME_EVENT_CT_COMM)) count(*entry, answer.mlength);
  if (!entry->has(PTL_ME_EVENT_COMM_DISABLE | PTL_ME_EVENT_SUCCESS_DISABLE))
    tell({message, entry, answer.offset, answer.mlength}, entry->id, message.event, entry->list);
  if (entry->list == PTL_OVERFLOW_LIST && !entry->has(PTL_ME_UNEXPECTED_HDR_DISABLE)) {
    ++entry->headers;
    headers_.push_back({message, entry, answer.offset, answer.mlength});
  }
  idle(*entry, last);
  return answer;
}

void Model::search(const ModelEntry& like, bool remove) {
  const bool once = like.has(PTL_ME_USE_ONCE);
  bool found = false;
  for (auto h = headers_.begin(); h != headers_.end() && !(once && found);) {
    const auto here = h++;
    if (!like.matches(here->message.bits, here->message.source, here->message.rlength, here->message.remote_offset)) continue;
    found = true;
    const bool silent = like.has(remove ? PTL_ME_EVENT_OVER_DISABLE : PTL_ME_EVENT_COMM_DISABLE);
    take(here, like, silent ? Told::nobody : remove ? Told::overflow : Told::search, remove);
  }
  if (like.has(PTL_ME_EVENT_CT_OVERFLOW) && like.ct >= 0 && (!once || !found)) ++counts[static_cast<size_t>(like.ct)].failure;
  if (found) return;
  about(like, PTL_EVENT_SEARCH);
  events.back().ni_fail_type = PTL_NI_NO_MATCH;
}

int Model::unlink_by_hand(ModelEntry& entry) {
  if (!entry.linked) return PTL_ARG_INVALID;
  if (entry.headers > 0) return PTL_IN_USE;
  unlink(entry);
  return PTL_OK;
}

void Model::unlink(ModelEntry& entry) {
  list_of(entry).remove_if([&](const ModelEntryPtr& other) { return other.get() == &entry; });
  entry.linked = false;
}

ModelEntryPtr Model::find(const ModelMessage& message) const {
  for (const Entries* list : {&priority_, &overflow_})
    for (const ModelEntryPtr& entry : *list)
      if (entry->matches(message.bits, message.source, message.rlength, message.remote_offset)) return entry;
  return nullptr;
}

ModelAnswer& Model::refuse(ModelAnswer& answer, ptl_ni_fail_t fail, ptl_sr_index_t which) {
  ++registers[which];
  answer.fail = fail;
  return answer;
}

// Atomics add bytes, fetching ones combine them by exclusive or.
void Model::move(const ModelMessage& message, ModelAnswer& answer) {
  const auto from = answer.entry->shadow.begin() + static_cast<ptrdiff_t>(answer.offset);
  answer.fetched.assign(from, from + static_cast<ptrdiff_t>(answer.mlength));
  for (size_t i = 0; i < answer.mlength; ++i) {
    unsigned char& byte = answer.entry->shadow[answer.offset + i];
    if (message.event == PTL_EVENT_PUT) byte = message.data[i];
    if (message.event == PTL_EVENT_ATOMIC) byte = static_cast<unsigned char>(byte + message.data[i]);
    if (message.event == PTL_EVENT_FETCH_ATOMIC) byte ^= message.data[i];
  }
}

void Model::count(const ModelEntry& entry, uint64_t mlength) {
  if (entry.ct >= 0) counts[static_cast<size_t>(entry.ct)].success += entry.has(PTL_ME_EVENT_CT_BYTES) ? mlength : 1;
}

void Model::about(const ModelEntry& entry, ptl_event_kind_t type) {
  ptl_event_t event{};
  event.type = type;
  event.user_ptr = reinterpret_cast<void*>(entry.id);
  events.push_back(event);
}

void Model::tell(const Header& header, uintptr_t user, ptl_event_kind_t type, ptl_list_t list) {
  ptl_event_t event{};
  event.type = type;
  event.user_ptr = reinterpret_cast<void*>(user);
  event.start = header.mlength != 0 ? header.entry->at(header.offset) : nullptr;
  event.hdr_data = header.message.hdr_data;
  event.match_bits = header.message.bits;
  event.rlength = header.message.rlength;
  event.mlength = header.mlength;
  event.remote_offset = header.message.remote_offset;
  event.initiator.rank = header.message.source;
  event.ptl_list = list;
  events.push_back(event);
}

// A header is found by an entry or a search.
void Model::take(std::list<Header>::iterator header, const ModelEntry& by, Told as, bool remove) {
  if (by.has(PTL_ME_EVENT_CT_OVERFLOW)) count(by, header->mlength);
  if (as == Told::search) tell(*header, by.id, PTL_EVENT_SEARCH, PTL_OVERFLOW_LIST);
  if (as == Told::overflow) tell(*header, by.id, static_cast<ptl_event_kind_t>(header->message.event + 1), PTL_OVERFLOW_LIST);
  if (!remove) return;
  const ModelEntryPtr entry = header->entry;
  headers_.erase(header);
  --entry->headers;
  idle(*entry, false);
}

void Model::idle(const ModelEntry& entry, bool just_unlinked) {
  if (entry.has(PTL_ME_EVENT_UNLINK_DISABLE)) return;
  if (just_unlinked) about(entry, PTL_EVENT_AUTO_UNLINK);
  if (entry.auto_unlinked && entry.headers == 0 && entry.list == PTL_OVERFLOW_LIST) about(entry, PTL_EVENT_AUTO_FREE);
}

}  // namespace portals_test
