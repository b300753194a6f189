import { onTestFinished, expect, test } from "vitest";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { listenOn } from "../../../src/server/http/listen.ts";
import { MemoryLog } from "../../../src/testing/fake-ports.ts";

test("a port in use and an address that the machine does not have are rejected with the reason", async () => {
  const listen = (port: number, host: string) =>
    listenOn(async () => new Response("here"), { port, host, clock: systemPorts.clock, log: new MemoryLog() });
  const { port, close } = await listen(0, "127.0.0.1");
  onTestFinished(() => close(async () => {}));

  const refusals = await Promise.all([
    listen(port, "127.0.0.1").catch((error: unknown) => String(error)),
    listen(0, "192.0.2.1").catch((error: unknown) => String(error)),
  ]);

  expect(refusals).toEqual([
    expect.stringContaining(`The port ${port} of 127.0.0.1 cannot be used: another program is listening there (EADDRINUSE).`),
    expect.stringContaining("The port 0 of 192.0.2.1 cannot be used: this machine does not have that address (EADDRNOTAVAIL)."),
  ]);
});
