# SPDX-License-Identifier: Apache-2.0
"""The commands other than serve, the errors of a configuration, and what the environment and the flags change."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import xml.etree.ElementTree as tree

from wire import Case, get, http, post, request_bytes, source, yaml

from mirage import Mirage, Raw, run_mirage
import tap

LEAST = """dependencies:
  - name: inventory
    listen: {http: 127.0.0.1:0}
    evidence: {source: [src]}
model: {provider: openai, base_url: 'http://127.0.0.1:1/v1', name: gpt-x}
"""
FILES = {"src/app.py": "@app.get('/items')\ndef items(): return 200, STOCK\n", "src/deep/b.py": "STOCK = [1, 2]\n",
         "caller/c.py": "requests.get('/items')\n", "src/test_app.py": "assert True\n", "src/logo.png": "\x89PNG\0\0"}


class Folder(Case):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mirage-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        for name, text in FILES.items():
            self.write(name, text)
        self.write("mirage.yaml", LEAST)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="latin-1" if "\x89" in text else "utf-8")

    def run_(self, *args, code=0, **options):
        got, out, err = run_mirage(*args, cwd=self.folder, **options)
        self.assertEqual(code, got, out + err)
        return out, err


class Commands(Folder):
    def test_help_and_version(self):
        out, _ = self.run_("--help")
        for command in ("serve", "check", "prompt"):
            self.assertIn(command, out)
            told, _ = self.run_(command, "--help")
            self.assertIn(f"Usage: mirage {command}", told)
            self.assertIn("--config FILE", told)
        self.assertRegex(self.run_("--version")[0], r"^mirage \d+\.\d+\.\d+\n$")

    def test_usage_errors(self):
        for args, words in [((), "which command"), (("nope",), "no command nope"), (("record",), "later version"),
                            (("serve", "--nope"), "no option --nope"), (("serve", "-c"), "needs a value"),
                            (("check", "extra"), "does not expect extra"), (("prompt",), "needs DEP"),
                            (("serve", "--strict=1"), "takes no value"),
                            (("prompt", "nobody"), "no dependency nobody"),
                            (("check", "-c", "absent.yaml"), "absent.yaml"), (("serve", "--mode", "never"), "never")]:
            with self.subTest(args):
                out, err = self.run_(*args, code=2)
                self.assertEqual("", out)
                self.assertTrue(err.startswith("mirage: "), err)
                self.assertIn(words, err)

    def test_check(self):
        out, err = self.run_("check")
        for words in ("inventory", "gpt-x", "cassette, then llm", "what will be sent to the model", "tokens"):
            self.assertIn(words, out)
        document = json.loads(self.run_("check", "--json")[0])
        self.assertEqual("inventory", document["dependencies"][0]["name"])
        self.write("mirage.yaml", LEAST.replace("[src]", "[src, absent]"))
        _, err = self.run_("check", code=2)
        self.assertRegex(err, r"mirage\.yaml:4:\d+: .*absent")

    PROTO = """syntax = "proto3";
import "google/api/annotations.proto";
import "google/protobuf/empty.proto";
package stock.v1;
service Stock {
  rpc Take(Item) returns (Item) {
    option (google.api.http) = {post: "/items/{id}/take" body: "*" additional_bindings {put: "/taken/{id}" body: "note"
                                response_body: "note"}};
  }
  rpc Show(Item) returns (Item) { option (google.api.http) = {get: "/items/{id}"}; }
  rpc Plain(google.protobuf.Empty) returns (Item);
  rpc Routed(Item) returns (Item);
  rpc Follow(Item) returns (stream Item);
  rpc Bring(stream Item) returns (Item);
  rpc Talk(stream Item) returns (stream Item);
}
message Item { string id = 1; string note = 2; }
"""
    PROTOS = """    protos: {roots: [proto], files: [stock.proto]}
    routes: [{rpc: stock.v1.Stock/Routed, http: "DELETE /items/{id}"}]
