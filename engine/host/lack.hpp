// lack.hpp: whether a system call was refused because something has run out, of which a user must be told.
//
// Thread: any.
#pragma once

#include <cerrno>

namespace portunus {

inline bool is_lack(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == ENOBUFS || error == ENOSPC || error == EADDRNOTAVAIL;
}

}  // namespace portunus
