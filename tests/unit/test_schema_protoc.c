// SPDX-License-Identifier: Apache-2.0
/* protoc: run, failed, cached. A program of our own stands before it in PATH and counts. */
#include "wire/schema.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include "schema_help.h"
#include "util/clock.h"

#define INVENTORY                                                                                            \
    "syntax = \"proto3\";\npackage inv;\nimport \"part.proto\";\nimport \"google/rpc/status.proto\";\n"      \
    "message Item { Part part = 1; google.rpc.Status status = 2; }\n"
#define PART "syntax = \"proto3\";\npackage inv;\nmessage Part { int32 a = 1; }\n"

static char root[128];
static char path_before[4096];

static void write_text(const char *folder, const char *name, const char *text)
{
    _cleanup_free_ char *path = mrg_asprintf("%s/%s", folder, name);
    unlink(path);
    assert_true(mrg_schema_write_file(path, SLICE(text)));
}

static void write_program(const char *name, const char *text)
{
    _cleanup_free_ char *folder = mrg_asprintf("%s/bin", test_folder);
    write_text(folder, name, text);
    run_command("chmod 755 %s/%s", folder, name);
}

/* Long ago, so that what is written next is not too new to be kept. */
static void age(const char *name)
{
    run_command("touch -d '2020-01-01' %s/%s", root, name);
}

/* How often protoc has run since the last call. */
static size_t runs(void)
{
    _cleanup_free_ char *path = mrg_asprintf("%s/runs", test_folder);
    struct stat stat_buf;
    size_t count = stat(path, &stat_buf) == 0 ? (size_t)stat_buf.st_size : 0;
    unlink(path);
    return count;
}

static int setup(void **state)
{
    if (schema_setup(state))
        return -1;
    snprintf(path_before, sizeof(path_before), "%s", getenv("PATH"));
    return 0;
}

/* An empty root, an empty cache, and a counting protoc. */
static int fresh(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "%s/root", test_folder);
    run_command("rm -rf %s/*; mkdir %s %s/bin", test_folder, root, test_folder);
    _cleanup_free_ char *path = mrg_asprintf("%s/bin:%s", test_folder, path_before);
    setenv("PATH", path, 1);
    _cleanup_free_ char *program = mrg_asprintf(
        "#!/bin/sh\nprintf x >> %s/runs\nPATH='%s' exec protoc \"$@\"\n", test_folder, path_before);
    write_program("protoc", program);
    write_text(root, "inventory.proto", INVENTORY);
    write_text(root, "part.proto", PART);
    age("*");
    return 0;
}

static int restore(void **state)
{
    (void)state;
    setenv("PATH", path_before, 1);
    return 0;
}

static enum mrg_err load_inventory(struct mrg_error *err)
{
    char *roots[] = {root};
    const char *files[] = {"inventory.proto", NULL};
    struct mrg_schema *schema;
    enum mrg_err code = load_with(roots, 1, files, NULL, 0, &schema, err);
    if (code == MRG_ERR_OK)
        assert_non_null(mrg_schema_message(schema, SLICE("inv.Item")));
    mrg_schema_free(schema);
    return code;
}

static void assert_loads(size_t expected_runs)
{
    struct mrg_error err;
    if (load_inventory(&err) != MRG_ERR_OK)
        fail_msg("%s", err.message);
    assert_int_equal(runs(), expected_runs);
}

