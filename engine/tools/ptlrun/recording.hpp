// `ptlrun --record FILE`: the ranks load a library that records their calls into a folder; at the end goalc makes one file of it.
//
// Thread: ptlrun's main thread.
#pragma once

#include <map>
#include <string>

namespace portunus::launch {

class Recording {
 public:
  // Makes the folder inside of the job's own. Throws Refusal if it or FILE cannot be written, or the library or goalc is not there.
  Recording(const std::string& file, const std::string& job_folder);

  // Adds what a rank of the job needs.
  void prepare(std::map<std::string, std::string>& environment) const;
  // Writes FILE. False, with a sentence on stderr, if that failed.
  [[nodiscard]] bool join() const;

 private:
  std::string file_, folder_, library_, goalc_;
};

}  // namespace portunus::launch
