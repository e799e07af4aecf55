#include "train/stop.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/err.h"

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};

/* Lock-free, hence safe in a handler and readable by every thread. */
static atomic_int asked_by;

static void on_signal(int sig)
{
    int none = 0;

    if (!atomic_compare_exchange_strong(&asked_by, &none, sig))
        _exit(1);
}

static void handle(int sig, void (*handler)(int))
{
    struct sigaction action = {.sa_flags = SA_RESTART};

    action.sa_handler = handler;
    sigemptyset(&action.sa_mask);
    if (sigaction(sig, &action, NULL) < 0)
        BUG("sigaction for signal %d failed", sig);
}

static int is_ignored(int sig)
{
    struct sigaction old;

    return sigaction(sig, NULL, &old) == 0 && old.sa_handler == SIG_IGN;
}

void stop_install(void)
{
    for (size_t i = 0; i < COUNT_OF(stop_signals); i++)
        if (stop_signals[i] != SIGHUP || !is_ignored(SIGHUP))
            handle(stop_signals[i], on_signal);
    handle(SIGPIPE, SIG_IGN);
}

int stop_requested(void)
{
    return atomic_load_explicit(&asked_by, memory_order_relaxed) != 0;
}

int stop_signal(void)
{
    return atomic_load(&asked_by);
}

const char *stop_signal_name(void)
{
    switch (stop_signal()) {
    case SIGINT:
        return "SIGINT";
    case SIGTERM:
        return "SIGTERM";
    case SIGHUP:
        return "SIGHUP";
    default:
        return "";
    }
}

void stop_reset(void)
{
    atomic_store(&asked_by, 0);
}
