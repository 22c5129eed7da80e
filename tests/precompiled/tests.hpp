// tests.hpp: what most tests include, compiled once for those of a folder; see engine/precompiled/standard.hpp.
// No pragma: GCC takes none for it in a file that it compiles by itself.
#ifndef PORTUNUS_PRECOMPILED_TESTS_HPP
#define PORTUNUS_PRECOMPILED_TESTS_HPP

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <random>
#include <thread>

#include "../../engine/precompiled/standard.hpp"

#endif
