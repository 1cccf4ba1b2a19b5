// SPDX-License-Identifier: Apache-2.0
/* What the configuration says of gRPC and ZeroMQ: addresses, protos, routes, formats; good ones, and each wrong one with
 * its exact error and place. */
#include "config_help.h"

#define HEAD   "model: {name: m}\ndependencies:\n  - name: a\n"
#define LISTEN "    listen: {http: 127.0.0.1:8001}\n"
#define PROTOS "    protos: {files: [full.yaml]}\n" /* any file that is there: nobody compiles it here */

struct refusal {
    const char *text;
    const char *lines; /* with @ for the folder */
};

static char *with_folder(const char *lines)
{
    char folder[4096];
    struct mrg_buf buf;
    assert_non_null(getcwd(folder, sizeof(folder)));
    mrg_buf_init(&buf, MOST);
    for (; *lines; lines++) {
        if (*lines == '@')
            mrg_buf_append_str(&buf, folder);
        else
            mrg_buf_append_char(&buf, *lines);
    }
    return mrg_buf_take(&buf, NULL);
}

static void refuse_all(const struct refusal *refusals, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        _cleanup_free_ char *lines = with_folder(refusals[i].lines);
        assert_refused(refusals[i].text, lines);
    }
}

/* ---- good ones ---- */

static void assert_texts(const struct mrg_strings *strings, const char *const *expected)
{
    size_t i = 0;
    for (; expected[i]; i++) {
        _cleanup_free_ char *text = with_folder(expected[i]);
        assert_true(i < strings->count);
        assert_string_equal(strings->items[i], text);
    }
    assert_int_equal(strings->count, i);
}

#define ASSERT_TEXTS(strings, ...) assert_texts(&(strings), (const char *const[]){__VA_ARGS__, NULL})

static void addresses(void **state)
{
    (void)state;
    static char *const environ_list[] = {"T=t", NULL};
    char *errors = NULL;
    struct mrg_config *config =
        parse_with("control: {token_env: T}\n"
                   "listen: {grpc: 'LOCALHOST:0', zmq: ['tcp://127.0.0.1:0', 'ipc:///tmp/all']}\n" HEAD
                   "    listen: {grpc: '[::1]:9001', zmq: 'tcp://*:*'}\n" PROTOS
                   "  - {name: b, listen: {zmq: ['tcp://[::1]:5001', 'tcp://127.0.0.1:5002']}}\n"
                   "  - {name: c}\n  - {name: d, protos: {files: [full.yaml]}}\n",
                   environ_list, NULL, 0, &errors);
    if (errors)
        fail_msg("%s", errors);
    assert_string_equal(config->listen_grpc, "localhost:0");
    ASSERT_TEXTS(config->listen_zmq, "tcp://127.0.0.1:*", "ipc:///tmp/all");
    const struct mrg_dependency_config *all = config->dependencies;
    assert_string_equal(all[0].listen_grpc, "[::1]:9001");
    ASSERT_TEXTS(all[0].listen_zmq, "tcp://0.0.0.0:*");
    ASSERT_TEXTS(all[1].listen_zmq, "tcp://[::1]:5001", "tcp://127.0.0.1:5002");
    assert_null(all[1].listen_grpc);
    assert_int_equal(all[2].listen_zmq.count, 0); /* by its name on the shared endpoints */
    assert_null(all[3].listen_grpc);              /* by its services */
    mrg_config_unref(config);
}

