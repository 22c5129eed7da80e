// attributes.hpp: what users attach to communicators, datatypes and windows under keys that they make.
//
// Thread: any; one lock per kind of object, which is not held while a user's function runs.
// Invariants: a key lives until it was freed and its last attribute is gone.
// Source: MPI-5.0, 7.7.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "mpi-adi/mpi.h"

namespace portunus::mpi {

constexpr int kFirstUserKeyval = 1024;  // beyond the predefined ones

// Handle: MPI_Comm, MPI_Datatype or MPI_Win.
template <class Handle>
class Attributes {
 public:
  using Copy = int(Handle, int, void*, void*, void*, int*);
  using Delete = int(Handle, int, void*, void*);

  static int create_keyval(Copy* copy, Delete* remove, void* extra_state) {
    std::lock_guard lock(mutex_);
    const int keyval = next_keyval_;
    next_keyval_ += kKinds;
    keyvals_[keyval] = {copy, remove, extra_state, 1};
    return keyval;
  }
  // False: there is no such key. Freeing one again that lives on does nothing.
  static bool free_keyval(int keyval) {
    std::lock_guard lock(mutex_);
    const auto found = keyvals_.find(keyval);
    if (found == keyvals_.end()) return false;
    if (std::exchange(found->second.freed, true)) return true;
    drop(keyval);
    return true;
  }

  // How many keys were not freed.
  static size_t keyvals() {
    std::lock_guard lock(mutex_);
    return static_cast<size_t>(std::ranges::count_if(keyvals_, [](const auto& each) { return !each.second.freed; }));
  }

  // False: there is none under this key, which may be no key.
  bool get(int keyval, void*& value) const {
    std::lock_guard lock(mutex_);
    const Attribute* const found = find(keyval);
    if (found != nullptr) value = found->value;
    return found != nullptr;
  }
  // Also of one that was freed, as long as an attribute has it.
  static bool is_keyval(int keyval) {
    std::lock_guard lock(mutex_);
    return keyvals_.contains(keyval);
  }
  // All from here on return MPI_SUCCESS, or what a user's function returned, which ends the call. An attribute that is
  // replaced is deleted first. Nothing: there is no such key.
  std::optional<int> set(Handle handle, int keyval, void* value) {
    std::unique_lock lock(mutex_);
    auto key = keyvals_.find(keyval);
    if (key == keyvals_.end()) return std::nullopt;
    if (find(keyval) != nullptr) {
      Keyval same = key->second;
      same.references = 0;
      lock.unlock();
      if (const int error = erase(handle, keyval).value_or(MPI_SUCCESS)) return error;
      lock.lock();
      key = keyvals_.try_emplace(keyval, same).first;  // one that was freed has gone with its last attribute
    }
    attributes_.push_back({keyval, value});
    ++key->second.references;
    return MPI_SUCCESS;
  }
  std::optional<int> erase(Handle handle, int keyval) {
    std::unique_lock lock(mutex_);
    const Attribute* const found = find(keyval);
    if (found == nullptr) return keyvals_.contains(keyval) ? std::optional<int>(MPI_SUCCESS) : std::nullopt;
    if (const Keyval key = keyvals_[keyval]; key.remove != nullptr) {
      void* const value = found->value;
      lock.unlock();
      if (int error = key.remove(handle, keyval, value, key.extra_state)) return error;
      lock.lock();
    }
    std::erase_if(attributes_, [&](const Attribute& each) { return each.keyval == keyval; });
    drop(keyval);
    return MPI_SUCCESS;
  }
  // The attributes of `other`, the object `from`, as their copy functions want it.
  int copy_from(const Attributes& other, Handle from) {
    for (const Attribute& each : other.snapshot()) {
      const Keyval key = look_up(each.keyval);
      int copied = 0;
      void* value = each.value;
      if (key.copy == kDuplicate) copied = 1;
      else if (key.copy != nullptr)
        if (int error = key.copy(from, each.keyval, key.extra_state, each.value, &value, &copied)) return error;
      if (!copied) continue;
      std::lock_guard lock(mutex_);
      ++keyvals_[each.keyval].references;
      attributes_.push_back({each.keyval, value});
    }
    return MPI_SUCCESS;
  }
  // In the reverse order of setting.
  int clear(Handle handle) {
    if (attributes_.empty()) return MPI_SUCCESS;
    std::vector<Attribute> all = snapshot();
    for (auto each = all.rbegin(); each != all.rend(); ++each)
      if (const int error = erase(handle, each->keyval).value_or(MPI_SUCCESS)) return error;
    std::lock_guard lock(mutex_);
    attributes_.shrink_to_fit();  // what is cleared lies in a pool that is not destroyed
    return MPI_SUCCESS;
  }

 private:
  struct Keyval {
    Copy* copy = nullptr;
    Delete* remove = nullptr;
    void* extra_state = nullptr;
    int references = 0;  // the user's, and one per attribute
    bool freed = false;
  };
  struct Attribute {
    int keyval;
    void* value;
  };
  inline static Copy* const kDuplicate = reinterpret_cast<Copy*>(MPI_COMM_DUP_FN);  // the same for all kinds

  const Attribute* find(int keyval) const {
    for (const Attribute& each : attributes_)
      if (each.keyval == keyval) return &each;
    return nullptr;
  }
  static Keyval look_up(int keyval) {
    std::lock_guard lock(mutex_);
    return keyvals_[keyval];
  }
  static void drop(int keyval) {
    if (--keyvals_[keyval].references == 0) keyvals_.erase(keyval);
  }
  std::vector<Attribute> snapshot() const {
    std::lock_guard lock(mutex_);
    return attributes_;
  }

  inline static std::mutex mutex_;
  inline static std::map<int, Keyval> keyvals_;
  // Keys of different kinds are different numbers, so that one of another kind is found out.
  static constexpr int kKinds = 3, kKind = std::is_same_v<Handle, MPI_Comm> ? 0 : std::is_same_v<Handle, MPI_Datatype> ? 1 : 2;
  inline static int next_keyval_ = kFirstUserKeyval + kKind;
  std::vector<Attribute> attributes_;
};

}  // namespace portunus::mpi