static void test_cache(void **state)
{
    (void)state;
    assert_loads(1);
    assert_loads(0);
    /* Touched but the same: what counts is the content. */
    run_command("touch %s/part.proto", root);
    assert_loads(0);
    write_text(root, "part.proto", PART "message More { }\n");
    age("part.proto");
    assert_loads(1);
    assert_loads(0);
    /* A file that now comes before another of its name. */
    run_command("mkdir -p %s/google/rpc", root);
    write_text(root, "google/rpc/status.proto",
               "syntax = \"proto3\";\npackage google.rpc;\nmessage Status { int32 mine = 1; }\n");
    age("google/rpc/status.proto");
    assert_loads(1);
    assert_loads(0);
    /* Another protoc. */
    run_command("touch -d '2021-01-01' %s/bin/protoc", test_folder);
    assert_loads(1);
    assert_loads(0);
    /* A damaged set. */
    run_command("for f in %s/cache/mirage/descriptors/*.binpb; do echo x >> $f; done", test_folder);
    assert_loads(1);
    assert_loads(0);
    run_command("for f in %s/cache/mirage/descriptors/*.list; do echo x > $f; done", test_folder);
    assert_loads(1);
    assert_loads(0);
    /* One entry, and nothing beside it. */
    run_command("test $(ls %s/cache/mirage/descriptors | wc -l) = 2", test_folder);
}

static void test_changed_while_it_ran(void **state)
{
    (void)state;
    run_command("touch -d '+1 hour' %s/part.proto", root);
    assert_loads(1);
    assert_loads(1);
}

static void test_cache_cannot_be_written(void **state)
{
    (void)state;
    run_command("touch %s/cache", test_folder);
    assert_loads(1);
    assert_loads(1);
}

static void test_own_copy_wins(void **state)
{
    (void)state;
    run_command("mkdir -p %s/google/rpc", root);
    write_text(root, "google/rpc/status.proto",
               "syntax = \"proto3\";\npackage google.rpc;\nmessage Status { int32 mine = 1; }\n");
    char *roots[] = {root};
    const char *files[] = {"inventory.proto", NULL};
    struct mrg_schema *schema;
    struct mrg_error err;
    assert_int_equal(load_with(roots, 1, files, NULL, 0, &schema, &err), MRG_ERR_OK);
    const struct mrg_message *status = message_of(schema, "google.rpc.Status");
    assert_int_equal(status->field_count, 1);
    assert_ptr_equal(field_of(message_of(schema, "inv.Item"), "status")->message, status);
    assert_int_equal(message_of(mrg_schema_builtin(), "google.rpc.Status")->field_count, 3);
    mrg_schema_free(schema);
}

static void test_not_installed(void **state)
{
    (void)state;
    struct mrg_error err;
    setenv("PATH", "/nowhere::relative", 1);
    assert_int_equal(load_inventory(&err), MRG_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "protobuf-compiler"));
    restore(state);
    fresh(state);
    assert_loads(1);
    /* What was made before serves. */
    setenv("PATH", "/nowhere", 1);
    assert_loads(0);
}

static void test_errors_of_protoc(void **state)
{
    (void)state;
    struct mrg_error err = load_error("bad/syntax.proto");
    assert_int_equal(err.code, MRG_ERR_INVALID);
    assert_string_equal(err.message, "bad/syntax.proto:6:3: Expected \";\".");
    err = load_error("bad/import.proto");
    assert_int_equal(err.code, MRG_ERR_INVALID);
    assert_non_null(strstr(err.message, "bad/import.proto:4:1: Import \"bad/nowhere.proto\" was not found"));
    err = load_error("bad/group.proto");
    assert_int_equal(err.code, MRG_ERR_UNSUPPORTED);
    assert_string_equal(err.message, "bad/group.proto: bad.A.part is a group; groups are not supported");

    write_program("protoc",
                  "#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i >&2; done\nexit 3\n");
    assert_int_equal(load_inventory(&err), MRG_ERR_INVALID);
    assert_non_null(strstr(err.message, "line 10"));
    assert_null(strstr(err.message, "line 11"));
    write_program("protoc", "#!/bin/sh\nexit 3\n");
    assert_int_equal(load_inventory(&err), MRG_ERR_INVALID);
    assert_string_equal(err.message, "protoc ended with status 3 and said nothing");
    write_program("protoc", "#!/bin/sh\nkill -9 $$\n");
    assert_int_equal(load_inventory(&err), MRG_ERR_INVALID);
    assert_string_equal(err.message, "protoc ended with status 137 and said nothing");
    write_program("protoc", "#!/bin/sh\nexit 0\n");
    assert_int_equal(load_inventory(&err), MRG_ERR_NOT_FOUND);
    write_program("protoc", "#!/bin/sh\necho nonsense > ../set.binpb\n");
    assert_int_equal(load_inventory(&err), MRG_ERR_INVALID);
    /* More words than anybody reads do not hold it up. */
    write_program("protoc", "#!/bin/sh\nhead -c 1000000 /dev/zero | tr '\\0' x >&2\nexit 1\n");
    assert_int_equal(load_inventory(&err), MRG_ERR_INVALID);
    write_program("protoc", "not a program\n");
    assert_int_equal(load_inventory(&err), MRG_ERR_IO);
}

