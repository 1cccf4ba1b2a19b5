# SPDX-License-Identifier: Apache-2.0
"""A scripted model provider: real sockets, the OpenAI and Anthropic wire formats, and no model.

    with Provider(lambda call: Reply('{"status": 200}')) as p:
        ... point the client at p.base_url ...
        calls = p.wait_for_calls(1)

It listens on 127.0.0.1 and speaks `POST …/chat/completions` (OpenAI) and `POST …/messages` (Anthropic).
What it is sent is checked as the real endpoints check it and refused in their error shape; what it answers
is scripted: a text, an error, a delay, or one of the ways in which a connection can break.

One asyncio loop in one thread serves every connection, so thousands of held requests cost little. The
`answer` function runs on that loop: it must not block (it may be `async def`). Everything else here may be
called from any thread.

As a program: `python3 provider.py --port 8100 --delay 10 --reply echo`.
"""

import argparse
import asyncio
import collections
import email.utils
import inspect
import json
import re
import resource
import signal
import socket
import struct
import sys
import threading
import time

MAX_HEAD = 64 * 1024
MAX_BODY = 256 * 1024 * 1024

REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
           405: "Method Not Allowed", 408: "Request Timeout", 413: "Payload Too Large", 422: "Unprocessable Entity",
           429: "Too Many Requests", 500: "Internal Server Error", 502: "Bad Gateway",
           503: "Service Unavailable", 504: "Gateway Timeout", 529: "Overloaded"}

# status: (OpenAI type, OpenAI code, Anthropic type, message)
ERRORS = {
    400: ("invalid_request_error", None, "invalid_request_error", "The request is not valid."),
    401: ("invalid_request_error", "invalid_api_key", "authentication_error", "invalid x-api-key"),
    403: ("invalid_request_error", None, "permission_error", "Your API key does not have permission."),
    404: ("invalid_request_error", None, "not_found_error", "Not found."),
    413: ("invalid_request_error", None, "request_too_large", "Request exceeds the maximum size"),
    429: ("requests", "rate_limit_exceeded", "rate_limit_error", "Rate limit reached for requests"),
    500: ("server_error", None, "api_error", "The server had an error while processing your request."),
    503: ("server_error", None, "api_error", "The engine is currently overloaded, please try again later."),
    529: ("server_error", None, "overloaded_error", "Overloaded"),
}
STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}


class Gate:
    """Closed until some thread opens it; any number of coroutines may wait, on any loop."""

    def __init__(self):
        self._lock = threading.Lock()
        self._open = False
        self._waiters = []

    def open(self):
        with self._lock:
            self._open = True
            waiters, self._waiters = self._waiters, []
        for loop, future in waiters:
            try:
                loop.call_soon_threadsafe(lambda f=future: f.done() or f.set_result(None))
            except RuntimeError:   # that loop is closed: nobody waits any more
                pass

    @property
    def is_open(self):
        return self._open

    async def wait(self):
        loop = asyncio.get_running_loop()
        with self._lock:
            if self._open:
                return
            future = loop.create_future()
            self._waiters.append((loop, future))
        await future


