// sockets.hpp: the sockets of a provider over TCP, which it shows to nobody but the kernel.
//
// What wakes a sleeper (endpoint.cpp) and how a socket sends are settings of descriptors that libfabric keeps to itself. A process may
// read which descriptors its own epolls watch: that is how they are found here.
//
// Where the system's congestion control is BBR, the kernel lets a socket's packets go by timers, at a rate that it measures while data
// flow. Between processes that exchange messages with pauses it measures too little: 1 MiB over a bare loopback takes twice as long by it
// as by reno, and on a link of 1 Gbit/s the timers take processor time that others compute in (transport/README.md).
//
// Thread: any; cost: some system calls for each socket. Source: epoll(7), proc(5), tcp(7); Cardwell et al., "BBR", 2016.
#pragma once

#include <string>

namespace portunus::fabric {

// The epoll descriptor of the sockets among those that `epoll` watches, or -1 where it watches none or several, or nobody tells.
int sockets_behind(int epoll);

// What sockets are to be given for congestion control, or nothing: as they are. `asked`: PTL_FABRIC_CONGESTION; empty: where the system's
// is BBR, cubic, or reno where this user may not have that. Throws std::runtime_error where there is no such one, or not for this user;
// nothing, too, where no socket can be had to ask.
std::string congestion_control(const std::string& asked);

// Gives it to all TCP sockets that `epoll` watches, itself or through others.
void set_congestion_control(int epoll, const std::string& name);

}  // namespace portunus::fabric
