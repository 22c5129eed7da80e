// vdc.hpp: vdc.h for C++: guards that release, errors as exceptions. Header only; link with -lvdc.
//
//   vdc::Session session(argc, argv);
//   vdc::View<double> row(7, std::span(shared, 1000));  // in all processes that use it
//   { auto write = row.write(); write[3] = 1; }         // released here
//   { auto read = row.read(); use(read.data()); }
//
// Thread: as vdc.h. Invariants: a View does not own the data and outlives its guards. Cost: nothing beyond the calls of
// vdc.h.
#ifndef VDC_HPP
#define VDC_HPP

#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "vdc.h"

namespace vdc {

// A refusal of a call of vdc.h, with Vdcx_explain's sentence.
class Error : public std::runtime_error {
 public:
  Error(int code, const char* sentence) : std::runtime_error(sentence), code_(code) {}
  int code() const { return code_; }  // VDCX_ERR_*

 private:
  int code_;
};
inline void check(int code) {
  if (code != VDCX_SUCCESS) throw Error(code, Vdcx_explain());
}

// Startup to exit. The end of the scope does not end the process unless it says so: call exit() last.
struct Session {
  Session(int argc, char** argv) { Vdc_startup(argc, argv); }
  int processes() const { return Vdc_nprocs; }
  int process() const { return Vdc_proc_id; }
  [[noreturn]] void exit(int status = 0) {
    Vdc_exit(status);
    __builtin_unreachable();
  }
};

// A view that is held, until the end of the scope.
template <class Element>
class Held {
 public:
  Held(int view, std::span<Element> data) : view_(view), data_(data) {}
  Held(Held&& other) noexcept : view_(std::exchange(other.view_, -1)), data_(other.data_) {}
  Held& operator=(Held&& other) noexcept {
    std::swap(view_, other.view_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~Held() {
    if (view_ >= 0) Vdcx_release(view_);
  }
  void release() { check(Vdcx_release(std::exchange(view_, -1))); }
  uint64_t version() const {
    uint64_t v = 0;
    check(Vdcx_version(view_, &v));
    return v;
  }
  Element& operator[](size_t i) const { return data_[i]; }
  Element* data() const { return data_.data(); }
  size_t size() const { return data_.size(); }
  auto begin() const { return data_.begin(); }
  auto end() const { return data_.end(); }
  operator std::span<Element>() const { return data_; }

 private:
  int view_;
  std::span<Element> data_;
};
template <class T>
using Write = Held<T>;
template <class T>
using Read = Held<const T>;

// An acquire that was begun. Dropped before get(): it is waited for, and released.
template <class Guard, class T>
class Ahead {
 public:
  Ahead(int view, std::span<T> data, Vdcx_mode mode) : view_(view), data_(data) { check(Vdcx_begin(view, mode, &request_)); }
  Ahead(Ahead&& other) noexcept
      : view_(other.view_),
        data_(other.data_),
        request_(std::exchange(other.request_, nullptr)),
        ready_(std::exchange(other.ready_, false)) {}
  Ahead& operator=(Ahead&&) = delete;
  ~Ahead() {
    if (request_ && Vdcx_wait(&request_, -1) == VDCX_SUCCESS) ready_ = true;
    if (ready_) Vdcx_release(view_);
  }
  bool ready() {
    int done = ready_;
    if (!ready_ && request_) check(Vdcx_test(&request_, &done));
    return ready_ = done;
  }
  Guard get(double seconds = -1) {
    if (!ready_) check(Vdcx_wait(&request_, seconds));
    ready_ = false;
    return Guard(view_, data_);
  }

 private:
  int view_;
  std::span<T> data_;
  Vdcx_request request_ = nullptr;
  bool ready_ = false;
};

// A declared view of a range, or of pieces whose first holds `data()`.
template <class T>
struct View {
  static_assert(std::is_trivially_copyable_v<T>);

  View(int id, std::span<T> data, Vdcx_finding how = VDCX_AUTO) : id_(id), data_(data) {
    const Vdcx_piece piece{data.data(), data.size_bytes(), 1, 0};
    check(Vdcx_declare(id, &piece, 1, how));
  }
  View(int id, std::span<const Vdcx_piece> pieces, Vdcx_finding how = VDCX_AUTO) : id_(id) {
    check(Vdcx_declare(id, pieces.data(), static_cast<unsigned>(pieces.size()), how));
    if (!pieces.empty()) data_ = {static_cast<T*>(pieces[0].start), pieces[0].bytes / sizeof(T)};
  }
  View(View&&) = default;
  View& operator=(View&&) = default;

  Write<T> write(double seconds = -1) { return acquired<Write<T>>(VDCX_WRITE, seconds, data_); }
  Write<T> overwrite(double seconds = -1) { return acquired<Write<T>>(VDCX_OVERWRITE, seconds, data_); }
  Read<T> read(double seconds = -1) { return acquired<Read<T>>(VDCX_READ, seconds, std::span<const T>(data_)); }
  Ahead<Read<T>, const T> read_ahead() { return {id_, data_, VDCX_READ}; }
  Ahead<Write<T>, T> write_ahead() { return {id_, data_, VDCX_WRITE}; }
  int id() const { return id_; }
  std::span<T> data() const { return data_; }

 private:
  template <class Guard, class Span>
  Guard acquired(Vdcx_mode mode, double seconds, Span data) {
    check(Vdcx_acquire(id_, mode, seconds));
    return Guard(id_, data);
  }
  int id_;
  std::span<T> data_{};
};

template <class T>
struct Stream {
  Stream(View<T>& view, int writer, std::span<const int> readers, unsigned depth) : view_(view) {
    check(Vdcx_stream(view.id(), writer, readers.data(), static_cast<unsigned>(readers.size()), depth));
  }
  Write<T> write(double seconds = -1) { return view_.write(seconds); }
  Read<T> read(double seconds = -1) { return view_.read(seconds); }

 private:
  View<T>& view_;
};

}  // namespace vdc

#endif