static void protos_and_routes(void **state)
{
    (void)state;
    struct mrg_config *config =
        parse_good(HEAD LISTEN "    protos: {roots: [api, .], files: [full.yaml], sets: [errors.txt], "
                               "reflect: '127.0.0.1:9101'}\n"
                               "    routes:\n      - {rpc: /p.v1.S/M, http: 'POST   /items/{id}'}\n"
                               "      - {rpc: S/N, http: DELETE /a, body: '*'}\n"
                               "      - {rpc: S/O, http: PUT /a, body: ''}\n"
                               "      - {rpc: S/P, http: X-OWN /a, body: item_1}\n"
                               "  - name: b\n    listen: {http: 127.0.0.1:2}\n" PROTOS
                               "  - {name: c, listen: {http: '127.0.0.1:3'}, protos: {sets: [errors.txt]}}\n"
                               "  - {name: d, listen: {http: '127.0.0.1:4'}}\n");
    const struct mrg_dependency_config *all = config->dependencies;
    ASSERT_TEXTS(all[0].protos.roots, "@/api", "@");
    ASSERT_TEXTS(all[0].protos.files, "full.yaml");
    ASSERT_TEXTS(all[0].protos.sets, "@/errors.txt");
    assert_string_equal(all[0].protos.reflect, "127.0.0.1:9101");
    static const char *const routes[][3] = {{"p.v1.S/M", "POST /items/{id}", NULL},
                                            {"S/N", "DELETE /a", "*"},
                                            {"S/O", "PUT /a", ""},
                                            {"S/P", "X-OWN /a", "item_1"}};
    assert_int_equal(all[0].route_count, MRG_ARRAY_LEN(routes));
    for (size_t i = 0; i < MRG_ARRAY_LEN(routes); i++) {
        const struct mrg_route_config *one = &all[0].routes[i];
        assert_string_equal(one->rpc, routes[i][0]);
        assert_string_equal(one->http, routes[i][1]);
        assert_int_equal(!one->body, !routes[i][2]);
        if (one->body)
            assert_string_equal(one->body, routes[i][2]);
        assert_int_equal(one->line, 7 + i);
    }
    ASSERT_TEXTS(all[1].protos.roots, "@"); /* the file's folder, where there are files and no roots */
    assert_int_equal(all[2].protos.roots.count, 0);
    assert_true(mrg_dependency_has_protos(&all[1]) && mrg_dependency_has_protos(&all[2]));
    assert_false(mrg_dependency_has_protos(&all[3]));
    mrg_config_unref(config);
}

static void formats(void **state)
{
    (void)state;
    struct mrg_config *config =
        parse_good(HEAD "    listen: {zmq: 'tcp://127.0.0.1:1'}\n    zmq: {format: body, route: 'POST /a', "
                        "control: 'tcp://127.0.0.1:2'}\n"
                        "  - name: b\n    listen: {zmq: 'tcp://127.0.0.1:3'}\n" PROTOS
                        "    zmq: {format: protobuf, rpc: p.S/M}\n"
                        "  - {name: c, listen: {zmq: 'tcp://127.0.0.1:4'}, zmq: {format: multipart}}\n"
                        "  - {name: d, listen: {zmq: 'tcp://127.0.0.1:5'}}\n");
    const struct mrg_dependency_config *all = config->dependencies;
    static const enum mrg_zmq_format found[] = {MRG_ZMQ_BODY, MRG_ZMQ_PROTOBUF, MRG_ZMQ_MULTIPART,
                                                MRG_ZMQ_ENVELOPE};
    for (size_t i = 0; i < MRG_ARRAY_LEN(found); i++)
        assert_int_equal(all[i].zmq.format, found[i]);
    assert_string_equal(all[0].zmq.route, "POST /a");
    assert_string_equal(all[0].zmq.control, "tcp://127.0.0.1:2");
    assert_string_equal(all[1].zmq.rpc, "p.S/M");
    assert_true(!all[1].zmq.route && !all[2].zmq.route && !all[2].zmq.rpc && !all[3].zmq.control);
    mrg_config_unref(config);
}

/* ---- wrong ones ---- */

