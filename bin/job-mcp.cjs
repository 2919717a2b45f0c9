'use strict';
const { connect } = require('node:net');
const { createInterface } = require('node:readline');
const { setTimeout: sleep } = require('node:timers/promises');

/** A daemon that was killed comes back with the next command of its user. */
const PATIENCE_MS = 10_000;
const POLL_MS = 100;

/**
 * `reef mcp` in a job: a pipe from the agent to the daemon, which serves the tools of all jobs. A server of its own would
 * take as long to start as the agent takes for its first turn. The agent must not notice that its daemon was replaced, so
 * what was asked and not answered is answered here, and the next message goes to the next daemon.
 */
function pipeTools(path) {
  /** What each open request asked for, by its id as JSON. */
  const open = new Map();
  let connected;
  let sending = Promise.resolve();

  const answer = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  const fail = (key, method) => {
    open.delete(key);
    const id = JSON.parse(key);
    const text =
      'daemon_unavailable: Reef ended before it answered\n  Call again: it comes back with the next command of the user.';
    if (method === 'tools/call') answer({ id, result: { isError: true, content: [{ type: 'text', text }] } });
    else answer({ id, error: { code: -32_603, message: text } });
  };

  const reach = async () => {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const socket = await attempt(path);
      if (socket !== undefined || Date.now() > deadline) return socket;
      await sleep(POLL_MS);
    }
  };
  const use = (socket) => {
    linesOf(socket, (line) => {
      open.delete(keyOf(line).key);
      process.stdout.write(`${line}\n`);
    });
    socket.on('close', () => {
      connected = undefined;
      for (const [key, method] of open) fail(key, method);
      if (process.stdin.readableEnded) process.exit(0);
    });
    connected = socket;
  };
  const send = async (line) => {
    const { key, method } = keyOf(line);
    if (connected === undefined) {
      const socket = await reach();
      if (socket !== undefined) use(socket);
    }
    if (key !== undefined && method !== undefined) open.set(key, method);
    if (connected !== undefined) connected.write(`${line}\n`);
    else if (key !== undefined && method !== undefined) fail(key, method);
  };

  process.stdout.on('error', () => process.exit(0));
  linesOf(process.stdin, (line) => {
    sending = sending.then(() => send(line));
  });
  process.stdin.on('end', () => {
    void sending.then(() => (connected === undefined ? process.exit(0) : connected.end()));
  });
}

/** A broken stream says so by its `close`; the reader of its lines would tell of it once more. */
function linesOf(input, onLine) {
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  lines.on('line', onLine);
  lines.on('error', () => {});
}

/** A socket that stays quiet when it breaks: its `close` says all. */
function attempt(path) {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.on('error', () => {});
    socket.once('connect', () => resolve(socket));
    socket.once('close', () => resolve(undefined));
  });
}

/** The id of a request or a response, and the method of a request. What is no message is for the daemon to refuse. */
function keyOf(line) {
  try {
    const { id, method } = JSON.parse(line);
    return { key: id === undefined ? undefined : JSON.stringify(id), method };
  } catch {
    return {};
  }
}

module.exports = { pipeTools };
