// SPDX-License-Identifier: Apache-2.0
#include "evidence_help.h"

#include "core/limits.h"
#include "evidence/drops.h"
#include "evidence/files.h"
#include "evidence/leave_out.h"
#include "evidence/roots.h"
#include "util/slurp.h"
#include "evidence/tokens.h"

/* The names of the files, joined by blanks. The caller frees it. */
static char *names_of(const struct mrg_files *files)
{
    struct mrg_buf buf;
    mrg_buf_init(&buf, 1u << 20);
    for (size_t i = 0; i < files->count; i++)
        mrg_buf_appendf(&buf, "%s%s", i > 0 ? " " : "", files->items[i].name);
    return mrg_buf_take(&buf, NULL);
}

static void assert_names(struct mrg_strings roots, enum mrg_files_kind kind, const char *expected)
{
    struct mrg_files files = {0};
    struct mrg_drops drops = {0};
    struct mrg_error err = {0};
    if (mrg_files_read("source", &roots, kind, NULL, &files, &drops, &err))
        fail_msg("%s", err.message);
    _cleanup_free_ char *names = names_of(&files);
    assert_string_equal(names, expected);
    mrg_files_done(&files);
    mrg_drops_done(&drops);
}

static void test_tree_in_order(void **state)
{
    (void)state;
    assert_names(PATHS("loans/src"), MRG_FILES_CODE, "app.py loans/banner.py loans/ids.py loans/store.py");
    assert_names(PATHS("loans-go"), MRG_FILES_CODE,
                 "cmd/release.sh internal/store/limits.go internal/store/store.go main.go");
    assert_names(
        PATHS("loans/src", "loans/desk"), MRG_FILES_CODE,
        "src/app.py src/loans/banner.py src/loans/ids.py src/loans/store.py desk/colours.py desk/desk.py "
        "desk/slips.py");
    assert_names(PATHS("loans/src/app.py"), MRG_FILES_CODE, "app.py");
    assert_names(PATHS("loans/src/", "loans/src/loans/ids.py"), MRG_FILES_CODE,
                 "src/app.py src/loans/banner.py src/loans/ids.py src/loans/store.py");
    /* Tests are left out of code only, and a file that is named itself is taken. */
    assert_names(PATHS("loans/src/tests"), MRG_FILES_TEXT, "test_app.py");
    assert_names(PATHS("loans/src/tests/test_app.py"), MRG_FILES_CODE, "test_app.py");
    assert_names(PATHS("loans/traces"), MRG_FILES_JSON, "otlp.json spans.jsonl");
}

static void test_labels(void **state)
{
    (void)state;
    struct mrg_strings roots = PATHS("/x/a/lib", "/x/b/lib/", "/x/c");
    _cleanup_free_ char *first = mrg_root_label(&roots, 0, true);
    _cleanup_free_ char *second = mrg_root_label(&roots, 1, true);
    _cleanup_free_ char *third = mrg_root_label(&roots, 2, true);
    assert_string_equal(first, "a/lib");
    assert_string_equal(second, "b/lib");
    assert_string_equal(third, "c");
    struct mrg_strings alone = PATHS("/home/someone/lib");
    _cleanup_free_ char *none = mrg_root_label(&alone, 0, true);
    assert_string_equal(none, "");
    _cleanup_free_ char *name = mrg_root_name("a", "b\n\"<c>\xff.py");
    assert_string_equal(name, "a/b___c_\xEF\xBF\xBD.py");
}