static void bad_grpc_addresses(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {HEAD "    listen: {grpc: 127.0.0.1}\n" PROTOS,
         "x.yaml:4:20: dependencies.a.listen.grpc: expected an address such as 127.0.0.1:8001; got "
         "\"127.0.0.1\"\n"},
        {HEAD "    listen: {grpc: 127.0.0.1:70000}\n" PROTOS,
         "x.yaml:4:20: dependencies.a.listen.grpc: expected a port from 0 to 65535 behind the colon; got "
         "\"127.0.0.1:70000\"\n"},
        {HEAD "    listen: {grpc: 127.0.0.1:9001}\n",
         "x.yaml:4:20: dependency a: listen.grpc needs protos; expected protos: {roots: [folder], files: "
         "[name.proto]}, sets or reflect\n"},
        {HEAD "    listen: {grpc: [127.0.0.1:9001]}\n" PROTOS,
         "x.yaml:4:20: dependencies.a.listen.grpc: expected an address such as 127.0.0.1:8001; got a list\n"},
        {HEAD "    listen: {http: 127.0.0.1:9001, grpc: localhost:9001}\n" PROTOS,
         "x.yaml:4:42: dependencies.a.listen.grpc: localhost:9001 is taken on line 4 already; expected an "
         "address of its own\n"},
        {HEAD "    listen: {grpc: 0.0.0.0:9001}\n" PROTOS,
         "x.yaml:4:20: dependencies.a.listen.grpc: control verbs on 0.0.0.0:9001, which is not loopback, "
         "need a token; expected control.token_env or 127.0.0.1\n"},
        {"listen: {grpc: here}\n" HEAD LISTEN,
         "x.yaml:1:16: listen.grpc: expected an address such as 127.0.0.1:8001; got \"here\"\n"},
        {"listen: {grpc: 127.0.0.1:9090}\n" HEAD "    prefix: /a\n",
         "x.yaml:4:5: dependency a has no address; expected listen: {http: host:port}, or grpc or zmq there, "
         "or a prefix and a shared listen.http, or protos for the shared listen.grpc\n"},
    };
    refuse_all(refusals, MRG_ARRAY_LEN(refusals));
}

static void bad_zmq_endpoints(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {HEAD "    listen: {zmq: ['udp://127.0.0.1:1']}\n",
         "x.yaml:4:20: dependencies.a.listen.zmq: expected a ZeroMQ endpoint such as tcp://127.0.0.1:5001 or "
         "ipc:///tmp/inventory; got \"udp://127.0.0.1:1\"\n"},
        {HEAD "    listen: {zmq: ['tcp://127.0.0.1']}\n",
         "x.yaml:4:20: dependencies.a.listen.zmq: expected a ZeroMQ endpoint such as tcp://127.0.0.1:5001 or "
         "ipc:///tmp/inventory; got \"tcp://127.0.0.1\"\n"},
        {HEAD "    listen: {zmq: ['tcp://127.0.0.1:99999']}\n",
         "x.yaml:4:20: dependencies.a.listen.zmq: expected a port from 0 to 65535 behind the colon; got "
         "\"tcp://127.0.0.1:99999\"\n"},
        {HEAD "    listen: {zmq: ['ipc://']}\n",
         "x.yaml:4:20: dependencies.a.listen.zmq: expected a ZeroMQ endpoint such as tcp://127.0.0.1:5001 or "
         "ipc:///tmp/inventory; got \"ipc://\"\n"},
        {HEAD "    listen: {zmq: [7]}\n",
         "x.yaml:4:20: dependencies.a.listen.zmq: expected a ZeroMQ endpoint such as tcp://127.0.0.1:5001 or "
         "ipc:///tmp/inventory; got \"7\"\n"},
        {HEAD "    listen: {zmq: {a: b}}\n",
         "x.yaml:4:19: dependencies.a.listen.zmq: expected a list, each item a ZeroMQ endpoint such as "
         "tcp://127.0.0.1:5001 or ipc:///tmp/inventory; got a mapping\n"},
        {HEAD "    listen: {zmq: ['tcp://127.0.0.1:1', 'tcp://127.0.0.1:1']}\n",
         "x.yaml:4:19: dependencies.a.listen.zmq: tcp://127.0.0.1:1 is taken on line 4 already; expected an "
         "address of its own\n"},
        {HEAD "    listen: {zmq: ['ipc:///tmp/a', 'ipc:///tmp/a']}\n",
         "x.yaml:4:19: dependencies.a.listen.zmq: ipc:///tmp/a is taken on line 4 already; expected an "
         "address of its own\n"},
        {HEAD "    listen: {zmq: 'tcp://*:5001'}\n",
         "x.yaml:4:19: dependencies.a.listen.zmq: control verbs on tcp://0.0.0.0:5001, which is not "
         "loopback, need a token; expected control.token_env or 127.0.0.1\n"},
        {HEAD "    listen: {http: 127.0.0.1:1, zmq: 'tcp://127.0.0.1:1'}\n",
         "x.yaml:4:38: dependencies.a.listen.zmq: tcp://127.0.0.1:1 is taken on line 4 already; expected an "
         "address of its own\n"},
        {"listen: {zmq: [tcp:5]}\n" HEAD LISTEN,
         "x.yaml:1:16: listen.zmq: expected a ZeroMQ endpoint such as tcp://127.0.0.1:5001 or "
         "ipc:///tmp/inventory; got \"tcp:5\"\n"},
        {HEAD "    listen: {zmqs: 'tcp://127.0.0.1:1'}\n",
         "x.yaml:3:5: dependency a has no address; expected listen: {http: host:port}, or grpc or zmq there, "
         "or a prefix and a shared listen.http\n"
         "x.yaml:4:14: unknown key \"zmqs\" in dependencies.a.listen; expected one of http, grpc, zmq; did "
         "you mean \"zmq\"?\n"},
    };
    refuse_all(refusals, MRG_ARRAY_LEN(refusals));
}

