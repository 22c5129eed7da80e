// fabric_pingpong.hpp: libfabric alone: two reliable datagram endpoints that throw a message of 8 bytes to and fro, as its own test
// programs do. What the same message takes by Portals over the same provider is compared with this.
//
// Thread: the main thread of each rank. Source of the method: fi_rdm_pingpong of fabtests.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace portunus::bench {

class FabricPingPong {
 public:
  // Joined by both ranks of a job that has been initialised. `nid`: the network interface. Null, with a sentence on stderr, where the
  // provider cannot be used so simply.
  static std::unique_ptr<FabricPingPong> open(const std::string& provider, uint32_t nid, int me);
  ~FabricPingPong();

  // So many round trips, both ranks; rank 0 begins.
  void run(int me, int trips);

 private:
  struct Ends;
  explicit FabricPingPong(std::unique_ptr<Ends> ends);
  void send();
  void receive();

  std::unique_ptr<Ends> ends_;
};

}  // namespace portunus::bench
