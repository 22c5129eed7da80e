/* shmem_types.h: the type tables of the OpenSHMEM specification, each as one list.
 *
 * A list applies X(NAME, TYPE, ...) to every TYPENAME:TYPE pair; what follows X is handed through. The lists with
 * `DISTINCT` in their name leave out the pairs whose TYPE is another spelling of an earlier one (int32_t is int,
 * size_t is unsigned long): a C11 generic selection may name a type only once.
 *
 * Names that start with SHMEMI_ belong to this library, not to the specification: programs do not use them.
 * Source: OpenSHMEM 1.6, tables "Standard RMA Types", "Standard", "Extended" and "Bitwise AMO Types", "Reduction
 * Types"; of the deprecated calls, the tables of version 1.3.
 */
#ifndef SHMEMI_TYPES_H
#define SHMEMI_TYPES_H

#include <stddef.h>
#include <stdint.h>

#define SHMEMI_AMO_STANDARD_DISTINCT(X, ...)                                                            \
    X(int, int, __VA_ARGS__) X(long, long, __VA_ARGS__) X(longlong, long long, __VA_ARGS__)             \
    X(uint, unsigned int, __VA_ARGS__) X(ulong, unsigned long, __VA_ARGS__)                             \
    X(ulonglong, unsigned long long, __VA_ARGS__)

#define SHMEMI_AMO_STANDARD(X, ...)                                                                     \
    SHMEMI_AMO_STANDARD_DISTINCT(X, __VA_ARGS__)                                                        \
    X(int32, int32_t, __VA_ARGS__) X(int64, int64_t, __VA_ARGS__)                                       \
    X(uint32, uint32_t, __VA_ARGS__) X(uint64, uint64_t, __VA_ARGS__)                                   \
    X(size, size_t, __VA_ARGS__) X(ptrdiff, ptrdiff_t, __VA_ARGS__)

/* For waiting and testing, also those that were deprecated: other libraries have them in all calls. */
#define SHMEMI_SHORT(X, ...) X(short, short, __VA_ARGS__) X(ushort, unsigned short, __VA_ARGS__)
#define SHMEMI_WAIT(X, ...) SHMEMI_AMO_STANDARD(X, __VA_ARGS__) SHMEMI_SHORT(X, __VA_ARGS__)
#define SHMEMI_WAIT_DISTINCT(X, ...) SHMEMI_AMO_STANDARD_DISTINCT(X, __VA_ARGS__) SHMEMI_SHORT(X, __VA_ARGS__)

#define SHMEMI_AMO_FLOATING(X, ...) X(float, float, __VA_ARGS__) X(double, double, __VA_ARGS__)

#define SHMEMI_AMO_EXTENDED(X, ...) SHMEMI_AMO_STANDARD(X, __VA_ARGS__) SHMEMI_AMO_FLOATING(X, __VA_ARGS__)

#define SHMEMI_AMO_EXTENDED_DISTINCT(X, ...)                                                            \
    SHMEMI_AMO_STANDARD_DISTINCT(X, __VA_ARGS__) SHMEMI_AMO_FLOATING(X, __VA_ARGS__)

#define SHMEMI_AMO_BITWISE(X, ...)                                                                      \
    X(uint, unsigned int, __VA_ARGS__) X(ulong, unsigned long, __VA_ARGS__)                             \
    X(ulonglong, unsigned long long, __VA_ARGS__)                                                       \
    X(int32, int32_t, __VA_ARGS__) X(int64, int64_t, __VA_ARGS__)                                       \
    X(uint32, uint32_t, __VA_ARGS__) X(uint64, uint64_t, __VA_ARGS__)

#define SHMEMI_AMO_BITWISE_DISTINCT(X, ...)                                                             \
    X(uint, unsigned int, __VA_ARGS__) X(ulong, unsigned long, __VA_ARGS__)                             \
    X(ulonglong, unsigned long long, __VA_ARGS__)                                                       \
    X(int32, int32_t, __VA_ARGS__) X(int64, int64_t, __VA_ARGS__)

