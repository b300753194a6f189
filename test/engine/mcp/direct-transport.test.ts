/** Calls that are posted without the SDK's transport end as they do with it, whatever a server answers. */
import type { ServerResponse } from "node:http";
import fc from "fast-check";
import { expect, onTestFinished, test, vi } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/core/base/json.ts";
import { mcpToolset } from "../../../src/engine/mcp.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";
import { MemoryLog } from "../../../src/testing/fake-ports.ts";
import { inCI } from "../../ci.ts";
import { loopbackMcp, modern } from "./loopback-mcp.ts";

interface Answer {
  readonly status: number;
  readonly type: string | undefined;
  /** `ID` stands for the id of the request. */
  readonly body: string;
  readonly isCut: boolean;
}

const INFO = "io.modelcontextprotocol/serverInfo";
const results = fc.constantFrom<JsonValue>(
  { resultType: "complete", content: [{ type: "text", text: "fine" }] },
  {
    resultType: "complete",
    content: [{ type: "text", text: "fine" }],
    structuredContent: { a: 1 },
    _meta: { [INFO]: { name: "s", version: "1" } },
  },
  { resultType: "complete", content: [{ type: "text", text: "no" }], isError: true },
  { resultType: "complete", content: [{ type: "text", text: "fine" }], _meta: { [INFO]: { name: 3 }, note: true } },
  { resultType: "complete", content: [], _meta: "none" },
  { resultType: "strange" },
  { content: [{ type: "picture" }] },
  {},
  [],
  null,
  "text",
);
const errors = fc.constantFrom<JsonValue>(
  { code: -32_602, message: "bad arguments" },
  { code: -32_020, message: "headers differ", data: { header: "x" } },
  { code: -32_000, message: "" },
  { code: 1.5, message: "half" },
  { code: -32_603, message: "broken", more: true },
  { message: "no code" },
  "text",
);
const messages = fc.oneof(
  results.map((result): JsonObject => ({ jsonrpc: "2.0", id: "ID", result })),
  errors.map((error): JsonObject => ({ jsonrpc: "2.0", id: "ID", error })),
  fc.constantFrom<JsonValue>({ jsonrpc: "1.0", id: "ID", result: {} }, { id: "ID" }, { jsonrpc: "2.0", id: "ID" }, null),
  results.chain((result) => fc.constantFrom<JsonValue>(9_999_999, null, "x").map((id): JsonObject => ({ jsonrpc: "2.0", id, result }))),
  errors.map((error): JsonObject => ({ jsonrpc: "2.0", id: null, error })),
);
const answers: fc.Arbitrary<Answer> = fc.record({
  status: fc.constantFrom(200, 200, 200, 200, 204, 302, 400, 404, 429, 500, 503),
  type: fc.constantFrom(
    "application/json",
    "application/json",
    "application/json; charset=utf-8",
    "text/event-stream",
    "text/html",
    undefined,
  ),
  body: fc.oneof(
    { weight: 5, arbitrary: messages.map((message) => JSON.stringify(message).replace('"ID"', "ID")) },
    { weight: 1, arbitrary: fc.constantFrom("", "{", "not json", '{"jsonrpc":"2.0","id":ID,"result":{"__proto__":{"a":1}}}') },
  ),
  isCut: fc.constantFrom(false, false, false, false, true),
});

function send(response: ServerResponse, { status, type, body, isCut }: Answer, id: unknown): void {
  const text = body.replace("ID", JSON.stringify(id));
  const sent = type === "text/event-stream" ? `data: ${text}\n\n` : text;
  const length = isCut ? { "content-length": Buffer.byteLength(sent) + 10 } : {};
  response.writeHead(status, { ...(type === undefined ? {} : { "content-type": type }), ...length });
  if (status === 204) return void response.end();
  if (!isCut) return void response.end(sent);
  response.write(sent, () => response.destroy());
}

test(
  "issue 19.7 a call ends the same with and without the SDK's transport, whatever the server answers",
  { timeout: 120_000 },
  async () => {
    let answer: Answer = { status: 200, type: undefined, body: "", isCut: false };
    const { url } = await loopbackMcp({
      ...modern(),
      "tools/call": ({ response, id }) => {
        send(response, answer, id);
        return undefined;
      },
    });
    const signing = { token: () => Promise.resolve(undefined), dpop: () => undefined }; // such a provider is left to the SDK
    const log = new MemoryLog();
    const settings = { defaults: { maxAttempts: 1, timeoutMs: 500 } };
    const runtime = createRuntime({
      ports: { log },
      circuit: false,
      toolsets: [
        mcpToolset("one", { url, ...settings }),
        mcpToolset("two", { url, auth: { type: "oauth", provider: signing }, ...settings }),
      ],
    });
    onTestFinished(async () => void (await runtime.close()));
    expect((await runtime.open()).failed).toEqual([]);
    const call = async (toolset: string): Promise<unknown> => {
      const { status, output, content, metadata, error } = await runtime.execute({ name: `${toolset}::echo`, input: {} });
      const told =
        error === undefined
          ? undefined
          : { code: error.code, message: error.message.replaceAll(`"${toolset}"`, "it"), retryable: error.retryable };
      return { status, output, content, metadata, error: told };
    };
    const property = fc.asyncProperty(answers, async (planned) => {
      answer = planned;
      expect(await call("one")).toEqual(await call("two"));
    });
    await fc.assert(property, { numRuns: inCI ? 200 : 50 });
  },
);

test("a call whose answer was read completely leaves nothing behind that a later call would abort", async () => {
  const { url } = await loopbackMcp({
    ...modern(),
    "tools/call": () => ({ resultType: "complete", content: [{ type: "text", text: "fine" }] }),
  });
  const runtime = createRuntime({ toolsets: [mcpToolset("one", { url })] });
  onTestFinished(async () => void (await runtime.close()));
  expect((await runtime.open()).failed).toEqual([]);
  const aborted = vi.spyOn(AbortController.prototype, "abort");
  onTestFinished(() => aborted.mockRestore());
  for (let count = 0; count < 40; count++) expect(await runtime.execute({ name: "one::echo", input: {} })).toMatchObject({ status: "ok" });
  const reasons = aborted.mock.calls.map(([reason]: unknown[]) => String(reason));
  expect(reasons).toEqual([]);
});
