// demands.hpp: what the demanding provider asks of its user, as DEMANDING says it: names, divided by commas, some with a number or a name.
//
// Thread: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace demanding {

struct Demands {
  std::string over = "tcp;ofi_rxm";  // the provider below
  uint64_t mr_mode = 0;              // mr-local, mr-allocated, mr-prov-key, mr-virt-addr (with it mr-prov-key), mr-endpoint
  bool context2 = false;             // each request lends 64 bytes of its own
  bool manual = false;               // nothing moves but in a read of the completion queue
  bool unordered = false;            // completions come in any order
  bool no_cq_data = false;           // no data go with a completion
  bool no_descriptor = false;        // nothing to sleep on
  size_t inject = SIZE_MAX;          // bytes of an injected message at most
  size_t message = SIZE_MAX;         // bytes of a message, or of a read or write, at most
  size_t queue = 0;                  // requests of either queue at a time; and every third call is to be made again
  size_t regions = 0;                // regions at a time; 0: any number
  size_t address = 0;                // bytes of an address; 0: as the provider below has them
  size_t domains = 1;                // one for each of so many devices, on PCI buses of their own
  uint64_t fail = 0;                 // the number of a send, read or write that ends with an error; 0: none
  uint64_t refuse = 0;               // the number of one that is refused
  uint64_t lose = 0;                 // the number of a read that never ends
};

// Reads DEMANDING. Ends the process where it is wrong.
Demands read_demands();

// Says what the user of the provider has done wrong, and ends the process.
[[noreturn]] void die(const std::string& sentence);

}  // namespace demanding
