// explain.hpp: errors as codes with a sentence. Thread: each has its own last sentence.
#pragma once

namespace portunus::peace {

// Keeps the sentence for peace_explain and answers the code.
[[gnu::cold, gnu::format(printf, 2, 3)]] int fail(int code, const char* format, ...);
// The same for a call of Portals that did not answer PTL_OK.
[[gnu::cold]] int portals_failed(const char* what, int ptl_code);

}  // namespace portunus::peace
