/** Tools that a model plays, in a generation whose pauses take no time (issue 16, point 4: faults and retries in virtual time). */
import { writeFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { chatProject } from "./chat-project.ts";

const TABLES = (url: string): string => `
[[tools.registry]]
type = "inline"
namespace = "bakery"
engine = "actor"
tools = [{ name = "bake", description = "Bakes.", parameters = { type = "object", properties = { loaves = { type = "integer" } }, required = ["loaves"] }, output_parameters = { type = "object", properties = { batch = { type = "string" } }, required = ["batch"] } }]

[tools.engines.actor]
type = "lm"
model = { name = "openai-chat/gpt-x", baseUrl = "${url}", apiKey = "env:MODEL_KEY" }

[simulation]
seed = 3

[[simulation.faults]]
type = "rate_limited"
probability = 1
attempts = 1
retryAfterMs = 3_600_000
`;

test("an engine lm is waited for while hours of pauses pass at once, and each of its answers is a result", async () => {
  const slowly = async (): Promise<void> => {
    for (let turn = 0; turn < 100; turn++) await setImmediate(); // many rounds of the event loop, in which a clock that skips would skip
  };
  const script = Array.from({ length: 8 }, (_, at) => ({ text: JSON.stringify({ batch: `batch ${at}` }), delivery: { gate: slowly } }));
  const chat = await chatProject({ script });
  writeFileSync(chat.path("haft.toml"), chat.read("haft.toml") + TABLES(chat.server.url));
  const args = ["generate", "--tools", "bakery::bake", "--count", "2", "--calls", "1", "--sample", "random", "--out", chat.path("t.jsonl")];
  const { exitCode, stdout, stderr } = await chat.haft(args);

  expect([exitCode, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/calls +2 +2 ok\nanswers +2 +2 simulated by /u);
  expect(stdout).toMatch(/faults +2 +2 rate_limited/u);
  expect(chat.server.requests).toHaveLength(2);
  expect(chat.read("t.jsonl")).toContain("batch 1");
});
