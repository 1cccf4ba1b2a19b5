// SPDX-License-Identifier: Apache-2.0
// The features of the ZeroMQ wire, by Node's zeromq.
'use strict';

const zmq = require('zeromq');

const given = JSON.parse(process.argv[2]);
const BODY = {text: 'ä€😀', number: 7};
const ECHO = {method: 'POST', path: '/echo', body: BODY};

function want(actual, expected) {
  const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${a}; expected ${b}`);
}

async function ask(socket, endpoint, request, before = []) {
  socket.linger = 0;
  socket.receiveTimeout = 30000;
  socket.connect(endpoint);
  await socket.send([...before, typeof request === 'string' ? request : JSON.stringify(request)]);
  const frames = await socket.receive();
  socket.close();
  return JSON.parse(frames[frames.length - 1].toString());
}

const good = (reply) => want([reply.status, reply.body], [200, BODY]);

async function outstanding() {
  const socket = new zmq.Dealer({linger: 0, receiveTimeout: 30000});
  socket.connect(given.zmq);
  for (let i = 0; i < 100; i++)
    await socket.send(JSON.stringify({...ECHO, id: i, session: `s${i % 10}`, body: {number: i}}));
  for (let i = 0; i < 100; i++) {
    const reply = JSON.parse((await socket.receive())[0].toString());
    want(reply.body.number, reply.id);
  }
  socket.close();
}

const features = {
  'req': async () => good(await ask(new zmq.Request(), given.zmq, ECHO)),
  'correlate': async () => good(await ask(new zmq.Request({correlate: true, relaxed: true}), given.zmq, ECHO)),
  'dealer': async () => good(await ask(new zmq.Dealer(), given.zmq, ECHO)),
  'dealer with delimiter': async () => good(await ask(new zmq.Dealer(), given.zmq, ECHO, [''])),
  'outstanding': outstanding,
  'error': async () => {
    const reply = await ask(new zmq.Request(), given.zmq, {method: 'GET', path: '/fail/conflict'});
    want([reply.status, reply.body.error.code], [409, 'VERSION_CONFLICT']);
  },
  'exact': async () => {
    const reply = await ask(new zmq.Request(), given.zmq, {method: 'GET', path: '/fail/exact'});
    want([reply.grpc_status, reply.grpc_message], ['OUT_OF_RANGE', 'past the end']);
  },
  'headers': async () => want((await ask(new zmq.Request(), given.zmq, ECHO)).headers['x-kind'], 'echo'),
  'garbage': async () => want((await ask(new zmq.Request(), given.zmq, '{')).status, 400),
  'control': async () => {
    const reply = await ask(new zmq.Request(), given.zmq, {method: 'POST', path: '/__mock__/reset', session: 'other'});
    want([reply.status, reply.body.session], [200, 'other']);
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
