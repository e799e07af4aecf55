/* Does the verdict find the stage that is held back? Ten barrels of real parts: a loader that reads
 * records and decodes JPEGs, a device that takes batches at a steady pace. In each one something,
 * or nothing, is in the way, drawn from a seed that the verdict does not see: storage that gives so
 * many samples a second, pictures that take long to decode, outputs that take long to fill, a slow
 * way to the device, a slow device, or other processes on the same processors. Right is the stage's
 * name and a predicted level within a tenth of the run that was measured.
 *     throttle [SEED] */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/random.h"
#include "cli/profile.h"
#include "data/recordio_writer.h"
#include "test_data_fixture.h"

enum { N_BARRELS = 10, N_RECORDS = 64, BURNERS = 4, MAX_CPUS = 2, SIZE = 64, PREFETCH = 3 };
/* The part of its processor that the loader takes in a barrel in which nothing is in the way, and
 * how far a throttled stage falls below that level. */
static const double load = 0.3, throttled = 0.45;

enum handicap { NONE, SOURCE, DECODE, AUGMENT, WAY, DEVICE, PROCESSORS, N_HANDICAPS };
static const char *const handicaps[] = {
    [NONE] = "nothing",           [SOURCE] = "slow source",     [DECODE] = "heavy pictures",
    [AUGMENT] = "big outputs",    [WAY] = "slow way to device", [DEVICE] = "slow device",
    [PROCESSORS] = "stolen cores"};
static const enum stave expected[] = {
    [SOURCE] = STAVE_READ, [DECODE] = STAVE_DECODE,  [AUGMENT] = STAVE_AUGMENT,
    [WAY] = STAVE_COPY,    [DEVICE] = STAVE_COMPUTE, [PROCESSORS] = STAVE_CORES};

/* Lets so many pass in a second, whoever they are; 0: all. */
struct pace {
    pthread_mutex_t lock;
    double per_s;
    int64_t next_ns;
};

