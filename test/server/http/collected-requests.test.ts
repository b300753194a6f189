import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test } from "vitest";
import { MemoryLog } from "haft/testing";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { countRequestBody } from "../../../src/server/api/requests/count-bytes.ts";
import { requestWithoutBasePath } from "../../../src/server/base-path.ts";
import { listenOn } from "../../../src/server/http/listen.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

test.each([
  ["GET", "/"],
  ["POST", "/"],
  ["GET", "/haft/"],
  ["POST", "/haft/"],
])("the signal of a %s request to %s aborts when the client leaves its stream, even after garbage collection", async (method, path) => {
  let aborted = 0;
  const handler = async (given: Request): Promise<Response> => {
    const request = countRequestBody(requestWithoutBasePath(given, "/haft"), () => {});
    await request.text();
    request.signal.addEventListener("abort", () => aborted++);
    return new Response(new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode("begun")) }));
  };
  const listener = await listenOn(handler, { port: 0, host: "127.0.0.1", clock: systemPorts.clock, log: new MemoryLog() });
  onTestFinished(() => listener.close(async () => {}));
  const leave = new AbortController();
  const body = method === "GET" ? {} : { body: new Blob(["x"]).stream(), duplex: "half" };
  const response = await fetch(listener.origin + path, { method, signal: leave.signal, ...body } as RequestInit);
  await response.body?.getReader().read();
  for (let round = 0; round < 5; round++) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    collect();
  }
  leave.abort();
  await expect.poll(() => aborted).toBe(1);
});
