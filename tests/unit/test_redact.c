// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/config.h"
#include "core/match.h"
#include "sample.h"

static char *secret[] = {"header.authorization", "query.token", "body.$..password"};

struct world {
    struct mrg_arena *arena;
    struct mrg_dependency_config config;
    struct mrg_match *match;
};

static int set_up(void **state)
{
    static struct world world;
    world = (struct world){.arena = mrg_arena_new(0)};
    world.config.name = (char *)(uintptr_t) "inventory";
    world.config.redact = (struct mrg_strings){secret, MRG_ARRAY_LEN(secret)};
    assert_int_equal(mrg_match_new(&world.config, &world.match, NULL), MRG_ERR_OK);
    *state = &world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    mrg_match_free(world->match);
    mrg_arena_free(world->arena);
    return 0;
}

#define JSON      "content-type: application/json"
#define TEXT      "content-type: text/plain"
#define FORM      "content-type: application/x-www-form-urlencoded"
#define MULTIPART "content-type: multipart/form-data; boundary=XX"
#define WHOLE     "[redacted "

static bool holds(struct mrg_slice text, const char *part)
{
    return memmem(text.ptr, text.len, part, strlen(part)) != NULL;
}

/* The body's bytes when redacted, "s3cret" nowhere in what is shown. */
static struct mrg_slice redacted(struct world *world, const char *headers, const char *body, size_t len)
{
    struct mrg_request request = sample_bytes(world->arena, "POST /login", headers, body, len);
    const struct mrg_request *redacted = mrg_match_redact(world->match, world->arena, &request);
    const char *json = sample_json(world->arena, redacted, world->match);
    if (holds(redacted->body.bytes, "s3cret") || strstr(json, "s3cret"))
        fail_msg("%s: %s leaks: %s", headers, body, json);
    struct mrg_request back;
    if (mrg_request_parse(world->arena, mrg_slice_of(json), &back, NULL))
        fail_msg("%s cannot be read back", json);
    return redacted->body.bytes;
}

static void expect(struct world *world, const char *headers, const char *body, const char *part)
{
    struct mrg_slice bytes = redacted(world, headers, body, 0);
    if (!holds(bytes, part))
        fail_msg("%s: %s is %.*s, without %s", headers, body, (int)bytes.len, bytes.ptr, part);
}

static void expect_kept(struct world *world, const char *headers, const char *body)
{
    struct mrg_request request = sample(world->arena, "POST /login", headers, body);
    if (mrg_match_redact(world->match, world->arena, &request) != &request)
        fail_msg("%s: %s is redacted", headers, body);
}

static void test_what_is_no_json_goes_whole(void **state)
{
    static const struct {
        const char *headers, *body;
    } all[] = {
        {JSON, "{\"user\":\"u\",\"password\":\"s3cret\""},                   /* truncated */
        {JSON, "{\"user\":\"u\",\"password\":\"s3cret"},                     /* within the value */
        {JSON, "{\"password\":\"x\",\"password\":\"s3cret\"}"},              /* a key twice */
        {JSON, "{\"a\":1,\"a\":2,\"password\":\"s3cret\"}"},                 /* another key twice */
        {JSON, "\xEF\xBB\xBF{\"password\":\"s3cret\"}"},                     /* a byte order mark */
        {JSON, "{\"password\":\"s3cret\"} trailing"},                        /* text behind */
        {JSON, "{\"password\":\"s3cret\"}{\"password\":\"s3cret\"}"},        /* two documents */
        {JSON, "{\"id\":1}\n{\"password\":\"s3cret\"}\n"},                   /* NDJSON */
        {"content-type: application/x-ndjson", "{\"password\":\"s3cret\"}"}, /* and by its type */
        {JSON, "{'password':'s3cret'}"},                                     /* single quotes */
        {JSON, "{password: 's3cret'}"},                                      /* JSON5 */
        {JSON, "{\"pass\\u0077ord\":\"s3cret\",}"},                          /* an escaped name */
        {JSON, "{\"n\":NaN,\"password\":\"s3cret\"}"},                       /* what others write */
        {TEXT, "{\"user\":\"u\",\"password\":\"s3cret\"}"},                  /* another type */
        {TEXT, "pass%77ord=s3cret"},                                         /* percent-escapes */
        {TEXT, "pass\\x77ord: s3cret"},                                      /* escapes of other languages */
        {TEXT, "line\\npassword: s3cret"},                                   /* next to an escape */
        {"content-type: text/xml", "<login><password>s3cret</password></login>"},
        {"content-type: application/x-yaml", "user: u\npassword: s3cret\n"},
        {"content-type: ", "\xEF\xBB\xBF{\"password\":\"s3cret\"}"},
        {MULTIPART, "{\"password\":\"s3cret\"}"}, /* not what it says */
        {"content-type: multipart/form-data", "--XX\r\n\r\npassword=s3cret\r\n--XX--"},
    };
    for (size_t i = 0; i < MRG_ARRAY_LEN(all); i++) {
        struct mrg_slice bytes = redacted(*state, all[i].headers, all[i].body, 0);
        if (bytes.len != strlen("[redacted 1f2e3d4c]") || memcmp(bytes.ptr, WHOLE, strlen(WHOLE)) != 0)
            fail_msg("%s is %.*s", all[i].body, (int)bytes.len, bytes.ptr);
    }
}

