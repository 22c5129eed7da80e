"""Spack's recipe. It is built from a checkout, which Spack is told by `spack develop` or `spack dev-build`: see README.md."""

from spack.package import *

try:
    from spack_repo.builtin.build_systems.meson import MesonPackage  # where Spack 1 has it; older ones in spack.package
except ImportError:
    pass


class Portunus(MesonPackage):
    """A messaging engine that progresses alone, with the interfaces of Portals 4.3, MPI 5 (its standard ABI), OpenSHMEM 1.6 and GOAL."""

    license("Apache-2.0")

    version("0.2.0")

    variant("fortran", default=True, description="MPI for Fortran")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("cli11", type="build")
    depends_on("nlohmann-json", type="build")
    depends_on("help2man", type="build")
    depends_on("libfabric@1.17:")
    depends_on("hwloc@2.9:")
    depends_on("pmix@4.2:")

    provides("mpi@:5.0")
    provides("mpi-abi@1.0")

    conflicts("%gcc@:11", msg="it is C++20: GCC 12 or newer")

    def meson_args(self):
        return ["-Dfortran=" + ("enabled" if self.spec.satisfies("+fortran") else "disabled")]

    def setup_run_environment(self, env):
        for variable, name in (("MPICC", "mpicc"), ("MPICXX", "mpicxx"), ("MPIF77", "mpif77"), ("MPIF90", "mpif90")):
            env.set(variable, join_path(self.prefix.bin, name))

    def setup_dependent_build_environment(self, env, dependent_spec):
        self.setup_run_environment(env)
        # Our wrappers call the compilers of the package that is built.
        env.set("PTL_CC", dependent_spec.package.module.spack_cc)
        env.set("PTL_CXX", dependent_spec.package.module.spack_cxx)
        env.set("PTL_FC", dependent_spec.package.module.spack_fc)

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = join_path(self.prefix.bin, "mpicc")
        self.spec.mpicxx = join_path(self.prefix.bin, "mpicxx")
        self.spec.mpifc = join_path(self.prefix.bin, "mpifort")
        self.spec.mpif77 = join_path(self.prefix.bin, "mpif77")

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_launcher(self):
        """The launcher says which version it is."""
        Executable(join_path(self.prefix.bin, "ptlrun"))("--version")