static void test_files_and_roots(void **state)
{
    (void)state;
    static const struct {
        const char *file;
        enum mrg_err code;
        const char *said;
    } cases[] = {
        {"nope.proto", MRG_ERR_NOT_FOUND, "protos.files: nope.proto: in none of protos.roots"},
        {"/etc/passwd", MRG_ERR_INVALID, "protos.files: /etc/passwd: expected a path below"},
        {"../root/inventory.proto", MRG_ERR_INVALID, "expected a path below"},
        {"./inventory.proto", MRG_ERR_INVALID, "expected a path below"},
        {"a//b.proto", MRG_ERR_INVALID, "expected a path below"},
        {"-I.", MRG_ERR_INVALID, "expected a path below"},
        {"@file", MRG_ERR_INVALID, "expected a path below"},
        {"", MRG_ERR_INVALID, "expected a path below"},
        {"folder", MRG_ERR_NOT_FOUND, "in none of"},
    };
    run_command("mkdir %s/folder", root);
    struct mrg_error err;
    struct mrg_schema *schema;
    char *roots[] = {root};
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        const char *files[] = {cases[i].file, NULL};
        assert_int_equal(load_with(roots, 1, files, NULL, 0, &schema, &err), cases[i].code);
        assert_non_null(strstr(err.message, cases[i].said));
    }
    assert_int_equal(runs(), 0);
    const char *files[] = {"inventory.proto", NULL};
    assert_int_equal(load_with(roots, 1, NULL, NULL, 0, &schema, &err), MRG_ERR_INVALID);
    assert_non_null(strstr(err.message, "protos.files is not"));
    assert_int_equal(load_with(roots, 0, files, NULL, 0, &schema, &err), MRG_ERR_INVALID);
    assert_non_null(strstr(err.message, "protos.roots is not"));
    char gone[] = "/nowhere/at/all";
    roots[0] = gone;
    assert_int_equal(load_with(roots, 1, files, NULL, 0, &schema, &err), MRG_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "protos.roots: /nowhere/at/all"));
}

/* Names that mean something to protoc or a shell, a root within a root, and a file of the working folder. */
static void test_odd_roots(void **state)
{
    (void)state;
    _cleanup_free_ char *odd = mrg_asprintf("%s/a=b:c $(d)", root);
    _cleanup_free_ char *inner = mrg_asprintf("%s/inner", root);
    assert_int_equal(mkdir(odd, 0700) || mkdir(inner, 0700), 0);
    write_text(odd, "odd.proto", "syntax = \"proto3\"; package odd; message Odd { }");
    write_text(inner, "in.proto", "syntax = \"proto3\"; package inner; message In { }");
    char *roots[] = {root, odd, inner};
    const char *files[] = {"inventory.proto", "odd.proto", "in.proto", NULL};
    struct mrg_schema *schema;
    struct mrg_error err;
    char before[4096];
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(root), 0);
    enum mrg_err code = load_with(roots, 3, files, NULL, 0, &schema, &err);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(code, MRG_ERR_OK);
    assert_string_equal(mrg_schema_file_of(schema, SLICE("inner.In"))->name.ptr, "in.proto");
    assert_non_null(mrg_schema_message(schema, SLICE("odd.Odd")));
    mrg_schema_free(schema);
}