/* A name that is not readable is not known not to be there. */
static void test_bytes_that_are_no_text_go_whole(void **state)
{
    static const char wide[] = "{\0\"\0p\0a\0s\0s\0w\0o\0r\0d\0\"\0:\0\"\0s\0003\0c\0r\0e\0t\0\"\0}";
    static const char packed[] = "\x1f\x8b\x08\x00s3cret";
    struct mrg_slice bytes = redacted(*state, JSON, wide, sizeof(wide));
    assert_memory_equal(bytes.ptr, WHOLE, strlen(WHOLE));
    bytes = redacted(*state, "content-type: application/octet-stream", packed, sizeof(packed) - 1);
    assert_memory_equal(bytes.ptr, WHOLE, strlen(WHOLE));
    bytes = redacted(*state, "content-type: text/plain\ncontent-encoding: br", "s3cret", 0);
    assert_memory_equal(bytes.ptr, WHOLE, strlen(WHOLE));
}

static void test_what_names_nothing_stays(void **state)
{
    expect_kept(*state, TEXT, "mypassword, passwords and password_hash");
    expect_kept(*state, TEXT, "C:\\new\\table");
    expect_kept(*state, JSON, "{\"broken");
    expect_kept(*state, JSON, "{\"note\":\"the password is lost\",\"n\":1}");
    expect_kept(*state, FORM, "user=a&note=100%25");
    expect_kept(*state, MULTIPART,
                "--XX\r\nContent-Disposition: form-data; name=\"user\"\r\n\r\nu\r\n--XX--\r\n");
    expect_kept(*state, TEXT "\ncontent-encoding: identity", "a");
}

static void test_documents_within_strings(void **state)
{
    expect(*state, JSON, "{\"n\":1.50,\"payload\":\"{\\\"password\\\":\\\"s3cret\\\"}\"}",
           "{\"n\":1.50,\"payload\":\"[redacted ");
    expect(*state, JSON,
           "[[\"{\\\"a\\\":[{\\\"password\\\":\\\"s3cr\", \"{\\\"password\\\":\\\"s3cret\\\"}\"],2]", ",2]");
    expect(*state, JSON, "\"{\\\"password\\\":\\\"s3cret\\\"}\"", "\"[redacted ");
    expect(*state, JSON, "{\"a\":\"{\\\"b\\\":\\\"{\\\\\\\"password\\\\\\\":\\\\\\\"s3cret\\\\\\\"}\\\"}\"}",
           "{\"a\":\"[redacted ");
    expect(*state, JSON, "{\"a\":\"{\\\"pass\\\\u0077ord\\\":\\\"s3cret\\\"}\"}", "{\"a\":\"[redacted ");
    expect(*state, JSON, "{\"log\":\"login {'password':'s3cret'}\"}", "{\"log\":\"[redacted ");
    expect(*state, JSON, "{\"body\":\"user=u&password=s3cret\"}", "{\"body\":\"[redacted ");
    expect(*state, JSON, "{\"body\":\"<password>s3cret</password>\"}", "{\"body\":\"[redacted ");
    expect(*state, JSON, "{\"{\\\"password\\\":\\\"s3cret\\\"}\":\"\"}", "\"[redacted ");
    /* The other members stay, and what stands beside a hit of its own. */
    expect(*state, JSON, "{\"password\":\"s3cret\",\"u\":\"x\",\"p\":\"{\\\"password\\\":\\\"s3cret\\\"}\"}",
           "\"u\":\"x\"");
}

static void test_forms(void **state)
{
    expect(*state, FORM, "user=a&password=s3cret", "user=a&password=%5Bredacted%20");
    expect(*state, FORM, "user=a&user%5Bpassword%5D=s3cret", "user=a&user%5Bpassword%5D=%5Bredacted%20");
    expect(*state, FORM, "user=a&pass%77ord=s3cret\r\n", "user=a&password=%5Bredacted%20");
    expect(*state, FORM, "user=a&payload=%7B%22password%22%3A%22s3cret%22%7D",
           "user=a&payload=%5Bredacted%20");
    expect(*state, FORM, "user=a&password%FF=s3cret", "user=a&password%25FF=%5Bredacted%20");
    expect(*state, FORM, "user=a&x=1;password=s3cret", "user=a&x=%5Bredacted%20");
    /* Not forms, whatever they say: their pieces are not what they seem. */
    expect(*state, FORM, "{\"password\":\"s3cret\"}", WHOLE);
    expect(*state, FORM, "{\"q\":\"a=b\",\"password\":\"p&s3cret\"}", WHOLE);
    expect(*state, FORM, "password: s3cret", WHOLE);
    expect(*state, FORM, "x: 1=2\npassword: s&s3cret", WHOLE);
}

