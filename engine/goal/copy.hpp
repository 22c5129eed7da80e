// copy.hpp: how the layers above copy long runs of bytes: copy_run, as memcpy. Thread: any.
#pragma once

#include "engine/host/copy_run.hpp"