/* A tree with one of everything that must not be shown. */
static void make_mess(void)
{
    static const char *const folders[] = {
        "s",       "s/.git",        "s/node_modules", "s/vendor", "s/deep", "s/deep/vendor", "s/deep/build",
        "s/tests", "s/__pycache__", "s/.cfg",         "elsewhere"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(folders); i++)
        assert_int_equal(mkdir(folders[i], 0755), 0);
    static const char *const files[] = {"s/main.go",
                                        "s/.git/config",
                                        "s/node_modules/x.js",
                                        "s/vendor/v.go",
                                        "s/deep/vendor/supplier.go",
                                        "s/deep/build/plan.go",
                                        "s/tests/t.go",
                                        "s/__pycache__/main.pyc",
                                        "s/.env",
                                        "s/.cfg/x",
                                        "s/main_test.go",
                                        "s/go.sum",
                                        "s/Cargo.lock",
                                        "s/app.min.js",
                                        "s/server.key",
                                        "elsewhere/secret.txt"};
    for (size_t i = 0; i < MRG_ARRAY_LEN(files); i++)
        write_text(files[i], "content\n");
    write_file("s/logo.dat", "\x89PNG\0\0", 6);
    write_text("s/latin.txt", "a long enough line of plain text, then caf\xe9\n");
    write_file("s/noise.txt", "\xff\xfe\xfd\xfc\xff\xfe\xfd\xfc", 8);
    write_text("s/empty.py", " \n\n");
    _cleanup_free_ char *big = mrg_zalloc(MRG_MAX_EVIDENCE_FILE + 1);
    memset(big, 'x', MRG_MAX_EVIDENCE_FILE + 1);
    write_file("s/big.py", big, MRG_MAX_EVIDENCE_FILE + 1);
    write_file("s/whole.js", big, 3000);
    assert_int_equal(symlink("../elsewhere/secret.txt", "s/link.txt"), 0);
    assert_int_equal(symlink("..", "s/deep/up"), 0);
    assert_int_equal(mkfifo("s/pipe", 0644), 0);
}

static void test_mess(void **state)
{
    (void)state;
    static const char *const expected[][2] = {
        {"source node_modules/", "vendored"},
        {"source vendor/", "vendored"},
        {"source tests/", "tests"},
        {"source .env", "hidden"},
        {"source .cfg/", "hidden"},
        {"source main_test.go", "test"},
        {"source go.sum", "lock file"},
        {"source Cargo.lock", "lock file"},
        {"source app.min.js", "minified"},
        {"source whole.js", "minified"},
        {"source server.key", "key material"},
        {"source logo.dat", "binary"},
        {"source noise.txt", "binary"},
        {"source big.py", "larger than 4 MiB"},
        {"source link.txt", "a symbolic link; configure what it leads to"},
        {"source deep/up", "a symbolic link; configure what it leads to"},
        {"source pipe", "not a regular file"},
    };
    char *scratch = enter_scratch();
    make_mess();
    struct mrg_files files = {0};
    struct mrg_drops drops = {0};
    struct mrg_strings roots = PATHS("s");
    assert_int_equal(mrg_files_read("source", &roots, MRG_FILES_CODE, NULL, &files, &drops, NULL),
                     MRG_ERR_OK);
    _cleanup_free_ char *names = names_of(&files);
    assert_string_equal(names, "deep/build/plan.go deep/vendor/supplier.go latin.txt main.go");
    for (size_t i = 0; i < MRG_ARRAY_LEN(expected); i++) {
        const char *why = why_dropped(drops.items, drops.count, expected[i][0]);
        assert_non_null(why);
        assert_string_equal(why, expected[i][1]);
    }
    assert_int_equal(drops.count, MRG_ARRAY_LEN(expected));
    assert_non_null(strstr(files.items[2].data, "caf\xEF\xBF\xBD\n"));
    assert_int_equal(strlen(files.items[2].hash), MRG_SHA256_HEX);
    mrg_files_done(&files);
    mrg_drops_done(&drops);
    leave_scratch(scratch);
    assert_int_equal(enter_evidence(NULL), 0);
}

static void test_what_stands_beside(void **state)
{
    (void)state;
    char *go[] = {"go.mod", "vendor"};
    char *cs[] = {"Shop.csproj", "bin"};
    struct mrg_siblings none = {NULL, 0}, with_go = {go, 2}, with_cs = {cs, 2};
    assert_null(mrg_leave_out_folder("vendor", false, true, &none));
    assert_string_equal(mrg_leave_out_folder("vendor", false, true, &with_go), "vendored");
    assert_null(mrg_leave_out_folder("bin", true, true, &with_go));
    assert_string_equal(mrg_leave_out_folder("bin", true, true, &with_cs), "build output");
    assert_null(mrg_leave_out_folder("tests", true, false, &none));
    assert_null(mrg_leave_out_file("latest.py", true));
    assert_null(mrg_leave_out_file("Contest.java", true));
    assert_string_equal(mrg_leave_out_file("LoanTest.java", true), "test");
    assert_null(mrg_leave_out_content("a.py", MRG_SLICE("x = 1\n")));
    assert_string_equal(mrg_leave_out_content("a.py", MRG_SLICE("\n \t\n")), "empty");
}

