/* Calls of the paper, which are functions of peace.h that compilers see. Valid in every C and C++. */
#include <peace.h>

int use(peace_address_t to, peace_port_t port, peace_pattern_t which);
int use(peace_address_t to, peace_port_t port, peace_pattern_t which) {
    long word = 0;
    peace_message_t message;
    int error = cs_send(to, 3, &word, sizeof word);
    peace_piece_t pieces[2];
    pieces[0] = peace_stride(&word, 2, 2, 4);
    pieces[1] = peace_stride(&word, 0, 2, 4);
    error |= peace_send_pieces(to, 3, pieces, 2, 0, PEACE_FOREVER, NULL);
    return error | cs_receive(port, which, &word, sizeof word, &message);
}