static void bad_protos(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {HEAD LISTEN "    protos: {roots: [absent], files: [full.yaml]}\n",
         "x.yaml:5:22: dependencies.a.protos.roots: there is no @/absent; expected a file or folder\n"
         "x.yaml:5:38: dependency a: protos.files: full.yaml is below none of protos.roots (there are none); "
         "expected a path as an import would name it\n"},
        {HEAD LISTEN "    protos: {roots: [full.yaml], files: [a.proto]}\n",
         "x.yaml:5:41: dependency a: protos.files: a.proto is below none of protos.roots (@/full.yaml); "
         "expected a path as an import would name it\n"},
        {HEAD LISTEN "    protos: {roots: [api, traces], files: [a.proto]}\n",
         "x.yaml:5:43: dependency a: protos.files: a.proto is below none of protos.roots (@/api, @/traces); "
         "expected a path as an import would name it\n"},
        {HEAD LISTEN "    protos: {files: [absent.proto]}\n",
         "x.yaml:5:21: dependency a: protos.files: absent.proto is below none of protos.roots (@); expected "
         "a path as an import would name it\n"},
        {HEAD LISTEN "    protos: {roots: [api]}\n",
         "x.yaml:5:21: dependency a: protos.roots alone name no file; expected protos.files\n"},
        {HEAD LISTEN "    protos: {sets: [absent.binpb, '']}\n",
         "x.yaml:5:21: dependencies.a.protos.sets: there is no @/absent.binpb; expected a file or folder\n"
         "x.yaml:5:35: dependencies.a.protos.sets: expected a path of a file or folder; got \"\"\n"},
        {HEAD LISTEN "    protos: {reflect: nowhere}\n",
         "x.yaml:5:23: dependencies.a.protos.reflect: expected an address such as 127.0.0.1:8001; got "
         "\"nowhere\"\n"},
        {HEAD LISTEN "    protos: {file: [full.yaml]}\n",
         "x.yaml:5:14: unknown key \"file\" in dependencies.a.protos; expected one of roots, files, sets, "
         "reflect; did you mean \"files\"?\n"},
        {HEAD LISTEN "    protos: [full.yaml]\n",
         "x.yaml:5:13: dependencies.a.protos: expected a mapping of keys and values; got a list\n"},
        {HEAD LISTEN "    protos: {files: ['']}\n",
         "x.yaml:5:22: dependencies.a.protos.files: expected a text; got \"\"\n"},
    };
    refuse_all(refusals, MRG_ARRAY_LEN(refusals));
}

