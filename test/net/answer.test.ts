import type { Socket } from "node:net";
import * as zlib from "node:zlib";
import { describe, expect, test } from "vitest";
import { FakeClock } from "../../src/testing/fake-ports.ts";
import { ask, failureOf, testClient, toRequest } from "./ask.ts";
import { httpServer, rawAnswer, socketServer } from "./loopback-server.ts";

const MIB = 1024 * 1024;

/** A server that answers with `body`, said to be encoded so. */
async function encodedServer(encoding: string, body: Uint8Array) {
  const server = await httpServer((_request, response) => response.writeHead(200, { "content-encoding": encoding }).end(body));
  return { server, client: testClient({ allowPrivate: [server.host] }) };
}

/** A gzip archive of so many MiB of zeros, in members of one. */
function zeros(size: number): Buffer {
  const one = zlib.gzipSync(Buffer.alloc(MIB));
  return Buffer.concat(Array.from({ length: size }, () => one));
}

const text = Buffer.from("What a tool says. ".repeat(10_000));

describe("encodings", () => {
  test.each([
    ["gzip", zlib.gzipSync(text)],
    ["GZIP", zlib.gzipSync(text)],
    ["x-gzip", zlib.gzipSync(text)],
    ["deflate", zlib.deflateSync(text)],
    ["deflate", zlib.deflateRawSync(text)],
    ["br", zlib.brotliCompressSync(text)],
    ["identity", text],
    ["", text],
    ["deflate, gzip", zlib.gzipSync(zlib.deflateSync(text))],
    ["gzip, identity, br", zlib.brotliCompressSync(zlib.gzipSync(text))],
  ])("%j is decoded", async (encoding, body) => {
    const { server, client } = await encodedServer(encoding, body);
    expect(await ask(client, server.at("/"))).toEqual({ status: 200, text: text.toString() });
  });

  test.runIf("zstdCompressSync" in zlib)("zstd is decoded if Node supports it", async () => {
    const { server, client } = await encodedServer("zstd", zlib.zstdCompressSync(text));
    expect(await ask(client, server.at("/"))).toEqual({ status: 200, text: text.toString() });
  });

  test("an empty body is empty whatever its declared encoding", async () => {
    const { server, client } = await encodedServer("gzip", Buffer.alloc(0));
    expect(await ask(client, server.at("/"))).toEqual({ status: 200, text: "" });
    expect(await ask(client, server.at("/"), { method: "HEAD" })).toEqual({ status: 200, text: "" });
  });

  const encodings = ["gzip", "deflate", "br", ...("createZstdDecompress" in zlib ? ["zstd"] : [])];
  test.each(encodings)("F15 a body that is not valid %s is an error", async (encoding) => {
    const { server, client } = await encodedServer(encoding, Buffer.from("hello, I am no archive"));
    const failure = await failureOf(ask(client, server.at("/")));
    expect([failure.code, failure.message.startsWith(`The request to ${server.host} failed: `), failure.outcome]).toEqual([
      "network_error",
      true,
      "unknown",
    ]);
  });

  test("F15 a truncated compressed body is an error", async () => {
    const { server, client } = await encodedServer("gzip", zlib.gzipSync(text).subarray(0, 100));
    expect(await failureOf(ask(client, server.at("/")))).toEqual({
      code: "network_error",
      message: `The request to ${server.host} failed: its answer cannot be decompressed (Z_BUF_ERROR).`,
      retryable: false,
      outcome: "unknown",
    });
  });
});

