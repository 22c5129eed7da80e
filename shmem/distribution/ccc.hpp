// ccc.hpp: ccc.h for C++: layouts, arrays that are dealt out, and domains of virtual processors. Header only; link with
// -lccc -lshmem -lportals.
//
//   ccc::Array<double, 2> a(ccc::Layout<2>({n, ccc::block_cyclic(64), p}, {n, ccc::cyclic, q}));
//   a.each([](auto at, double& x) { x = f(at[0], at[1]); });
//   ccc::Array<double, 2> rows = a.redistributed(ccc::Layout<2>({n, ccc::block, p * q}, {n, ccc::whole, 1}));
//
//   ccc::Domain<State> m({16});                       // 16 virtual processors on whatever PEs there are
//   m.call(body, ccc::in(ccc::front(A, {16, 16}), ccc::block, ccc::whole), ccc::out(C, ccc::block, ccc::whole));
//
// Refusals of ccc.h are thrown as ccc::Error. Elements and states are trivially copyable. One thread of a PE at a time. What
// is said to be collective is called by all PEs alike. Source: Lin, sections 2 and 5; ccc.h.
#ifndef CCC_HPP
#define CCC_HPP

#include "ccc_array.hpp"
#include "ccc_domain.hpp"

#endif
