// fabric_workarounds_test.cpp: sockets that a library keeps to itself are found behind the epoll that watches them.
#include "engine/transport/fabric/workarounds.hpp"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace portunus::fabric {
namespace {

struct Descriptor {
  const int fd;
  explicit Descriptor(int made) : fd(made) { EXPECT_GE(fd, 0); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(fd); }
  void watches(const Descriptor& other) const {
    epoll_event event{};
    ASSERT_EQ(epoll_ctl(fd, EPOLL_CTL_ADD, other.fd, &event), 0);
  }
};
int epoll() { return epoll_create1(EPOLL_CLOEXEC); }

TEST(FabricSockets, AreFoundBehindTheOneEpollThatIsWatched) {
  const Descriptor outer(epoll()), inner(epoll()), signal(eventfd(0, EFD_CLOEXEC)), second(epoll());
  EXPECT_EQ(sockets_behind(outer.fd), -1);
  outer.watches(signal);
  EXPECT_EQ(sockets_behind(outer.fd), -1);
  outer.watches(inner);
  EXPECT_EQ(sockets_behind(outer.fd), inner.fd);
  outer.watches(second);
  EXPECT_EQ(sockets_behind(outer.fd), -1) << "which of two, nobody tells";
  EXPECT_EQ(sockets_behind(-1), -1);
}

}  // namespace
}  // namespace portunus::fabric
