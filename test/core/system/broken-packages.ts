/** A program that prints what the parts say whose optional packages fail while they are loaded: see `break-packages.ts`. */
import { startTelemetry } from "../../../src/cli/open/start-telemetry.ts";
import { describeThrown } from "../../../src/core/error.ts";
import { systemPorts } from "../../../src/core/system/system-ports.ts";
import { loadClient } from "../../../src/engine/mcp/connect.ts";
import { createRuntime } from "../../../src/index.ts";
import { createServer, issuerTokens, staticToken } from "../../../src/server.ts";
import { listenMcp } from "../../../src/server/mcp.ts";
import { loadPostgresDriver } from "../../../src/store/postgres/postgres-pool.ts";
import { convertDocument } from "../../../src/toolsets/convert/convert-document.ts";

const runtime = createRuntime({ tools: [] });
const ports = { ...systemPorts, fetch };
const bytes = new TextEncoder().encode("<p>text</p>");
const { signal } = new AbortController();

const loads = {
  "@modelcontextprotocol/client": () => loadClient(),
  "@modelcontextprotocol/server": () => listenMcp(runtime, { port: 0 }),
  "@opentelemetry/sdk-node": () =>
    startTelemetry({ config: undefined, environment: { OTEL_EXPORTER_OTLP_ENDPOINT: "http://a.example" }, runtime }),
  defuddle: () => convertDocument({ kind: "html", bytes }, signal),
  hono: () => createServer(runtime, { auth: staticToken({ token: "a-token-for-the-tests" }) }).listen({ port: 0 }),
  jose: () => issuerTokens({ issuer: "https://issuer.example", audience: "haft", scopes: {} }, ports),
  pg: () => loadPostgresDriver(),
  unpdf: () => convertDocument({ kind: "pdf", bytes }, signal),
};
const said = await Promise.all(
  Object.entries(loads).map(async ([name, load]) => [name, await load().then(() => "loaded", describeThrown)] as const),
);
console.log(JSON.stringify(Object.fromEntries(said)));
await runtime.close();
