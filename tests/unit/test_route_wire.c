// SPDX-License-Identifier: Apache-2.0
/*
 * Routes of a real schema, together with the JSON mapping: a message goes the whole way round, and one history
 * serves both wires.
 */
#include "schema_help.h"

#include "sample.h"
#include "util/json.h"
#include "wire/proto.h"

static struct mrg_schema *schema;

static int set_up(void **state)
{
    static char *const rules[][3] = {
        {"shop.v1.CartService/AddItem", "POST /carts/{user_id}/items", "item"},
        {"shop.v1.CartService/GetCart", "GET /carts/{user_id}", NULL},
        {"shop.v1.CheckoutService/PlaceOrder", "POST /orders/{credit_card.credit_card_cvv}/{user_id}:place",
         NULL},
        {"shop.v1.ProductCatalogService/SearchProducts", "GET /products", NULL},
    };
    struct mrg_route_config routes[MRG_ARRAY_LEN(rules)];
    const char *const files[] = {"shop/v1/checkout.proto", "shop/v1/catalog.proto", NULL};
    struct mrg_error err;
    if (schema_setup(state))
        return -1;
    for (size_t i = 0; i < MRG_ARRAY_LEN(rules); i++)
        routes[i] = (struct mrg_route_config){.rpc = rules[i][0], .http = rules[i][1], .body = rules[i][2]};
    if (load_with(test_roots, 2, files, routes, MRG_ARRAY_LEN(rules), &schema, &err))
        fail_msg("%s", err.message);
    return 0;
}

static int tear_down(void **state)
{
    mrg_schema_free(schema);
    return schema_teardown(state);
}

/* The request of a call with that message. */
static struct mrg_request called(struct mrg_arena *arena, const char *path, const char *json,
                                 struct mrg_buf *bytes)
{
    struct mrg_request request = {.header_count = 0};
    struct mrg_error err;
    struct mrg_buf normal;
    const struct mrg_method *method = mrg_schema_method(schema, SLICE(path));
    assert_non_null(method);
    mrg_buf_init(&normal, SIZE_MAX);
    if (mrg_proto_from_json(schema, method->input, SLICE(json), false, bytes, &err) ||
        mrg_proto_to_json(schema, method->input, mrg_buf_slice(bytes), MRG_PROTO_NORMAL, &normal, &err))
        fail_msg("%s: %s", json, err.message);
    mrg_route_request(method, arena, mrg_buf_slice(&normal), &request);
    mrg_buf_done(&normal);
    return request;
}

/* The call becomes what `line` and `body` say to a service over HTTP, and comes back as it was. */
static void assert_way_round(const char *path, const char *json, const char *line, const char *body)
{
    struct mrg_arena *arena = mrg_arena_new(0);
    struct mrg_arena *made = NULL;
    struct mrg_buf bytes, message, again;
    struct mrg_error err;
    const struct mrg_binding *binding = NULL;
    mrg_buf_init(&bytes, SIZE_MAX);
    mrg_buf_init(&message, SIZE_MAX);
    mrg_buf_init(&again, SIZE_MAX);
    struct mrg_request grpc = called(arena, path, json, &bytes);
    struct mrg_request http = sample(arena, line, NULL, body);
    const char *one = sample_json(arena, mrg_route_canonical(schema, &made, &grpc), NULL);
    assert_string_equal(sample_json(arena, mrg_route_canonical(schema, &made, &http), NULL), one);

    const struct mrg_method *method = mrg_route_find(schema, &http, &binding);
    assert_ptr_equal(method, mrg_schema_method(schema, SLICE(path)));
    if (mrg_route_message(method, binding, &http, &message, &err) ||
        mrg_proto_from_json(schema, method->input, mrg_buf_slice(&message), false, &again, &err))
        fail_msg("%s: %s", line, err.message);
    assert_true(mrg_slice_eq(mrg_buf_slice(&bytes), mrg_buf_slice(&again)));
    mrg_buf_done(&bytes);
    mrg_buf_done(&message);
    mrg_buf_done(&again);
    mrg_arena_free(made);
    mrg_arena_free(arena);
}

static void test_calls_and_requests_are_alike(void **state)
{
    (void)state;
    assert_way_round("/shop.v1.CartService/GetCart", "{\"userId\":\"a b\"}", "GET /carts/a%20b", NULL);
    assert_way_round("/shop.v1.CartService/GetCart", "{}", "POST /shop.v1.CartService/GetCart", "{}");
    assert_way_round("/shop.v1.CartService/AddItem", "{\"userId\":\"u/1\",\"item\":{\"productId\":\"p\"}}",
                     "POST /carts/u%2F1/items", "{\"productId\": \"p\", \"quantity\": 0}");
    assert_way_round("/shop.v1.CartService/EmptyCart", "{\"userId\":\"u\"}",
                     "POST /shop.v1.CartService/EmptyCart", "{\"userId\":\"u\"}");
    assert_way_round("/shop.v1.ProductCatalogService/SearchProducts", "{\"query\":\"50% wool+silk\"}",
                     "GET /products?query=50%25+wool%2Bsilk", NULL);
    assert_way_round("/shop.v1.ProductCatalogService/SearchProducts", "{}", "GET /products?query=", NULL);
    assert_way_round(
        "/shop.v1.CheckoutService/PlaceOrder",
        "{\"userId\":\"u\",\"address\":{\"city\":\"Å\",\"zipCode\":1},\"creditCard\":{\"creditCardCvv\":7}}",
        "POST /orders/7/u:place", "{\"user_currency\":\"\",\"address\":{\"city\":\"Å\",\"zip_code\":1}}");
}

static void test_what_no_message_can_say(void **state)
{
    static const struct {
        const char *line;
        const char *body;
        const char *message;
    } cases[] = {
        {"GET /products?q=1", NULL, "query \"q\": shop.v1.SearchProductsRequest has no such field"},
        {"POST /orders/7/u:place", "[]", "the body is []; expected an object"},
    };
    struct mrg_arena *arena = mrg_arena_new(0);
    (void)state;
    for (size_t i = 0; i < MRG_ARRAY_LEN(cases); i++) {
        struct mrg_request request = sample(arena, cases[i].line, NULL, cases[i].body);
        const struct mrg_binding *binding = NULL;
        const struct mrg_method *method = mrg_route_find(schema, &request, &binding);
        struct mrg_buf buf;
        struct mrg_error err = {.message = ""};
        assert_non_null(method);
        mrg_buf_init(&buf, SIZE_MAX);
        assert_int_equal(mrg_route_message(method, binding, &request, &buf, &err), MRG_ERR_INVALID);
        assert_string_equal(err.message, cases[i].message);
        mrg_buf_done(&buf);
    }
    mrg_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_and_requests_are_alike),
        cmocka_unit_test(test_what_no_message_can_say),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
