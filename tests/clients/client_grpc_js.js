// SPDX-License-Identifier: Apache-2.0
// The features of the gRPC wire, by Node's @grpc/grpc-js.
'use strict';

const grpc = require('@grpc/grpc-js');
const loader = require('@grpc/proto-loader');

const given = JSON.parse(process.argv[2]);
const BIG = '9007199254740993';
const types = grpc.loadPackageDefinition(loader.loadSync(
  ['matrix.proto', 'google/rpc/status.proto', 'google/rpc/error_details.proto', 'google/protobuf/struct.proto',
    'mirage/v1/control.proto', 'grpc/health/v1/health.proto', 'grpc/reflection/v1/reflection.proto'],
  {includeDirs: given.roots, keepCase: true, longs: String, defaults: true}));
const open = (Service) => new Service(given.grpc, grpc.credentials.createInsecure());
const client = open(types.matrix.v1.Matrix);

function want(actual, expected) {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${a}; expected ${b}`);
}

function metadataOf(pairs) {
  const metadata = new grpc.Metadata();
  for (const [key, value] of Object.entries(pairs)) metadata.set(key, value);
  return metadata;
}

// {error, reply, first, last} of one call.
function call(target, method, request, {metadata = {}, timeout = 20000, onCall = () => {}} = {}) {
  return new Promise((resolve) => {
    const got = {};
    let open = 2;
    const done = () => { if (--open === 0) resolve(got); };
    const under = target[method](request, metadataOf(metadata), {deadline: Date.now() + timeout}, (error, reply) => {
      Object.assign(got, {error, reply});
      done();
    });
    under.on('metadata', (first) => { got.first = first.getMap(); });
    under.on('status', (status) => { got.last = status.metadata.getMap(); done(); });
    onCall(under);
  });
}

const fail = (kind) => call(client, 'Fail', {kind});
function lookup(proto, type, data) {
  const protobuf = require('protobufjs');
  const root = new protobuf.Root();
  root.resolvePath = (_, target) => given.roots.map((dir) => `${dir}/${target}`).find(require('fs').existsSync) ?? null;
  root.loadSync(proto, {keepCase: true});
  return root.lookupType(type).decode(data);
}

async function details() {
  const {last} = await fail('conflict');
  const status = lookup('google/rpc/status.proto', 'google.rpc.Status', last['grpc-status-details-bin']);
  want(status.details.map((one) => one.type_url.split('/').pop()), ['google.rpc.ErrorInfo', 'google.protobuf.Struct']);
  want(lookup('google/rpc/error_details.proto', 'google.rpc.ErrorInfo', status.details[0].value).reason,
    'VERSION_CONFLICT');
}

async function reflection() {
  const target = open(types.grpc.reflection.v1.ServerReflection);
  const stream = target.ServerReflectionInfo({deadline: Date.now() + 20000});
  const reply = await new Promise((resolve, reject) => {
    stream.on('data', resolve);
    stream.on('error', reject);
    stream.write({list_services: ''});
  });
  stream.end();
  want(reply.list_services_response.service.some((one) => one.name === 'matrix.v1.Matrix'), true);
}

async function healthWatch() {
  const target = open(types.grpc.health.v1.Health);
  const stream = target.Watch({service: ''}, {deadline: Date.now() + 20000});
  stream.on('error', () => {});
  const reply = await new Promise((resolve) => stream.on('data', resolve));
  stream.cancel();
  want(reply.status, 1);
}

const features = {
  'unary': async () => {
    const {reply} = await call(client, 'Echo', {text: 'ä€😀', number: BIG, data: Buffer.from([0, 255])});
    want([reply.text, reply.number, [...reply.data]], ['ä€😀', BIG, [0, 255]]);
  },
  'metadata': async () => {
    const {first, last} = await call(client, 'Echo', {text: 'x'}, {metadata: {'x-sent': '1'}});
    want([first['x-kind'], first['mirage-source'], last['x-tail']], ['echo', 'llm', 'end']);
  },
  'error': async () => {
    const {error} = await fail('conflict');
    want([error.code, error.details], [grpc.status.ABORTED, 'expected version 1']);
  },
  'details': details,
  'exact': async () => {
    const {error} = await fail('exact');
    want([error.code, error.details], [grpc.status.OUT_OF_RANGE, 'past the end']);
  },
  'number': async () => {
    const {error} = await fail('number');
    want(error.details, 'odd');
    return `shown as ${error.code}`;
  },
  'deadline': async () => {
    want((await call(client, 'Slow', {text: 'x'}, {timeout: 300})).error.code, grpc.status.DEADLINE_EXCEEDED);
  },
  'cancel': async () => {
    const {error} = await call(client, 'Slow', {text: 'x'}, {onCall: (under) => setTimeout(() => under.cancel(), 200)});
    want(error.code, grpc.status.CANCELLED);
  },
  'unimplemented': async () => {
    const {error} = await new Promise((resolve) => client.makeUnaryRequest('/matrix.v1.Matrix/Nothing', (x) => x,
      (x) => x, Buffer.alloc(0), {deadline: Date.now() + 20000}, (e) => resolve({error: e})));
    want(error.code, grpc.status.UNIMPLEMENTED);
  },
  'streaming': async () => {
    const stream = client.Feed({text: 'x'}, {deadline: Date.now() + 20000});
    const error = await new Promise((resolve) => { stream.on('error', resolve); stream.on('data', () => {}); });
    want([error.code, error.details.includes('stream')], [grpc.status.UNIMPLEMENTED, true]);
  },
  'large': async () => {
    const {error} = await call(client, 'Echo', {text: 'x'.repeat(given.limit + 1000)});
    want(error.code, grpc.status.RESOURCE_EXHAUSTED);
  },
  'malformed': async () => {
    const error = await new Promise((resolve) => client.makeUnaryRequest('/matrix.v1.Matrix/Echo', (x) => x, (x) => x,
      Buffer.from([0x0a, 2, 0xff, 0xff]), {deadline: Date.now() + 20000}, resolve));
    want([error.code, error.details.includes('text')], [grpc.status.INTERNAL, true]);
  },
  'reflection': reflection,
  'health': async () => {
    const target = open(types.grpc.health.v1.Health);
    want((await call(target, 'Check', {service: 'matrix.v1.Matrix'})).reply.status, 1);
    want((await call(target, 'Check', {service: 'no.such'})).error.code, grpc.status.NOT_FOUND);
  },
  'health watch': healthWatch,
  'control': async () => {
    const target = open(types.mirage.v1.Control);
    const {reply} = await call(target, 'Reset', {}, {metadata: {'mirage-session': 'other'}});
    want(JSON.stringify(reply).includes('other'), true);
  },
  'outstanding': async () => {
    const calls = Array.from({length: 100}, (_, i) => call(client, 'Echo', {number: i},
      {timeout: 60000, metadata: {'mirage-session': `s${i % 10}`}}));
    (await Promise.all(calls)).forEach(({reply}, i) => want(reply.number, String(i)));
  },
};

(async () => {
  for (const [name, feature] of Object.entries(features)) {
    let said;
    try {
      said = await feature() ?? 'ok';
    } catch (error) {
      console.error(error);
      said = `fail: ${String(error).replace(/\s+/g, ' ').slice(0, 300)}`;
    }
    console.log(`${name}\t${said}`);
  }
  process.exit(0);
})();