static void assert_fails(struct mrg_strings roots, enum mrg_err code, const char *message)
{
    struct mrg_files files = {0};
    struct mrg_drops drops = {0};
    struct mrg_error err = {0};
    assert_int_equal(mrg_files_read("source", &roots, MRG_FILES_CODE, NULL, &files, &drops, &err), code);
    assert_string_equal(err.message, message);
    mrg_files_done(&files);
    mrg_drops_done(&drops);
}

static void test_errors(void **state)
{
    (void)state;
    char *scratch = enter_scratch();
    assert_int_equal(mkdir("void", 0755), 0);
    assert_int_equal(mkdir("only", 0755), 0);
    write_file("only/x.bin", "\0\0", 2);
    assert_int_equal(mkfifo("pipe", 0644), 0);
    assert_fails(PATHS("gone/x"), MRG_ERR_NOT_FOUND, "evidence.source: gone/x: No such file or directory");
    assert_fails(PATHS("void"), MRG_ERR_INVALID,
                 "evidence.source: void: no file that can be used (it is empty)");
    assert_fails(PATHS("only"), MRG_ERR_INVALID, "evidence.source: only: no file that can be used (binary)");
    assert_fails(PATHS("pipe"), MRG_ERR_INVALID, "evidence.source: pipe: expected a file or a folder");
    leave_scratch(scratch);
    assert_int_equal(enter_evidence(NULL), 0);
}

static void test_shown_already(void **state)
{
    (void)state;
    struct mrg_files first = {0}, second = {0};
    struct mrg_drops drops = {0};
    struct mrg_strings roots = PATHS("loans/desk"), more = PATHS("loans/desk/desk.py", "loans/src/app.py");
    assert_int_equal(mrg_files_read("source", &roots, MRG_FILES_CODE, NULL, &first, &drops, NULL),
                     MRG_ERR_OK);
    assert_int_equal(mrg_files_read("caller", &more, MRG_FILES_CODE, &first, &second, &drops, NULL),
                     MRG_ERR_OK);
    assert_int_equal(second.count, 1);
    assert_string_equal(second.items[0].name, "app.py");
    assert_string_equal(why_dropped(drops.items, drops.count, "caller desk.py"), "shown already");
    mrg_files_done(&first);
    mrg_files_done(&second);
    mrg_drops_done(&drops);
}

static void test_slurp(void **state)
{
    (void)state;
    char *data = NULL;
    size_t len = 0;
    struct mrg_error err;
    assert_int_equal(mrg_slurp("loans/desk/colours.py", 100, &data, &len, &err), MRG_ERR_OK);
    assert_string_equal(data, "INK = \"blue\"\n");
    assert_int_equal(len, 13);
    free(data);
    assert_int_equal(mrg_slurp("loans/desk/colours.py", 12, &data, &len, &err), MRG_ERR_TOO_LARGE);
    assert_int_equal(mrg_slurp("loans/desk", 12, &data, &len, &err), MRG_ERR_INVALID);
    assert_int_equal(mrg_slurp("loans/no", 12, &data, &len, &err), MRG_ERR_NOT_FOUND);
}

static void test_tokens(void **state)
{
    (void)state;
    assert_int_equal(mrg_tokens(MRG_SLICE("")), 0);
    assert_int_equal(mrg_tokens(MRG_SLICE("a")), 1);
    assert_int_equal(mrg_tokens(MRG_SLICE("abcd")), 1);
    assert_int_equal(mrg_tokens(MRG_SLICE("abcde")), 2);
    assert_int_equal(mrg_tokens(MRG_SLICE("\xE6\x97\xA5")), 2);
}

static void test_drops_are_bounded(void **state)
{
    (void)state;
    struct mrg_drops drops = {0};
    for (unsigned i = 0; i < MRG_MAX_DROPS + 7; i++)
        mrg_drops_add(&drops, "source", "x", "why %u", i);
    mrg_drops_close(&drops);
    assert_int_equal(drops.count, MRG_MAX_DROPS + 1);
    assert_string_equal(drops.items[1].why, "why 1");
    assert_string_equal(drops.items[MRG_MAX_DROPS].what, "7 more");
    mrg_drops_done(&drops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_in_order),
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_mess),
        cmocka_unit_test(test_what_stands_beside),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_shown_already),
        cmocka_unit_test(test_slurp),
        cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_drops_are_bounded),
    };
    return cmocka_run_group_tests(tests, enter_evidence, NULL);
}
