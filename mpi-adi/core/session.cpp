// session.cpp: sessions, the sets of processes they know, and communicators made of groups alone.
//
// Two sets are known: mpi://WORLD and mpi://SELF. The members of a communicator without parent talk to each other in a
// context of the world's, by a tag that is made of the user's string.
// Thread: any. Source: MPI-5.0, 7.4.5, 7.6.2, 9.3.4, 11.3.
#include "mpi-adi/core/session.hpp"

#include <strings.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>

#include "mpi-adi/comm/comm_create.hpp"
#include "mpi-adi/comm/intercomm.hpp"
#include "mpi-adi/comm/processes.hpp"
#include "mpi-adi/core/checks.hpp"
#include "mpi-adi/core/device.hpp"
#include "mpi-adi/core/errhandler.hpp"
#include "mpi-adi/core/errors.hpp"
#include "mpi-adi/core/init.hpp"
#include "mpi-adi/core/objects.hpp"
#include "mpi-adi/core/profiling.hpp"

namespace portunus::mpi {
namespace {
constinit ObjectPool<Session, 1 << 12> sessions;
}

Origin origin_of(const Session& session) {
  Origin origin;
  origin.subject = Subject::session;
  origin.handle = const_cast<Session*>(&session);
  origin.errhandler = session.errhandler.load(std::memory_order_acquire);
  origin.name = "a session";
  return origin;
}

int raise_in(const char* function, const Session& session, int code, const char* cause, ...) {
  va_list arguments;
  va_start(arguments, cause);
  const int result = raise_at(origin_of(session), function, code, cause, arguments);
  va_end(arguments);
  return result;
}

int raise_no_memory(const char* function, MPI_Session handle) {
  const Session* const session = sessions.find(handle);
  return session != nullptr ? raise_in(function, *session, MPI_ERR_NO_MEM, "%s", kNoMemory) : raise_no_memory(function, MPI_COMM_NULL);
}

int check(const char* function, MPI_Session handle, Session*& found, std::initializer_list<const void*> results) {
  found = sessions.find(handle);
  if (found == nullptr)
    return raise(function, nullptr, MPI_ERR_SESSION, handle == MPI_SESSION_NULL ? "the session is MPI_SESSION_NULL" : "%p is no session",
                 static_cast<void*>(handle));
  for (const void* result : results)
    if (result == nullptr) return raise_in(function, *found, MPI_ERR_ARG, "an address for a result, or of an argument, is null");
  return MPI_SUCCESS;
}

namespace {

constexpr const char* kSets[] = {"mpi://WORLD", "mpi://SELF"};
constexpr int kSetCount = 2;

// Which of the sets, whose names are URIs: in any case; kSetCount: none.
int set_of(const char* name) {
  int which = 0;
  while (which < kSetCount && strcasecmp(name, kSets[which]) != 0) ++which;
  return which;
}
Group* members_of(int set) { return (set == 0 ? world() : self()).group; }

int tag_of(const char* string) {  // FNV-1a: near strings are far apart
  uint32_t hash = 2166136261u;
  for (; *string != '\0'; ++string) hash = (hash ^ static_cast<unsigned char>(*string)) * 16777619u;
  return static_cast<int>(hash & static_cast<uint32_t>(kMaxTag));
}

// Checks of making a communicator of a group.
int check_group(const char* function, MPI_Group handle, const char* stringtag, MPI_Info info, MPI_Errhandler errhandler, MPI_Comm* result,
                Group*& group) {
  if (int error = check(function, handle, group, {stringtag, result})) return error;
  *result = MPI_COMM_NULL;
  if (int error = check_info(function, nullptr, info)) return error;
  if (!fits(errhandler, Subject::comm))
    return raise(function, nullptr, MPI_ERR_ERRHANDLER, "%p is no error handler of communicators", static_cast<void*>(errhandler));
  for (int i = 0; i < group->size; ++i)
    if (!is_of_job(group->job_rank(i)))
      return raise(function, nullptr, MPI_ERR_GROUP, "member %d of the group is of another job; make the communicator from another one", i);
  return MPI_SUCCESS;
}

int make(const char* function, Group& group, const char* stringtag, MPI_Info info, MPI_Errhandler errhandler, Communicator*& made) {
  std::vector<int> ranks;
  for (int i = 0; i < group.size; ++i) ranks.push_back(group.job_rank(i));
  const int tag = tag_of(stringtag);
  const Exchange exchange(world(), Traffic::groups, tag, std::move(ranks), group.rank);
  if (int error = create_in(function, self(), all_and_of(exchange), key_of(world(), Traffic::groups, tag), retain(&group), nullptr, made))
    return error;
  replace_errhandler(made->errhandler, errhandler);
  made->hints = hints_of(info);
  return MPI_SUCCESS;
}

// The leader of the other side. Answers the error that was raised on `side`, kNobodyThere, or MPI_SUCCESS.
int find_leader(const char* function, const Communicator& side, MPI_Group handle, int rank, int& leader) {
  const Group* remote = find_group(handle);
  if (remote == nullptr) return raise(function, &side, MPI_ERR_GROUP, "the remote group is none");
  if (remote->size == 0) return kNobodyThere;
  if (rank < 0 || rank >= remote->size)
    return raise(function, &side, MPI_ERR_RANK, "there is no rank %d among %d to lead the other side", rank, remote->size);
  leader = remote->job_rank(rank);
  return is_of_job(leader) ? MPI_SUCCESS : raise(function, &side, MPI_ERR_GROUP, "the remote leader is of another job");
}

// Before anything is known to be right: what is no error handler of communicators is not called.
MPI_Errhandler errhandler_of(MPI_Errhandler given) { return fits(given, Subject::comm) ? given : errhandler_of_nothing(); }

constexpr const char* kThreadLevel = "thread_level";  // the hint
constexpr const char* kLevels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};
constexpr int kLevelValues[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE};

// -1: the hint names none.
int required_level(const Hints& hints) {
  for (const auto& [key, value] : hints) {
    if (key != kThreadLevel) continue;
    for (size_t i = 0; i < std::size(kLevels); ++i)
      if (value == kLevels[i]) return kLevelValues[i];
    return -1;
  }
  return MPI_THREAD_MULTIPLE;  // sessions know nothing of each other's threads
}
const char* name_of_level(int level) {
  return kLevels[std::find(std::begin(kLevelValues), std::end(kLevelValues), level) - std::begin(kLevelValues)];
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

extern "C" int PMPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) try {
  static constexpr char kName[] = "MPI_Session_init";
  if (session == nullptr) return raise(kName, nullptr, MPI_ERR_ARG, "the address for the session is null");
  *session = MPI_SESSION_NULL;
  if (!fits(errhandler, Subject::session))
    return raise(kName, nullptr, MPI_ERR_ERRHANDLER, "%p is no error handler of sessions", static_cast<void*>(errhandler));
  const RaisedAt here(Subject::session, MPI_SESSION_NULL, errhandler, "no session");  // its error handler is known before there is one
  if (!is_info_or_null(info)) return raise(kName, nullptr, MPI_ERR_INFO, "%p is no info", static_cast<void*>(info));
  Hints hints = hints_of(info);
  const int required = required_level(hints);
  if (required < 0) return raise(kName, nullptr, MPI_ERR_INFO_VALUE, "the info's thread_level is none of MPI's four");
  if (int error = begin_use(kName, required)) return error;
  const int granted = device::device.threaded ? required : std::min(required, MPI_THREAD_SERIALIZED);
  set_hint(hints, kThreadLevel, name_of_level(granted));
  Session* made = sessions.claim();
  if (made == nullptr) {
    end_use(kName, false);
    return raise(kName, nullptr, MPI_ERR_NO_MEM, "too many sessions are in use; finalize some first");
  }
  note_session();
  replace_errhandler(made->errhandler, errhandler);
  made->hints = std::move(hints);
  *session = reinterpret_cast<MPI_Session>(made);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Session_init)

extern "C" int PMPI_Session_finalize(MPI_Session* session) try {
  static constexpr char kName[] = "MPI_Session_finalize";
  Session* found;
  if (int error = check_results(kName, nullptr, {session})) return error;
  if (int error = check(kName, *session, found, {})) return error;
  flush_buffer(*found->buffer);
  replace_errhandler(found->errhandler, MPI_ERRORS_ARE_FATAL);
  sessions.release(found);
  *session = MPI_SESSION_NULL;
  return end_use(kName, true);
}
MPI_WEAK_NAME(Session_finalize)

extern "C" int PMPI_Session_get_info(MPI_Session session, MPI_Info* info_used) try {
  static constexpr char kName[] = "MPI_Session_get_info";
  Session* found;
  if (int error = check(kName, session, found, {info_used})) return error;
  *info_used = make_info(with_memory_kinds(found->hints));
  return *info_used != MPI_INFO_NULL ? MPI_SUCCESS : raise_in(kName, *found, MPI_ERR_NO_MEM, "too many infos are in use");
}
MPI_WEAK_NAME(Session_get_info)

extern "C" int PMPI_Session_get_num_psets(MPI_Session session, MPI_Info info, int* npset_names) try {
  static constexpr char kName[] = "MPI_Session_get_num_psets";
  Session* found;
  if (int error = check(kName, session, found, {npset_names})) return error;
  const RaisedAt here(origin_of(*found));
  if (int error = check_info(kName, nullptr, info)) return error;
  *npset_names = kSetCount;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Session_get_num_psets)

// With a length of 0 the name is not written.
extern "C" int PMPI_Session_get_nth_pset(MPI_Session session, MPI_Info info, int n, int* pset_len, char* pset_name) try {
  static constexpr char kName[] = "MPI_Session_get_nth_pset";
  Session* found;
  if (int error = check(kName, session, found, {pset_len})) return error;
  const RaisedAt here(origin_of(*found));
  if (int error = check_info(kName, nullptr, info)) return error;
  if (n < 0 || n >= kSetCount) return raise_in(kName, *found, MPI_ERR_ARG, "there is no set %d among %d", n, kSetCount);
  if (*pset_len > 0) {
    if (pset_name == nullptr) return raise_in(kName, *found, MPI_ERR_ARG, "the address for the name is null");
    std::snprintf(pset_name, static_cast<size_t>(*pset_len), "%s", kSets[n]);
  }
  *pset_len = static_cast<int>(std::strlen(kSets[n])) + 1;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Session_get_nth_pset)

extern "C" int PMPI_Session_get_pset_info(MPI_Session session, const char* pset_name, MPI_Info* info) try {
  static constexpr char kName[] = "MPI_Session_get_pset_info";
  Session* found;
  if (int error = check(kName, session, found, {pset_name, info})) return error;
  const int set = set_of(pset_name);
  if (set == kSetCount) return raise_in(kName, *found, MPI_ERR_ARG, "there is no set of processes '%s'", pset_name);
  *info = make_info({{"mpi_size", std::to_string(members_of(set)->size)}});
  return *info != MPI_INFO_NULL ? MPI_SUCCESS : raise_in(kName, *found, MPI_ERR_NO_MEM, "too many infos are in use");
}
MPI_WEAK_NAME(Session_get_pset_info)

extern "C" int PMPI_Group_from_session_pset(MPI_Session session, const char* pset_name, MPI_Group* newgroup) try {
  static constexpr char kName[] = "MPI_Group_from_session_pset";
  Session* found;
  if (int error = check(kName, session, found, {pset_name, newgroup})) return error;
  const int set = set_of(pset_name);
  if (set == kSetCount) return raise_in(kName, *found, MPI_ERR_ARG, "there is no set of processes '%s'", pset_name);
  const Group* members = members_of(set);
  Group* made = make_group(members->first, members->size);
  if (made == nullptr) return raise_in(kName, *found, MPI_ERR_NO_MEM, "too many groups are in use; free some first");
  made->session_buffer = found->buffer;
  *newgroup = handle_of(made);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Group_from_session_pset)

extern "C" int PMPI_Comm_create_from_group(MPI_Group group, const char* stringtag, MPI_Info info, MPI_Errhandler errhandler,
                                           MPI_Comm* newcomm) try {
  static constexpr char kName[] = "MPI_Comm_create_from_group";
  Group* members;
  const RaisedAt here(Subject::comm, MPI_COMM_NULL, errhandler_of(errhandler), "a communicator of a group");
  if (int error = check_group(kName, group, stringtag, info, errhandler, newcomm, members)) return error;
  if (members->size == 0) return MPI_SUCCESS;
  if (members->rank == MPI_UNDEFINED) return raise(kName, nullptr, MPI_ERR_GROUP, "this process is no member of the group");
  Communicator* made;
  if (int error = make(kName, *members, stringtag, info, errhandler, made)) return error;
  *newcomm = handle_of(made);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Comm_create_from_group)

extern "C" int PMPI_Intercomm_create_from_groups(MPI_Group local_group, int local_leader, MPI_Group remote_group, int remote_leader,
                                                 const char* stringtag, MPI_Info info, MPI_Errhandler errhandler,
                                                 MPI_Comm* newintercomm) try {
  static constexpr char kName[] = "MPI_Intercomm_create_from_groups";
  Group* local;
  const RaisedAt here(Subject::comm, MPI_COMM_NULL, errhandler_of(errhandler), "an intercommunicator of groups");
  if (int error = check_group(kName, local_group, stringtag, info, errhandler, newintercomm, local)) return error;
  if (local->size == 0) return MPI_SUCCESS;
  if (local->rank == MPI_UNDEFINED) return raise(kName, nullptr, MPI_ERR_GROUP, "this process is no member of the local group");
  Communicator* side;
  if (int error = make(kName, *local, stringtag, info, errhandler, side)) return error;
  int leader = 0, fault = MPI_SUCCESS;  // among all processes; the local leader alone has to know
  if (local->rank == local_leader) fault = find_leader(kName, *side, remote_group, remote_leader, leader);
  const int error = connect_groups(kName, *side, local_leader, world(), leader, tag_of(stringtag), newintercomm, fault);
  destroy_communicator(side);
  return error;
}
MPI_WEAK_NAME(Intercomm_create_from_groups)

extern "C" int PMPI_Session_create_errhandler(MPI_Session_errhandler_function* session_errhandler_fn, MPI_Errhandler* errhandler) try {
  static constexpr char kName[] = "MPI_Session_create_errhandler";
  if (int error = check_results(kName, nullptr, {reinterpret_cast<const void*>(session_errhandler_fn), errhandler})) return error;
  ErrorHandler* made;
  *errhandler = make_errhandler(Subject::session, made);
  if (made == nullptr) return raise(kName, nullptr, MPI_ERR_NO_MEM, "too many error handlers are in use");
  made->session = session_errhandler_fn;
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Session_create_errhandler)

extern "C" int PMPI_Session_set_errhandler(MPI_Session session, MPI_Errhandler errhandler) try {
  static constexpr char kName[] = "MPI_Session_set_errhandler";
  Session* found;
  if (int error = check(kName, session, found, {})) return error;
  if (!fits(errhandler, Subject::session))
    return raise_in(kName, *found, MPI_ERR_ERRHANDLER, "%p is no error handler of sessions", static_cast<void*>(errhandler));
  replace_errhandler(found->errhandler, errhandler);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Session_set_errhandler)

extern "C" int PMPI_Session_get_errhandler(MPI_Session session, MPI_Errhandler* errhandler) try {
  Session* found;
  if (int error = check("MPI_Session_get_errhandler", session, found, {errhandler})) return error;
  *errhandler = share_errhandler(found->errhandler);
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Session_get_errhandler)

extern "C" int PMPI_Session_call_errhandler(MPI_Session session, int errorcode) try {
  static constexpr char kName[] = "MPI_Session_call_errhandler";
  Session* found;
  if (int error = check(kName, session, found, {})) return error;
  raise_in(kName, *found, errorcode, "called by the program");
  return MPI_SUCCESS;
}
MPI_WEAK_NAME(Session_call_errhandler)
