// relabel.hpp: which PE should have which target, so that most elements stay where they are.
//
// The assignment problem by the Hungarian method, O(n^3) with short augmenting paths in practice. Callers: ccc_relabel.
// Source: Kuhn, "The Hungarian Method", 1955, in the form with potentials of Jonker and Volgenant, 1987; offered for
// redistribution by Kabic, Pintarelli, Kozhevnikov, VandeVondele, "COSTA", 2021.
#pragma once

#include <cstdint>
#include <vector>

namespace portunus::distribution {

// weights[row * n + column] >= 0; the row of each column, so that the sum of the weights is largest.
std::vector<int> assign_most(const std::vector<int64_t>& weights, int n);

}  // namespace portunus::distribution