describe("F07 compression bombs", () => {
  test.each([
    ["gzip", "300 MB", () => zeros(300)],
    ["gzip, gzip", "1 GB", () => zlib.gzipSync(zeros(1_024))],
    ["br", "200 MB", () => zlib.brotliCompressSync(Buffer.alloc(200 * MIB), { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } })],
  ] as const)("F07 %s of %s stops at 10 MiB, without reading further", async (encoding, _size, bomb) => {
    const { server, client } = await encodedServer(encoding, bomb());
    const answer = await client.request(toRequest(server.at("/")));
    let bytes = 0;
    const reading = (async () => {
      for await (const chunk of answer.body) bytes += chunk.byteLength;
    })();
    expect(await failureOf(reading)).toEqual({
      code: "too_large",
      message: `The answer of ${server.host} is larger than 10485760 bytes.`,
      hint: "Ask for less, with a filter or page by page.",
      operatorHint: "Raise maxBytes, or ask for less.",
      retryable: false,
      outcome: "unknown",
    });
    expect(bytes).toBeLessThanOrEqual(10 * MIB);
  });

  test("F07 an endless archive that decompresses to nothing is too large as well", async () => {
    const nothing = Buffer.concat(Array.from({ length: 1_000 }, () => zlib.gzipSync("")));
    const server = await httpServer((_request, response) => {
      response.writeHead(200, { "content-encoding": "gzip" });
      const fill = (): void => {
        while (response.write(nothing));
      };
      response.on("drain", fill);
      fill();
    });
    const client = testClient({ allowPrivate: [server.host], maxBytes: 1_000 });
    expect((await failureOf(ask(client, server.at("/")))).code).toBe("too_large");
  });

  test("F07 more than two encodings are refused", async () => {
    const { server, client } = await encodedServer("gzip,".repeat(9) + "gzip", zlib.gzipSync(text));
    expect(await failureOf(ask(client, server.at("/")))).toEqual({
      code: "network_error",
      message: "The answer is encoded more than 2 times.",
      retryable: false,
      outcome: "unknown",
    });
  });

  test("F07 an unknown encoding is an error that retains the status", async () => {
    const { server, client } = await encodedServer("compress", text);
    const answer = await client.request(toRequest(server.at("/")));
    expect([answer.status, await failureOf(answer.bytes())]).toEqual([
      200,
      {
        code: "network_error",
        message: 'The answer is encoded as "compress", which cannot be decoded.',
        retryable: false,
        outcome: "unknown",
      },
    ]);
  });
});

