// `ptlrun --record FILE`: the ranks load a library that records their calls into a folder; at the end goalc makes one file of it.
//
// Thread: ptlrun's main thread.
#pragma once

#include <map>
#include <string>

namespace portunus::launch {

class Recording {
 public:
  // Makes the folder inside of the job's own. Throws Refusal if it or FILE cannot be written, or goalc is not there; the latter two only
  // where `joins`: this host makes the file.
  Recording(const std::string& file, const std::string& job_folder, bool joins);
  // The folder that the ranks write into.
  const std::string& folder() const { return folder_; }

  // Adds what a rank of the job that executes the file `program` needs. Throws Refusal if a library that records is not there.
  void prepare(const std::string& program, std::map<std::string, std::string>& environment);
  // Writes FILE. False, with a sentence on stderr, if that failed.
  [[nodiscard]] bool join() const;

 private:
  const std::string& libraries_of(const std::string& program);

  std::string file_, job_folder_, folder_, goalc_;
  std::map<std::string, std::string> libraries_;  // by program, as LD_PRELOAD has them
};

}  // namespace portunus::launch
