// fabric_sockets_test.cpp: sockets that a library keeps to itself are found behind the epoll that watches them, and sent by as was asked.
#include "engine/transport/fabric/sockets.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

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
  std::string control() const {
    char name[16] = {};
    socklen_t size = sizeof name;
    EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &size), 0);
    return name;
  }
};
int tcp() { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }
int epoll() { return epoll_create1(EPOLL_CLOEXEC); }

std::string sentence_of(const std::string& asked) {
  try {
    congestion_control(asked);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

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

// Every kernel has reno, and every user may have it.
TEST(FabricSockets, AreGivenTheCongestionControlThatIsAskedFor) {
  const Descriptor outer(epoll()), inner(epoll()), signal(eventfd(0, EFD_CLOEXEC)), first(tcp()), second(tcp()), other(tcp());
  outer.watches(inner);
  outer.watches(first);
  inner.watches(signal);
  inner.watches(second);
  const std::string before = other.control();
  ASSERT_EQ(congestion_control("reno"), "reno");
  set_congestion_control(outer.fd, "reno");
  EXPECT_EQ(first.control(), "reno");
  EXPECT_EQ(second.control(), "reno");
  EXPECT_EQ(other.control(), before) << "nobody watches it there";
  set_congestion_control(-1, "reno");
}

TEST(FabricSockets, AreLeftAloneWhereTheSystemIsAskedForOrPacesNone) {
  EXPECT_EQ(congestion_control("system"), "");
  const std::string system = Descriptor(tcp()).control(), chosen = congestion_control("");
  if (system.starts_with("bbr")) EXPECT_TRUE(chosen == "cubic" || chosen == "reno") << chosen;
  else EXPECT_EQ(chosen, "") << system;
}

TEST(FabricSockets, AWishThatTheKernelDoesNotKnowIsNamedTogetherWithThoseThereAre) {
  const std::string sentence = sentence_of("nosuch");
  EXPECT_NE(sentence.find("PTL_FABRIC_CONGESTION=nosuch: the kernel has no such congestion control; choose one of: system, "),
            std::string::npos)
      << sentence;
  EXPECT_NE(sentence.find("reno"), std::string::npos) << sentence;
  EXPECT_NE(sentence_of("a name that no kernel would take for one"), "");
}

}  // namespace
}  // namespace portunus::fabric
