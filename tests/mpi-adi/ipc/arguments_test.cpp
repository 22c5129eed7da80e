// PEACE between threads: bad input is a code and a sentence, and the port serves on.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "mpi-adi/ipc/peace.h"
#include "portals/portals4.h"
#include "tests/mpi-adi/ipc/threads.hpp"

namespace peace_test {
namespace {

TEST_F(Peace, WrongArgumentsAreACodeAndASentenceAndThePortServesOn) {
  int word = 1;
  size_t checked = 0;
  const auto says = [&](int code, int wanted) {
    ++checked;
    EXPECT_EQ(code, wanted) << "check " << checked << ": " << peace_explain();
    EXPECT_GT(std::strlen(peace_explain()), 8u);
  };
  char* const nowhere = reinterpret_cast<char*>(8);
  const auto forged = reinterpret_cast<peace_port_t>(uintptr_t{0x123456750});
  peace_address_t wrong = here;
  says(peace_send(here, 1, nullptr, 1, 0, 0, nullptr), PEACE_ARG);
  says(peace_send(here, 1, nowhere, 1 << 20, 0, 0, nullptr), PEACE_ARG);
  says(peace_send(here, 1, &word, SIZE_MAX, 0, 0, nullptr), PEACE_ARG);
  says(peace_send(here, 1, &word, 4, 0, -2, nullptr), PEACE_ARG);
  says(peace_send(here, 1, &word, 4, 8, 0, nullptr), PEACE_ARG);
  wrong.process = 0;
  says(peace_send(wrong, 1, &word, 4, 0, 0, nullptr), PEACE_ARG);
  wrong = here;
  wrong.port = 70'000;
  says(peace_send(wrong, 1, &word, 4, 0, 0, nullptr), PEACE_ARG);
  wrong = here;
  wrong.generation = 0;
  says(peace_send(wrong, 1, &word, 4, 0, 0, nullptr), PEACE_ARG);
  wrong.generation = here.generation % 0x1fff + 1;
  says(peace_send(wrong, 1, &word, 4, 0, 0, nullptr), PEACE_GONE);
  says(peace_call(wrong, 1, &word, 4, nullptr, 0, PEACE_FOREVER, nullptr), PEACE_GONE);
  says(peace_receive(nullptr, kAny, &word, 4, 0, nullptr), PEACE_STATE);
  says(peace_receive(forged, kAny, &word, 4, 0, nullptr), PEACE_STATE);
  says(peace_receive(reinterpret_cast<peace_port_t>(&word), kAny, &word, 4, 0, nullptr), PEACE_STATE);
  says(receive(nullptr, 4, nullptr, 0), PEACE_ARG);
  says(receive(nowhere, 1 << 20, nullptr, 0), PEACE_ARG);
  says(receive(&word, 4, nullptr, -7), PEACE_ARG);
  says(peace_open(65'536, 0, 0, &port), PEACE_ARG);
  says(peace_open(0, 0, 0, nullptr), PEACE_ARG);
  peace_port_t none = nullptr;
  says(peace_open(0, 40'000, 8, &none), PEACE_NO_SPACE);
  says(peace_open(0, 2, SIZE_MAX, &none), PEACE_NO_SPACE);
  says(peace_open(here.port, 0, 0, &none), PEACE_STATE);
  says(peace_close(nullptr), PEACE_ARG);
  says(peace_close(&none), PEACE_STATE);
  says(peace_address(port, nullptr), PEACE_ARG);
  says(peace_find(0, 1, 0, &wrong), PEACE_ARG);
  says(peace_find(1, 0, 0, &wrong), PEACE_ARG);
  says(peace_find(peace_process(-1), 1, 0, nullptr), PEACE_ARG);
  says(peace_process(5) == 0 ? PEACE_ARG : PEACE_OK, PEACE_ARG);
  says(peace_borrow(port, 0, nullptr, nullptr), PEACE_ARG);
  const void* data;
  says(peace_borrow(port, 0, &data, nullptr), PEACE_STATE);
  says(peace_give_back(port, &word), PEACE_STATE);
  peace_request_t request = nullptr;
  says(peace_isend(here, 1, &word, 4, 0, nullptr), PEACE_ARG);
  says(peace_ireceive(port, kAny, &word, 4, nullptr), PEACE_ARG);
  says(peace_wait(nullptr, 0, nullptr), PEACE_ARG);
  says(peace_wait(&request, 0, nullptr), PEACE_STATE);
  says(peace_cancel(nullptr), PEACE_STATE);
  says(peace_cancel(reinterpret_cast<peace_request_t>(&word)), PEACE_STATE);
  peace_task_t task = nullptr;
  says(peace_accept(port, kAny, 0, nullptr, nullptr), PEACE_ARG);
  says(peace_movefrom(task, 0, &word, 4), PEACE_STATE);
  says(peace_moveto(reinterpret_cast<peace_task_t>(&word), 0, &word, 4), PEACE_STATE);
  says(peace_reply(&task, 1, &word, 4), PEACE_STATE);
  says(peace_reply(nullptr, 1, &word, 4), PEACE_ARG);
  says(peace_look(task) ? PEACE_OK : PEACE_STATE, PEACE_STATE);
  int chosen;
  says(peace_select(nullptr, 1, nullptr, 0, 0, &chosen, nullptr), PEACE_ARG);
  says(peace_select(nullptr, -1, nullptr, 0, 0, &chosen, nullptr), PEACE_ARG);
  says(peace_select(nullptr, 0, nullptr, 0, 0, &chosen, nullptr), PEACE_STATE);
  says(peace_select(nullptr, 0, nullptr, 8, 0, &chosen, nullptr), PEACE_ARG);
  says(peace_watch(here, port, 1), PEACE_ARG);
  says(peace_watch({0, 0, 0}, port, 1), PEACE_ARG);
  says(peace_descriptor(port, nullptr), PEACE_ARG);
  std::thread sender([&] { EXPECT_EQ(cs_send(here, 1, &word, 4), PEACE_OK); });
  int got = 0;
  EXPECT_EQ(receive(&got, 4), PEACE_OK);
  sender.join();
}

// Whatever a stranger puts where packets are taken: nothing is touched that was not lent, and the port serves on.
TEST_F(Peace, PacketsOfChanceHarmNobody) {
  constexpr ptl_pt_index_t kReceives = 50, kTokens = 51;
  peace_port_t buffered;
  peace_address_t there;
  ASSERT_EQ(peace_open(0, 2, 16, &buffered), PEACE_OK);
  ASSERT_EQ(peace_address(buffered, &there), PEACE_OK);
  ptl_handle_ni_t ni;
  ptl_process_t self;
  ASSERT_EQ(PtlInit(), PTL_OK);
  ASSERT_EQ(PtlNIInit(PTL_IFACE_DEFAULT, PTL_NI_MATCHING | PTL_NI_PHYSICAL, PTL_PID_ANY, nullptr, nullptr, &ni), PTL_OK);
  ASSERT_EQ(PtlGetId(ni, &self), PTL_OK);
  std::vector<unsigned char> data(20'000);
  std::mt19937_64 random(4711);
  for (unsigned char& byte : data) byte = static_cast<unsigned char>(random());
  ptl_md_t all{data.data(), data.size(), PTL_MD_VOLATILE, PTL_EQ_NONE, PTL_CT_NONE};
  ptl_handle_md_t md;
  ASSERT_EQ(PtlMDBind(ni, &all, &md), PTL_OK);
  std::vector<unsigned char> room(64, 0xee);
  for (int round = 0; round < 600; ++round) {
    const peace_address_t& to = random() % 2 ? here : there;
    uint64_t bits = random();
    if (random() % 4) bits = (bits & (uint64_t{7} << 61 | 0xffffffff)) | uint64_t{to.generation} << 48 | uint64_t{to.port} << 32;
    if (random() % 4 == 0) bits &= 0xf0000000000000ff;  // tokens that may be in use
    const size_t length = random() % 5 ? random() % 64 : random() % 2000, offset = random() % 1000;
    ASSERT_EQ(PtlPut(md, offset, length, PTL_NO_ACK_REQ, self, random() % 3 ? kReceives : kTokens, bits, random() % 3 ? 0 : random(),
                     nullptr, random()),
              PTL_OK);
    peace_task_t task;
    int code = peace_accept(port, kAny, 0, &task, nullptr);
    ASSERT_TRUE(code == PEACE_BUSY || code == PEACE_OK) << code << peace_explain();
    if (code == PEACE_OK) {
      peace_look(task);
      peace_movefrom(task, 0, room.data(), 8);
      peace_moveto(task, 0, room.data(), 8);
      peace_reply(&task, 1, room.data(), 8);
    }
    code = receive(room.data(), 32, nullptr, 0);
    ASSERT_TRUE(code == PEACE_BUSY || code == PEACE_OK || code == PEACE_CUT) << code << peace_explain();
    code = peace_receive(buffered, kAny, room.data(), 32, 0, nullptr);
    ASSERT_TRUE(code == PEACE_BUSY || code == PEACE_OK || code == PEACE_CUT) << code << peace_explain();
    ASSERT_EQ(room[32], 0xee);
  }
  EXPECT_EQ(PtlMDRelease(md), PTL_OK);
  EXPECT_EQ(PtlNIFini(ni), PTL_OK);
  PtlFini();
  for (const peace_port_t each : {port, buffered})  // what is held still
    for (int code = PEACE_OK; code == PEACE_OK || code == PEACE_CUT;) code = peace_receive(each, kAny, room.data(), 32, 0, nullptr);
  std::thread sender([&] { EXPECT_EQ(cs_send(here, 3, "served", 6), PEACE_OK); });
  peace_message_t message;
  EXPECT_EQ(receive(room.data(), 32, &message), PEACE_OK);
  EXPECT_EQ(message.sent, 6u);
  sender.join();
  EXPECT_EQ(peace_close(&buffered), PEACE_OK);
}

TEST(PeaceAlone, CallsBeforeInitAreRefusedAndItsEndIsCounted) {
  peace_port_t port;
  EXPECT_EQ(peace_open(0, 0, 0, &port), PEACE_STATE);
  EXPECT_EQ(peace_fini(), PEACE_STATE);
  EXPECT_EQ(peace_process(0), 0u);
  EXPECT_EQ(peace_rank(), -1);
  EXPECT_EQ(peace_size(), -1);
  for (int life = 0; life < 2; ++life) {
    ASSERT_EQ(peace_init(), PEACE_OK);
    ASSERT_EQ(peace_init(), PEACE_OK);
    EXPECT_EQ(peace_process(0), peace_process(-1));
    EXPECT_EQ(peace_rank(), 0);
    EXPECT_EQ(peace_size(), 1);
    EXPECT_EQ(peace_fini(), PEACE_OK);
    ASSERT_EQ(peace_open(0, 2, 64, &port), PEACE_OK);  // fini closes it
    peace_address_t here;
    EXPECT_EQ(peace_address(port, &here), PEACE_OK);
    peace_port_t other;
    ASSERT_EQ(peace_open(0, 0, 0, &other), PEACE_OK);
    EXPECT_EQ(peace_address(other, &here), PEACE_OK);
    EXPECT_EQ(peace_post(here, 1, &life, sizeof life, nullptr), PEACE_OK);  // fini withdraws it
    EXPECT_EQ(peace_fini(), PEACE_OK);
    EXPECT_EQ(peace_open(0, 0, 0, &port), PEACE_STATE);
  }
}

// Forbidden, unmapped, too long, or half of it: of any length, for reading and for writing; and what is there again serves.
TEST_F(Peace, MemoryThatMayNotBeTouchedIsACodeWhateverItsLength) {
  constexpr size_t kMost = 4 << 20, kPage = 4096;
  const std::vector<size_t> lengths{1, 8, 3 * kPage, 100'000, kMost};
  const size_t whole = 2 * lengths.size() * kMost;
  // Memory that a thread has asked about lately is not looked at again: a thread of its own, and other memory for each.
  std::thread caller([&] {
    auto* memory = static_cast<char*>(mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    ASSERT_NE(memory, MAP_FAILED);
    char* at = memory;
    for (const size_t bytes : lengths)
      for (const int allowed : {PROT_NONE, PROT_READ}) {
        ASSERT_EQ(mprotect(at + bytes / 2 / kPage * kPage, kPage, allowed), 0);
        peace_request_t request = nullptr;
        EXPECT_EQ(peace_send(here, 1, at, bytes, 0, 0, nullptr), allowed == PROT_NONE ? PEACE_ARG : PEACE_BUSY) << bytes << peace_explain();
        EXPECT_EQ(receive(at, bytes, nullptr, 0), PEACE_ARG) << bytes;
        EXPECT_NE(std::strstr(peace_explain(), "is not memory that"), nullptr) << peace_explain();
        EXPECT_EQ(peace_ireceive(port, kAny, at, bytes, &request), PEACE_ARG) << bytes;
        EXPECT_EQ(peace_call(here, 1, nullptr, 0, at, bytes, 0, nullptr), PEACE_ARG) << bytes;
        at += kMost;
      }
    munmap(memory, whole);
    EXPECT_EQ(receive(memory, 8, nullptr, 0), PEACE_ARG);
  });
  caller.join();
  std::thread sender([&] { EXPECT_EQ(cs_send(here, 3, "served", 6), PEACE_OK); });
  char got[8];
  EXPECT_EQ(receive(got, sizeof got), PEACE_OK);
  sender.join();
}

TEST_F(Peace, AChildOfForkIsToldToExec) {
  const pid_t child = fork();
  if (child == 0) {
    int word = 1;
    const bool refused =
        peace_send(here, 1, &word, 4, 0, 0, nullptr) == PEACE_STATE && peace_init() == PEACE_STATE && peace_fini() == PEACE_STATE;
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(Peace, MemoryThatIsNotSharedIsAsFromMalloc) {
  void* memory = peace_alloc(1000);
  ASSERT_NE(memory, nullptr);
  std::memset(memory, 1, 1000);
  peace_free(memory);
  peace_free(nullptr);
}

}  // namespace
}  // namespace peace_test
