// handles.cpp: handles as integers, for languages that have no pointers.
//
// A predefined handle is its own number; any other gets one when it is first asked for, and keeps it: a pool's slots are the
// handles of all objects that are ever in it, so there are no more numbers than slots.
// Thread: any; locked. Source: MPI-5.0, 2.5.1 and 20.4.
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "mpi-adi/core/profiling.hpp"

namespace portunus::mpi {
namespace {

constexpr uintptr_t kFirstNumber = 4096;  // of the ABI: above what predefined handles can be

class Numbers {
 public:
  int of(const void* handle) {
    const auto value = reinterpret_cast<uintptr_t>(handle);
    if (value < kFirstNumber) return static_cast<int>(value);
    std::lock_guard lock(mutex_);
    const auto [place, is_new] = numbers_.try_emplace(handle, static_cast<int>(kFirstNumber + handles_.size()));
    if (is_new) handles_.push_back(handle);
    return place->second;
  }
  // A number that none has gives a handle that is none.
  const void* handle(int number) {
    const auto value = static_cast<uintptr_t>(static_cast<unsigned>(number));
    std::lock_guard lock(mutex_);
    if (value < kFirstNumber || value - kFirstNumber >= handles_.size()) return reinterpret_cast<const void*>(value);
    return handles_[value - kFirstNumber];
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const void*, int> numbers_;
  std::vector<const void*> handles_;
};

Numbers& numbers() {
  static auto& all = *new Numbers;
  return all;
}

}  // namespace
}  // namespace portunus::mpi

using namespace portunus::mpi;

#define MPI_NUMBERS(Kind, Handle)                                                                                                  \
  extern "C" int PMPI_##Kind##_toint(Handle handle) { return numbers().of(handle); }                                               \
  MPI_WEAK_NAME(Kind##_toint)                                                                                                      \
  extern "C" Handle PMPI_##Kind##_fromint(int handle) { return static_cast<Handle>(const_cast<void*>(numbers().handle(handle))); } \
  MPI_WEAK_NAME(Kind##_fromint)

MPI_NUMBERS(Comm, MPI_Comm)
MPI_NUMBERS(Errhandler, MPI_Errhandler)
MPI_NUMBERS(File, MPI_File)
MPI_NUMBERS(Group, MPI_Group)
MPI_NUMBERS(Info, MPI_Info)
MPI_NUMBERS(Message, MPI_Message)
MPI_NUMBERS(Op, MPI_Op)
MPI_NUMBERS(Request, MPI_Request)
MPI_NUMBERS(Session, MPI_Session)
MPI_NUMBERS(Type, MPI_Datatype)
MPI_NUMBERS(Win, MPI_Win)
