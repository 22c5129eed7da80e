/* A program that needs no library. */
int main(void) { return 0; }
