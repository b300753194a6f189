import { expect, onTestFinished, test } from "vitest";
import { StdioTransport } from "../../../src/engine/mcp/stdio.ts";
import { systemPorts } from "../../../src/core/system-ports.ts";

/** Reads its input once it gets SIGUSR2, and says with a notification that it waits for that. */
const SLOW = `
process.on("SIGUSR2", () => process.stdin.resume());
process.stdin.on("end", () => process.exit());
process.stdin.pause();
console.log(JSON.stringify({ jsonrpc: "2.0", method: "waiting", params: { pid: process.pid } }));
setInterval(() => {}, 1000);
`;

test("a message is sent once the server's pipe has taken it: until then its sender waits", async () => {
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
