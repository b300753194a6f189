/** What a model's provider asks, put to a runtime by a program whose own loop is at the other end of HTTP. */
import { createClient } from "haft/client";
import { createServer, staticToken } from "haft/server";
import { expect, onTestFinished, test } from "vitest";
import type { ModelCall } from "../../../src/core/model.ts";
import { createRuntime } from "../../../src/runtime/runtime.ts";

const TOKEN = "a-token-of-the-test-of-questions";

test("a call is treated as a provider's approval question only if its kind says so", async () => {
  const asked: unknown[] = [];
  const hosted = {
    name: "tickets",
    description: "A hosted server.",
    inputSchema: {},
    providerExecuted: true,
    providers: { "openai-responses": { type: "mcp", server_label: "tickets" } },
  };
  const runtime = createRuntime({ tools: [hosted], approval: { approve: ({ input }) => (asked.push(input), "allow-once") } });
  const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), mcp: false });
  onTestFinished(async () => {
    await server.close();
    await runtime.close();
  });
  const client = createClient({ url: (await server.listen({ port: 0 })).url, token: TOKEN });
  const call = { name: "tickets", input: { server: "tickets", tool: "close", arguments: { id: 7 } } } as const;

  const ofKind = (kind: string): ModelCall => ({ ...call, kind: kind as "approval" });

  const bare = await client.call("execute", { body: { calls: [call, ofKind("function")] } });
  expect(bare.results.map(({ error }) => error?.code)).toEqual(["not_executable", "not_executable"]);
  expect(asked).toEqual([]);

  const { results } = await client.call("execute", { body: { calls: [ofKind("approval")] } });
  expect(results.map(({ output }) => output)).toEqual([{ approved: true }]);
  expect(asked).toEqual([call.input]);
  await expect(client.call("execute", { body: { calls: [ofKind("other")] } })).rejects.toMatchObject({ status: 400 });
});
