/* Disks that are full, files that can not be written, checkpoints that can not be read: each costs
 * the newest checkpoint at most, is told in a sentence, and once the cause is gone the run goes on
 * to the bytes of the run that nobody disturbed. */
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/random.h"
#include "scratch.h"
#include "small_run.h"

/* The run that nobody disturbs; returns its folder. */
static char *run_straight(const char *data)
{
    char *const dir = file_join(data, "straight"), *said;

    small_data(data);
    assert_int_equal(
        run_words(data, NULL, &said, SMALL_RECIPE " --seed 5 -d %s --out %s", data, dir), 0);
    free(said);
    return dir;
}

/* Goes on with what a disturbed run left, or starts where there is none, and compares. */
static void check_goes_on(const char *data, const char *straight, const char *dir)
{
    char *const run_json = file_join(dir, "run.json"), *said;
    const int code = run_words(data, NULL, &said, SMALL_RECIPE " -d %s --out %s %s", data, dir,
                               file_exists(run_json) ? "--resume" : "--seed 5");

    if (code != 0)
        fail_msg("resumed, it ends with %d and says: %s", code, said);
    small_check_same(straight, dir);
    small_check_result(straight, dir);
    free(said);
    free(run_json);
}

/* 3: files can not be written; 4: the log is not complete; 0: it did just fit. */
static void check_code(int code, const char *said, long room)
{
    if (code != 0 && code != 3 && code != 4)
        fail_msg("with room for %ld it ends with %d and says: %s", room, code, said);
    if (code != 0 && room != 0) /* 0: what it says had no room either; negative: there is room */
        assert_says(said, "stave: ");
}

static rlim_t largest_file;

static void limit_files(void)
{
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){largest_file, largest_file});
}

/* EFBIG, at whichever file grows beyond the limit first. */
static void files_may_not_grow(void **state)
{
    static const rlim_t limits[] = {0, 60, 300, 700, 1000, 1800, 2500, 4000, 5200, 7000, 9000};
    const char *const data = *state;
    char *const straight = run_straight(data), *said;
    int ended[5] = {0};

    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        char *const dir = xasprintf("%s/f%zu", data, i);
        int code;
        largest_file = limits[i];
        code =
            run_words(data, limit_files, &said, SMALL_RECIPE " --seed 5 -d %s --out %s", data, dir);
        check_code(code, said, (long)limits[i]);
        ended[code]++;
        check_goes_on(data, straight, dir);
        free(said);
        free(dir);
    }
    print_message(
        "# G10 no file may grow beyond 0 to 9000 bytes: %zu limits: exit 3 %d times, 4 (log "
        "cut) %d times, 0 %d times; each resumed to the same bytes\n",
        COUNT_OF(limits), ended[3], ended[4], ended[0]);
    assert_true(ended[3] > 2);
    free(straight);
}

/* A file system of so many pages at dir, in the test's own mount namespace; 0 where that is not
 * allowed. */
static int mount_small(const char *dir, long pages)
{
    static int mine = -1;
    char size[64];

    if (mine < 0)
        mine = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
    snprintf(size, sizeof(size), "size=%ld", pages * sysconf(_SC_PAGESIZE));
    return mine && mount("none", dir, "tmpfs", 0, size) == 0;
}

static int remount(const char *dir, long pages)
{
    char size[64];

    snprintf(size, sizeof(size), "size=%ld", pages * sysconf(_SC_PAGESIZE));
    return mount("none", dir, "tmpfs", MS_REMOUNT, size);
}

/* ENOSPC at every fullness: refused before the run, or later at whichever file came too late. */
static void disk_gets_full(void **state)
{
    const char *const data = *state;
    char *const straight = run_straight(data), *const disk = file_join(data, "disk");
    int ended[5] = {0}, refused = 0;

    assert_int_equal(file_mkdirs(disk), 0);
    for (long pages = 1; pages < 16; pages++) {
        char *const dir = file_join(disk, "r"), *said;
        int code;
        if (!mount_small(disk, pages)) {
            print_message("# G10 full disk: skipped, no private mount is allowed here\n");
            free(straight);
            free(disk);
            free(dir);
            skip();
        }
        code = run_words(data, NULL, &said, SMALL_RECIPE " --seed 5 -d %s --out %s", data, dir);
        check_code(code, said, pages);
        ended[code]++;
        refused += strstr(said, "free some") != NULL;
        assert_int_equal(remount(disk, 1000), 0);
        check_goes_on(data, straight, dir);
        assert_int_equal(umount(disk), 0);
        free(said);
        free(dir);
    }
    print_message(
        "# G10 full disk, 1 to 15 pages: refused before the run %d times, exit 3 %d times in "
        "all, 4 (log cut) %d times, 0 %d times; each resumed to the same bytes\n",
        refused, ended[3], ended[4], ended[0]);
    assert_true(refused > 0 && ended[3] > refused && ended[0] > 0);
    free(straight);
    free(disk);
}

