// calls.cpp: the functions of mqs.h, which a debugger calls.
//
// Thread: one at a time. Invariants: a call that fails leaves no iterator behind, so that the next ones answer kOutOfOrder.
#include <cstdio>
#include <memory>
#include <new>
#include <optional>

#include "mpi-adi/debugger/snapshot.hpp"

using namespace portunus::mpi::debugger;
using portunus::client::EngineDescription;

struct mqs_image_info {
  const mqs_image_callbacks* calls;
};

struct mqs_process_info {
  mqs_process_info(mqs_process* process, const mqs_process_callbacks& its_calls) : calls(its_calls), target(process, its_calls) {}

  const mqs_process_callbacks& calls;
  Target target;
  Description mpi{};
  EngineDescription engine{};
  bool is_known = false;  // both tables were read
  std::optional<Snapshot> seen;
  size_t communicator = 0;
  std::vector<MessageSeen> messages;
  size_t message = 0;
};

namespace portunus::mpi::debugger {
namespace {

const mqs_basic_callbacks* debugger_calls = nullptr;

const char* sentence_of(int code) {
  static constexpr const char* kSentences[] = {
      "the program has no MPI of Portunus: libmpi_abi.so and libportals.so were not found",
      "the MPI library is of another version of Portunus than libportunus_mqs.so",
      "the process has numbers or addresses of another size or order than the debugger",
      "the memory of the process cannot be read",
      "the memory of the process does not hold what it should: it was overwritten, or changes while it is read",
      "the debugger has called functions out of order",
      "there is no memory",
  };
  static_assert(std::size(kSentences) == kLast - kNoMpi);
  switch (code) {
    case mqs_ok: return "no error";
    case mqs_no_information: return "there is no information";
    case mqs_end_of_list: return "the list has ended";
    default: return code >= kNoMpi && code < kLast ? kSentences[code - kNoMpi] : "this is no error of libportunus_mqs.so";
  }
}

// The answer of a function that may throw.
template <class Function>
int answer(Function&& function) noexcept try {
  return function();
} catch (Code code) {
  return code;
} catch (...) {
  return kNoMemory;
}

int with_sentence(int code, char** message) {
  if (message != nullptr) *message = code == mqs_ok ? nullptr : const_cast<char*>(sentence_of(code));
  return code;
}

mqs_process_info& info_of(mqs_process* process) {
  mqs_process_info* const info = debugger_calls != nullptr ? debugger_calls->mqs_get_process_info_fp(process) : nullptr;
  return info != nullptr ? *info : throw kOutOfOrder;
}

uint64_t address_of(mqs_image* image, const char* symbol) {
  const mqs_image_info* const info = debugger_calls != nullptr ? debugger_calls->mqs_get_image_info_fp(image) : nullptr;
  if (info == nullptr) throw kOutOfOrder;
  mqs_taddr_t address = 0;
  if (info->calls->mqs_find_symbol_fp(image, const_cast<char*>(symbol), &address) != mqs_ok) throw kNoMpi;
  return address;
}

// Its first two numbers tell whether the rest is what this library was made for.
template <class Table>
void read_table(const Target& target, uint64_t address, Table& table) {
  target.fetch(address, &table, 2 * sizeof(uint32_t));
  if (table.version != Table::kVersion || table.size != sizeof table) throw kOtherVersion;
  target.fetch(address, &table, sizeof table);
}

void know(mqs_process* process, mqs_process_info& info) {
  info.is_known = false;
  mqs_image* const image = info.calls.mqs_get_image_fp(process);
  const uint64_t mpi = address_of(image, Description::kSymbol), engine = address_of(image, EngineDescription::kSymbol);
  mqs_target_type_sizes sizes{};
  debugger_calls->mqs_get_image_info_fp(image)->calls->mqs_get_type_sizes_fp(process, &sizes);
  if (sizes.pointer_size != sizeof(void*) || sizes.int_size != sizeof(int) || !info.target.has_our_order()) throw kOtherWords;
  read_table(info.target, mpi, info.mpi);
  read_table(info.target, engine, info.engine);
  info.is_known = true;
}

const CommunicatorSeen& current(const mqs_process_info& info) {
  return info.seen && info.communicator < info.seen->communicators().size() ? info.seen->communicators()[info.communicator]
                                                                            : throw kOutOfOrder;
}

// The rank in MPI_COMM_WORLD, which is the first communicator; processes of other jobs have none.
int global_rank(const mqs_process_info& info, int job_rank) {
  const CommunicatorSeen& world = info.seen->communicators().front();
  const int rank = job_rank - world.first;
  return job_rank >= 0 && rank >= 0 && rank < world.size ? rank : MQS_INVALID_PROCESS;
}

mqs_pending_operation described(const mqs_process_info& info, const CommunicatorSeen& comm, const MessageSeen& message) {
  const auto global = [&](int peer) { return global_rank(info, job_rank_of(info.target, comm, peer)); };
  mqs_pending_operation told{};
  told.status = message.status;
  told.desired_local_rank = message.peer == kAny ? MQS_INVALID_PROCESS : message.peer;
  told.desired_global_rank = global(message.peer);
  told.tag_wild = message.tag == kAny;
  told.desired_tag = message.tag == kAny ? 0 : message.tag;
  told.desired_length = static_cast<mqs_tword_t>(message.room);
  told.system_buffer = message.is_system_buffer;
  told.buffer = message.buffer;
  told.actual_local_rank = message.actual_peer == kAny ? MQS_INVALID_PROCESS : message.actual_peer;
  told.actual_global_rank = global(message.actual_peer);
  told.actual_tag = message.actual_tag == kAny ? 0 : message.actual_tag;
  told.actual_length = static_cast<mqs_tword_t>(message.length);
  for (size_t i = 0; i < message.notes.size() && i < std::size(told.extra_text); ++i)
    std::snprintf(told.extra_text[i], sizeof told.extra_text[i], "%s", message.notes[i].c_str());
  return told;
}

}  // namespace
}  // namespace portunus::mpi::debugger

