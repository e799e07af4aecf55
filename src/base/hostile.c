#include "base/hostile.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

enum { PAUSE_US = 100, ONE_IN = 8 };

void hostile_poison(void *p, size_t n)
{
    static const unsigned char word[8] = {0xC0, 0x7F, 0xC0, 0x7F, 0xC0, 0x7F, 0xC0, 0x7F};
    unsigned char *const at = p;
    size_t i = 0;

    for (; i + sizeof(word) <= n; i += sizeof(word))
        memcpy(at + i, word, sizeof(word));
    memcpy(at + i, word, n - i);
}

void hostile_pause(void)
{
    static _Thread_local unsigned turn;

    turn = turn * 1664525u + 1013904223u + (unsigned)(size_t)&turn;
    if (turn >> 16 & (ONE_IN - 1))
        sched_yield();
    else
        usleep(PAUSE_US);
}