class Reply:
    """What the provider answers to one call.

    text     the model's text, wrapped in the wire's own form; ignored when `body` is given
    status   an error status without `body` gets the wire's error form, with `text` as the message
    body     the whole HTTP body: bytes, str, or an object sent as JSON
    headers  further headers, a dict or a list of pairs; one of the same name replaces the built-in one
    tokens   (input, cached, output); input counts the cached ones too, as OpenAI does. Default: by length
    written  tokens written to the cache (Anthropic's cache_creation_input_tokens), also part of input
    id, finish, model   the provider's id; 'stop', 'length', 'content_filter', …; default: the asked model
    retry_after         seconds, or with `retry_date=True` the same as an HTTP date
    delay    seconds before the first byte
    """

    def __init__(self, text="", status=200, *, body=None, headers=(), tokens=None, written=0, id=None,
                 finish="stop", model=None, retry_after=None, retry_date=False, delay=0.0,
                 error_type=None, error_code=None):
        self.text = text
        self.status = status
        self.body = body
        self.header_list = list(headers.items() if isinstance(headers, dict) else headers)
        self.tokens = tokens
        self.written = written
        self.id = id
        self.finish = finish
        self.model = model
        self.retry_after = retry_after
        self.retry_date = retry_date
        self.delay = delay
        self.error_type = error_type
        self.error_code = error_code
        self.gate = None          # closed: the reply is held
        self.stop_at = None       # None, 'nothing', 'status', 'headers', or a share of the body 0.0 … 1.0
        self.ending = "keep"      # after the last byte: 'keep', 'close', 'reset', or 'stall' till the client leaves
        self.declared_extra = 0   # Content-Length claims so many bytes more than there are
        self.drip_bytes = 0
        self.drip_every = 0.0
        self.use_chunked = False

    # Ways to make one ------------------------------------------------------------------------------------

    @classmethod
    def json(cls, value, **options):
        """The model's text is this value as JSON."""
        return cls(json.dumps(value), **options)

    @classmethod
    def error(cls, status, message="", **options):
        """An error in the wire's own form; options as for Reply, such as retry_after."""
        return cls(message, status, **options)

    @classmethod
    def cut(cls, where="nothing", text="cut off", *, reset=False, **options):
        """The connection ends: before any byte ('nothing'), in the head ('status'), after the head
        ('headers'), or in the middle of the body ('body'); with reset=True by RST."""
        reply = cls(text, **options)
        reply.stop_at = 0.5 if where == "body" else where
        if reply.stop_at not in ("nothing", "status", "headers", 0.5):
            raise ValueError(where)
        reply.ending = "reset" if reset else "close"
        return reply

    @classmethod
    def stall(cls, where="body", text="stalled", **options):
        """As cut(), but the connection stays open and silent until the client leaves."""
        reply = cls.cut(where, text, **options)
        reply.ending = "stall"
        return reply

    @classmethod
    def short(cls, text="half a reply", *, extra=1000, **options):
        """All of the body, under a Content-Length that claims `extra` more bytes; then the end."""
        reply = cls(text, **options)
        reply.declared_extra = extra
        reply.ending = "close"
        return reply

    @classmethod
    def invalid_json(cls, **options):
        return cls(body=b'{"id": "broken", "choices": [{"message": {"content": "no end', **options)

    @classmethod
    def empty(cls, status=200, **options):
        """A body of no bytes."""
        return cls(status=status, body=b"", **options)

    @classmethod
    def no_choices(cls, **options):
        """Well-formed, with an empty `choices` or `content`."""
        reply = cls(**options)
        reply.text = None
        return reply

    @classmethod
    def huge(cls, size, **options):
        """A proper reply whose text has `size` bytes."""
        return cls("x" * size, **options)

    # Ways to send one; each returns the reply ------------------------------------------------------------

    def after(self, seconds):
        self.delay = seconds
        return self

    def hold(self):
        """Held until release(), from any thread."""
        self.gate = Gate()
        return self

    def release(self):
        if self.gate:
            self.gate.open()
        return self

    def drip(self, size=1, every=0.001):
        """Head and body in pieces of `size` bytes, `every` so many seconds."""
        self.drip_bytes, self.drip_every = size, every
        return self

    def chunked(self):
        self.use_chunked = True
        return self

    def closing(self):
        """Says `Connection: close` and closes."""
        self.header_list.append(("Connection", "close"))
        self.ending = "close"
        return self

    # The bytes -------------------------------------------------------------------------------------------

    def _usage(self, call):
        tokens = self.tokens
        if tokens is None:
            tokens = (max(1, len(call.raw) // 4), 0, max(1, len(self.text or "") // 4))
        return tokens

    def _success(self, call):
        total, cached, out = self._usage(call)
        model = self.model or call.model
        if call.wire == "openai":
            choices = [] if self.text is None else [{
                "index": 0, "message": {"role": "assistant", "content": self.text, "refusal": None},
                "logprobs": None, "finish_reason": self.finish}]
            return {"id": self.id or f"chatcmpl-{call.number}", "object": "chat.completion",
                    "created": int(time.time()), "model": model, "choices": choices,
                    "usage": {"prompt_tokens": total, "completion_tokens": out, "total_tokens": total + out,
                              "prompt_tokens_details": {"cached_tokens": cached, "audio_tokens": 0},
                              "completion_tokens_details": {"reasoning_tokens": 0}},
                    "system_fingerprint": "fp_scripted"}
        return {"id": self.id or f"msg_{call.number}", "type": "message", "role": "assistant", "model": model,
                "content": [] if self.text is None else [{"type": "text", "text": self.text}],
                "stop_reason": STOP_REASONS.get(self.finish, self.finish), "stop_sequence": None,
                "usage": {"input_tokens": max(0, total - cached - self.written),
                          "cache_creation_input_tokens": self.written, "cache_read_input_tokens": cached,
                          "output_tokens": out}}

    def payload(self, call):
        """The body's bytes."""
        if isinstance(self.body, bytes):
            return self.body
        if isinstance(self.body, str):
            return self.body.encode()
        value = self.body
        if value is None:
            value = self._success(call) if self.status < 400 else error_body(
                call.wire, self.status, self.text, self.error_type, self.error_code)
        return json.dumps(value).encode()

    def head(self, call, length):
        fields = [("Content-Type", "application/json")]
        if self.use_chunked:
            fields.append(("Transfer-Encoding", "chunked"))
        else:
            fields.append(("Content-Length", str(length + self.declared_extra)))
        fields.append(("request-id" if call.wire == "anthropic" else "x-request-id", f"req_{call.number}"))
        if self.retry_after is not None:
            value = str(self.retry_after)
            if self.retry_date:
                value = email.utils.formatdate(time.time() + self.retry_after, usegmt=True)
            fields.append(("Retry-After", value))
        named = {name.lower() for name, _ in self.header_list}
        fields = [f for f in fields if f[0].lower() not in named] + self.header_list
        lines = [f"HTTP/1.1 {self.status} {REASONS.get(self.status, 'Status')}"]
        lines += [f"{name}: {value}" for name, value in fields]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def error_body(wire, status, message="", kind=None, code=None, param=None):
    openai_kind, openai_code, anthropic_kind, text = ERRORS.get(status, ERRORS[500 if status >= 500 else 400])
    message = message or text
    if wire == "anthropic":
        return {"type": "error", "error": {"type": kind or anthropic_kind, "message": message}}
    return {"error": {"message": message, "type": kind or openai_kind, "param": param,
                      "code": code or openai_code}}


class Call:
    """One request as it came, and what became of it."""

    def __init__(self, number, connection, method, path, header_list, raw):
        self.number = number            # 1, 2, 3 … in order of arrival
        self.connection = connection    # number of its TCP connection
        self.method = method
        self.path = path
        self.header_list = header_list  # as sent, repeated ones too
        self.headers = {}               # by lower-case name; repeated ones joined by ', '
        for name, value in header_list:
            key = name.lower()
            self.headers[key] = f"{self.headers[key]}, {value}" if key in self.headers else value
        self.raw = raw                  # the body's bytes
        self.time = time.monotonic()    # when the request was complete
        self.wall = time.time()
        self.wire = None                # 'openai' or 'anthropic'
        self.body = None                # parsed, None when it is not JSON
        self.problem = None             # why it was refused before the script was asked
        self.reply = None               # the Reply that was chosen
        self.replied = False            # sent whole
        self.cancelled = False          # the client left before the reply was whole
        self.ended = None               # when either became true, or the script broke the connection

    def _get(self, key, kind, default):
        value = self.body.get(key) if isinstance(self.body, dict) else None
        return value if isinstance(value, kind) else default

    @property
    def model(self):
        return self._get("model", str, "")

    @property
    def system(self):
        """The system text: Anthropic's `system`, OpenAI's system and developer messages, joined by blank lines."""
        if self.wire == "anthropic":
            return text_of(self._get("system", (str, list), ""))
        return "\n\n".join(text for role, text in self._all() if role in ("system", "developer"))

    @property
    def messages(self):
        """[(role, text)] without the system ones."""
        return [(role, text) for role, text in self._all() if role not in ("system", "developer")]

    @property
    def last(self):
        """The text of the last user message."""
        return next((text for role, text in reversed(self.messages) if role == "user"), "")

    def _all(self):
        return [(m.get("role"), text_of(m.get("content"))) for m in self._get("messages", list, ())
                if isinstance(m, dict)]

    def release(self):
        """Lets a held reply of this call go."""
        if self.reply:
            self.reply.release()

    def __repr__(self):
        state = "cancelled" if self.cancelled else "replied" if self.replied else "open"
        return f"<Call {self.number} {self.wire} {self.path} {state}{' ' + self.problem if self.problem else ''}>"


def text_of(content):
    """The text of a string or of a list of text parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(p.get("text", "") for p in content if isinstance(p, dict) and isinstance(p.get("text"), str))
    return ""


# What the endpoints refuse ---------------------------------------------------------------------------------

class Refused(Exception):
    def __init__(self, status, message, *, kind=None, code=None, param=None):
        super().__init__(message)
        self.status, self.kind, self.code, self.param = status, kind, code, param


OPENAI_KEYS = set("""model messages max_tokens max_completion_tokens temperature top_p n stop seed user stream
    stream_options response_format frequency_penalty presence_penalty logit_bias logprobs top_logprobs metadata store
    reasoning_effort verbosity service_tier prompt_cache_key prompt_cache_retention safety_identifier tools tool_choice
    parallel_tool_calls prediction modalities""".split())
ANTHROPIC_KEYS = set("""model messages max_tokens system temperature top_p top_k stop_sequences stream metadata
    thinking tools tool_choice service_tier cache_control output_config""".split())


def is_int(value):
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_openai(call, key, reasoning):
    body = call.body
    if key is not None and call.headers.get("authorization") != f"Bearer {key}":
        if "authorization" not in call.headers:
            raise Refused(401, "You didn't provide an API key. You need to provide your API key in an Authorization "
                               "header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY).")
        raise Refused(401, "Incorrect API key provided.", code="invalid_api_key")
    check_type(call)
    if not isinstance(body, dict):
        raise Refused(400, "We could not parse the JSON body of your request.")

    def bad(message, param, code=None):
        raise Refused(400, message, param=param, code=code)

    for name in body:
        if name not in OPENAI_KEYS:
            bad(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    if not isinstance(body.get("model"), str) or not body["model"]:
        bad("you must provide a model parameter", None)
    messages = body.get("messages")
    if "messages" not in body:
        bad("Missing required parameter: 'messages'.", "messages", "missing_required_parameter")
    if not isinstance(messages, list):
        bad("Invalid type for 'messages': expected an array of objects.", "messages", "invalid_type")
    if not messages:
        bad("Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array "
            "instead.", "messages", "empty_array")
    for i, message in enumerate(messages):
        check_openai_message(message, f"messages[{i}]", bad)
    for name in ("max_tokens", "max_completion_tokens"):
        if name in body and body[name] is not None and (not is_int(body[name]) or body[name] < 1):
            bad(f"Invalid value for '{name}': expected an integer >= 1.", name, "invalid_type")
    if "max_tokens" in body and "max_completion_tokens" in body:
        bad("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
            "max_tokens", "invalid_parameter_combination")
    temperature = body.get("temperature")
    if temperature is not None and (not is_number(temperature) or not 0 <= temperature <= 2):
        bad("Invalid 'temperature': expected a number between 0 and 2.", "temperature", "invalid_type")
    if reasoning:
        if "max_tokens" in body:
            bad("Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' "
                "instead.", "max_tokens", "unsupported_parameter")
        if "temperature" in body and reasoning != "value":
            bad("Unsupported parameter: 'temperature' is not supported with this model.",
                "temperature", "unsupported_parameter")
        if temperature is not None and temperature != 1:
            bad(f"Unsupported value: 'temperature' does not support {temperature} with this model. Only the default "
                "(1) value is supported.", "temperature", "unsupported_value")
    form = body.get("response_format")
    if form is not None:
        if not isinstance(form, dict) or form.get("type") not in ("text", "json_object", "json_schema"):
            bad("Invalid value for 'response_format'.", "response_format", "invalid_value")
        if form["type"] == "json_object" and not any("json" in text.lower() for _, text in call._all()):
            bad("'messages' must contain the word 'json' in some form, to use 'response_format' of type "
                "'json_object'.", "messages")
    if body.get("stream"):
        bad("Streaming is not offered by this endpoint.", "stream", "unsupported_value")


def check_openai_message(message, where, bad):
    if not isinstance(message, dict):
        bad(f"Invalid type for '{where}': expected an object.", where, "invalid_type")
    role = message.get("role")
    if role not in ("system", "developer", "user", "assistant"):
        bad(f"Invalid value: '{role}'. Supported values are: 'system', 'assistant', 'user', and 'developer'.",
            f"{where}.role", "invalid_value")
    content = message.get("content")
    if isinstance(content, str):
        return
    if not isinstance(content, list) or not content:
        bad(f"Invalid type for '{where}.content': expected one of a string or array of objects.",
            f"{where}.content", "invalid_type")
    for j, part in enumerate(content):
        if not isinstance(part, dict) or part.get("type") != "text" or not isinstance(part.get("text"), str):
            bad(f"Invalid value for '{where}.content[{j}]': expected a text part.",
                f"{where}.content[{j}]", "invalid_value")


def check_anthropic(call, key, reasoning):
    body = call.body
    sent = call.headers.get("x-api-key")
    if not sent:
        raise Refused(401, "x-api-key header is required", kind="authentication_error")
    if key is not None and sent != key:
        raise Refused(401, "invalid x-api-key", kind="authentication_error")

    def bad(message):
        raise Refused(400, message)

    if "anthropic-version" not in call.headers:
        bad("anthropic-version: header is required")
    if call.headers["anthropic-version"] != "2023-06-01":
        bad(f'anthropic-version: "{call.headers["anthropic-version"]}" is not a valid version')
    check_type(call)
    if not isinstance(body, dict):
        bad("The request body is not valid JSON.")
    for name in ("model", "max_tokens", "messages"):
        if name not in body:
            bad(f"{name}: Field required")
    for name in body:
        if name not in ANTHROPIC_KEYS:
            bad(f"{name}: Extra inputs are not permitted")
    if not isinstance(body["model"], str) or not body["model"]:
        bad("model: Input should be a valid string")
    if not is_int(body["max_tokens"]):
        bad("max_tokens: Input should be a valid integer")
    if body["max_tokens"] < 1:
        bad("max_tokens: Input should be greater than or equal to 1")
    marks = check_anthropic_content(body.get("system", "-"), "system", bad)
    messages = body["messages"]
    if not isinstance(messages, list):
        bad("messages: Input should be a valid list")
    if not messages:
        bad("messages: at least one message is required")
    for i, message in enumerate(messages):
        where = f"messages.{i}"
        if not isinstance(message, dict):
            bad(f"{where}: Input should be a valid dictionary")
        role = message.get("role")
        if role == "system":
            bad('messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter, not '
                '"system" as an input message role.')
        if role not in ("user", "assistant"):
            bad(f"{where}.role: Input should be 'user' or 'assistant'")
        if i == 0 and role != "user":
            bad('messages: first message must use the "user" role')
        if i and role == messages[i - 1]["role"]:
            bad('messages: roles must alternate between "user" and "assistant", but found multiple '
                f'"{role}" roles in a row')
        if "content" not in message:
            bad(f"{where}.content: Field required")
        marks += check_anthropic_content(message["content"], f"{where}.content", bad)
        last = role == "assistant" and i == len(messages) - 1
        if not text_of(message["content"]) and not last:
            bad(f"{where}: all messages must have non-empty content except for the optional final assistant message")
        if last and text_of(message["content"]) != text_of(message["content"]).rstrip():
            bad("messages: final assistant content cannot end with trailing whitespace")
    if marks > 4:
        bad(f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.")
    temperature = body.get("temperature")
    if temperature is not None:
        if not is_number(temperature):
            bad("temperature: Input should be a valid number")
        if not 0 <= temperature <= 1:
            bad("temperature: range: 0..1")
    if body.get("stream"):
        bad("stream: not offered by this endpoint")


def check_anthropic_content(content, where, bad):
    """The number of cache_control marks in a string or a list of text blocks."""
    if isinstance(content, str):
        return 0
    if not isinstance(content, list):
        bad(f"{where}: Input should be a valid string or list")
    marks = 0
    for j, block in enumerate(content):
        if not isinstance(block, dict) or block.get("type") != "text" or not isinstance(block.get("text"), str):
            bad(f"{where}.{j}: Input should be a text block")
        if not block["text"]:
            bad(f"{where.split('.')[0]}: text content blocks must be non-empty")
        for name in block:
            if name not in ("type", "text", "cache_control", "citations"):
                bad(f"{where}.{j}.text.{name}: Extra inputs are not permitted")
        mark = block.get("cache_control")
        if mark is not None:
            if not isinstance(mark, dict) or mark.get("type") != "ephemeral" or mark.get("ttl", "5m") not in ("5m", "1h"):
                bad(f"{where}.{j}.text.cache_control: Input should be {{'type': 'ephemeral'}}")
            marks += 1
    return marks


def check_type(call):
    if call.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        raise Refused(400, "Unsupported content type: expected application/json.")


# The server ------------------------------------------------------------------------------------------------

class BadHttp(Exception):
    pass


class _Connection(asyncio.Protocol):
    """One connection: collects a request, answers it, goes on to the next."""

    def __init__(self, provider):
        self.provider = provider
        self.loop = provider._loop
        self.transport = None
        self.number = 0
        self.buffer = bytearray()
        self.task = None
        self.call = None
        self.writable = None          # a future while the transport's buffer is not empty
        self.continued = False
        self.dropped = False          # by this side; not the client's doing

    def connection_made(self, transport):
        self.transport = transport
        transport.set_write_buffer_limits(high=0)
        self.provider._opened(self)

    def data_received(self, data):
        self.buffer += data
        if self.task is None:
            self.next()

    def eof_received(self):
        return False                  # a client that has stopped sending has left

    def connection_lost(self, exc):
        if self.call is not None:
            self.provider._ended(self.call, cancelled=not self.dropped)
            self.call = None
        if self.task:
            self.task.cancel()
        self.resume_writing()
        self.provider._closed(self)

    def pause_writing(self):
        self.writable = self.loop.create_future()

    def resume_writing(self):
        if self.writable and not self.writable.done():
            self.writable.set_result(None)
        self.writable = None

    async def write(self, data):
        self.transport.write(data)
        if self.writable:
            await self.writable

    def next(self):
        """Takes a request out of the buffer, if a whole one is there."""
        try:
            request = self.parse()
        except (BadHttp, ValueError) as error:
            self.provider._trouble(f"not HTTP: {error}")
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            self.transport.close()
            return
        if request is None:
            return
        method, path, version, headers, body = request
        self.continued = False
        self.call = self.provider._arrived(self.number, method, path, headers, body)
        keep = "close" not in self.call.headers.get("connection", "").lower() and version == "HTTP/1.1"
        self.task = self.loop.create_task(self.serve(self.call, keep))

    def parse(self):
        end = self.buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self.buffer) > MAX_HEAD:
                raise BadHttp("head too long")
            return None
        lines = self.buffer[:end].decode("latin-1").split("\r\n")
        words = lines[0].split(" ")
        if len(words) != 3 or words[2] not in ("HTTP/1.1", "HTTP/1.0"):
            raise BadHttp(f"request line {lines[0]!r}")
        headers = []
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon or not name or name != name.strip():
                raise BadHttp(f"header {line!r}")
            headers.append((name, value.strip(" \t")))
        known = {name.lower(): value for name, value in headers}
        if "chunked" in known.get("transfer-encoding", "").lower():
            whole = self.chunks(end + 4)
        else:
            digits = known.get("content-length", "0")
            length = int(digits) if digits.isdecimal() and digits.isascii() else -1
            if not 0 <= length <= MAX_BODY:
                raise BadHttp(f"length {digits!r}")
            stop = end + 4 + length
            whole = (bytes(self.buffer[end + 4:stop]), stop) if len(self.buffer) >= stop else None
        if whole is None:
            if known.get("expect", "").lower() == "100-continue" and not self.continued:
                self.continued = True
                self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            return None
        body, stop = whole
        del self.buffer[:stop]
        return words[0], words[1], words[2], headers, body

    def chunks(self, at):
        body = bytearray()
        while True:
            line = self.buffer.find(b"\r\n", at)
            if line < 0:
                return None
            size = int(self.buffer[at:line].split(b";")[0], 16)
            if size < 0 or len(body) + size > MAX_BODY:
                raise BadHttp("chunk size")
            at = line + 2
            if size == 0:
                # Trailers, if any, end with an empty line.
                if self.buffer[at:at + 2] == b"\r\n":
                    return bytes(body), at + 2
                stop = self.buffer.find(b"\r\n\r\n", at)
                return (bytes(body), stop + 4) if stop >= 0 else None
            if len(self.buffer) < at + size + 2:
                return None
            body += self.buffer[at:at + size]
            at += size + 2

    async def serve(self, call, keep):
        try:
            await self.answer(call, keep)
        except Exception as error:    # a reply that cannot be made into bytes
            self.provider._trouble(f"reply to call {call.number}: {error!r}")
            self.transport.abort()

    async def answer(self, call, keep):
        provider = self.provider
        reply = await provider._choose(call)
        call.reply = reply
        provider._changed()
        delay = reply.delay + (provider.delay if not call.problem else 0)
        if delay:
            await asyncio.sleep(delay)
        if reply.gate:
            await reply.gate.wait()
        if not call.problem:
            await provider._pass()
        await self.send(call, reply)
        ending = reply.ending
        if ending == "stall":
            await self.loop.create_future()          # connection_lost cancels this task
        whole = reply.stop_at is None and not reply.declared_extra
        self.call = self.task = None
        provider._ended(call, replied=whole)
        if ending == "reset":
            sock = self.transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.transport.abort()
        elif ending == "close" or not keep:
            self.transport.close()
        elif self.buffer:
            self.next()

    async def send(self, call, reply):
        body = reply.payload(call)
        head = reply.head(call, len(body))
        if reply.use_chunked:
            half = len(body) // 2
            parts = [p for p in (body[:half], body[half:]) if p]
            body = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n"
        if reply.stop_at == "nothing":
            return
        if reply.stop_at == "status":
            head, body = head[:len(head) // 2], b""
        elif reply.stop_at == "headers":
            body = b""
        elif reply.stop_at is not None:
            body = body[:int(len(body) * reply.stop_at)]
        data = head + body
        if not reply.drip_bytes:
            await self.write(data)
            return
        for at in range(0, len(data), reply.drip_bytes):
            await self.write(data[at:at + reply.drip_bytes])
            await asyncio.sleep(reply.drip_every)


class Provider:
    """The server; a context manager.

    answer     a Reply, a str, a dict (sent as JSON text) or a function of the Call that returns one; used
               when no queued reply is left. Without it an unexpected call gets a 500 and is noted.
    key        the API key to insist on (Anthropic's x-api-key must be there in any case)
    reasoning  refuse `max_tokens` and `temperature` as OpenAI's reasoning models do; 'value': only a
               temperature other than 1, in the other wording those models have
    models     if given, other models are refused with 404
    delay      seconds added to every reply
    keep       how many calls to remember; None is all
    """

    def __init__(self, answer=None, *, key=None, reasoning=False, models=None, delay=0.0, port=0,
                 host="127.0.0.1", keep=None):
        self.answer = answer
        self.key = key
        self.reasoning = reasoning
        self.models = models
        self.delay = delay
        self.keep = keep
        self.host = host
        self.port = port
        self.trouble = []               # what went wrong in the script or on the wire, as text
        self.count = 0                  # calls that have arrived
        self.in_flight = 0
        self.max_in_flight = 0
        self.connections = 0            # opened so far
        self._calls = collections.deque(maxlen=keep)
        self._queue = collections.deque()
        self._open = set()
        self._change = threading.Condition(threading.RLock())
        self._held = False
        self._permits = 0
        self._gates = collections.deque()
        self._loop = None
        self._thread = None
        self._server = None

    # Life ------------------------------------------------------------------------------------------------

    def start(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft < hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self._loop = asyncio.new_event_loop()
        self._server = self._loop.run_until_complete(self._loop.create_server(
            lambda: _Connection(self), self.host, self.port, backlog=8192))
        self.port = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever, name="provider", daemon=True)
        self._thread.start()
        return self

    def close(self):
        """Drops every connection and stops; idempotent."""
        if self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._shut(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()
        self._thread = None

    async def _shut(self):
        self._server.close()
        for connection in list(self._open):
            connection.dropped = True
            connection.transport.abort()
        rest = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    def drop_connections(self):
        """Closes all connections at once, as a provider that restarts does."""
        def drop():
            for connection in list(self._open):
                connection.dropped = True
                connection.transport.abort()
        self._loop.call_soon_threadsafe(drop)

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.close()

    @property
    def base_url(self):
        """What a client's `base_url` is for either wire: …/v1."""
        return f"http://{self.host}:{self.port}/v1"

    # The script ------------------------------------------------------------------------------------------

    def queue(self, *replies):
        """Replies for the next calls, in order of arrival; they come before `answer`."""
        with self._change:
            self._queue.extend(replies)
        return self

    @property
    def queued(self):
        """How many queued replies are left."""
        return len(self._queue)

    def hold(self):
        """From now on every reply waits for release()."""
        with self._change:
            self._held = True

    def release(self, n=None):
        """Lets the next n held replies go, oldest first (also ones that come later); None: all, and holds no more."""
        with self._change:
            if n is None:
                self._held, self._permits = False, 0
                gates = list(self._gates)
                self._gates.clear()
            else:
                gates = []
                while n and self._gates:
                    gates.append(self._gates.popleft())
                    n -= 1
                self._permits += n
        for gate in gates:
            gate.open()

    # What happened ---------------------------------------------------------------------------------------

    @property
    def calls(self):
        """All calls so far, in order of arrival (a copy)."""
        with self._change:
            return list(self._calls)

    @property
    def refused(self):
        """The calls that the endpoint found wrong."""
        return [c for c in self.calls if c.problem]

    @property
    def open_connections(self):
        with self._change:
            return len(self._open)

    def clear(self):
        """Forgets calls, queue and trouble; numbers go on."""
        with self._change:
            self._calls.clear()
            self._queue.clear()
            self.trouble.clear()

    def wait_until(self, condition, timeout=10, what="condition"):
        """Waits until condition() is true; it is asked again whenever something happened here."""
        with self._change:
            if not self._change.wait_for(condition, timeout):
                raise AssertionError(f"{what} not met in {timeout} s; calls: {list(self._calls)[-20:]}, "
                                     f"trouble: {self.trouble}")

    def wait_for_calls(self, n, timeout=10):
        """The calls, once at least n have arrived."""
        self.wait_until(lambda: len(self._calls) >= n, timeout, f"{n} calls")
        return self.calls

    def wait_for_replies(self, n, timeout=10):
        """The calls, once at least n have been answered whole."""
        self.wait_until(lambda: sum(c.replied for c in self._calls) >= n, timeout, f"{n} replies")
        return self.calls

    def wait_for_cancelled(self, n=1, timeout=10):
        """The cancelled calls, once there are at least n."""
        self.wait_until(lambda: sum(c.cancelled for c in self._calls) >= n, timeout, f"{n} cancelled calls")
        return [c for c in self.calls if c.cancelled]

    def assert_clean(self):
        """No call was refused and the script had an answer for each."""
        wrong = [f"call {c.number}: {c.problem}" for c in self.refused] + self.trouble
        if wrong:
            raise AssertionError("; ".join(wrong))

    # On the loop's thread --------------------------------------------------------------------------------

    def _changed(self):
        with self._change:
            self._change.notify_all()

    def _trouble(self, text):
        with self._change:
            self.trouble.append(text)
            self._change.notify_all()

    def _opened(self, connection):
        with self._change:
            self.connections += 1
            connection.number = self.connections
            self._open.add(connection)
            self._change.notify_all()

    def _closed(self, connection):
        with self._change:
            self._open.discard(connection)
            self._change.notify_all()

    def _arrived(self, connection, method, path, headers, raw):
        with self._change:
            self.count += 1
            call = Call(self.count, connection, method, path, headers, raw)
            bare = path.split("?")[0]
            call.wire = ("openai" if bare.endswith("/chat/completions") else
                         "anthropic" if bare.endswith("/messages") else None)
            try:
                call.body = json.loads(raw.decode("utf-8"))
            except (ValueError, RecursionError):
                pass
            self._calls.append(call)
            self.in_flight += 1
            self.max_in_flight = max(self.max_in_flight, self.in_flight)
            self._change.notify_all()
        return call

    def _ended(self, call, replied=False, cancelled=False):
        with self._change:
            call.replied, call.cancelled, call.ended = replied, cancelled, time.monotonic()
            self.in_flight -= 1
            self._change.notify_all()

    def _check(self, call):
        if call.wire is None:
            raise Refused(404, f"Invalid URL ({call.method} {call.path})")
        if call.method != "POST":
            raise Refused(405, f"Not allowed to {call.method} on {call.path}.")
        (check_openai if call.wire == "openai" else check_anthropic)(call, self.key, self.reasoning)
        if self.models is not None and call.model not in self.models:
            raise Refused(404, f"model: {call.model}" if call.wire == "anthropic" else
                          f"The model `{call.model}` does not exist or you do not have access to it.",
                          code="model_not_found")

    async def _choose(self, call):
        try:
            self._check(call)
        except Refused as no:
            call.problem = str(no)
            return Reply(status=no.status, body=error_body(
                call.wire, no.status, str(no), no.kind, no.code, no.param))
        with self._change:
            answer = self._queue.popleft() if self._queue else self.answer
        try:
            if callable(answer):
                answer = answer(call)
            if inspect.isawaitable(answer):
                answer = await answer
        except Exception as error:      # the script's own fault: told to the test, not hidden
            self._trouble(f"answer() failed on call {call.number}: {error!r}")
            return Reply("the test's answer function failed", 500)
        if isinstance(answer, str):
            return Reply(answer)
        if isinstance(answer, dict):
            return Reply.json(answer)
        if not isinstance(answer, Reply):
            self._trouble(f"no scripted reply for call {call.number}")
            return Reply("the test has no scripted reply left", 500)
        return answer

    async def _pass(self):
        """The gate of hold() and release()."""
        with self._change:
            if not self._held:
                return
            if self._permits:
                self._permits -= 1
                return
            gate = Gate()
            self._gates.append(gate)
        try:
            await gate.wait()
        except asyncio.CancelledError:
            with self._change:
                if gate in self._gates:   # a permit is not spent on a client that has left
                    self._gates.remove(gate)
            raise


# Ready-made answers ----------------------------------------------------------------------------------------

def objects_in(text):
    """The JSON objects that stand in a text, in order."""
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
            yield value
        except (ValueError, RecursionError):
            end = at + 1
        at = text.find("{", end)


def request_in(text):
    """The last object in the text, or inside one, that has a method and a path; None if there is none."""
    found = None
    pending = list(objects_in(text))
    while pending:
        value = pending.pop(0)
        if isinstance(value, list):
            pending[:0] = value
        elif isinstance(value, dict):
            if isinstance(value.get("method"), str) and isinstance(value.get("path"), str):
                found = value
            else:
                pending[:0] = value.values()
    return found


def simulate(call):
    """A simulated service: 200 and {"n": number of the call, "path", "query"?: of the request in the last user message}."""
    request = request_in(call.last)
    if request is None:
        line = re.findall(r"\b(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) (/\S*)", call.last)
        if not line:
            return Reply.json({"unsure": "no request found in the last message"})
        request = {"method": line[-1][0], "path": line[-1][1]}
    asked = {key: request[key] for key in ("path", "query") if key in request}
    return Reply.json({"status": 200, "body": {"n": call.number, **asked}})


def echo(call):
    """The last user message comes back."""
    return Reply(call.last)


def main():
    parser = argparse.ArgumentParser(description="A model provider without a model, for trials and load runs.")
    parser.add_argument("--port", type=int, default=8100)
    parser.add_argument("--delay", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--reply", "--reply-template", dest="reply", default="echo", metavar="KIND",
                        help="echo, simulate, or a fixed text")
    parser.add_argument("--status", type=int, default=200, help="of every reply")
    parser.add_argument("--retry-after", type=int, metavar="SECONDS")
    parser.add_argument("--key", help="API key to insist on")
    parser.add_argument("--reasoning", action="store_true", help="refuse temperature and max_tokens")
    parser.add_argument("--verbose", action="store_true", help="a line on standard error for each call")
    options = parser.parse_args()
    kinds = {"echo": echo, "simulate": simulate}

    def answer(call):
        if options.verbose:
            print(f"{call.number} {call.wire} {call.model} {call.last[:100]!r}", file=sys.stderr, flush=True)
        if options.status != 200:
            return Reply.error(options.status, retry_after=options.retry_after)
        return kinds[options.reply](call) if options.reply in kinds else Reply(options.reply)

    signals = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    with Provider(answer, port=options.port, delay=options.delay, key=options.key,
                  reasoning=options.reasoning, keep=0) as provider:
        print(f"listening on {provider.base_url}", flush=True)
        signal.sigwait(signals)
        print(f"{provider.count} calls, at most {provider.max_in_flight} at once, "
              f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MiB", file=sys.stderr)


if __name__ == "__main__":
    main()
