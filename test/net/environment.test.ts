/** What the environment of a process can and cannot change, seen in a process of its own. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { httpServer, httpsServer } from "./loopback-server.ts";

const CLIENT = new URL("../../src/net/http-client.ts", import.meta.url).href;
const PORTS = new URL("../../src/core/system/system-ports.ts", import.meta.url).href;

/** Prints the body of `url`, or the error's code and message, and does nothing to end the process. */
const PROGRAM = `
import { httpClient } from ${JSON.stringify(CLIENT)};
import { systemPorts } from ${JSON.stringify(PORTS)};
const url = new URL(process.argv[1]);
const client = httpClient({ allowPrivate: [url.host] }, systemPorts);
try {
  const answer = await client.request({ method: "GET", url, headers: [], signal: new AbortController().signal });
  console.log(Buffer.from(await answer.bytes()).toString());
} catch (error) {
  console.log(error.code + ": " + error.message);
}
`;

async function run(url: URL, environment: Readonly<Record<string, string>>): Promise<string> {
  const node = promisify(execFile);
  const { stdout } = await node(process.execPath, ["--input-type=module", "-e", PROGRAM, url.href], {
    env: { ...process.env, ...environment },
  });
  return stdout.trim();
}

test("F17 proxy variables are ignored, and an idle connection does not keep the process alive", async () => {
  let proxied = 0;
  const proxy = await httpServer((_request, response) => {
    proxied++;
    response.end("by the proxy");
  });
  const server = await httpServer((_request, response) => response.end("directly"));
  const address = proxy.at("/").href;
  const environment = { NODE_USE_ENV_PROXY: "1", HTTP_PROXY: address, http_proxy: address, ALL_PROXY: address, NO_PROXY: "", no_proxy: "" };
  expect([await run(server.at("/"), environment), proxied]).toEqual(["directly", 0]);
});

test("F18 NODE_TLS_REJECT_UNAUTHORIZED=0 does not disable certificate verification", async () => {
  const server = await httpsServer((_request, response) => response.end("read"));
  expect(await run(server.at("/"), { NODE_TLS_REJECT_UNAUTHORIZED: "0" })).toBe(
    `network_error: No connection to ${server.host}: its certificate is self-signed (DEPTH_ZERO_SELF_SIGNED_CERT).`,
  );
});

test("an authority in NODE_EXTRA_CA_CERTS is trusted besides those of the system", async () => {
  const server = await httpsServer((_request, response) => response.end("read"));
  const authority = fileURLToPath(new URL("localhost-certificate.pem", import.meta.url));
  expect(await run(server.at("/"), { NODE_EXTRA_CA_CERTS: authority })).toBe("read");
});
