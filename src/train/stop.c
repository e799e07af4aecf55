#include "train/stop.h"

#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/err.h"
#include "base/screen.h"

static const int stop_signals[] = {SIGINT, SIGTERM, SIGHUP};

/* Lock-free, hence safe in a handler and readable by every thread. */
static atomic_int asked_by;
/* The first request was passed on: the signal it stands for may still come. */
static atomic_int twin_to_come;

static void on_signal(int sig, siginfo_t *info, void *context)
{
    const int passed_on = info->si_code == SI_QUEUE;
    int none = 0;

    (void)context;
    if (atomic_compare_exchange_strong(&asked_by, &none, sig))
        atomic_store(&twin_to_come, passed_on);
    else if (!passed_on && !atomic_exchange(&twin_to_come, 0)) {
        screen_abandon();
        _exit(1);
    }
}

static void install(int sig, struct sigaction action)
{
    action.sa_flags |= SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (sigaction(sig, &action, NULL) < 0)
        BUG("sigaction for signal %d failed", sig);
}

static int is_ignored(int sig)
{
    struct sigaction old;

    return sigaction(sig, NULL, &old) == 0 && old.sa_handler == SIG_IGN;
}

void stop_add_signals(sigset_t *set)
{
    for (size_t i = 0; i < COUNT_OF(stop_signals); i++)
        if (stop_signals[i] != SIGHUP || !is_ignored(SIGHUP))
            sigaddset(set, stop_signals[i]);
}

void stop_install(void)
{
    sigset_t mine;

    sigemptyset(&mine);
    stop_add_signals(&mine);
    for (size_t i = 0; i < COUNT_OF(stop_signals); i++)
        if (sigismember(&mine, stop_signals[i]))
            install(stop_signals[i],
                    (struct sigaction){.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO});
    install(SIGPIPE, (struct sigaction){.sa_handler = SIG_IGN});
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
    atomic_store(&twin_to_come, 0);
}
