import type { AddressInfo } from "node:net";
import { createServer } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import { ask, failureOf, testClient, toRequest } from "./ask.ts";
import { CERTIFICATE, KEY, httpServer, httpsServer } from "./loopback-server.ts";

test("F18 a self-signed certificate is refused before anything is sent", async () => {
  let requests = 0;
  const server = await httpsServer((_request, response) => {
    requests++;
    response.end("read");
  });
  const client = testClient({ allowPrivate: [server.host] });
  const failure = await failureOf(client.request(toRequest(server.at("/?token=secret"), { method: "POST", body: Buffer.from("secret") })));
  expect([failure, requests]).toEqual([
    {
      code: "network_error",
      message: `No connection to ${server.host}: its certificate is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT).`,
      operatorHint: "Pass the certificate of its authority as `ca`, in PEM, or start the process with NODE_EXTRA_CA_CERTS.",
      retryable: false,
      outcome: "not_started",
    },
    0,
  ]);
});

test("F18 a certificate for another host is refused even if its authority is trusted", async () => {
  const server = await httpsServer((_request, response) => response.end("read"));
  const client = testClient({ allowPrivate: ["other.example"], ca: CERTIFICATE, names: { "other.example": ["127.0.0.1"] } });
  expect(await failureOf(client.request(toRequest(`https://other.example:${server.port}/`)))).toEqual({
    code: "network_error",
    message: `No connection to other.example:${server.port}: its certificate is for another host (ERR_TLS_CERT_ALTNAME_INVALID).`,
    operatorHint: "Use a host name that its certificate covers.",
    retryable: false,
    outcome: "not_started",
  });
});

test("a server that speaks only HTTP/2 is refused at once, with what would work", async () => {
  const server = createServer({ key: KEY, cert: CERTIFICATE, ALPNProtocols: ["h2"] });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo; // it listens on a port
  const client = testClient({ allowPrivate: ["localhost"], ca: CERTIFICATE, names: { localhost: ["127.0.0.1"] } });
  expect(await failureOf(client.request(toRequest(`https://localhost:${port}/`)))).toEqual({
    code: "network_error",
    message: `No connection to localhost:${port}: it does not speak HTTP/1.1 (EPROTO).`,
    operatorHint: "Let the server speak HTTP/1.1 besides HTTP/2.",
    retryable: false,
    outcome: "not_started",
  });
});

test("F18 with its authority configured, a server can be called by name and by address", async () => {
  const server = await httpsServer((_request, response) => response.end("read"));
  const client = testClient({ allowPrivate: ["localhost", "127.0.0.1"], ca: CERTIFICATE, names: { localhost: ["127.0.0.1"] } });
  expect([await ask(client, `https://localhost:${server.port}/`), await ask(client, server.at("/"))]).toEqual([
    { status: 200, text: "read" },
    { status: 200, text: "read" },
  ]);
});

test("F18 verification is disabled only on request, with one warning", async () => {
  const server = await httpsServer((_request, response) => response.end("read"));
  const warnings: string[] = [];
  const log = { debug() {}, warn: (message: string) => void warnings.push(message) };
  const client = testClient({ allowPrivate: [server.host], verifyTls: false, log });
  await ask(client, server.at("/"));
  expect([await ask(client, server.at("/")), warnings]).toEqual([
    { status: 200, text: "read" },
    ["Certificates are not checked (verifyTls is false): anyone on the way to a server can read and change what is sent."],
  ]);
});

test("F04 credentials are not forwarded by a redirect from https to http on the same host", async () => {
  const target = await httpServer((request, response) => response.end(String(request.headers.authorization)));
  const server = await httpsServer((_request, response) => response.writeHead(302, { location: target.at("/").href }).end());
  const client = testClient({ allowPrivate: ["127.0.0.1"], ca: CERTIFICATE });
  expect(await ask(client, server.at("/"), { headers: [["authorization", "Bearer secret"]] })).toEqual({ status: 200, text: "undefined" });
});

test("a server without TLS, and a server with TLS only, are named as such in the error", async () => {
  const plain = await httpServer((_request, response) => response.end());
  const secure = await httpsServer((_request, response) => response.end());
  const client = testClient({ allowPrivate: ["127.0.0.1"], ca: CERTIFICATE });
  const failures = [
    await failureOf(client.request(toRequest(`https://${plain.host}/`))),
    await failureOf(client.request(toRequest(`http://${secure.host}/`))),
  ];
  expect(failures.map(({ code, message, outcome }) => [code, message, outcome])).toEqual([
    ["network_error", `No connection to ${plain.host}: the TLS handshake failed (EPROTO).`, "not_started"],
    ["network_error", `The request to ${secure.host} failed: the server closed the connection (ECONNRESET).`, "unknown"],
  ]);
});