/* A folder that only root may write, and nobody runs. */
static void be_nobody(void)
{
    if (getuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
        _exit(99);
}

static void set_mode(const char *path, mode_t mode)
{
    if (chmod(path, mode) < 0)
        fail_msg("chmod %s", path);
}

static void read_only_folder(void **state)
{
    const char *const data = *state;
    char *const straight = run_straight(data), *const dir = file_join(data, "r"), *said;

    set_mode(data, 0755);
    assert_int_equal(file_mkdirs(dir), 0);
    set_mode(dir, 0555);
    assert_int_equal(
        run_words(data, be_nobody, &said, SMALL_RECIPE " --seed 5 -d %s --out %s", data, dir), 3);
    assert_says(said, "Permission denied");
    assert_int_equal(rmdir(dir), 0); /* nothing is in it */
    free(said);
    check_goes_on(data, straight, dir);
    free(straight);
    free(dir);
}

/* Read-only while it runs: each checkpoint is missed in a sentence; the last one costs the exit
 * code. */
static void folder_becomes_read_only(void **state)
{
    const char *const data = *state;
    char *const dir = file_join(data, "r"), *const events = file_join(data, "r/events.jsonl");
    char *const path = file_join(data, "said"), *said;
    char *const words = xasprintf("-b 6 --epochs 1000000 --eval-every 1000000 -d %s --out %s "
                                  "--checkpoint-every 50",
                                  data, dir);
    size_t n;
    pid_t pid;

    small_data(data);
    set_mode(data, 0755);
    assert_int_equal(mkdir(dir, 0777), 0);
    set_mode(dir, 0777);
    pid = small_start((struct small_run){.words = words, .said = path, .prepare = be_nobody});
    wait_for_text(events, "checkpoint_saved");
    set_mode(dir, 0555);
    wait_for_text(path, "training goes on");
    kill(pid, SIGTERM);
    assert_int_equal(small_wait(pid), 3);
    assert_int_equal(file_read(path, 1 << 20, &said, &n), 0);
    assert_says(said, "no checkpoint of step");
    assert_says(said, "the last steps of the run are not saved");
    free(said);
    cJSON_Delete(read_lines(dir, "mlperf.log"));
    assert_int_equal(
        run_words(data, be_nobody, &said, "-b 6 -d %s --resume --steps 1 --out %s", data, dir), 3);
    free(said);
    set_mode(dir, 0777);
    assert_int_equal(
        run_words(data, NULL, &said, "-b 6 -d %s --resume --steps 1 --out %s", data, dir), 0);
    print_message(
        "# G10 read-only folder, before and during the run: exit 3, the checkpoint before "
        "stands\n");
    free(said);
    free(words);
    free(path);
    free(events);
    free(dir);
}

/* What stands in the way of one file of a run folder. */
enum obstacle { A_FOLDER, FULL_DEVICE, DANGLING_LINK, A_FIFO, N_OBSTACLES };

static void put_in_the_way(const char *path, enum obstacle what)
{
    char *const inside = file_join(path, "x");
    int rc = 0;

    remove(path);
    if (what == A_FOLDER)
        rc = file_mkdirs(inside);
    if (what == FULL_DEVICE)
        rc = symlink("/dev/full", path);
    if (what == DANGLING_LINK)
        rc = symlink("/nonexistent/x", path);
    if (what == A_FIFO)
        rc = mkfifo(path, 0600);
    assert_int_equal(rc, 0);
    free(inside);
}

static void clear_the_way(const char *path)
{
    char *const inside = file_join(path, "x");

    remove(inside);
    remove(path);
    free(inside);
}

/* A run of seven steps is there; then something stands where a file should be. */
static int one_obstacle(const char *data, const char *straight, const char *name,
                        enum obstacle what)
{
    char *const dir = xasprintf("%s/%s-%d", data, name, what), *const path = file_join(dir, name);
    char *said;
    int code;

    assert_int_equal(run_words(data, NULL, &said,
                               SMALL_RECIPE
                               " --seed 5 --steps 7 --checkpoint-every 1 -d %s --out %s",
                               data, dir),
                     0);
    free(said);
    put_in_the_way(path, what);
    code = run_words(data, NULL, &said, SMALL_RECIPE " -d %s --resume --out %s", data, dir);
    check_code(code, said, -1);
    if (what != A_FOLDER && code != 0) /* those can be replaced, a folder that is not empty not */
        fail_msg("%s is no file and costs exit code %d: %s", path, code, said);
    if (code == 0) {
        small_check_same(straight, dir);
    } else {
        clear_the_way(path);
        check_goes_on(data, straight, dir);
    }
    free(said);
    free(path);
    free(dir);
    return code;
}

static void something_stands_in_the_way(void **state)
{
    static const char *const names[] = {CHECKPOINT_NAME,
                                        CHECKPOINT_PREVIOUS,
                                        CHECKPOINT_NEXT,
                                        CHECKPOINT_NEXT ".tmp",
                                        CHECKPOINT_PREVIOUS ".tmp",
                                        "result.json",
                                        "result.json.tmp",
                                        "stages.csv",
                                        "samples.csv",
                                        "report.html"};
    const char *const data = *state;
    char *const straight = run_straight(data);
    int ended[5] = {0};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        for (int what = 0; what < N_OBSTACLES; what++)
            ended[one_obstacle(data, straight, names[i], (enum obstacle)what)]++;
    print_message(
        "# G10 a folder, /dev/full, a dangling link, a fifo in the place of each of %zu files: "
        "exit 0 %d times, 3 %d times; each resumed to the same bytes\n",
        COUNT_OF(names), ended[0], ended[3]);
    assert_true(ended[3] > 0 && ended[0] > 0);
    free(straight);
}

/* The log itself on a full device: the run is made, its log does not stand. */
static void log_on_a_full_device(void **state)
{
    const char *const data = *state;
    char *const straight = run_straight(data), *const dir = file_join(data, "r"), *said;
    char *const events = file_join(dir, "events.jsonl");

    assert_int_equal(file_mkdirs(dir), 0);
    put_in_the_way(events, FULL_DEVICE);
    assert_int_equal(
        run_words(data, NULL, &said, SMALL_RECIPE " --seed 5 -d %s --out %s", data, dir), 4);
    assert_says(said, "the log does not stand");
    small_check_same(straight, dir);
    print_message(
        "# G10 a log on /dev/full: exit 4, the weights are those of the undisturbed run\n");
    free(said);
    free(events);
    free(dir);
    free(straight);
}

/* One flip or cut of the newest checkpoint of a run. */
static void damage(const char *dir, const char *name, uint64_t round)
{
    const struct random_key key = {99, RANDOM_TEST, round};
    char *const path = file_join(dir, name), *bytes;
    size_t n, at;

    assert_int_equal(file_read(path, 1 << 20, &bytes, &n), 0);
    at = (size_t)(random_uniform(key, 0) * (double)n);
    bytes[at] = (char)(bytes[at] ^ 1 << round % 8);
    assert_int_equal(file_replace(path, bytes, round % 3 ? n : at), 0);
    free(bytes);
    free(path);
}

static void damaged_newest_checkpoint(void **state)
{
    enum { N = 12 };
    const char *const data = *state;
    char *const straight = run_straight(data), *said;
    int fell_back = 0;

    for (uint64_t i = 0; i < N; i++) {
        char *const dir = xasprintf("%s/d%d", data, (int)i);
        assert_int_equal(run_words(data, NULL, &said,
                                   SMALL_RECIPE " --seed 5 --steps 7 -d %s --out %s", data, dir),
                         0);
        free(said);
        damage(dir, CHECKPOINT_NAME, i);
        assert_int_equal(
            run_words(data, NULL, &said, SMALL_RECIPE " -d %s --resume --out %s", data, dir), 0);
        fell_back += strstr(said, "looking for an older checkpoint") != NULL;
        small_check_same(straight, dir);
        small_check_files(dir);
        free(said);
        free(dir);
    }
    print_message(
        "# G10 newest checkpoint with a byte flipped or cut short: %d variants, seed 99: the "
        "one before is taken %d times, resumed to the same bytes\n",
        N, fell_back);
    assert_true(fell_back > N - 3); /* a flip in the padding of the header may harm nothing */
    free(straight);
}

/* A pipe whose reader went away takes what the program says. */
static void say_to_nobody(void)
{
    int ends[2];

    if (pipe(ends) < 0)
        _exit(99);
    close(ends[0]);
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    close(ends[1]);
}

static void reader_went_away(void **state)
{
    const char *const data = *state;
    char *const straight = run_straight(data), *const dir = file_join(data, "r"), *said;

    assert_int_equal(run_words(data, say_to_nobody, &said,
                               SMALL_RECIPE " --seed 5 -d %s --out %s --json", data, dir),
                     0);
    small_check_same(straight, dir);
    small_check_files(dir);
    print_message(
        "# G11 SIGPIPE, stdout and stderr without a reader: exit 0, nothing is missing\n");
    free(said);
    free(dir);
    free(straight);
}

#define S(f) cmocka_unit_test_setup_teardown(f, scratch_open, scratch_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        S(files_may_not_grow),
        S(disk_gets_full),
        S(read_only_folder),
        S(folder_becomes_read_only),
        S(something_stands_in_the_way),
        S(log_on_a_full_device),
        S(damaged_newest_checkpoint),
        S(reader_went_away),
    };

    return cmocka_run_group_tests_name("run_disk", tests, NULL, NULL);
}
