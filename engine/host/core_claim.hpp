// A processor taken for one spinning engine: two that spin on the same one keep each other from running for tenths of a second.
//
// The claim is a socket bound to a name without a file, which the kernel gives to one process of a network namespace at a time and
// takes back when it ends, however it ends. Processes of different namespaces do not see each other's.
// Thread: set-up. Source: unix(7), "abstract".
#pragma once

namespace portunus {

class CoreClaim {
 public:
  explicit CoreClaim(int core);
  ~CoreClaim();
  CoreClaim(const CoreClaim&) = delete;
  CoreClaim& operator=(const CoreClaim&) = delete;

  // False when an engine of another process, or of another user, has that processor.
  bool held() const { return held_; }

 private:
  int fd_;
  bool held_ = false;
};

}  // namespace portunus
