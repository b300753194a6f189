import { describe, expect, test, vi } from "vitest";
import { otlpReceiver } from "../telemetry/otlp-receiver.ts";
import { testInCI } from "../test-in-ci.ts";
import { folderWith, haft } from "./run-haft.ts";

const SHOP = `export const price = { name: "price", description: "", inputSchema: { type: "object" }, effects: { reads: [] }, execute: ({ item }) => ({ item, euros: 3 }) };
`;
const TOOLSET = `[toolsets.shop]
type = "module"
path = "./shop.mjs"
`;
const CALL = ["call", "shop::price", '{"item":"tea-4711"}'];

describe("issue 19.8 telemetry of the command line", () => {
  test("[telemetry] sends what it says to the collector that it names", async () => {
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
      ["execute_tool shop::price", '{"item":"tea-4711"}'],
    ]);
    expect(receiver.points.map(({ metric }) => metric)).toContain("gen_ai.execute_tool.duration");
  });

  test("the variables of OpenTelemetry are enough, and win over the file", async () => {
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
    expect(receiver.text).not.toContain("4711");
  });

  test("an SDK without startNodeSdk, such as version 2, sends as well", async () => {
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

  testInCI("OTEL_SDK_DISABLED, enabled = false and no table at all send nothing", async () => {
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

  testInCI("a collector that is away fails no command", async () => {
    const folder = folderWith({ "shop.mjs": SHOP, "haft.toml": `[telemetry]\nendpoint = "http://127.0.0.1:9"\n\n${TOOLSET}` });
    expect(await haft(CALL, { folder })).toMatchObject({ exitCode: 0 });
  });
});
