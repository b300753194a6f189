import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { otlpReceiver } from "../telemetry/otlp-receiver.ts";
import { testInCI } from "../test-in-ci.ts";
import { folderWith, haft } from "./run-haft.ts";

const SHOP = `export const price = { name: "price", description: "", inputSchema: { type: "object" }, effects: { reads: [] }, execute: ({ item }) => ({ item, euros: 3 }) };
`;
const TOOLSET = `[toolsets.shop]
type = "module"
path = "./shop.mjs"
`;
const CERTIFICATE = fileURLToPath(new URL("../net/localhost-certificate.pem", import.meta.url));
const KEY = fileURLToPath(new URL("../net/localhost-key.pem", import.meta.url));

/** A collector over TLS that takes clients with a certificate only, and both protocols. Returns its address, and by path what came. */
async function secureCollector(): Promise<{ readonly url: string; readonly received: ReadonlyMap<string, string> }> {
  const received = new Map<string, string>();
  const certificate = readFileSync(CERTIFICATE);
  const options = {
    cert: certificate,
    key: readFileSync(KEY),
    ca: certificate,
    requestCert: true,
    rejectUnauthorized: true,
    allowHTTP1: true,
  };
  const answer = async (request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> => {
    received.set(request.url, String(await buffer(request)));
    const isGrpc = request.httpVersion === "2.0";
    response.writeHead(200, { "content-type": isGrpc ? "application/grpc" : "application/x-protobuf" });
    if (isGrpc) response.addTrailers({ "grpc-status": "0" });
    response.end(isGrpc ? Buffer.alloc(5) : ""); // an empty message
  };
  const server = createSecureServer(options, (request, response) => void answer(request, response));
  onTestFinished(() => void server.close());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // Not by its address: the client of gRPC gives that as the name for TLS, which Node 26 refuses (RFC 6066).
  return { url: `https://localhost:${(server.address() as AddressInfo).port}`, received };
}

const CALL = ["call", "shop::price", '{"item":"teapot-4711"}'];

describe("issue 19.8 telemetry of the command line", () => {
  test("[telemetry] sends spans and metrics with its settings to its endpoint", async () => {
    const receiver = await otlpReceiver();
    const folder = folderWith({
      "shop.mjs": SHOP,
      "haft.toml": `[telemetry]\nendpoint = "${receiver.url}"\nserviceName = "kitchen"\nrecordInputs = true\n\n${TOOLSET}`,
    });
    const { exitCode, stderr } = await haft(CALL, { folder, environment: { OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" } });
    await receiver.close();
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(receiver.resource).toMatchObject({ "service.name": "kitchen" });
    expect(receiver.spans.map(({ name, attributes }) => [name, attributes["gen_ai.tool.call.arguments"]])).toEqual([
      ["execute_tool shop::price", '{"item":"teapot-4711"}'],
    ]);
    expect(receiver.points.map(({ metric }) => metric)).toContain("gen_ai.execute_tool.duration");
  });

  test("the OpenTelemetry variables suffice without an endpoint, and override the file", async () => {
    const receiver = await otlpReceiver();
    const folder = folderWith({ "shop.mjs": SHOP, "haft.toml": `[telemetry]\nserviceName = "kitchen"\n\n${TOOLSET}` });
    const environment = {
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_SERVICE_NAME: "bar",
    };
    const { exitCode } = await haft(CALL, { folder, environment });
    await receiver.close();
    expect(exitCode).toBe(0);
    expect(receiver.resource).toMatchObject({ "service.name": "bar" });
    expect(receiver.spans).toHaveLength(1);
    expect(receiver.text).not.toContain("teapot-4711");
  });

  test.each([
    ["http/protobuf", ["/v1/metrics", "/v1/traces"]],
    [
      "grpc",
      ["/opentelemetry.proto.collector.metrics.v1.MetricsService/Export", "/opentelemetry.proto.collector.trace.v1.TraceService/Export"],
    ],
  ])("the OpenTelemetry variables suffice for a collector that requires TLS client certificates, by %s", async (protocol, paths) => {
    const { url, received } = await secureCollector();
    const folder = folderWith({ "shop.mjs": SHOP, "haft.toml": TOOLSET });
    const environment = {
      OTEL_EXPORTER_OTLP_ENDPOINT: url,
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_EXPORTER_OTLP_CERTIFICATE: CERTIFICATE,
      OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: CERTIFICATE,
      OTEL_EXPORTER_OTLP_CLIENT_KEY: KEY,
    };
    expect(await haft(CALL, { folder, environment })).toMatchObject({ exitCode: 0, stderr: "" });
    expect([...received.keys()].toSorted()).toEqual(paths);
    const [metrics, traces] = paths.map((path) => received.get(path));
    expect(metrics).toContain("gen_ai.execute_tool.duration");
    expect(traces).toContain("execute_tool shop::price");
  });

  test("an SDK without startNodeSdk, such as version 2, works as well", async () => {
    vi.doMock("@opentelemetry/sdk-node", async (original) => {
      const { NodeSDK } = await original<typeof import("@opentelemetry/sdk-node")>();
      return { NodeSDK };
    });
    const receiver = await otlpReceiver();
    const folder = folderWith({ "shop.mjs": SHOP, "haft.toml": TOOLSET });
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" };
    try {
      expect(await haft(CALL, { folder, environment })).toMatchObject({ exitCode: 0, stderr: "" });
    } finally {
      vi.doUnmock("@opentelemetry/sdk-node");
      await receiver.close();
    }
    expect(receiver.resource).toMatchObject({ "service.name": "haft" });
    expect(receiver.spans.map(({ name }) => name)).toEqual(["execute_tool shop::price"]);
  });

  testInCI("nothing is sent with OTEL_SDK_DISABLED, with enabled = false, or without the table", async () => {
    const receiver = await otlpReceiver();
    const on = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_EXPORTER_OTLP_PROTOCOL: "http/json" };
    const none = folderWith({ "shop.mjs": SHOP, "haft.toml": TOOLSET });
    const off = folderWith({ "shop.mjs": SHOP, "haft.toml": `[telemetry]\nenabled = false\n\n${TOOLSET}` });
    for (const [folder, environment] of [
      [none, {}],
      [none, { ...on, OTEL_SDK_DISABLED: "true" }],
      [off, on],
    ] as const)
      expect((await haft(CALL, { folder, environment })).exitCode).toBe(0);
    await receiver.close();
    expect(receiver.text).toBe("");
  });

  testInCI("an unreachable collector fails no command", async () => {
    const folder = folderWith({ "shop.mjs": SHOP, "haft.toml": `[telemetry]\nendpoint = "http://127.0.0.1:9"\n\n${TOOLSET}` });
    expect(await haft(CALL, { folder })).toMatchObject({ exitCode: 0 });
  });
});
