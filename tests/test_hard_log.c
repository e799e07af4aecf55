/* Hard inputs of the MLPerf log: other text in it, records lost or moved, readers in the middle of
 * a run, terminals with somebody at the keyboard. */
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/str.h"
#include "hard_outcome.h"
#include "run_fixture.h"
#include "scratch.h"
#include "trace/mllog_read.h"
#include "trace/sinks.h"

#define NULL_RUN "run resnet50 -p sample --device null --threads 1 --synthetic --seed 5 "

enum { RECORDS = 12 };

/* ---- logs that somebody else has touched ---- */

/* What happens to the log between the last record and the end of the run. */
enum damage {
    NOTHING,
    HALF_A_LINE_AT_THE_END,
    A_LINE_BETWEEN,
    TEXT_IN_FRONT,
    TEXT_BEHIND,
    KEYS_OF_AN_OPERATOR,
    A_CARRIAGE_RETURN,
    TEXT_INSIDE_A_RECORD,
    TWO_GLUED,
    A_RECORD_LOST,
    A_RECORD_TWICE,
    TWO_SWAPPED,
    A_DIGIT_CHANGED,
    ANOTHER_RANKS_RECORD,
    CUT_SHORT,
    EMPTIED,
    N_DAMAGES
};

/* Where the i-th record begins; i may be RECORDS: the end. */
static size_t start_of(const struct str *log, int i)
{
    size_t at = 0;

    while (i-- > 0)
        at = (size_t)(strchr(log->s + at, '\n') - log->s) + 1;
    return at;
}

/* Replaces [from, to) by text. */
static void put_text(struct str *log, size_t from, size_t to, const char *text)
{
    struct str out = STR_INIT;

    str_add_bytes(&out, log->s, from);
    str_add(&out, text);
    str_add_bytes(&out, log->s + to, log->len - to);
    str_release(log);
    *log = out;
}

static void damage_log(struct str *log, enum damage d, int i)
{
    static const char *const inserted[N_DAMAGES] = {
        [HALF_A_LINE_AT_THE_END] = ":::MLLOG {\"namesp",
        [A_LINE_BETWEEN] = "[1,3]<stderr> storage.cc:12 opened\n",
        [TEXT_IN_FRONT] = "0: ",
        [KEYS_OF_AN_OPERATOR] = "\x1b[A\x1b[A\x7f",
        [ANOTHER_RANKS_RECORD] = ":::MLLOG {\"namespace\": \"\", \"time_ms\": 1, \"event_type\": "
                                 "\"POINT_IN_TIME\", \"key\": \"seed\", \"value\": 3, "
                                 "\"metadata\": {\"file\": \"x\", \"lineno\": 1}}\n",
    };
    const size_t here = start_of(log, i), next = start_of(log, i + 1);
    char *const record = xstrdup(log->s + here);

    record[next - here] = '\0';
    if (d == HALF_A_LINE_AT_THE_END)
        put_text(log, log->len, log->len, inserted[d]);
    else if (inserted[d])
        put_text(log, here, here, inserted[d]);
    else if (d == TEXT_BEHIND)
        put_text(log, next - 1, next - 1, " 12:21:34]");
    else if (d == A_CARRIAGE_RETURN)
        put_text(log, next - 1, next - 1, "\r");
    else if (d == TEXT_INSIDE_A_RECORD)
        put_text(log, here + 30, here + 30, "[rank3] ok ");
    else if (d == TWO_GLUED)
        put_text(log, next - 1, next, "");
    else if (d == A_RECORD_LOST)
        put_text(log, here, next, "");
    else if (d == A_RECORD_TWICE)
        put_text(log, here, here, record);
    else if (d == TWO_SWAPPED) {
        put_text(log, here, next, "");
        put_text(log, start_of(log, i + 1), start_of(log, i + 1), record);
    } else if (d == A_DIGIT_CHANGED)
        log->s[strstr(log->s + here, "\"lineno\": ") + 10 - log->s] ^= 1;
    else if (d == CUT_SHORT)
        put_text(log, log->len - 5, log->len, "");
    else if (d == EMPTIED)
        put_text(log, 0, log->len, "");
    free(record);
}

