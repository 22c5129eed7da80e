/* mqs.h: the interface by which debuggers see a rank's queues of messages, as the MPI Forum has published it: "MPI Message Queue Dumping
 * Interface", version 1.0. Names, types and numbers are that document's; a debugger brings a header of its own.
 *
 * A debugger loads libportunus_mqs.so (MPIR_dll_name) into its own process, gives it functions, and asks. The library reads the process
 * that is debugged by these functions alone. Functions answer mqs_ok or another code, for which mqs_dll_error_string has a sentence.
 * Thread: one at a time. The process that is read stands still meanwhile, or what is read may not fit together. */
#ifndef PORTUNUS_MQS_H
#define PORTUNUS_MQS_H
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MQS_INTERFACE_COMPATIBILITY 2
#define MQS_INVALID_PROCESS (-1)

enum { mqs_ok = 0, mqs_no_information, mqs_end_of_list, mqs_first_user_code = 100 };
typedef enum { mqs_lang_c = 'c', mqs_lang_cplus = 'C', mqs_lang_f77 = 'f', mqs_lang_f90 = 'F' } mqs_lang_code;
typedef enum { mqs_pending_sends, mqs_pending_receives, mqs_unexpected_messages } mqs_op_class;
enum mqs_status { mqs_st_pending, mqs_st_matched, mqs_st_complete };

typedef unsigned long mqs_taddr_t; /* an address in the process that is read */
typedef long mqs_tword_t;          /* a number of it */

/* The debugger's own, and what it keeps for the library. */
typedef struct mqs_image_ mqs_image;
typedef struct mqs_process_ mqs_process;
typedef struct mqs_type_ mqs_type;
typedef struct mqs_image_info mqs_image_info;
typedef struct mqs_process_info mqs_process_info;

/* Sizes in bytes; older debuggers fill in the first five. */
typedef struct {
    int short_size, int_size, long_size, long_long_size, pointer_size, bool_size, size_t_size;
} mqs_target_type_sizes;

typedef struct {
    mqs_taddr_t unique_id;
    mqs_tword_t local_rank; /* of this process */
    mqs_tword_t size;       /* of the local group */
    char name[64];
} mqs_communicator;

/* Ranks: local ones are the communicator's, global ones MPI_COMM_WORLD's. The actual ones hold where `status` is not pending, of sends
 * and unexpected messages always. Lengths are in bytes. */
typedef struct {
    int status;
    mqs_tword_t desired_local_rank; /* MQS_INVALID_PROCESS: any */
    mqs_tword_t desired_global_rank;
    int tag_wild;
    mqs_tword_t desired_tag;
    mqs_tword_t desired_length;
    int system_buffer; /* the data lie in memory of the library */
    mqs_taddr_t buffer;
    mqs_tword_t actual_local_rank;
    mqs_tword_t actual_global_rank;
    mqs_tword_t actual_tag;
    mqs_tword_t actual_length;
    char extra_text[5][64]; /* lines for the user, the last one before an empty one */
} mqs_pending_operation;

/* The debugger's functions. */
typedef struct {
    void *(*mqs_malloc_fp)(size_t bytes);
    void (*mqs_free_fp)(void *memory);
    void (*mqs_dprints_fp)(const char *text);
    char *(*mqs_errorstring_fp)(int code);
    void (*mqs_put_image_info_fp)(mqs_image *image, mqs_image_info *info);
    mqs_image_info *(*mqs_get_image_info_fp)(mqs_image *image);
    void (*mqs_put_process_info_fp)(mqs_process *process, mqs_process_info *info);
    mqs_process_info *(*mqs_get_process_info_fp)(mqs_process *process);
} mqs_basic_callbacks;

typedef struct {
    void (*mqs_get_type_sizes_fp)(mqs_process *process, mqs_target_type_sizes *sizes);
    int (*mqs_find_function_fp)(mqs_image *image, char *name, mqs_lang_code language, mqs_taddr_t *address);
    int (*mqs_find_symbol_fp)(mqs_image *image, char *name, mqs_taddr_t *address);
    mqs_type *(*mqs_find_type_fp)(mqs_image *image, char *name, mqs_lang_code language);
    int (*mqs_field_offset_fp)(mqs_type *type, char *field);
    int (*mqs_sizeof_fp)(mqs_type *type);
} mqs_image_callbacks;

typedef struct {
    int (*mqs_get_global_rank_fp)(mqs_process *process);
    mqs_image *(*mqs_get_image_fp)(mqs_process *process);
    int (*mqs_fetch_data_fp)(mqs_process *process, mqs_taddr_t address, int bytes, void *data);
    void (*mqs_target_to_host_fp)(mqs_process *process, const void *from, void *to, int bytes);
} mqs_process_callbacks;

/* The library's functions. */
void mqs_setup_basic_callbacks(const mqs_basic_callbacks *callbacks);
char *mqs_version_string(void);
int mqs_version_compatibility(void);
int mqs_dll_taddr_width(void);
char *mqs_dll_error_string(int code);
int mqs_setup_image(mqs_image *image, const mqs_image_callbacks *callbacks);
int mqs_image_has_queues(mqs_image *image, char **message);
int mqs_destroy_image_info(mqs_image_info *info);
int mqs_setup_process(mqs_process *process, const mqs_process_callbacks *callbacks);
int mqs_process_has_queues(mqs_process *process, char **message);
int mqs_destroy_process_info(mqs_process_info *info);
int mqs_update_communicator_list(mqs_process *process);
int mqs_setup_communicator_iterator(mqs_process *process);
int mqs_get_communicator(mqs_process *process, mqs_communicator *communicator);
int mqs_get_comm_group(mqs_process *process, int *ranks); /* as many as the communicator's size */
int mqs_next_communicator(mqs_process *process);
int mqs_setup_operation_iterator(mqs_process *process, int op_class);
int mqs_next_operation(mqs_process *process, mqs_pending_operation *operation);

#ifdef __cplusplus
}
#endif
#endif
