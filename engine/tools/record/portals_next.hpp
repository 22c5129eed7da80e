// Portals' functions themselves, behind the wrappers that stand before them.
//
// Thread: any.
#pragma once

#include <dlfcn.h>

#include "portals/portals4.h"
#include "portals/portals4_ext.h"

namespace portunus::record::portals {

// A function of this name that is found after the library that records.
template <class Function>
class Next {
 public:
  explicit Next(const char* name) : function_(reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name))) {}
  template <class... Arguments>
  auto operator()(Arguments... arguments) const {
    return function_(arguments...);
  }

 private:
  Function* function_;
};

namespace next {

#define PORTALS_NEXT(name) inline const Next<decltype(::name)> name(#name)
PORTALS_NEXT(PtlxJobInit);
PORTALS_NEXT(PtlxJobMap);
PORTALS_NEXT(PtlxJobFence);
PORTALS_NEXT(PtlInit);
PORTALS_NEXT(PtlNIInit);
PORTALS_NEXT(PtlNIHandle);
PORTALS_NEXT(PtlFini);
PORTALS_NEXT(PtlSetMap);
PORTALS_NEXT(PtlGetMap);
PORTALS_NEXT(PtlGetPhysId);
PORTALS_NEXT(PtlMDBind);
PORTALS_NEXT(PtlLEAppend);
PORTALS_NEXT(PtlMEAppend);
PORTALS_NEXT(PtlLEUnlink);
PORTALS_NEXT(PtlMEUnlink);
PORTALS_NEXT(PtlEQGet);
PORTALS_NEXT(PtlEQWait);
PORTALS_NEXT(PtlEQPoll);
PORTALS_NEXT(PtlCTAlloc);
PORTALS_NEXT(PtlCTGet);
PORTALS_NEXT(PtlCTWait);
PORTALS_NEXT(PtlCTPoll);
PORTALS_NEXT(PtlCTSet);
PORTALS_NEXT(PtlCTInc);
PORTALS_NEXT(PtlPut);
PORTALS_NEXT(PtlGet);
PORTALS_NEXT(PtlAtomic);
PORTALS_NEXT(PtlFetchAtomic);
PORTALS_NEXT(PtlSwap);
PORTALS_NEXT(PtlTriggeredPut);
PORTALS_NEXT(PtlTriggeredGet);
PORTALS_NEXT(PtlTriggeredAtomic);
PORTALS_NEXT(PtlTriggeredFetchAtomic);
PORTALS_NEXT(PtlTriggeredSwap);
PORTALS_NEXT(PtlTriggeredCTInc);
PORTALS_NEXT(PtlTriggeredCTSet);
#undef PORTALS_NEXT

}  // namespace next
}  // namespace portunus::record::portals