/* Emits records, damages the file, closes. Returns trace_close's code. */
static int close_damaged(const char *path, enum damage d, int i)
{
    struct str log = STR_INIT;
    struct trace t;
    char *text;
    size_t n;
    int fd;

    trace_open(&t);
    assert_int_equal(trace_add(&t, &mllog_sink, &(struct mllog_options){.path = path}), 0);
    for (int k = 0; k < RECORDS; k++)
        TRACE_POINT(&t, eval_accuracy, trace_real(k == 3 ? NAN : k / 7.0),
                    {"epoch_num", trace_int(k)});
    assert_int_equal(file_read(path, 1 << 20, &text, &n), 0);
    str_add_bytes(&log, text, n);
    free(text);
    damage_log(&log, d, i);
    fd = open(path, O_WRONLY | O_TRUNC);
    assert_int_equal(file_write_all(fd, log.s, log.len, path), 0);
    close(fd);
    str_release(&log);
    return trace_close(&t);
}

static void every_damage_is_found(void **state)
{
    char *const path = file_join(*state, "log");
    uint64_t draws = 51;
    int variants = 0;

    for (int d = 0; d < N_DAMAGES; d++)
        for (int k = 0; k < 12; k++, variants++) {
            const int i = draw(&draws, RECORDS - (d == TWO_GLUED || d == TWO_SWAPPED));
            const int rc = close_damaged(path, (enum damage)d, i);

            if (rc != (d == NOTHING ? 0 : E_DATA))
                fail_msg("damage %d at record %d: code %d", d, i, rc);
            if (d != NOTHING)
                assert_says(err_reason(), path);
            if (d == TEXT_BEHIND || d == A_LINE_BETWEEN || d == TEXT_IN_FRONT) {
                char *const line = xasprintf("line %d column ", i + 1);
                assert_says(err_reason(), line);
                free(line);
            }
        }
    free(path);
    outcome("F1", variants,
            "a log that another process wrote into, lost, glued, doubled, swapped or changed a "
            "record of: named by line and column when the run closes it");
}

static int unlink_after_opening(const char *path)
{
    struct trace t;

    trace_open(&t);
    assert_int_equal(trace_add(&t, &mllog_sink, &(struct mllog_options){.path = path}), 0);
    TRACE_POINT(&t, seed, trace_int(1));
    unlink(path);
    return trace_close(&t);
}

static void a_log_that_is_gone(void **state)
{
    char *const path = file_join(*state, "log");

    assert_int_equal(unlink_after_opening(path), E_IO);
    assert_says(err_reason(), path);
    free(path);
}

/* ---- the program ---- */

/* Whatever the moment: whole lines that begin with a record. */
static void look_at(const char *path)
{
    char *text;
    size_t n;

    if (!file_exists(path))
        return;
    assert_int_equal(file_read(path, 1 << 20, &text, &n), 0);
    if (n > 0) {
        assert_int_equal(text[n - 1], '\n');
        assert_memory_equal(text, ":::MLLOG {", 10);
    }
    free(text);
}

/* Half a line from somebody else while the run goes on. */
static void the_program_says_that_the_log_does_not_stand(void **state)
{
    const char *const dir = *state;
    char *const words =
        xasprintf(NULL_RUN "-b 1 --synthetic-samples 100000000 --steps 100000000 --out %s/r", dir);
    char *const path = file_join(dir, "r/mlperf.log"), *said;
    const struct program p = program_start(dir, 0, -1, words);
    int fd, looks = 0;

    for (; looks < 300; looks++) {
        look_at(path);
        usleep(1000);
    }
    wait_for_text(path, "epoch_start");
    fd = open(path, O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "W0601 NCCL is slow", 18), 18);
    close(fd);
    kill(p.pid, SIGTERM);
    assert_int_equal(program_wait(p, &said), 4);
    assert_says(said, "the log does not stand: ");
    assert_says(said, "text in front of a record, which this run did not write");
    free(said);
    free(path);
    free(words);
    outcome("F1", 1,
            "the program: read %d times on the way, always whole lines; half a line from another "
            "process ends the run with 4",
            looks);
}

/* Keys that an operator types, no Ctrl-C among them. */
static const char typed[] = "\x1b[A\x1b[A\x7f\x7fq\r\nyes\n\x04:::MLLOG {\"key\": 1}\n";

/* A terminal in raw mode, so that every byte typed waits to be read. */
static int open_terminal(int *slave)
{
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    struct termios raw;

    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    *slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_int_equal(tcgetattr(*slave, &raw), 0);
    cfmakeraw(&raw);
    assert_int_equal(tcsetattr(*slave, TCSANOW, &raw), 0);
    return master;
}