describe("F08 endless bodies", () => {
  test("F08 an endless body is cut off at the limit and its connection closed", async () => {
    let closed: () => void = () => {};
    const isClosed = new Promise<void>((resolve) => (closed = resolve));
    const server = await httpServer((_request, response) => {
      const fill = (): void => {
        while (response.write(Buffer.alloc(64 * 1024)));
      };
      response.on("drain", fill).on("close", closed);
      fill();
    });
    const client = testClient({ allowPrivate: [server.host], maxBytes: 100_000 });
    expect((await failureOf(ask(client, server.at("/")))).code).toBe("too_large");
    await isClosed;
  });

  test("F08 a declared length over the limit is refused before the body is read; exactly the limit is accepted", async () => {
    const server = await httpServer((request, response) => response.end(Buffer.alloc(Number(request.url?.slice(1)))));
    const client = testClient({ allowPrivate: [server.host], maxBytes: 1_000 });
    expect((await ask(client, server.at("/1000"))).text.length).toBe(1_000);
    expect((await failureOf(ask(client, server.at("/1001")))).code).toBe("too_large");
  });

  test("F08 a slow body ends with the caller's signal, and its connection is closed", async () => {
    let closed: () => void = () => {};
    const isClosed = new Promise<void>((resolve) => (closed = resolve));
    const server = await httpServer((_request, response) => {
      response.on("close", closed);
      response.write("a");
    });
    const client = testClient({ allowPrivate: [server.host] });
    const stop = new AbortController();
    const answer = await client.request(toRequest(server.at("/"), { signal: stop.signal }));
    const chunks: string[] = [];
    const reading = (async () => {
      for await (const chunk of answer.body) {
        chunks.push(Buffer.from(chunk).toString());
        stop.abort();
      }
    })();
    expect(await failureOf(reading)).toEqual({
      code: "cancelled",
      message: `The request to ${server.host} was cancelled.`,
      retryable: false,
      outcome: "unknown",
    });
    expect(chunks).toEqual(["a"]);
    await isClosed;
  });

  test.each([
    ["cancelled while it is read", "cancelled"],
    ["cancelled before it is read", "cancelled"],
    ["given up while it is read", "network_error"],
  ])("F08 a slow body that is read whole and %s ends as %s, and its connection is closed", async (when, code) => {
    const { promise: isClosed, resolve: closed } = Promise.withResolvers<void>();
    const server = await httpServer((_request, response) => void response.on("close", closed).write("a"));
    const client = testClient({ allowPrivate: [server.host] });
    const stop = new AbortController();
    const answer = await client.request(toRequest(server.at("/"), { signal: stop.signal }));
    if (when === "cancelled before it is read") stop.abort();
    const failure = failureOf(answer.bytes());
    if (when === "given up while it is read") answer.discard();
    else stop.abort();
    expect(await failure).toMatchObject({ code, outcome: "unknown" });
    await isClosed;
  });

  test("F08 leaving the loop or discarding the answer closes the connection", async () => {
    for (const giveUp of ["break", "discard"]) {
      let closed: () => void = () => {};
      const isClosed = new Promise<void>((resolve) => (closed = resolve));
      const server = await httpServer((_request, response) => void response.on("close", closed).write("a"));
      const client = testClient({ allowPrivate: [server.host] });
      const answer = await client.request(toRequest(server.at("/")));
      if (giveUp === "discard") answer.discard();
      else for await (const chunk of answer.body) if (chunk.byteLength > 0) break;
      answer.discard();
      await isClosed;
    }
  });

  test.each(["gzip", "gzip, br", "deflate"])("F08 leaving the loop of a stalled %s body closes the connection", async (encoding) => {
    let closed: () => void = () => {};
    const isClosed = new Promise<void>((resolve) => (closed = resolve));
    const start = zlib.gzipSync(Buffer.from("x".repeat(100_000)), { level: 0 }).subarray(0, 90_000);
    const bodies = new Map([
      ["gzip", start],
      ["gzip, br", zlib.brotliCompressSync(start, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 0 } }).subarray(0, -1)],
      ["deflate", zlib.deflateSync("x".repeat(100_000), { level: 0 }).subarray(0, 90_000)],
    ]);
    const server = await httpServer((_request, response) => {
      response.writeHead(200, { "content-encoding": encoding }).on("close", closed).write(bodies.get(encoding));
    });
    const client = testClient({ allowPrivate: [server.host] });
    const answer = await client.request(toRequest(server.at("/")));
    let read = 0;
    for await (const chunk of answer.body) {
      read += chunk.byteLength;
      break;
    }
    await isClosed;
    expect(read).toBeGreaterThan(0);
  });

  test("F08 the connection is closed when a server answers without reading the rest of the body", async () => {
    const body = Buffer.alloc(32 * MIB);
    const sockets: Socket[] = [];
    const server = await socketServer((socket) => {
      sockets.push(socket);
      socket.once("data", () => socket.pause().write("HTTP/1.1 413 Payload Too Large\r\ncontent-length: 2\r\n\r\nno"));
    });
    const client = testClient({ allowPrivate: [server.host] });
    expect(await ask(client, server.at("/"), { method: "POST", body })).toEqual({ status: 413, text: "no" });
    const [socket] = sockets;
    const isClosed = new Promise<void>((resolve) => socket?.once("close", () => resolve()));
    socket?.resume();
    await isClosed;
    expect(socket?.bytesRead).toBeLessThan(body.byteLength);
  });

  test("discarding a short answer frees its connection for the next request, unless the answer does not arrive", async () => {
    const ports = new Set<number | undefined>();
    const clock = new FakeClock();
    let closed: () => void = () => {};
    const isClosed = new Promise<void>((resolve) => (closed = resolve));
    const answer = (socket: Socket): void => {
      socket.on("data", (bytes) => {
        ports.add(socket.remotePort);
        const isLate = String(bytes).startsWith("GET /late");
        if (isLate) socket.on("close", closed);
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n${isLate ? "" : "hello"}`);
      });
    };
    const server = await socketServer(answer);
    const client = testClient({ allowPrivate: [server.host], clock });
    (await client.request(toRequest(server.at("/")))).discard();
    await new Promise(setImmediate);
    const late = await client.request(toRequest(server.at("/late")));
    late.discard();
    await clock.advance(1_000);
    await isClosed;
    expect(ports.size).toBe(1);
  });
});

describe("F15 malformed answers", () => {
  const broken = "the server closed the connection (ECONNRESET)";
  const noHttp = (code: string): string => `its answer is not HTTP (${code})`;

  test.each([
    ["a content-length that is too great", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", broken],
    ["a chunked body that is cut short", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", broken],
    ["rubbish after the body", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloGARBAGE", noHttp("HPE_INVALID_CONSTANT")],
    ["two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 3\r\n\r\nhello", noHttp("HPE_UNEXPECTED_CONTENT_LENGTH")],
    ["no HTTP at all", "SSH-2.0-OpenSSH_9.2\r\n", noHttp("HPE_INVALID_CONSTANT")],
    [
      "headers without end",
      `HTTP/1.1 200 OK\r\nX: ${"a".repeat(70_000)}`,
      "the headers of its answer are larger than 64 KiB (HPE_HEADER_OVERFLOW)",
    ],
    ["nothing", "", broken],
  ])("F15 %s is reported as an error", async (_what, answer, reason) => {
    const server = await socketServer((socket) => socket.once("data", () => socket.end(answer)));
    const client = testClient({ allowPrivate: [server.host] });
    const failure = await failureOf(ask(client, server.at("/")));
    expect([failure.code, failure.message, failure.outcome]).toEqual([
      "network_error",
      `The request to ${server.host} failed: ${reason}.`,
      "unknown",
    ]);
  });

  test("F15 a body without a length ends with the connection", async () => {
    const server = await socketServer((socket) => socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\n\r\nhello")));
    const client = testClient({ allowPrivate: [server.host] });
    expect(await ask(client, server.at("/"))).toEqual({ status: 200, text: "hello" });
  });

  test("F08 F15 a body in thousands of tiny chunks is assembled in order", async () => {
    const bytes = Buffer.from(Array.from({ length: 4_321 }, (_, index) => 65 + (index % 26)));
    const chunks = Array.from(bytes, (byte) => `1\r\n${String.fromCharCode(byte)}\r\n`).join("");
    const server = await rawAnswer(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
    const client = testClient({ allowPrivate: [server.host] });
    expect(await ask(client, server.at("/"))).toEqual({ status: 200, text: bytes.toString() });
  });

  test("F15 informational responses precede the answer", async () => {
    const server = await rawAnswer(
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nok",
    );
    const client = testClient({ allowPrivate: [server.host] });
    expect(await ask(client, server.at("/"))).toEqual({ status: 201, text: "ok" });
  });

  test.each([204, 205, 304, 404, 500, 599, 999])("F15 the status %i is returned unchanged", async (status) => {
    const server = await rawAnswer(`HTTP/1.1 ${status} Whatever\r\nContent-Length: 0\r\n\r\n`);
    const client = testClient({ allowPrivate: [server.host] });
    expect(await ask(client, server.at("/"))).toEqual({ status, text: "" });
  });

  test("F15 headers that are in Latin-1, repeated, or named like an Object property are returned unchanged", async () => {
    const server = await rawAnswer(
      Buffer.from(
        "HTTP/1.1 200 OK\r\nX-Name: Zo\xeb\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\n__proto__: x\r\nconstructor: y\r\nContent-Length: 0\r\n\r\n",
        "latin1",
      ),
    );
    const client = testClient({ allowPrivate: [server.host] });
    const answer = await client.request(toRequest(server.at("/")));
    expect([...answer.headers]).toEqual([
      ["x-name", ["Zoë"]],
      ["set-cookie", ["a=1", "b=2"]],
      ["__proto__", ["x"]],
      ["constructor", ["y"]],
      ["content-length", ["0"]],
    ]);
  });

  test("a body can be read only once", async () => {
    const server = await rawAnswer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    const client = testClient({ allowPrivate: [server.host] });
    const answer = await client.request(toRequest(server.at("/")));
    await answer.bytes();
    expect((await failureOf(answer.bytes())).code).toBe("invalid_argument");
  });
});
