// arguments.hpp: tables of calls with one wrong argument each, and the class of the error that each must return; that the error handler of
// the object of the call is called once, with that object and class, and that what it makes of the code is what the call returns.
#pragma once

#include <cctype>
#include <string>

#include "ranks.hpp"

struct Wrong {
  int line;
  const char* call;
  int expected;
  int (*run)();
};
constexpr int MPI_ERR_SUCCESS = MPI_SUCCESS;  // for what lies between
#define WRONG(expected, call)                                \
  {                                                          \
    __LINE__, #call, MPI_ERR_##expected, [] { return call; } \
  }

// The arguments of the calls: valid unless it is said not to be.
namespace args {
inline int buffer[64], other[64], ints[64], flag, index_;
inline int ones[8] = {1, 1, 1, 1, 1, 1, 1, 1}, zeros[8];
inline MPI_Aint addresses[8], address;
inline MPI_Count count;
inline MPI_Datatype types[8], type;
inline MPI_Status status;
inline MPI_Request request, requests[2];
inline MPI_Comm comm;
inline MPI_Group group;
inline MPI_Win win;
inline MPI_Info info;
inline MPI_Errhandler errhandler;
inline MPI_Op op;
inline MPI_Message message_handle;
inline char text[MPI_MAX_ERROR_STRING];

inline const MPI_Comm W = MPI_COMM_WORLD, S = MPI_COMM_SELF, no_comm = reinterpret_cast<MPI_Comm>(buffer);
inline const MPI_Datatype I = MPI_INT, no_type = reinterpret_cast<MPI_Datatype>(buffer);
inline const MPI_Op no_op = reinterpret_cast<MPI_Op>(buffer);
inline const MPI_Group no_group = reinterpret_cast<MPI_Group>(buffer);
inline const MPI_Win no_win = reinterpret_cast<MPI_Win>(buffer);
inline const MPI_Info no_info = reinterpret_cast<MPI_Info>(buffer);
inline const MPI_Errhandler no_errhandler = reinterpret_cast<MPI_Errhandler>(buffer);
inline const MPI_Request no_request = reinterpret_cast<MPI_Request>(buffer);
inline MPI_Datatype uncommitted = MPI_DATATYPE_NULL;
inline MPI_Request bad_request;
inline MPI_Errhandler noted;  // of communicators
}  // namespace args

// The object of a call, by the words in it: the window, file or communicator that it is given. A call without one has MPI_COMM_SELF, or no
// file. Addresses of objects that a call makes do not count.
inline std::string object_of(const std::string& call) {
  if (call.find("_from_group") != std::string::npos) return "no communicator";  // the error handler of the one to be made
  const bool of_files = call.rfind("MPI_File_", 0) == 0 || call.rfind("MPI_Register_datarep", 0) == 0;
  const bool frees = call.find("_free(") != std::string::npos;
  for (size_t end = 0, begin; (begin = call.find_first_of("(,", end)) != std::string::npos;) {
    begin = call.find_first_not_of("(, ", begin);
    end = call.find_first_of("(,)", begin);
    std::string word = call.substr(begin, end - begin);
    if (word[0] == '&' && frees) word.erase(0, 1);
    if (const size_t assigned = word.rfind("= "); assigned != std::string::npos && frees) word.erase(0, assigned + 2);
    if (of_files && (word == "open_file" || word == "read_only" || word == "write_only")) return "a file";
    if (word == "win") return "a window";
    if (word == "comm") return "a communicator";
    if (!of_files && (word == "W" || word == "MPI_COMM_WORLD")) return "MPI_COMM_WORLD";
    if (word == "S" || word == "MPI_COMM_SELF") return "MPI_COMM_SELF";
  }
  return of_files ? "no file" : "MPI_COMM_SELF";
}

// Error handlers that note how often, with which object and class, they are called.
class Noted {
 public:
  enum class Makes { nothing, another, success };
  Noted() {
    MPI_Comm_create_errhandler(on_comm, &comm_);
    args::noted = comm_;
    MPI_Win_create_errhandler(on_win, &win_);
    MPI_File_create_errhandler(on_file, &file_);
    for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) set(comm);
    set(MPI_FILE_NULL);
  }
  ~Noted() {
    for (const MPI_Comm comm : {MPI_COMM_WORLD, MPI_COMM_SELF}) MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    for (MPI_Errhandler* each : {&comm_, &win_, &file_}) MPI_Errhandler_free(each);
  }
  Noted(const Noted&) = delete;
  Noted& operator=(const Noted&) = delete;
  void set(MPI_Comm comm) { MPI_Comm_set_errhandler(comm, comm_); }
  void set(MPI_Win win) { MPI_Win_set_errhandler(win, win_); }
  void set(MPI_File file) { MPI_File_set_errhandler(file, file_); }
  void begin(Makes makes) {
    makes_ = makes;
    calls = 0;
    of_files = false;
  }
  inline static int calls, error_class;
  inline static bool of_files;
  inline static std::string object;

 private:
  static void note(int* code) {
    ++calls;
    error_class = class_of(*code);
    if (makes_ == Makes::another) *code = MPI_ERR_LASTCODE;
    if (makes_ == Makes::success) *code = MPI_SUCCESS;
  }
  static void on_comm(MPI_Comm* comm, int* code, ...) {
    object = *comm == MPI_COMM_WORLD  ? "MPI_COMM_WORLD"
             : *comm == MPI_COMM_SELF ? "MPI_COMM_SELF"
             : *comm == MPI_COMM_NULL ? "no communicator"
                                      : "a communicator";
    note(code);
  }
  static void on_win(MPI_Win* win, int* code, ...) {
    object = *win == MPI_WIN_NULL ? "no window" : "a window";
    note(code);
  }
  static void on_file(MPI_File* file, int* code, ...) {
    of_files = true;
    object = *file == MPI_FILE_NULL ? "no file" : "a file";
    note(code);
  }
  inline static Makes makes_;
  MPI_Errhandler comm_, win_, file_;
};

inline void expect_error(const Wrong& wrong, Noted& noted) {
  for (const auto makes : {Noted::Makes::nothing, Noted::Makes::another, Noted::Makes::success}) {
    args::bad_request = args::no_request;
    noted.begin(makes);
    const int error = wrong.run();
    const auto where = [&] { return "line " + std::to_string(wrong.line) + ": " + wrong.call; };
    if (wrong.expected == MPI_SUCCESS) {
      EXPECT_EQ(error, MPI_SUCCESS) << where();
      return;
    }
    EXPECT_EQ(Noted::calls, 1) << where();
    EXPECT_EQ(Noted::error_class, wrong.expected) << where();
    EXPECT_EQ(Noted::object, object_of(wrong.call)) << where();
    const bool forgiven = makes == Noted::Makes::success && Noted::of_files;
    EXPECT_EQ(error, makes == Noted::Makes::another ? MPI_ERR_LASTCODE : forgiven ? MPI_SUCCESS : wrong.expected) << where();
  }
}

// `objects`: what the calls are made on, besides MPI_COMM_WORLD, MPI_COMM_SELF and no file.
template <size_t n, class... Objects>
void expect_errors(const Wrong (&table)[n], Objects... objects) {
  Noted noted;
  (noted.set(objects), ...);
  MPI_Type_vector(2, 1, 2, MPI_INT, &args::uncommitted);
  for (const Wrong& wrong : table) expect_error(wrong, noted);
  MPI_Type_free(&args::uncommitted);
}
