// messages.cpp: a rank's messages: see rank.hpp.
#include "tests/simulation/mpi/rank.hpp"

namespace portunus::simulation {

void Rank::send(const Action& action) {
  static constexpr const char* kCalls[] = {"MPI_Send",   "MPI_Ssend",           "MPI_Isend",
                                           "MPI_Issend", "MPI_Start of a send", "MPI_Request_free of a send"};
  machine_.acts(kCalls[static_cast<int>(action.sending)], action.number);
  const Shape shape(action.length, action.stride);
  SentMessage& message = sending(action);
  const MPI_Comm comm = comm_of(action).handle;
  const void* const bytes = message.memory.data();
  Open open{.deferred = action.deferred, .number = action.number};
  int code = MPI_SUCCESS;
  switch (action.sending) {
    case Sending::blocking: code = MPI_Send(bytes, shape.count, shape.type, action.peer, action.tag, comm); break;
    case Sending::synchronous: code = MPI_Ssend(bytes, shape.count, shape.type, action.peer, action.tag, comm); break;
    case Sending::nonblocking_synchronous:
      code = MPI_Issend(bytes, shape.count, shape.type, action.peer, action.tag, comm, &open.request);
      break;
    case Sending::persistent:
      code = MPI_Send_init(bytes, shape.count, shape.type, action.peer, action.tag, comm, &open.request);
      if (code == MPI_SUCCESS) code = MPI_Start(&open.request);
      open.persistent = true;
      break;
    default: code = MPI_Isend(bytes, shape.count, shape.type, action.peer, action.tag, comm, &open.request);
  }
  check(code, "a send");
  machine_.notes("  communicator", static_cast<uint64_t>(action.comm));
  machine_.notes("  to", static_cast<uint64_t>(action.peer));
  machine_.notes("  tag", static_cast<uint64_t>(action.tag));
  machine_.notes("  bytes", action.length);
  machine_.notes("  each", action.stride);
  if (action.sending == Sending::freed) check(MPI_Request_free(&open.request), "MPI_Request_free");
  if (open.request != MPI_REQUEST_NULL) open_.push_back(std::move(open));
}

void Rank::received(ReceivedMessage& receive, MPI_Status& status, int code) {
  receive.truncated = class_of(code) == MPI_ERR_TRUNCATE;
  if (!receive.truncated) check(code, "a receive");
  MPI_Count count = 0;
  MPI_Get_elements_c(&status, MPI_BYTE, &count);
  receive.count = static_cast<size_t>(count);
  receive.from = status.MPI_SOURCE;
  receive.with = status.MPI_TAG;
  receive.done = true;
}

void Rank::start_receive(const Action& action, ReceivedMessage& receive, Open& open) {
  const Shape shape(action.length, action.stride);
  const MPI_Comm comm = comm_of(action).handle;
  const int source = source_of(action.peer), tag = tag_of(action.tag);
  if (action.receiving == Receiving::persistent) {
    open.persistent = true;
    check(MPI_Recv_init(receive.memory.data(), shape.count, shape.type, source, tag, comm, &open.request), "MPI_Recv_init");
    check(MPI_Start(&open.request), "MPI_Start");
  } else {
    check(MPI_Irecv(receive.memory.data(), shape.count, shape.type, source, tag, comm, &open.request), "MPI_Irecv");
  }
}

void Rank::receive(const Action& action) {
  static constexpr const char* kCalls[] = {"MPI_Recv",   "MPI_Irecv",   "MPI_Probe and MPI_Recv", "MPI_Iprobe and MPI_Recv",
                                           "MPI_Mprobe", "MPI_Improbe", "MPI_Start of a receive"};
  machine_.acts(kCalls[static_cast<int>(action.receiving)], action.number);
  const MPI_Comm comm = comm_of(action).handle;
  const int source = source_of(action.peer), tag = tag_of(action.tag);
  MPI_Status status{};
  switch (action.receiving) {
    case Receiving::nonblocking:
    case Receiving::persistent: {
      Open open{.receive = &posted(action), .number = action.number};
      start_receive(action, *open.receive, open);
      open_.push_back(std::move(open));
      return;
    }
    case Receiving::blocking: return receive_now(action, source, tag);
    case Receiving::probed: check(MPI_Probe(source, tag, comm, &status), "MPI_Probe"); break;
    case Receiving::polled:
      for (int found = 0; !found;) check(MPI_Iprobe(source, tag, comm, &found, &status), "MPI_Iprobe");
      break;
    default: return receive_matched(action, source, tag);
  }
  Action exactly = action;
  exactly.peer = status.MPI_SOURCE;
  exactly.tag = status.MPI_TAG;
  expect((action.peer == kAny || action.peer == exactly.peer) && (action.tag == kAny || action.tag == exactly.tag),
         "a probe finds what it does not look for");
  MPI_Count found = 0;
  MPI_Get_elements_c(&status, MPI_BYTE, &found);
  if (one_in(3)) machine_.acts("a probe's receive");
  receive_now(exactly, exactly.peer, exactly.tag);
  const ReceivedMessage& got = *last_;
  expect(got.truncated || got.count == static_cast<size_t>(found), "a probe tells another length than the receive");
}

void Rank::receive_now(const Action& action, int source, int tag) {
  const Shape shape(action.length, action.stride);
  ReceivedMessage& receive = *(last_ = &posted(action));
  MPI_Status status{};
  const int code = MPI_Recv(receive.memory.data(), shape.count, shape.type, source, tag, comm_of(action).handle, &status);
  received(receive, status, code);
}

void Rank::receive_matched(const Action& action, int source, int tag) {
  const MPI_Comm comm = comm_of(action).handle;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status{};
  if (action.receiving == Receiving::matched) check(MPI_Mprobe(source, tag, comm, &message, &status), "MPI_Mprobe");
  else
    for (int found = 0; !found;) check(MPI_Improbe(source, tag, comm, &found, &message, &status), "MPI_Improbe");
  ReceivedMessage& receive = posted(action);
  const Shape shape(action.length, action.stride);
  if (one_in(2)) {
    const int code = MPI_Mrecv(receive.memory.data(), shape.count, shape.type, &message, &status);
    return received(receive, status, code);
  }
  Open open{.receive = &receive, .number = action.number};
  check(MPI_Imrecv(receive.memory.data(), shape.count, shape.type, &message, &open.request), "MPI_Imrecv");
  open_.push_back(std::move(open));
}

void Rank::send_and_receive(const Action& out, const Action& in) {
  machine_.acts("MPI_Sendrecv", out.number);
  const Shape out_shape(out.length, out.stride), in_shape(in.length, in.stride);
  SentMessage& message = sending(out);
  ReceivedMessage& receive = posted(in);
  MPI_Status status{};
  const int code = MPI_Sendrecv(message.memory.data(), out_shape.count, out_shape.type, out.peer, out.tag, receive.memory.data(),
                                in_shape.count, in_shape.type, source_of(in.peer), tag_of(in.tag), comm_of(in).handle, &status);
  received(receive, status, code);
}

void Rank::cancel(const Action& action) {
  machine_.acts("MPI_Cancel");
  auto memory = std::make_unique<uint8_t[]>(action.length + 1);
  Open open{.cancelled = true};
  check(
      MPI_Irecv(memory.get(), static_cast<int>(action.length), MPI_BYTE, source_of(action.peer), kUnusedTag, MPI_COMM_WORLD, &open.request),
      "MPI_Irecv");
  if (one_in(2)) machine_.acts("MPI_Cancel");
  check(MPI_Cancel(&open.request), "MPI_Cancel");
  kept_.push_back(std::move(memory));
  open_.push_back(std::move(open));
}

void Rank::to_nobody(const Action& action) {
  machine_.acts("calls with MPI_PROC_NULL");
  uint8_t byte = 1;
  MPI_Status status{};
  check(MPI_Send(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD), "MPI_Send");
  check(MPI_Recv(&byte, 1, MPI_BYTE, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status), "MPI_Recv");
  expect(status.MPI_SOURCE == MPI_PROC_NULL && byte == 1, "a receive from MPI_PROC_NULL gets something");
  Open open;
  check(MPI_Isend(&byte, 1, MPI_BYTE, MPI_PROC_NULL, action.tag, MPI_COMM_WORLD, &open.request), "MPI_Isend");
  open_.push_back(std::move(open));
}

}  // namespace portunus::simulation
