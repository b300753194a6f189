import { expect, onTestFinished, test } from "vitest";
import { StdioTransport } from "../../../src/engine/mcp/stdio-transport.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { testInCI } from "../../test-in-ci.ts";

/** Reads its input once it gets SIGUSR2, and says with a notification that it waits for that. */
const SLOW = `
process.on("SIGUSR2", () => process.stdin.resume());
process.stdin.on("end", () => process.exit());
process.stdin.pause();
console.log(JSON.stringify({ jsonrpc: "2.0", method: "waiting", params: { pid: process.pid } }));
setInterval(() => {}, 1000);
`;

test("a message counts as sent once the server's pipe has taken it", async () => {
  const transport = new StdioTransport(
    { command: process.execPath, args: ["-e", SLOW] },
    { clock: systemPorts.clock, redact: (text) => text },
  );
  onTestFinished(() => transport.close());
  const waiting = Promise.withResolvers<number>();
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
  transport.onmessage = (message) => waiting.resolve(Number(Reflect.get(Object(Reflect.get(message, "params")), "pid")));
  await transport.start();
  const pid = await waiting.promise;
  const order: string[] = [];
  const sent = transport.send({ jsonrpc: "2.0", method: "large", params: { text: "x".repeat(4_000_000) } }).then(() => order.push("sent"));
  await new Promise((resolve) => setImmediate(resolve));
  order.push("told to read");
  process.kill(pid, "SIGUSR2");
  await sent;
  expect(order).toEqual(["told to read", "sent"]);
});

/** Writes the line that it is started with, then says with a notification what it is sent. */
const TELLS = `
const write = (line) => process.stdout.write(line + "\\n");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  if (line.includes('"go"')) write(process.argv[1]);
  else write(JSON.stringify({ jsonrpc: "2.0", method: "told", params: { line } }));
});
`;

async function tells(line: string) {
  const transport = new StdioTransport(
    { command: process.execPath, args: ["-e", TELLS, line] },
    { clock: systemPorts.clock, redact: (text) => text },
  );
  onTestFinished(() => transport.close());
  const received: unknown[] = [];
  let heard = Promise.withResolvers<void>();
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
  transport.onmessage = (message) => {
    const told: unknown = Reflect.get(Object(Reflect.get(message, "params")), "line");
    received.push(typeof told === "string" ? JSON.parse(told) : message);
    heard.resolve();
    heard = Promise.withResolvers();
  };
  await transport.start();
  await transport.send({ jsonrpc: "2.0", method: "go" });
  return { transport, received, next: async () => (received.length === 0 ? await heard.promise : undefined, received.splice(0)) };
}

const LONG = "12345678901234567";

test.each([
  ["with an id that a number cannot hold", `{"jsonrpc":"2.0","id":${LONG},"method":"ping"}`, -32_600, null],
  ["that is cut off behind such an id", `{"jsonrpc":"2.0","id":${LONG},"method":"ping"`, -32_700, null],
  ["that is cut off, with the id of one of ours", '{"jsonrpc":"2.0","id":3,"method":"ping"', -32_700, null],
  ["of another JSON-RPC", '{"jsonrpc":"1.0","id":7,"method":"ping"}', -32_600, 7],
  ["with an id that is null", '{"jsonrpc":"2.0","id":null,"method":"ping"}', -32_600, null],
  ["with a method that is a number", '{"jsonrpc":"2.0","id":"a","method":7}', -32_600, "a"],
  ["with params that are an array", '{"jsonrpc":"2.0","id":7,"method":"roots/list","params":[]}', -32_600, 7],
])("a request %s is rejected", async (_, line, code, id) => {
  const { next } = await tells(line);
  expect(await next()).toEqual([{ jsonrpc: "2.0", id, error: { code, message: expect.any(String) } }]);
});

test.each([
  [
    "a request whose id is a string of digits",
    `{"jsonrpc":"2.0","id":"${LONG}","method":"ping"}`,
    { jsonrpc: "2.0", id: LONG, method: "ping" },
  ],
  [
    "an answer that is cut off",
    '{"jsonrpc":"2.0","id":3,"result":{"content":[',
    { jsonrpc: "2.0", id: 3, error: { code: -32_901, message: "its answer is not JSON" } },
  ],
])("%s is read", async (_, line, message) => {
  const { next } = await tells(line);
  expect(await next()).toEqual([message]);
});

test("the messages of a batch are read one by one without loss of digits, and a malformed request in it is rejected", async () => {
  const messages = [
    `{"jsonrpc":"2.0","id":1,"result":{"n":${LONG}}}`,
    '{"jsonrpc":"2.0","id":2,"result":{}}',
    '{"jsonrpc":"2.0","id":{},"method":"ping"}',
  ];
  const { next } = await tells(`[${messages.join()}]`);
  const received: unknown[] = [];
  while (received.length < 3) received.push(...(await next()));
  expect(received).toEqual([
    { jsonrpc: "2.0", id: 1, result: { n: LONG } },
    { jsonrpc: "2.0", id: 2, result: {} },
    { jsonrpc: "2.0", id: null, error: { code: -32_600, message: "The request is malformed." } },
  ]);
});

test.each([
  "Listening.",
  "[1,2]",
  '{"level":"info","id":5}',
  "{ not json }",
  '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}',
])("the line %s is not answered", async (line) => {
  const { transport, next } = await tells(line);
  await transport.send({ jsonrpc: "2.0", method: "last" });
  const sentBack: unknown[] = [];
  while (!JSON.stringify(sentBack).includes("last")) sentBack.push(...(await next()));
  expect(JSON.stringify(sentBack)).not.toMatch(/-32600|The line is not JSON/u);
});

/** Writes many lines that are cut off, and counts the lines that it is sent once it gets SIGUSR2. */
const DEAF = `
const say = (method, params) => JSON.stringify({ jsonrpc: "2.0", method, params }) + "\\n";
process.stdout.write('{"id":\\n'.repeat(20000) + say("written", { pid: process.pid }));
process.on("SIGUSR2", () => {
  let lines = 0;
  require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
    if (line.includes('"last"')) process.stdout.write(say("counted", { lines }));
    else lines++;
  });
});
setInterval(() => {}, 1000);
`;

testInCI("for a server that reads nothing, most lines are dropped instead of being buffered in memory", async () => {
  const transport = new StdioTransport(
    { command: process.execPath, args: ["-e", DEAF] },
    { clock: systemPorts.clock, redact: (text) => text },
  );
  onTestFinished(() => transport.close());
  const counted = Promise.withResolvers<number>();
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the SDK knows only this way
  transport.onmessage = (message) => {
    const { pid, lines } = Object(Reflect.get(message, "params")) as { readonly pid?: number; readonly lines?: number };
    if (pid === undefined) return counted.resolve(lines ?? Number.NaN);
    process.kill(pid, "SIGUSR2");
    void transport.send({ jsonrpc: "2.0", method: "last" });
  };
  await transport.start();
  expect(await counted.promise).toBeLessThan(5_000);
});