#define SHMEMI_RMA_DISTINCT(X, ...)                                                                     \
    SHMEMI_AMO_EXTENDED_DISTINCT(X, __VA_ARGS__)                                                        \
    X(longdouble, long double, __VA_ARGS__) X(char, char, __VA_ARGS__)                                  \
    X(schar, signed char, __VA_ARGS__) X(short, short, __VA_ARGS__)                                     \
    X(uchar, unsigned char, __VA_ARGS__) X(ushort, unsigned short, __VA_ARGS__)

#define SHMEMI_RMA(X, ...)                                                                              \
    SHMEMI_RMA_DISTINCT(X, __VA_ARGS__)                                                                 \
    X(int8, int8_t, __VA_ARGS__) X(int16, int16_t, __VA_ARGS__)                                         \
    X(int32, int32_t, __VA_ARGS__) X(int64, int64_t, __VA_ARGS__)                                       \
    X(uint8, uint8_t, __VA_ARGS__) X(uint16, uint16_t, __VA_ARGS__)                                     \
    X(uint32, uint32_t, __VA_ARGS__) X(uint64, uint64_t, __VA_ARGS__)                                   \
    X(size, size_t, __VA_ARGS__) X(ptrdiff, ptrdiff_t, __VA_ARGS__)

/* C++ has these as an extension of the compiler, which -pedantic would mention. */
__extension__ typedef double _Complex shmemi_complexd;
__extension__ typedef float _Complex shmemi_complexf;

#define SHMEMI_COMPLEX(X, ...)                                                                          \
    X(complexd, shmemi_complexd, __VA_ARGS__) X(complexf, shmemi_complexf, __VA_ARGS__)

#define SHMEMI_REDUCE_BITWISE_DISTINCT(X, ...)                                                          \
    X(uchar, unsigned char, __VA_ARGS__) X(ushort, unsigned short, __VA_ARGS__)                         \
    X(uint, unsigned int, __VA_ARGS__) X(ulong, unsigned long, __VA_ARGS__)                             \
    X(ulonglong, unsigned long long, __VA_ARGS__)                                                       \
    X(int8, int8_t, __VA_ARGS__) X(int16, int16_t, __VA_ARGS__)                                         \
    X(int32, int32_t, __VA_ARGS__) X(int64, int64_t, __VA_ARGS__)

#define SHMEMI_REDUCE_BITWISE(X, ...)                                                                   \
    SHMEMI_REDUCE_BITWISE_DISTINCT(X, __VA_ARGS__)                                                      \
    X(uint8, uint8_t, __VA_ARGS__) X(uint16, uint16_t, __VA_ARGS__)                                     \
    X(uint32, uint32_t, __VA_ARGS__) X(uint64, uint64_t, __VA_ARGS__) X(size, size_t, __VA_ARGS__)

#define SHMEMI_REDUCE_SUM(X, ...) SHMEMI_RMA(X, __VA_ARGS__) SHMEMI_COMPLEX(X, __VA_ARGS__)
#define SHMEMI_REDUCE_SUM_DISTINCT(X, ...) SHMEMI_RMA_DISTINCT(X, __VA_ARGS__) SHMEMI_COMPLEX(X, __VA_ARGS__)

/* The deprecated calls' types, but for their atomics: those take all types that the present ones take, as in other libraries. */
#define SHMEMI_OLD_WAIT(X, ...)                                                                         \
    X(short, short, __VA_ARGS__) X(int, int, __VA_ARGS__) X(long, long, __VA_ARGS__)                    \
    X(longlong, long long, __VA_ARGS__)
#define SHMEMI_OLD_ORDERED(X, ...)                                                                      \
    SHMEMI_OLD_WAIT(X, __VA_ARGS__) SHMEMI_AMO_FLOATING(X, __VA_ARGS__) X(longdouble, long double, __VA_ARGS__)
#define SHMEMI_OLD_SUM(X, ...) SHMEMI_OLD_ORDERED(X, __VA_ARGS__) SHMEMI_COMPLEX(X, __VA_ARGS__)

/* X(BITS, BYTES, ...) for the calls that are named by the width of their elements. */
#define SHMEMI_SIZES(X, ...)                                                                            \
    X(8, 1, __VA_ARGS__) X(16, 2, __VA_ARGS__) X(32, 4, __VA_ARGS__) X(64, 8, __VA_ARGS__) X(128, 16, __VA_ARGS__)

#endif