static void bad_routes(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {HEAD LISTEN "    routes: [{rpc: p.S/M, http: GET /a}]\n",
         "x.yaml:5:13: dependency a: routes are of RPCs, which need protos; expected protos\n"},
        {HEAD LISTEN PROTOS "    routes: [{rpc: p.S, http: GET /a}]\n",
         "x.yaml:6:20: dependencies.a.routes[0].rpc: expected an RPC such as inventory.v1.Inventory/Reserve; "
         "got \"p.S\"\n"},
        {HEAD LISTEN PROTOS "    routes: [{rpc: p..S/M, http: GET /a}]\n",
         "x.yaml:6:20: dependencies.a.routes[0].rpc: expected an RPC such as inventory.v1.Inventory/Reserve; "
         "got \"p..S/M\"\n"},
        {HEAD LISTEN PROTOS "    routes: [{rpc: p.S/M, http: /a}]\n",
         "x.yaml:6:33: dependencies.a.routes[0].http: expected a method in capitals and a path such as "
         "\"POST /items/{item_id}/reserve\"; got \"/a\"\n"},
        {HEAD LISTEN PROTOS "    routes: [{rpc: p.S/M, http: get /a}]\n",
         "x.yaml:6:33: dependencies.a.routes[0].http: expected a method in capitals and a path such as "
         "\"POST /items/{item_id}/reserve\"; got \"get /a\"\n"},
        {HEAD LISTEN PROTOS "    routes: [{rpc: p.S/M, http: 'GET /a?b'}]\n",
         "x.yaml:6:33: dependencies.a.routes[0].http: expected a method in capitals and a path such as "
         "\"POST /items/{item_id}/reserve\"; got \"GET /a?b\"\n"},
        {HEAD LISTEN PROTOS "    routes: [{http: GET /a}, {rpc: p.S/M}]\n",
         "x.yaml:6:14: dependencies.a.routes[0] has no rpc; expected rpc and http\n"
         "x.yaml:6:30: dependencies.a.routes[1] has no http; expected rpc and http\n"},
        {HEAD LISTEN PROTOS "    routes: [{rpc: p.S/M, http: GET /a}, {rpc: p.S/M, http: GET /b}]\n",
         "x.yaml:6:13: dependency a: routes[1] is a second one for p.S/M; expected one for each RPC\n"},
        {HEAD LISTEN PROTOS "    routes: [{rpc: p.S/M, http: GET /a, body: a-b}]\n",
         "x.yaml:6:47: dependencies.a.routes[0].body: expected a field's name, \"*\" or \"\"; got \"a-b\"\n"},
        {HEAD LISTEN PROTOS "    routes: [{rpc: p.S/M, http: GET /a, bod: x}]\n",
         "x.yaml:6:41: unknown key \"bod\" in dependencies.a.routes[0]; expected one of rpc, http, body; did "
         "you mean \"body\"?\n"},
        {HEAD LISTEN PROTOS "    routes: {rpc: p.S/M, http: GET /a}\n",
         "x.yaml:6:13: dependencies.a.routes: expected a list of at most 10000 mappings with rpc and http; "
         "got a mapping\n"},
        {HEAD LISTEN PROTOS "    routes: [GET /a]\n",
         "x.yaml:6:14: dependencies.a.routes[0]: expected a mapping with rpc and http; got a value\n"},
    };
    refuse_all(refusals, MRG_ARRAY_LEN(refusals));
}