"""

    def with_protos(self, proto=PROTO, protos=PROTOS, **files):
        self.write("proto/stock.proto", proto)
        self.write("mirage.yaml", LEAST.replace("    evidence", protos + "    evidence"))

    def test_check_lists_rpcs(self):
        self.with_protos()
        env = {"XDG_CACHE_HOME": str(self.folder / "cache")}
        out, err = self.run_("check", env=env)
        self.assertEqual("", err)
        self.assertIn("""
inventory: the RPCs of its protos
  stock.v1.Stock
    Take    POST /items/{id}/take, body *
            PUT /taken/{id}, body note, response body note
    Show    GET /items/{id}
    Plain   POST /stock.v1.Stock/Plain, body *
    Routed  DELETE /items/{id}
    Follow  not unary: the server streams; UNIMPLEMENTED
    Bring   not unary: the client streams; UNIMPLEMENTED
    Talk    not unary: both sides stream; UNIMPLEMENTED
""", out)
        document = json.loads(self.run_("check", "--json", env=env)[0])
        take, show, plain, _, follow, _, _ = document["rpcs"]["inventory"]
        self.assertEqual({"rpc": "stock.v1.Stock/Take", "input": "stock.v1.Item", "output": "stock.v1.Item", "unary": True,
                          "routes": [{"http": "POST /items/{id}/take", "body": "*", "response_body": ""},
                                     {"http": "PUT /taken/{id}", "body": "note", "response_body": "note"}]}, take)
        self.assertEqual([{"http": "GET /items/{id}", "body": "", "response_body": ""}], show["routes"])
        self.assertEqual("google.protobuf.Empty", plain["input"])
        self.assertEqual([{"http": "POST /stock.v1.Stock/Plain", "body": "*", "response_body": ""}], plain["routes"])
        self.assertEqual((False, []), (follow["unary"], follow["routes"]))
        del document["file"], document["rpcs"]
        self.write("mirage.yaml", json.dumps(document))
        self.assertIn("Routed  DELETE /items/{id}", self.run_("check", env=env)[0])

    def test_check_tells_the_faults_of_protos(self):
        env = {"XDG_CACHE_HOME": str(self.folder / "cache")}
        for change, words in [(dict(proto=self.PROTO.replace("string note", "strnig note")),
                               r'stock\.proto:17:31: "strnig" is not defined'),
                              (dict(protos=self.PROTOS.replace("Routed", "Nope")), "routes: stock.v1.Stock/Nope: the protos have "
                               "no such RPC; they have stock.v1.Stock/Take, "),
                              (dict(proto=self.PROTO.replace("/items/{id}/take", "/items/{no}/take")),
                               r"stock\.proto: Take: .*\{no\}|stock\.proto: Take: .*no"),
                              (dict(protos=self.PROTOS.replace("stock.proto", "absent.proto")), "absent.proto")]:
            self.with_protos(**change)
            for args in (("check",), ("check", "--json")):
                with self.subTest(words, args=args):
                    out, err = self.run_(*args, code=2, env=env)
                    self.assertRegex(err, r"^mirage: mirage\.yaml:\d+(:\d+)?: .*" + words)
                    self.assertIn("inventory", out or "inventory")
                    self.assertNotIn("Take", out)

    def test_what_could_start_and_not_work(self):
        """check and serve refuse it alike."""
        env = {"XDG_CACHE_HOME": str(self.folder / "cache")}
        self.write("proto/stock.proto", self.PROTO)
        self.write("proto/bare.proto", 'syntax = "proto3";\nmessage Bare {}\n')
        grpc = LEAST.replace("http: 127.0.0.1:0}", "http: 127.0.0.1:0, grpc: 127.0.0.1:0}")
        protos = "    protos: {roots: [proto], files: [stock.proto]}\n"
        other = LEAST.split("\n", 1)[1].replace("name: inventory", "name: payment").split("model:")[0]
        head, model = LEAST.split("model:")
        for text, words in ((grpc + "", "listen.grpc needs protos"),
                            (grpc.replace("    evidence", "    protos: {}\n    evidence"), "listen.grpc needs protos"),
                            (grpc.replace("    evidence", protos.replace("stock", "bare") + "    evidence"),
                             "listen.grpc: the protos have no service"),
                            (LEAST.replace("127.0.0.1:0}", '127.0.0.1:0, zmq: ["tcp://127.0.0.1:*"]}').replace(
                                "    evidence", protos + "    zmq: {format: protobuf, rpc: stock.v1.Stock/No}\n    evidence"),
                             "zmq.rpc: the protos have no RPC stock.v1.Stock/No"),
                            ("listen: {grpc: 127.0.0.1:0}\n" + head.replace("    evidence", protos + "    evidence") +
                             other.replace("    evidence", protos + "    evidence") + "model:" + model,
                             "dependency payment: stock.v1.Stock is a service of inventory too")):
            self.write("mirage.yaml", text)
            for command in ("check", "serve"):
                with self.subTest(words, command=command):
                    self.assertIn(words, self.run_(command, code=2, env=env)[1])

    def test_check_asks_for_reflection(self):
        self.with_protos(protos="    protos: {reflect: 127.0.0.1:1}\n")
        _, err = self.run_("check", code=3)
        self.assertRegex(err, r"^mirage: mirage\.yaml:2: dependency inventory: protos\.reflect: 127\.0\.0\.1:1: ")

    def test_check_says_which_formats_carry_control_verbs(self):
        for zmq, told in [("format: multipart", False), ("format: envelope", False), ('format: body, route: "POST /a"', True),
                          ("format: protobuf, rpc: stock.v1.Stock/Take", True)]:
            with self.subTest(zmq):
                self.with_protos()
                text = (self.folder / "mirage.yaml").read_text()
                self.write("mirage.yaml", text.replace("listen: {", 'listen: {zmq: ["tcp://127.0.0.1:0"], ').replace(
                    "    evidence", f"    zmq: {{{zmq}}}\n    evidence"))
                out, _ = self.run_("check", env={"XDG_CACHE_HOME": str(self.folder / "cache")})
                self.assertIn("zmq       format " + zmq.split()[1].strip(","), out)
                self.assertEqual(told, "cannot carry control verbs" in out)

    def test_check_never_asks_and_shows_no_key(self):
        key = "sk-secret-0123456789"
        self.write("mirage.yaml", LEAST.replace("name: gpt-x", "name: gpt-x, key_env: T_KEY"))
        for args in (("check",), ("check", "--json"), ("prompt", "inventory")):
            out, err = self.run_(*args, env={"T_KEY": key})
            self.assertNotIn(key, out + err)

    def test_prompt(self):
        out, err = self.run_("prompt", "inventory")
        for words in ('"inventory"', "STOCK = [1, 2]", "deep/b.py", "def items()"):
            self.assertIn(words, out)
        for words in ("assert True", "PNG"):
            self.assertNotIn(words, out)
        self.assertRegex(err, r"\d+ bytes, about \d+ tokens: source \d+")
        self.assertIn(f"{len(out.encode())} bytes", err)
        self.write("mirage.yaml", LEAST.replace("source: [src]", "source: [src], caller: [caller]"))
        self.assertIn("requests.get", self.run_("prompt", "inventory")[0])
        self.assertNotIn("requests.get", self.run_("prompt", "inventory", "--as", "source")[0])
        self.assertNotIn("STOCK", self.run_("prompt", "inventory", "--as", "caller")[0])
        self.run_("prompt", "inventory", "--as", "x-ray", code=2)

    def test_prompt_is_what_is_sent(self):
        p = self.provider()
        self.write("mirage.yaml", LEAST.replace("http://127.0.0.1:1/v1", p.base_url))
        m = self.mirage(str(self.folder / "mirage.yaml"))
        get(m.url() + "/items")
        self.assertEqual(self.run_("prompt", "inventory")[0], p.calls[0].system)

    def test_documents(self):
        for kind in ("bash", "zsh", "man1", "man5", "example", "options"):
            out, _ = self.run_("docs", kind)
            self.write(kind, out)
            self.assertTrue(out)
        if shutil.which("bash"):
            subprocess.run(["bash", "-n", self.folder / "bash"], check=True)
            words = subprocess.run(["bash", "-c", ". ./bash; COMP_WORDS=(mirage ser); COMP_CWORD=1; _mirage; echo ${COMPREPLY[@]};"
                                    "COMP_WORDS=(mirage serve --re); COMP_CWORD=2; _mirage; echo ${COMPREPLY[@]}"],
                                   cwd=self.folder, capture_output=True, text=True, check=True)
            self.assertEqual("serve\n--ready-file --report\n", words.stdout)
        if shutil.which("zsh"):
            subprocess.run(["zsh", "-n", self.folder / "zsh"], check=True)
        if shutil.which("groff"):
            for page in ("man1", "man5"):
                done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z", self.folder / page],
                                      capture_output=True, text=True)
                self.assertEqual((0, "", ""), (done.returncode, done.stdout, done.stderr), page)
        self.run_("docs", "nothing", code=2)

    def test_example_is_a_configuration(self):
        out, _ = self.run_("docs", "example")
        for path in re.findall(r"[\w/.-]+/(?:inventory|order)[\w/.]*|proto", out):
            if not path.startswith("/") and not (self.folder / path).exists():
                self.write(path if "." in path.split("/")[-1] else path + "/x.py", "{}\n")
        self.write("mirage.yaml", out)
        code, _, err = run_mirage("check", cwd=self.folder, env={"ANTHROPIC_API_KEY": "x"})
        self.assertEqual(0, code, err)

    def test_every_option_in_the_documents(self):
        options, man, example = (self.run_("docs", kind)[0] for kind in ("options", "man5", "example"))
        for key in ("control.hosts", "limits.body", "cassette.on_stale", "memory.window", "evidence.budget",
                    "on_gone", "redact"):
            last = key.split(".")[-1]
            for text in (options, man, example):
                self.assertIn(last, text)


class Errors(Folder):
    def errors(self, text, code=2):
        self.write("mirage.yaml", text)
        return self.run_("check", code=code)[1].splitlines()

    def test_all_at_once_with_places(self):
        lines = self.errors("""model: {provider: openia, name: m, base_url: http://x}
limits:
  body: many
dependencies:
  - name: a
    lisen: {http: 127.0.0.1:0}
    listen: {http: 127.0.0.1:0}
    cassette: {mode: alway}
    cassette: {mode: auto}
  - name: a
    listen: {http: nowhere}
    shadow: {}
""")
        text = "\n".join(lines)
        for place, words in [(r"1:\d+", "openai.*openia"), (r"3:9", "expected a size.*many"),
                             (r"6:5", "lisen.*listen"),
                             (r"8:\d+", "auto.*alway"), (r"9:5", "cassette"), (r"10:\d+", "a"),
                             (r"11:\d+", "nowhere"),
                             (r"12:5", "later version")]:
            self.assertRegex(text, rf"(?m)^mirage: mirage\.yaml:{place}: .*({words})")
        for line in lines:
            self.assertRegex(line, r"^mirage: mirage\.yaml:\d+:\d+: .+")

    def test_broken_yaml(self):
        for text in ("dependencies: [", "a: b: c", "\tx: 1\n", "- 1\n", "", "dependencies:\n  - {name: a\n"):
            with self.subTest(text):
                lines = self.errors(text)
                self.assertTrue(lines)
                self.assertRegex(lines[0], r"^mirage: mirage\.yaml(:\d+:\d+)?: .+")

    def test_nowhere_to_listen(self):
        self.assertRegex("\n".join(self.errors("model: {name: m}\ndependencies:\n  - {name: a}\n")), r"listen")

    def test_key_in_the_file(self):
        self.assertRegex("\n".join(self.errors(LEAST.replace("name: gpt-x", "name: gpt-x, key: sk-1"))), "key_env")


class Overrides(Folder):
    def summary(self, *args, **env):
        return json.loads(self.run_("check", "--json", *args, env=env)[0])

    def test_environment(self):
        self.assertIn("other-model", json.dumps(self.summary(MIRAGE_MODEL_NAME="other-model")))
        self.assertIn("other-model", self.run_("check", env={"MIRAGE_MODEL_NAME": "other-model"})[0])
        self.write("elsewhere.yaml", LEAST.replace("inventory", "elsewhere"))
        self.assertEqual("elsewhere", self.summary(MIRAGE_CONFIG="elsewhere.yaml")["dependencies"][0]["name"])
        _, err = self.run_("check", code=2, env={"MIRAGE_MODEL_TIMEOUT": "soon"})
        self.assertRegex(err, "MIRAGE_MODEL_TIMEOUT.*expected.*soon")
        _, err = self.run_("check", code=2, env={"MIRAGE_MODLE_NAME": "x"})
        self.assertIn("MIRAGE_MODLE_NAME", err)

    def test_mode(self):
        p = self.provider()
        for env, args, expected in [({}, (), "llm"), ({}, ("--mode", "replay"), None),
                                    ({"MIRAGE_DEPENDENCIES_INVENTORY_CASSETTE_MODE": "replay"}, (), None)]:
            with self.subTest(env=env, args=args):
                m = self.mirage(yaml(p), args, env)
                self.assertEqual(expected, source(get(m.url() + "/x")))


class Serve(Case):
    def test_ready_file(self):
        m, _ = self.serve(names=("a", "b"))
        self.assertEqual(m.pid, m.ready["pid"])
        self.assertEqual(["a", "b"], m.names)
        ports = {m.address("a")[1], m.address("b")[1], int(m.control.rpartition(":")[2])}
        self.assertEqual(3, len(ports))
        self.assertNotIn(0, ports)
        self.assertEqual(["ready.json", "stderr", "stdout"], sorted(os.listdir(m.run)))
        self.assertEqual("", m.stdout_text())
        self.assertRegex(m.stderr_text(), r"Serving a at http://127\.0\.0\.1:\d+")

    def test_taken_port(self):
        m, p = self.serve()
        for text in (yaml(p, dep="listen: {http: '%s:%d'}" % m.address()),
                     yaml(p).replace("control: {listen: 127.0.0.1:0}", "control: {listen: '%s:%d'}" % m.address())):
            other = Mirage(text)
            with self.assertRaises(AssertionError) as told:
                other.start()
            self.assertRegex(str(told.exception), r"%s:%d: the address is in use" % m.address())
            self.assertIn(other.exit_code, (2, 3))
        self.assertEqual(200, get(m.url() + "/x")[0])

    def test_report(self):
        for name in ("report.json", "report.xml"):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, name)
                m, p = self.serve({"/bad": "no JSON"}, args=("--report", path))
                get(m.url() + "/a")
                get(m.url() + "/bad")
                m.close()
                text = pathlib.Path(path).read_text()
                self.assertEqual([name], os.listdir(folder))
            if name.endswith("json"):
                document = json.loads(text)
                one = document["dependencies"][0]
                self.assertEqual(("inventory", 2, 1, 1, 3),
                                 tuple(one[k] for k in ("name", "requests", "from_llm", "failed", "llm_calls")))
                self.assertEqual((1, 0), (document["failed"], document["missed"]))
                self.assertGreater(one["llm_tokens_in"], 0)
            else:
                root = tree.fromstring(text)
                self.assertEqual(("testsuite", "1", "1"), (root.tag, root.get("tests"), root.get("failures")))
                self.assertIn("1 requests failed", root.find("testcase/failure").get("message"))

    def test_strict(self):
        m, p = self.serve({"/bad": "no JSON"}, args=("--strict",), status=1)
        get(m.url() + "/bad")
        m.close()
        m, p = self.serve(args=("--strict",))
        get(m.url() + "/good")
        m.close()


class Reload(Case):
    def reload(self, m, text, pattern="Reloaded"):
        after = len(m.stderr_text())
        m.write("mirage.yaml", text)
        m.hup()
        m.wait_stderr(pattern, after=after)
        if pattern == "Reloaded":
            m.wait_stderr("Control verbs", after=after)
            with open(os.path.join(m.run, "ready.json")) as f:
                m.ready = json.load(f)

    def test_good_one(self):
        m, p = self.serve(names=("a", "b"))
        a, b, control = m.url("a"), m.url("b"), m.control
        for _ in range(2):
            post(a + "/1")
        self.reload(m, yaml(p, names=("a", "c")))
        self.assertEqual((a, control), (m.url("a"), m.control))      # the same addresses, though they were free ones
        self.assertEqual(200, get(m.url("c") + "/x")[0])
        with self.assertRaises(OSError):
            get(b + "/x", timeout=2)
        get(a + "/2", timeout=5)
        self.assertEqual(3, sum(role == "user" for role, _ in p.calls[-1].messages))   # its history has lived on
        self.assertEqual(["a", "c"], json.loads(get(control + "/__mock__/health")[2])["dependencies"])

    def test_changed_values(self):
        m, p = self.serve()
        post(m.url() + "/a")
        self.reload(m, yaml(p, dep="cassette: {mode: replay}"))
        self.assertError(get(m.url() + "/new"), 500, "nothing is recorded")
        post(m.url() + "/__mock__/reset")
        self.assertEqual("cassette", source(post(m.url() + "/a")))
        self.reload(m, yaml(p, dep="cassette: {mode: 'off'}", model="temperature: 0.5"))
        self.assertEqual("llm", source(post(m.url() + "/a")))
        self.assertEqual(0.5, p.calls[-1].body["temperature"])

    def test_limits_are_taken_over(self):
        m, p = self.serve()
        self.reload(m, yaml(p, top="limits: {body: 10B, deadline: 400ms}\nreply_headers: false"))
        self.assertEqual(413, post(m.url() + "/a", b"x" * 11)[0])
        status, headers, _ = get(m.url() + "/b")
        self.assertEqual((200, []), (status, [k for k, _ in headers if k.lower().startswith("mirage-")]))
        p.hold()
        self.assertEqual(504, get(m.url() + "/c", timeout=20)[0])
        p.release()

    def test_wrong_one(self):
        m, p = self.serve()
        before = m.url()
        for text in ("dependencies: [", yaml(p, dep="lisen: 1"),
                     yaml(p, dep="listen: {http: '%s'}" % m.control.partition("//")[2]),
                     yaml(p, dep="evidence: {source: [absent]}"), ""):
            with self.subTest(text):
                self.reload(m, text, r"old (one|configuration) stays")
                self.assertEqual(200, get(before + "/x")[0])
                self.assertEqual(200, get(m.control + "/__mock__/health")[0])

    def test_requests_under_way(self):
        m, p = self.serve(names=("a", "b"))
        p.hold()
        clients = [Raw(m.address(n)).send(request_bytes("/slow")) for n in ("a", "b")]
        p.wait_for_calls(2)
        self.reload(m, yaml(p, names=("a",)))
        p.release()
        self.assertEqual([200, 200], [c.response("POST").status for c in clients])
        for c in clients:
            c.close()
        self.assertEqual(200, get(m.url() + "/x")[0])

    def test_evidence_is_read_anew(self):
        m, p = self.serve(dep="evidence: {source: [src]}", files={"src/a.py": "VERSION = 1\n"})
        get(m.url() + "/x")
        m.write("src/a.py", "VERSION = 2\n")
        self.reload(m, m.read("mirage.yaml"))
        get(m.url() + "/y")
        self.assertEqual([True, False], ["VERSION = 1" in c.system for c in p.calls])
        self.assertIn("VERSION = 2", p.calls[1].system)

    def test_control_verbs_while_reloading(self):
        m, p = self.serve()
        for i in range(5):
            m.hup()
            self.assertEqual(200, get(m.url() + f"/{i}")[0])
            self.assertEqual(200, http("GET", m.control + "/metrics")[0])


if __name__ == "__main__":
    tap.main()