static _Noreturn void become_with_terminal(int slave, const char *out)
{
    char *const program = xasprintf("%s/stave", STAVE_BUILD);

    for (int fd = 0; fd <= 2; fd++)
        dup2(slave, fd);
    setsid();
    ioctl(0, TIOCSCTTY, 0);
    execl(program, program, "run", "resnet50", "-p", "sample", "--device", "null", "--synthetic",
          "--steps", "3", "-b", "2", "--checkpoint-every", "0", "--out", out, (char *)NULL);
    _exit(127);
}

static int count_record(void *context, const struct mllog_record *r)
{
    (void)r;
    ++*(int *)context;
    return 0;
}

static int no_trouble(void *context, const struct mllog_trouble *t)
{
    (void)context;
    fail_msg("line %zu column %zu: %s", t->line, t->column, t->about);
    return 0;
}

static void keys_typed_at_a_terminal(void **state)
{
    char *const out = file_join(*state, "r"), *const log = file_join(*state, "r/mlperf.log");
    int slave, status, waiting = 0, records = 0;
    const int master = open_terminal(&slave);
    char screen[4096];
    pid_t pid;

    assert_int_equal(write(master, typed, sizeof(typed) - 1), sizeof(typed) - 1);
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        become_with_terminal(slave, out);
    fcntl(master, F_SETFL, O_NONBLOCK);
    while (waitpid(pid, &status, WNOHANG) == 0) {
        while (read(master, screen, sizeof(screen)) > 0) {
        }
        usleep(1000);
    }
    assert_int_equal(status, 0);
    assert_int_equal(ioctl(slave, FIONREAD, &waiting), 0);
    assert_int_equal(waiting, (int)sizeof(typed) - 1); /* nobody read them */
    assert_int_equal(mllog_read_file(log, &(struct mllog_visitor){.record = count_record,
                                                                  .trouble = no_trouble,
                                                                  .context = &records}),
                     0);
    assert_true(records > 20);
    close(slave);
    close(master);
    free(log);
    free(out);
    outcome("F6", (int)sizeof(typed) - 1,
            "keys typed at the run's terminal: none is read, the log holds %d clean records",
            records);
}

/* Once each, as MLPerf wants them, and no key that needs more than we say. */
static void one_process_writes_each_key_once(void **state)
{
    static const char *const once[] = {
        "submission_org",
        "submission_platform",
        "submission_division",
        "submission_status",
        "submission_benchmark",
        "seed",
        "init_stop",
        "run_start",
        "run_stop",
        "train_samples",
        "eval_samples",
        "global_batch_size",
        "opt_name",
        "gradient_accumulation_steps",
        "lars_opt_learning_rate_decay_steps",
    };
    const char *const dir = *state;
    const cJSON *line;
    cJSON *log;

    free(program_run(dir, 0, NULL_RUN "-b 2 --steps 3 --checkpoint-every 0 --epochs 37 --out %s/r",
                     dir));
    log = read_lines(dir, "r/mlperf.log");
    for (size_t i = 0; i < COUNT_OF(once); i++)
        if (count_key(log, once[i], &line) != 1)
            fail_msg("%s stands %d times in the log", once[i], count_key(log, once[i], NULL));
    assert_true(number_of(line, "value") == 37); /* epochs */
    cJSON_ArrayForEach(line, log)
    {
        int known = 0;
        for (int k = 0; k < N_TRACE_KEYS; k++)
            known |= trace_key_audience((enum trace_key)k) == TRACE_STANDARD &&
                     strcmp(trace_key_name((enum trace_key)k), string_of(line, "key")) == 0;
        assert_true(known);
    }
    assert_int_equal(count_key(log, "weights_initialization", NULL), 0);
    cJSON_Delete(log);
    outcome("F2", (int)COUNT_OF(once), "keys that may stand once stand once: one process writes");
    outcome("F5", 1,
            "lars_opt_learning_rate_decay_steps counts epochs, as in most published logs; no key "
            "that nobody asks for");
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        S(every_damage_is_found),
        S(a_log_that_is_gone),
        S(the_program_says_that_the_log_does_not_stand),
        S(keys_typed_at_a_terminal),
        S(one_process_writes_each_key_once),
    };

    return cmocka_run_group_tests_name("hard log", tests, NULL, NULL);
}
