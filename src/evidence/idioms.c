// SPDX-License-Identifier: Apache-2.0
#include "evidence/idioms.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* One group a language. */
/* clang-format off */
static const char *const routes[] = {
    /* Python */
    "@app.", "@router.", "@bp.", "@blueprint.", ".route(", "APIRouter(", "add_url_rule", "urlpatterns",
    "add_api_route", "BaseHTTPRequestHandler", "def do_GET", "def do_POST", "add_routes(", "add_resource(",
    "RequestHandler)", "Servicer)", "lambda_handler", "case \"GET\"", "case \"POST\"", "case 'GET'",
    "case 'POST'",
    /* JavaScript, TypeScript */
    "app.get(", "app.post(", "app.put(", "app.delete(", "app.use(", "router.get(", "router.post(",
    "router.put(", "router.delete(", "fastify.", "server.get(", "server.post(", "@Get(", "@Post(", "@Put(",
    "@Delete(", "@Controller(", "createServer(", "new Hono(", "Deno.serve", "export async function GET",
    "export async function POST", "addService(",
    /* Go */
    "HandleFunc(", "http.Handle(", "ServeHTTP(", ".GET(\"", ".POST(\"", ".Get(\"/", ".Post(\"/", ".Put(\"/",
    ".Delete(\"/", "NewServeMux(", "mux.NewRouter", "chi.NewRouter", "fiber.New(", "RegisterService(",
    "pb.Register",
    /* Java, Kotlin, Scala */
    "@RestController", "@RequestMapping", "@GetMapping", "@PostMapping", "@PutMapping", "@DeleteMapping",
    "@PatchMapping", "@Path(", "@Controller", "HttpServlet", "HttpHandler", "RouterFunction", "ImplBase",
    "Javalin", "routing {", "pathPrefix(",
    /* C# */
    "[ApiController]", "[HttpGet", "[HttpPost", "[HttpPut", "[HttpDelete", "[Route(", "MapGet(", "MapPost(",
    "MapPut(", "MapDelete(", "ControllerBase", "MapGrpcService",
    /* Ruby */
    "routes.draw", "Sinatra", "ApplicationController", "Grape::API", "get '/", "post '/", "get \"/",
    "post \"/", "put '/", "delete '/",
    /* PHP */
    "Route::", "$app->get(", "$app->post(", "$router->", "#[Route(", "REQUEST_METHOD", "AbstractController",
    /* Rust */
    "HttpServer::new", "#[get(", "#[post(", "#[put(", "#[delete(", "Router::new(", "warp::path", "rocket::",
    "actix_web", "Server::builder(",
    /* C, C++ */
    "MHD_start_daemon", "mg_http_listen", "evhttp_set", "h2o_register_handler", "ulfius_add_endpoint",
    "httplib::Server", "CROW_ROUTE", "onion_url", "svr.Get(", "svr.Post(", "Pistache", NULL,
};

static const char *const calls[] = {
    "requests.", "httpx", "urllib", "aiohttp", "http.client", "HTTPConnection(", "fetch(", "axios", "got(",
    "superagent", "http.request(", "https.request(", "http.Get(", "http.Post(", "http.NewRequest",
    "client.Do(", "HttpClient", "RestTemplate", "WebClient", "OkHttpClient", "Feign", "Retrofit",
    "RestClient", "GetAsync(", "PostAsync(", "SendAsync(", "Net::HTTP", "Faraday", "HTTParty", "Guzzle",
    "curl_", "reqwest", "hyper::", "ureq", "grpc.Dial", "grpc.NewClient", "insecure_channel(", "Stub(",
    "newBlockingStub", "GrpcChannel", "zmq.", NULL,
};
/* clang-format on */

static bool any_of(struct mrg_slice source, const char *const *idioms)
{
    for (; *idioms; idioms++) {
        if (memmem(source.ptr, source.len, *idioms, strlen(*idioms)))
            return true;
    }
    return false;
}

bool mrg_idioms_route(struct mrg_slice source)
{
    return source.len > 0 && any_of(source, routes);
}

bool mrg_idioms_call(struct mrg_slice source)
{
    return source.len > 0 && any_of(source, calls);
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool mrg_idioms_mentions(struct mrg_slice source, const char *text, bool word, bool exact)
{
    size_t len = strlen(text);
    if (len == 0 || source.len < len)
        return false;
    for (size_t i = 0; i + len <= source.len; i++) {
        const char *at = source.ptr + i;
        bool fits = exact ? *at == *text && memcmp(at, text, len) == 0 : strncasecmp(at, text, len) == 0;
        if (!fits)
            continue;
        bool before = i > 0 && is_word(at[-1]);
        bool after = i + len < source.len && is_word(at[len]);
        if (!word || (!before && !after))
            return true;
    }
    return false;
}