static void bad_zmq_formats(void **state)
{
    (void)state;
    static const struct refusal refusals[] = {
        {HEAD LISTEN "    zmq: {format: bodyy}\n", "x.yaml:5:19: dependencies.a.zmq.format: expected one of "
                                                   "envelope, body, multipart, protobuf; got \"bodyy\"\n"},
        {HEAD LISTEN "    zmq: {format: raw}\n",
         "x.yaml:5:19: dependencies.a.zmq.format: `raw` belongs to a later version; expected one of "
         "envelope, body, multipart, protobuf\n"},
        {HEAD LISTEN "    zmq: {format: body}\n",
         "x.yaml:5:19: dependency a: zmq.format body needs zmq.route; expected \"METHOD /path\" there\n"},
        {HEAD LISTEN "    zmq: {route: POST /a}\n",
         "x.yaml:5:18: dependency a: zmq.route is for zmq.format body only; expected that format\n"},
        {HEAD LISTEN "    zmq: {format: body, route: POST a}\n",
         "x.yaml:5:32: dependencies.a.zmq.route: expected a method in capitals and a path such as \"POST "
         "/items/{item_id}/reserve\"; got \"POST a\"\n"},
        {HEAD LISTEN PROTOS "    zmq: {format: protobuf}\n",
         "x.yaml:6:19: dependency a: zmq.format protobuf needs zmq.rpc; expected pkg.Service/Method there\n"},
        {HEAD LISTEN "    zmq: {format: protobuf, rpc: p.S/M}\n",
         "x.yaml:5:34: dependency a: zmq.rpc needs protos; expected protos\n"},
        {HEAD LISTEN PROTOS "    zmq: {rpc: p.S/M}\n",
         "x.yaml:6:16: dependency a: zmq.rpc is for zmq.format protobuf only; expected that format\n"},
        {HEAD LISTEN PROTOS "    zmq: {format: protobuf, rpc: p.S.M}\n",
         "x.yaml:6:34: dependencies.a.zmq.rpc: expected an RPC such as inventory.v1.Inventory/Reserve; got "
         "\"p.S.M\"\n"},
        {HEAD LISTEN "    zmq: {control: 127.0.0.1:1}\n",
         "x.yaml:5:20: dependencies.a.zmq.control: expected a ZeroMQ endpoint such as tcp://127.0.0.1:5001 "
         "or ipc:///tmp/inventory; got \"127.0.0.1:1\"\n"},
        {HEAD "    listen: {zmq: 'tcp://127.0.0.1:1'}\n"
              "    zmq: {control: 'tcp://127.0.0.1:1'}\n",
         "x.yaml:5:20: dependencies.a.zmq.control: tcp://127.0.0.1:1 is taken on line 4 already; expected an "
         "address of its own\n"},
        {HEAD LISTEN "    zmq: {control: 'tcp://0.0.0.0:1'}\n",
         "x.yaml:5:20: dependencies.a.zmq.control: control verbs on tcp://0.0.0.0:1, which is not loopback, "
         "need a token; expected control.token_env or 127.0.0.1\n"},
        {HEAD LISTEN "    zmq: {fromat: body}\n",
         "x.yaml:5:11: unknown key \"fromat\" in dependencies.a.zmq; expected one of format, route, rpc, "
         "control; did you mean \"format\"?\n"},
        {HEAD LISTEN "    zmq: envelope\n",
         "x.yaml:5:10: dependencies.a.zmq: expected a mapping of keys and values; got a value\n"},
    };
    refuse_all(refusals, MRG_ARRAY_LEN(refusals));
}

/* The longest path that a socket's address has room for, and the next one. */
static void ipc_paths(void **state)
{
    (void)state;
    char path[109];
    memset(path, 'x', 108);
    path[108] = '\0';
    _cleanup_free_ char *longer = mrg_asprintf(HEAD "    listen: {zmq: 'ipc://%s'}\n", path);
    _cleanup_free_ char *longest = mrg_asprintf(HEAD "    listen: {zmq: 'ipc://%s'}\n", path + 1);
    char *errors = NULL;
    assert_null(parse_with(longer, NULL, NULL, 0, &errors));
    assert_non_null(strstr(errors,
                           "x.yaml:4:19: dependencies.a.listen.zmq: expected a path of at most 107 bytes "
                           "behind ipc://; got \"ipc://xxx"));
    free(errors);
    mrg_config_unref(parse_good(longest));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),         cmocka_unit_test(protos_and_routes),
        cmocka_unit_test(formats),           cmocka_unit_test(bad_grpc_addresses),
        cmocka_unit_test(bad_zmq_endpoints), cmocka_unit_test(bad_protos),
        cmocka_unit_test(bad_routes),        cmocka_unit_test(bad_zmq_formats),
        cmocka_unit_test(ipc_paths),
    };
    return cmocka_run_group_tests(tests, enter_data, NULL);
}
