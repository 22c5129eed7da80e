// queue.cpp: the completion queue: what has ended below, checked, and in another order where that is demanded.
//
// Source: fi_cq(3), fi_poll(3) for fi_trywait.
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>

#include "tests/engine/fabric/demanding/objects.hpp"

namespace demanding {
namespace {

constexpr size_t kBatch = 16;

int close_queue(fid* id) {
  Queue& queue = object_of<Queue, fid_cq>(id);
  if (queue.endpoint != nullptr) die("the completion queue is closed before its endpoint");
  const int status = fi_close(&queue.below->fid);
  delete &queue;
  return status;
}

int control_queue(fid* id, int command, void* argument) { return fi_control(&object_of<Queue, fid_cq>(id).below->fid, command, argument); }

ssize_t read(fid_cq* cq, void* entries, size_t count) {
  Queue& queue = *static_cast<Queue*>(cq);
  const Alone alone(*queue.domain);
  return queue.read(static_cast<fi_cq_data_entry*>(entries), count);
}

ssize_t read_error(fid_cq* cq, fi_cq_err_entry* entry, uint64_t) {
  Queue& queue = *static_cast<Queue*>(cq);
  const Alone alone(*queue.domain);
  if (queue.ready.empty() || queue.ready.front().err == 0) return -FI_EAGAIN;
  *entry = queue.ready.front();
  queue.ready.pop_front();
  return 1;
}

fi_ops queue_ops = {sizeof(fi_ops), close_queue, nullptr, control_queue, nullptr, nullptr, nullptr};
fi_ops_cq cq_ops = {sizeof(fi_ops_cq), read, nullptr, read_error, nullptr, nullptr, nullptr, nullptr};

}  // namespace

// Takes in what has ended below.
void Queue::take_in() {
  fi_cq_data_entry entries[kBatch];
  for (size_t most = 4 * kBatch; endpoint != nullptr && most > 0; most -= kBatch) {
    const ssize_t n = fi_cq_read(below, entries, kBatch);
    for (ssize_t i = 0; i < n; ++i) {
      fi_cq_err_entry entry{};
      entry.flags = entries[i].flags;
      entry.len = entries[i].len;
      endpoint->ended(endpoint->taken_back(entries[i].op_context), entry);
    }
    if (n == -FI_EAVAIL) {
      fi_cq_err_entry entry{};
      if (fi_cq_readerr(below, &entry, 0) == 1) endpoint->ended(endpoint->taken_back(entry.op_context), entry);
    } else if (n < static_cast<ssize_t>(kBatch)) {
      return;
    }
  }
}

ssize_t Queue::read(fi_cq_data_entry* entries, size_t count) {
  if (endpoint != nullptr) endpoint->give_waiting();
  const size_t before = ready.size();
  take_in();
  if (domain->demands.unordered) std::shuffle(ready.begin(), ready.end(), domain->random);
  // One of several may come in the next read, behind what has yet to end, if the order is free.
  size_t most = std::min(count, ready.size());
  if (domain->demands.unordered && most > 1 && before == 0) --most;
  size_t given = 0;
  for (; given < most && ready.front().err == 0; ++given, ready.pop_front()) {
    const fi_cq_err_entry& entry = ready.front();
    entries[given] = {entry.op_context, entry.flags, entry.len, entry.buf, domain->demands.no_cq_data ? domain->random() : entry.data};
  }
  if (given > 0) return static_cast<ssize_t>(given);
  return ready.empty() ? -FI_EAGAIN : -FI_EAVAIL;
}

int open_queue(fid_domain* in, fi_cq_attr* attr, fid_cq** opened, void* context) {
  Domain& domain = *static_cast<Domain*>(in);
  const Alone alone(domain);
  if (attr->format != FI_CQ_FORMAT_DATA || (attr->wait_obj != FI_WAIT_NONE && domain.demands.no_descriptor)) return -FI_ENOSYS;
  auto queue = std::make_unique<Queue>();
  queue->fid = {FI_CLASS_CQ, context, &queue_ops};
  queue->ops = &cq_ops;
  queue->domain = &domain;
  if (const int status = fi_cq_open(domain.below, attr, &queue->below, nullptr); status != 0) return status;
  *opened = queue.release();
  return 0;
}

int try_wait(fid_fabric* fabric, fid** ids, int count) {
  std::vector<fid*> below;
  for (int i = 0; i < count; ++i) {
    if (ids[i]->fclass != FI_CLASS_CQ) die("fi_trywait is asked of what is no completion queue");
    Queue& queue = object_of<Queue, fid_cq>(ids[i]);
    const Alone alone(*queue.domain);
    if (!queue.ready.empty() || (queue.endpoint != nullptr && !queue.endpoint->waiting.empty())) return -FI_EAGAIN;
    below.push_back(&queue.below->fid);
  }
  return fi_trywait(static_cast<Fabric*>(fabric)->below, below.data(), count);
}

}  // namespace demanding
