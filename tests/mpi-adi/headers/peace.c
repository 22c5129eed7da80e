/* Calls of the paper, which are functions of peace.h that compilers see. Valid in every C and C++. */
#include <peace.h>

int use(peace_address_t to, peace_port_t port, peace_pattern_t which);
int use(peace_address_t to, peace_port_t port, peace_pattern_t which) {
    long word = 0;
    peace_message_t message;
    int error = cs_send(to, 3, &word, sizeof word);
    return error | cs_receive(port, which, &word, sizeof word, &message);
}
