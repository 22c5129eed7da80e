// nothing.cpp: a source for libraries whose number of sources Meson cannot bear: see mpi-adi/meson.build.
