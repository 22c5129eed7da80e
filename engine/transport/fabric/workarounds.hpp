// workarounds.hpp: code for one version of libfabric alone.
//
// libfabric 1.17 (Debian 12): its provider "tcp" knows connections only; "tcp;ofi_rxm", a layer above, and "net" speak to many peers. "net"
// takes a fifth less time, and is used where a user says "tcp". Later versions have no "net": their "tcp" is the same by itself. The first
// completion of "net" signals the descriptor of its queue, and neither reading nor fi_trywait takes that back: a thread that sleeps on it
// is awake at once, for ever. That descriptor is an epoll, which watches a second one, of the sockets: that one tells what comes.
//
// Thread: set-up. Source: epoll(7), proc(5).
#pragma once

namespace portunus::fabric {

constexpr char kStreams[] = "tcp";
constexpr char kStreamsAlone[] = "net";

// Returns the epoll descriptor of the sockets that `epoll` watches, or -1 where it watches none or several, or that cannot be found out.
int sockets_behind(int epoll);

}  // namespace portunus::fabric