/* Gone, or a zombie that nobody has waited for yet. */
static bool is_dead(const char *pid)
{
    _cleanup_free_ char *path = mrg_asprintf("/proc/%.*s/stat", (int)strcspn(pid, "\n"), pid);
    FILE *file = fopen(path, "r");
    if (!file)
        return true;
    char state = 0;
    bool read = fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
    fclose(file);
    return !read || state == 'Z' || state == 'X';
}

/* It is killed with all that it started. */
static void test_time_limit(void **state)
{
    (void)state;
    _cleanup_free_ char *pid_path = mrg_asprintf("%s/pid", test_folder);
    _cleanup_free_ char *program =
        mrg_asprintf("#!/bin/sh\ntail -f /dev/null &\necho $! > %s\nwait\n", pid_path);
    write_program("slow", program);
    _cleanup_free_ char *path = mrg_asprintf("%s/bin/slow", test_folder);
    char *argv[] = {path, NULL};
    struct mrg_buf output;
    struct mrg_buf pid;
    mrg_buf_init(&output, 100);
    mrg_buf_init(&pid, 100);
    struct mrg_error err;
    int status;
    uint64_t before = mrg_clock_ms();
    assert_int_equal(mrg_spawn(path, argv, "/", 500, &output, &status, &err), MRG_ERR_TIMEOUT);
    assert_true(mrg_clock_ms() - before < 5000);
    assert_int_equal(mrg_schema_read_file(pid_path, 100, &pid, &err), MRG_ERR_OK);
    while (!is_dead(pid.data) && mrg_clock_ms() - before < 5000)
        sched_yield();
    assert_true(is_dead(pid.data));
    mrg_buf_done(&pid);
    mrg_buf_done(&output);
}

/* It ends at its own end, though something that it started still holds its error output. */
static void test_descriptors_and_leftovers(void **state)
{
    (void)state;
    _cleanup_free_ char *left = mrg_asprintf("%s/left", test_folder);
    _cleanup_free_ char *program = mrg_asprintf("#!/bin/sh\nls /proc/self/fd | wc -l >&2\npwd >&2\ncat "
                                                ">&2\ntail -f /dev/null & echo $! > %s\nexit 7\n",
                                                left);
    write_program("leaver", program);
    _cleanup_free_ char *path = mrg_asprintf("%s/bin/leaver", test_folder);
    char *argv[] = {path, NULL};
    struct mrg_buf output;
    mrg_buf_init(&output, 100);
    int leak = open("/dev/null", O_RDONLY);
    int status;
    struct mrg_error err;
    assert_int_equal(mrg_spawn(path, argv, "/usr", 20000, &output, &status, &err), MRG_ERR_OK);
    close(leak);
    assert_int_equal(status, 7);
    /* ls has its three and the folder that it reads. */
    assert_string_equal(output.data, "4\n/usr\n");
    mrg_buf_done(&output);
    run_command("kill $(cat %s)", left);
}

/* No folder of ours is left behind. */
static void test_workspace_goes(void **state)
{
    (void)state;
    _cleanup_free_ char *tmp = mrg_asprintf("%s/tmp", test_folder);
    assert_int_equal(mkdir(tmp, 0700), 0);
    setenv("TMPDIR", tmp, 1);
    struct mrg_error err;
    enum mrg_err code = load_inventory(&err);
    enum mrg_err bad = load_error("bad/syntax.proto").code;
    unsetenv("TMPDIR");
    assert_int_equal(code, MRG_ERR_OK);
    assert_int_equal(bad, MRG_ERR_INVALID);
    assert_int_equal(rmdir(tmp), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fresh, restore)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_cache),
        TEST(test_changed_while_it_ran),
        TEST(test_cache_cannot_be_written),
        TEST(test_own_copy_wins),
        TEST(test_not_installed),
        TEST(test_errors_of_protoc),
        TEST(test_files_and_roots),
        TEST(test_odd_roots),
        TEST(test_time_limit),
        TEST(test_descriptors_and_leftovers),
        TEST(test_workspace_goes),
    };
    return cmocka_run_group_tests(tests, setup, schema_teardown);
}