static void sleep_until(int64_t ns)
{
    const struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

/* Keeps to its schedule when a sleep took too long, but does not make up for an idle time. */
static void pace_wait(struct pace *p, double n)
{
    const int64_t now = clock_ns();
    int64_t until;

    if (p->per_s <= 0)
        return;
    pthread_mutex_lock(&p->lock);
    if (p->next_ns < now - 2000000)
        p->next_ns = now;
    until = p->next_ns += (int64_t)(n * 1e9 / p->per_s);
    pthread_mutex_unlock(&p->lock);
    sleep_until(until);
}

struct barrel {
    struct source *light, *heavy; /* of small and of large pictures */
    struct source slowed;         /* one of them, with unwrap in the way */
    const struct source *real;
    int size, threads, batch;
    struct pace storage, way, device;
};

static struct barrel barrel = {.storage = {.lock = PTHREAD_MUTEX_INITIALIZER},
                               .way = {.lock = PTHREAD_MUTEX_INITIALIZER},
                               .device = {.lock = PTHREAD_MUTEX_INITIALIZER}};

static int slow_unwrap(const struct source *s, uint64_t i, struct raw raw, struct sample *out)
{
    (void)s;
    pace_wait(&barrel.storage, 1);
    return barrel.real->ops->unwrap(barrel.real, i, raw, out);
}

static void use_source(struct source *s)
{
    static struct source_ops ops;

    ops = *s->ops;
    ops.unwrap = slow_unwrap;
    barrel.real = s;
    barrel.slowed = *s;
    barrel.slowed.ops = &ops;
}

static int open_stream(void *context, struct rig_loader how, struct pipeline **out)
{
    struct barrel *const b = context;
    const struct pipeline_config c = {.source = &b->slowed,
                                      .mode = PIPELINE_TRAIN,
                                      .seed = 7,
                                      .batch_size = (size_t)b->batch,
                                      .n_threads = how.threads,
                                      .prefetch = how.prefetch,
                                      .alone = how.alone,
                                      .synthetic = how.synthetic,
                                      .n_synthetic = 1000000,
                                      .n_classes = N_RECORDS,
                                      .train = {.size = b->size}};

    return pipeline_open(&c, out);
}

static int work(void *context, enum rig_work what, const struct batch *batch)
{
    struct barrel *const b = context;

    pace_wait(&b->way, (double)batch->n_real);
    if (what != RIG_COPY)
        pace_wait(&b->device, (double)batch->n_real);
    return 0;
}

static const struct rig rig = {.context = &barrel, .open = open_stream, .work = work};

/* ---- other processes ---- */

static pid_t burners[MAX_CPUS * BURNERS];
static size_t n_burners;

static void burn_on(size_t cpu)
{
    cpu_set_t one;
    const pid_t pid = fork();

    if (pid > 0)
        burners[n_burners++] = pid;
    if (pid != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof(one), &one);
    for (volatile unsigned i = 0;; i++)
        ;
}

static void stop_burners(void)
{
    while (n_burners > 0) {
        kill(burners[--n_burners], SIGKILL);
        waitpid(burners[n_burners], NULL, 0);
    }
}

/* Keeps to the first processors that are allowed; returns how many. */
static int take_cpus(size_t cpus[MAX_CPUS])
{
    cpu_set_t allowed, taken;
    int n = 0;

    CPU_ZERO(&taken);
    sched_getaffinity(0, sizeof(allowed), &allowed);
    for (size_t i = 0; i < CPU_SETSIZE && n < MAX_CPUS; i++)
        if (CPU_ISSET(i, &allowed)) {
            CPU_SET(i, &taken);
            cpus[n++] = i;
        }
    sched_setaffinity(0, sizeof(taken), &taken);
    return n;
}

/* ---- barrels ---- */

static struct source *make_source(const char *dir, const char *name, int side)
{
    char *const prefix = file_join(dir, name), *const path = xasprintf("%s.rec", prefix);
    struct recordio_writer *w;
    struct recordio_totals totals;
    struct source *s;

    if (recordio_writer_open(prefix, &w) < 0)
        BUG("%s", err_reason());
    for (int i = 0; i < N_RECORDS; i++) {
        struct bytes jpeg = {0};

        simple_jpeg(side, side, i, &jpeg);
        recordio_writer_add(
            w, (struct recordio_entry){
                   .label = (float)i, .id = (uint64_t)i, .payload = jpeg.data, .n = jpeg.n});
        bytes_release(&jpeg);
    }
    if (recordio_writer_commit(w, &totals) < 0 || source_open(path, &s) < 0)
        BUG("%s", err_reason());
    free(prefix);
    free(path);
    return s;
}

static struct rig_reading measure(int alone, int threads)
{
    struct rig_reading m;

    const struct rig_request q = {
        .loader = {.threads = threads, .prefetch = PREFETCH, .alone = alone},
        .window_ns = 200000000,
        .window_batches = 4};

    if (rig_run(&rig, &q, &m) < 0)
        BUG("%s", err_reason());
    return m;
}

static double cpu_s(const struct rig_reading *m)
{
    return (double)m->cpu_ns / 1e9 / (double)m->samples;
}

/* Makes something heavier until it takes the processor so long that the loader falls to the level
 * wanted. */
static void make_heavier(enum handicap h, const char *dir, double level)
{
    int side = h == DECODE ? 256 : 2 * SIZE;

    for (;; side = side * 5 / 4) {
        struct rig_reading m;

        if (h == AUGMENT)
            barrel.size = side;
        else {
            source_close(barrel.heavy);
            barrel.heavy = make_source(dir, "heavy", side);
            use_source(barrel.heavy);
        }
        m = measure(0, 1);
        if (barrel.threads / cpu_s(&m) < level)
            return;
    }
}

static void set_up(enum handicap h, const char *dir, double level)
{
    barrel.size = SIZE;
    barrel.batch = h == AUGMENT ? 16 : 48; /* its ring takes much memory */
    use_source(barrel.light);
    barrel.storage.per_s = barrel.way.per_s = barrel.device.per_s = 0;
    if (h == DECODE || h == AUGMENT)
        make_heavier(h, dir, level * throttled);
    barrel.storage.per_s = h == SOURCE ? level * throttled : level;
    barrel.device.per_s = h == DEVICE ? level * throttled : level;
    if (h == WAY)
        barrel.way.per_s = level * throttled;
    if (h == WAY)
        barrel.device.per_s = 20 * level;
}

static int names_it(enum handicap h, const struct verdict *v)
{
    return h == NONE ? v->balanced : !v->balanced && v->shortest == expected[h];
}

static int predicts_it(const struct staves *s, const struct verdict *v)
{
    return s->run >= 0.9 * v->level && s->run <= 1.1 * v->level;
}

/* Other work took the processors of a barrel that is not about that. */
static int is_disturbed(enum handicap h, const struct staves *s)
{
    return h != PROCESSORS && (s->loader_starved > 0.1 || s->run_starved > 0.1);
}

/* A line, and the verdict's words when it is wrong; returns whether it is right. */
static int say(enum handicap h, const struct profile *p, const struct staves *s)
{
    const struct verdict v = verdict_find(s);
    const int right = names_it(h, &v) && predicts_it(s, &v);
    struct str words = STR_INIT;

    verdict_add_words(s, &v, &words);
    printf("%s  %-18s -> %-8s loader %6.0f, device %6.0f; predicted %6.0f, measured %6.0f (%+.1f "
           "%%), %d rounds\n%s",
           right ? "right" : "WRONG", handicaps[h],
           v.balanced ? "balanced" : stave_name(v.shortest), s->loader, s->device, v.level, s->run,
           100 * (s->run / v.level - 1), p->rounds, right ? "" : words.s);
    fflush(stdout);
    str_release(&words);
    return right;
}

/* Measured again, at most twice: a barrel that was disturbed; and once one whose prediction alone
 * is off, for processors of a shared machine change their speed by a tenth for seconds. A wrong
 * name stands. */
static int judge(enum handicap h, const size_t *cpus)
{
    static struct profile p;
    int right = 0;

    p = (struct profile){.loader = {.threads = barrel.threads, .prefetch = PREFETCH},
                         .cpus = barrel.threads,
                         .unit = "images",
                         .min_rounds = 4,
                         .max_rounds = 14,
                         .precision = 0.02,
                         .window_ns = h == PROCESSORS ? 150000000 : 80000000,
                         .window_batches = 2};
    for (int i = 0; h == PROCESSORS && i < barrel.threads * BURNERS; i++)
        burn_on(cpus[i / BURNERS]);
    for (int turn = 0; turn < 3; turn++) {
        struct staves s;
        struct verdict v;

        if (profile_measure(&p, &rig) < 0)
            BUG("%s", err_reason());
        s = profile_staves(&p);
        v = verdict_find(&s);
        right = say(h, &p, &s);
        if (right || !(is_disturbed(h, &s) || (turn == 0 && names_it(h, &v))))
            break;
        printf("again:\n");
    }
    stop_burners();
    return right;
}

/* Each of them once, the rest drawn, in an order that is drawn. */
static void draw(uint64_t seed, enum handicap out[N_BARRELS])
{
    struct random_stream r =
        random_stream((struct random_key){.seed = seed, .purpose = RANDOM_TEST}, 0);

    for (size_t i = 0; i < N_BARRELS; i++)
        out[i] = (enum handicap)(i < N_HANDICAPS ? i : random_next(&r) % N_HANDICAPS);
    for (size_t i = N_BARRELS - 1; i > 0; i--) {
        const size_t k = random_next(&r) % (i + 1);
        const enum handicap saved = out[i];

        out[i] = out[k];
        out[k] = saved;
    }
}

int main(int argc, char **argv)
{
    enum handicap todo[N_BARRELS];
    size_t cpus[MAX_CPUS];
    int n_right = 0;
    char *const dir = temp_dir();
    struct rig_reading light;
    uint64_t seed;
    double level;

    if (argc > 1)
        seed = strtoull(argv[1], NULL, 0);
    else if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
        BUG("no random bytes");
    draw(seed, todo);
    barrel.threads = take_cpus(cpus);
    barrel.light = make_source(dir, "light", 96);
    barrel.size = SIZE;
    barrel.batch = 16;
    use_source(barrel.light);
    light = measure(0, 1);
    level = load * barrel.threads / cpu_s(&light);
    printf("seed %llu, %d loader threads, level %.0f images/s\n", (unsigned long long)seed,
           barrel.threads, level);
    for (int i = 0; i < N_BARRELS; i++) {
        set_up(todo[i], dir, level);
        n_right += judge(todo[i], cpus);
    }
    source_close(barrel.light);
    source_close(barrel.heavy);
    remove_dir(dir);
    printf("%d passed, %d failed\n", n_right, N_BARRELS - n_right);
    return n_right == N_BARRELS ? 0 : 1;
}
