// watch.cpp: ends of processes as messages, and ports as descriptors.
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "mpi-adi/ipc/internal.hpp"

using namespace portunus::peace;

int peace_watch(peace_address_t whom, peace_port_t tell, uint32_t type) try {
  Port* port = find_port(tell);
  if (!port) return PEACE_STATE;
  if (whom.process == 0) return fail(PEACE_ARG, "the address names no process: its process is 0");
  if (whom.process == number_of(interface.self)) return fail(PEACE_ARG, "a process cannot be told of its own end");
  return tell_of_end(whom, match_bits(Form::send, false, port->address.port, port->address.generation, type));
}
PEACE_BARRIER

int peace_descriptor(peace_port_t given, int* out) try {
  Port* port = find_port(given);
  if (!port) return PEACE_STATE;
  if (!out) return fail(PEACE_ARG, "fd is NULL");
  const std::lock_guard lock(port->mutex);
  if (!port->open()) return fail(PEACE_GONE, "the port was closed");
  if (port->fd < 0) {
    // It counts what a receive could take: the engine adds one for each arrival, a receive takes one off.
    ptl_ct_event_t arrivals{};
    PtlCTGet(port->arrivals, &arrivals);
    const uint64_t there = arrivals.success - port->taken;
    const int fd = eventfd(static_cast<unsigned>(there), EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
    if (fd < 0) return fail(PEACE_NO_SPACE, "there is no descriptor left: %s", std::strerror(errno));
    int code = PtlxCTRepeat(port->arrivals, 1, 0);
    if (code == PTL_OK) code = PtlxTriggeredNotify(interface.ni, &port->notified, fd, 0, port->arrivals, arrivals.success + 1);
    if (code == PTL_OK) code = PtlxCTRepeat(port->arrivals, 0, 0);
    if (code != PTL_OK) {
      close(fd);
      return portals_failed("watch a port by a descriptor", code);
    }
    port->fd = fd;
  }
  *out = port->fd;
  return PEACE_OK;
}
PEACE_BARRIER
