/** Answers that come before the end of their requests, and streams whose readers leave. */
import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { listenOn } from "../../../src/server/http/listen.ts";
import { MemoryLog } from "../../../src/testing/fake-ports.ts";
import { TOKEN, startApi } from "../api/api-server.ts";
import { testInCI } from "../../test-in-ci.ts";

/** Sends all of a request, and resolves with what came back; rejects where the connection was reset. */
function send(port: number, head: string, body: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(`${head}Content-Length: ${body.length}\r\n\r\n`);
      socket.write(body);
    });
    socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    socket.on("error", reject).on("close", () => resolve(text));
  });
}

const LARGE = Buffer.alloc(8 * 1024 * 1024, " ");

test.each([
  ["without a right token", "/v1/execute", "Host: localhost\r\nAuthorization: Bearer wrong\r\n", 401],
  ["that is too large", "/v1/execute", `Host: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n`, 413],
  ["of a page", "/v1/execute", `Host: localhost\r\nOrigin: http://localhost\r\nAuthorization: Bearer ${TOKEN}\r\n`, 413],
  ["to the MCP server", "/mcp", `Host: localhost\r\nAuthorization: Bearer wrong\r\n`, 401],
  ["of two types (E07)", "/v1/execute", `Host: localhost\r\nAuthorization: Bearer ${TOKEN}\r\ncontent-type: text/plain\r\n`, 400],
  ["to several hosts", "/v1/execute", `Host: localhost\r\nHost: evil.example\r\n`, 400],
])("issue 19 a request %s is answered while its body is still being sent", async (_, path, headers, status) => {
  const { listener } = await startApi();
  for (let take = 0; take < 5; take++) {
    const head = `POST ${path} HTTP/1.1\r\n${headers}Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n`;
    expect((await send(listener.port, head, LARGE)).split(" ")[1]).toBe(String(status));
  }
});

test.each([
  ["without a token", "POST /v1/execute", "", 401],
  ["without a token, of a page", "POST /v1/execute", "Origin: http://localhost\r\n", 401],
  ["without a token, to the MCP server", "POST /mcp", "Accept: application/json, text/event-stream\r\n", 401],
  ["to another host", "POST /v1/execute", "Host: evil.example\r\n", 403],
  ["to no route", "POST /v1/nothing", `Authorization: Bearer ${TOKEN}\r\n`, 404],
  ["of a method that is not served", "PUT /v1/execute", `Authorization: Bearer ${TOKEN}\r\n`, 405],
  ["of another type", "POST /v1/execute", `Authorization: Bearer ${TOKEN}\r\nContent-Type: text/plain\r\n`, 415],
])("a request %s that has arrived completely is rejected, and its connection can be reused", async (_, request, headers, status) => {
  const { listener } = await startApi();
  const answers = await new Promise<string>((resolve, reject) => {
    let text = "";
    const host = headers.includes("Host:") ? "" : "Host: localhost\r\n";
    const type = headers.includes("Content-Type:") ? "" : "Content-Type: application/json\r\n";
    const socket = connect(listener.port, "127.0.0.1", () =>
      socket.write(`${request} HTTP/1.1\r\n${host}${type}${headers}Content-Length: 2\r\n\r\n{}`),
    );
    let isSecond = false;
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
      if (isSecond) return;
      isSecond = true;
      socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    });
    socket.on("error", reject).on("close", () => resolve(text));
  });
  expect([...answers.matchAll(/HTTP\/1\.1 (\d+)/gu)].map(([, each]) => each)).toEqual([String(status), "200"]);
});

testInCI(
  "issue 19 a client that sends a too large body for over a second gets its answer, and is read no longer than it sends",
  async () => {
    const { listener } = await startApi();
    const answer = await new Promise<string>((resolve, reject) => {
      let text = "";
      let left = 30;
      const socket = connect(listener.port, "127.0.0.1", () => {
        socket.write(
          `POST /v1/execute HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\n`,
        );
        socket.write(`Content-Length: ${LARGE.length}\r\n\r\n`);
      });
      const timer = setInterval(() => {
        socket.write(LARGE.subarray(0, 1_000));
        if (--left === 0) clearInterval(timer);
      }, 100);
      socket.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      socket.on("error", reject).on("close", () => {
        clearInterval(timer);
        resolve(`${text.split(" ")[1]} ${left}`);
      });
    });
    expect(answer).toBe("413 0");
  },
);

test("issue 19 a reader that leaves a stream from elsewhere is not logged as a failed request", async () => {
  const log = new MemoryLog();
  const { clock } = systemPorts;
  const ended = Promise.withResolvers<void>();
  const handler = async ({ signal }: Request): Promise<Response> => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(Buffer.from("data: 1\n\n"));
        signal.addEventListener("abort", () => {
          controller.error(signal.reason); // as the body of `fetch` does
          ended.resolve();
        });
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  const listener = await listenOn(handler, { port: 0, host: "127.0.0.1", clock, log });
  onTestFinished(() => listener.close(async () => {}));
  const socket = connect(listener.port, "127.0.0.1", () => socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
  socket.on("data", (chunk) => {
    if (String(chunk).includes("data: 1")) socket.destroy();
  });
  await ended.promise;
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(log.lines).toEqual([]);
});

test.each([
  ["in pieces", () => new ReadableStream<Uint8Array>({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) })],
  ["at once", () => new Uint8Array(64 * 1024 * 1024)],
])(
  "the connection of a client that does not read a response sent %s is closed, and one that waits for its response stays open",
  async (_, body) => {
    const parts = { port: 0, host: "127.0.0.1", clock: systemPorts.clock, log: new MemoryLog(), unreadMs: 100 };
    const isClosed = Promise.withResolvers<void>();
    const requests: Request[] = []; // one that is collected has a signal that never aborts
    const listener = await listenOn(async (request) => {
      requests.push(request);
      if (request.url.endsWith("/slow")) {
        await isClosed.promise;
        return new Response("late");
      }
      request.signal.addEventListener("abort", () => isClosed.resolve());
      return new Response(body());
    }, parts);
    onTestFinished(() => listener.close(() => Promise.resolve()));
    const slow = fetch(`${listener.origin}/slow`);
    const socket = connect(listener.port, "127.0.0.1", () => socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")).pause();
    socket.on("error", () => {});
    await isClosed.promise;
    expect(await (await slow).text()).toBe("late");
    socket.destroy();
  },
);