static void test_multipart(void **state)
{
#define PART(head, content) "--XX\r\n" head "\r\n\r\n" content "\r\n"
#define NAMED(name)         "Content-Disposition: form-data; name=" name
    expect(*state, MULTIPART, PART(NAMED("\"user\""), "u") PART(NAMED("\"password\""), "s3cret") "--XX--\r\n",
           "name=\"user\"\r\n\r\nu\r\n--XX\r\n" NAMED("\"password\"") "\r\n\r\n[redacted ");
    expect(*state, MULTIPART, PART(NAMED("password"), "s3cret\r\n--XXX\r\nmore s3cret") "--XX--",
           "]\r\n--XX--");
    expect(*state, MULTIPART, PART(NAMED("\"user[password]\""), "s3cret") "--XX--", "]\r\n--XX--");
    expect(*state, MULTIPART,
           PART("Content-Disposition: form-data; name*=UTF-8''pass%77ord", "s3cret") "--XX--", "]\r\n--XX--");
    expect(*state, MULTIPART, PART(NAMED("\"json\""), "{\"password\":\"s3cret\"}") "--XX--",
           NAMED("\"json\"") "\r\n\r\n[redacted ");
    expect(*state, MULTIPART,
           PART(NAMED("\"json\"") "\r\nContent-Transfer-Encoding: BASE64", "czNjcmV0 s3cret") "--XX--",
           "]\r\n--XX--");
    expect(*state, MULTIPART, PART(NAMED("\"file\""), "\xff s3cret") "--XX--", "]\r\n--XX--");
    expect(*state, MULTIPART, "--XX\n" NAMED("\"password\"") "\n\ns3cret\n--XX--\n", "]\n--XX--\n");
    expect(*state, MULTIPART, PART(NAMED("\"password\""), "s3cret"), "\r\n\r\n[redacted "); /* cut */
    expect(*state, MULTIPART, "--XX\r\n" NAMED("\"password\"") "\r\ns3cret\r\n--XX--", WHOLE);
    expect(*state, MULTIPART, "password: s3cret\r\n" PART(NAMED("\"a\""), "1") "--XX--", WHOLE);
    expect(*state, MULTIPART, PART(NAMED("\"a\""), "1") "--XX--\r\npassword: s3cret\r\n", WHOLE);
    /* As in a form, so that equal values are seen to be equal. */
    struct mrg_slice part = redacted(*state, MULTIPART, PART(NAMED("\"password\""), "s3cret") "--XX--", 0);
    struct mrg_slice json = redacted(*state, JSON, "{\"password\":\"s3cret\"}", 0);
    const char *mark = memmem(json.ptr, json.len, WHOLE, strlen(WHOLE));
    assert_true(holds(part, mrg_arena_printf(((struct world *)*state)->arena, "%.19s", mark)));
}

/* ---- the key ---- */

static const char *mark_of(struct world *world, const char *name, const char *key)
{
    struct mrg_match *match;
    struct mrg_dependency_config config = world->config;
    config.name = (char *)(uintptr_t)name;
    config.redact_key_env = (char *)(uintptr_t) "MIRAGE_TEST_REDACT_KEY";
    if (key)
        setenv("MIRAGE_TEST_REDACT_KEY", key, 1);
    else
        unsetenv("MIRAGE_TEST_REDACT_KEY");
    assert_int_equal(mrg_match_new(&config, &match, NULL), MRG_ERR_OK);
    unsetenv("MIRAGE_TEST_REDACT_KEY"); /* it is read once */
    struct mrg_request request = sample(world->arena, "POST /", JSON, "{\"password\":\"1234\"}");
    const char *mark = mrg_match_redact(match, world->arena, &request)->body.bytes.ptr;
    mrg_match_free(match);
    return mark;
}

static void test_placeholders_with_a_key(void **state)
{
    struct world *world = *state;
    const char *plain = mark_of(world, "inventory", NULL);
    const char *keyed = mark_of(world, "inventory", "k1");
    assert_memory_equal(keyed, "{\"password\":\"[redacted ", 23);
    assert_int_equal(strlen(keyed), strlen(plain));
    assert_string_equal(plain, redacted(world, JSON, "{\"password\":\"1234\"}", 0).ptr);
    assert_string_equal(plain, mark_of(world, "inventory", ""));
    assert_string_not_equal(keyed, plain);
    assert_string_equal(keyed, mark_of(world, "inventory", "k1"));
    assert_string_not_equal(keyed, mark_of(world, "inventory", "k2"));
    assert_string_not_equal(keyed, mark_of(world, "payment", "k1"));
    /* HMAC-SHA-256(HMAC-SHA-256("k1", "inventory"), "1234"): cassettes hold it. */
    assert_string_equal(keyed, "{\"password\":\"[redacted e060d473]\"}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_is_no_json_goes_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bytes_that_are_no_text_go_whole, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_names_nothing_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_documents_within_strings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_forms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_multipart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_placeholders_with_a_key, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
