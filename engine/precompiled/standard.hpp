// standard.hpp: what most files include of the standard library, compiled once for each library or program: reading it again and again
// is what compiling takes most of its time for. Each file still includes what it uses itself:
// `meson setup -Db_pch=false -Dgroups=false` shows who forgot.
// No pragma: GCC takes none for it in a file that it compiles by itself.
#ifndef PORTUNUS_PRECOMPILED_STANDARD_HPP
#define PORTUNUS_PRECOMPILED_STANDARD_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#endif