void mqs_setup_basic_callbacks(const mqs_basic_callbacks* callbacks) { debugger_calls = callbacks; }

char* mqs_version_string(void) {
  static char text[] = "Portunus " PTL_VERSION;
  return text;
}
int mqs_version_compatibility(void) { return MQS_INTERFACE_COMPATIBILITY; }
int mqs_dll_taddr_width(void) { return sizeof(mqs_taddr_t); }
char* mqs_dll_error_string(int code) { return const_cast<char*>(sentence_of(code)); }

int mqs_setup_image(mqs_image* image, const mqs_image_callbacks* callbacks) {
  return answer([&]() -> int {
    if (debugger_calls == nullptr || callbacks == nullptr) return kOutOfOrder;
    debugger_calls->mqs_put_image_info_fp(image, new mqs_image_info{callbacks});
    return mqs_ok;
  });
}

// An image has no memory that could be read: the versions are compared in mqs_process_has_queues.
int mqs_image_has_queues(mqs_image* image, char** message) {
  return with_sentence(answer([&] {
                         address_of(image, Description::kSymbol);
                         address_of(image, EngineDescription::kSymbol);
                         return mqs_ok;
                       }),
                       message);
}

int mqs_destroy_image_info(mqs_image_info* info) {
  delete info;
  return mqs_ok;
}

int mqs_setup_process(mqs_process* process, const mqs_process_callbacks* callbacks) {
  return answer([&]() -> int {
    if (debugger_calls == nullptr || callbacks == nullptr) return kOutOfOrder;
    debugger_calls->mqs_put_process_info_fp(process, new mqs_process_info(process, *callbacks));
    return mqs_ok;
  });
}

int mqs_process_has_queues(mqs_process* process, char** message) {
  return with_sentence(answer([&] {
                         know(process, info_of(process));
                         return mqs_ok;
                       }),
                       message);
}

int mqs_destroy_process_info(mqs_process_info* info) {
  delete info;
  return mqs_ok;
}

int mqs_update_communicator_list(mqs_process* process) {
  return answer([&]() -> int {
    mqs_process_info& info = info_of(process);
    info.seen.reset();
    info.messages.clear();
    if (!info.is_known) know(process, info);
    info.seen.emplace(info.target, info.mpi, info.engine);
    return mqs_ok;
  });
}

int mqs_setup_communicator_iterator(mqs_process* process) {
  return answer([&]() -> int {
    mqs_process_info& info = info_of(process);
    info.communicator = 0;
    info.messages.clear();
    if (!info.seen) return kOutOfOrder;
    return info.seen->communicators().empty() ? mqs_end_of_list : mqs_ok;
  });
}

int mqs_get_communicator(mqs_process* process, mqs_communicator* communicator) {
  return answer([&] {
    const CommunicatorSeen& comm = current(info_of(process));
    *communicator = {comm.address, comm.rank, comm.size, ""};
    const char* const unnamed = comm.inter ? "(an intercommunicator without name)" : "(without name)";
    std::snprintf(communicator->name, sizeof communicator->name, "%s", comm.name.empty() ? unnamed : comm.name.c_str());
    return mqs_ok;
  });
}

int mqs_get_comm_group(mqs_process* process, int* ranks) {
  return answer([&] {
    const mqs_process_info& info = info_of(process);
    for (const int job_rank : members_of(info.target, info.mpi, current(info))) *ranks++ = global_rank(info, job_rank);
    return mqs_ok;
  });
}

int mqs_next_communicator(mqs_process* process) {
  return answer([&]() -> int {
    mqs_process_info& info = info_of(process);
    if (!info.seen) return kOutOfOrder;
    const size_t count = info.seen->communicators().size();
    if (info.communicator < count) ++info.communicator;
    info.messages.clear();
    return info.communicator < count ? mqs_ok : mqs_end_of_list;
  });
}

int mqs_setup_operation_iterator(mqs_process* process, int op_class) {
  return answer([&]() -> int {
    mqs_process_info& info = info_of(process);
    info.message = 0;
    info.messages = {};
    info.messages = info.seen ? info.seen->messages(current(info), static_cast<mqs_op_class>(op_class)) : throw kOutOfOrder;
    return info.messages.empty() ? mqs_no_information : mqs_ok;
  });
}

int mqs_next_operation(mqs_process* process, mqs_pending_operation* operation) {
  return answer([&]() -> int {
    mqs_process_info& info = info_of(process);
    if (info.message >= info.messages.size()) return mqs_end_of_list;
    *operation = described(info, current(info), info.messages[info.message++]);
    return mqs_ok;
  });
}
