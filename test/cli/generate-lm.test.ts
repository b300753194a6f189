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

test("an lm engine is awaited on the virtual clock while hours of pauses pass at once, and each of its answers is a result", async () => {
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
  expect(stdout).toMatch(/^model +2 +requests, /mu);
  expect(chat.server.requests).toHaveLength(2);
  expect(chat.read("t.jsonl")).toContain("batch 1");
});

const PRICES = "prices = { inputPerMillion = 1_000, outputPerMillion = 2_000 }";

/** The tools of the shop, played by a model with prices. */
function simulation(url: string, more = ""): string {
  return `${more}\n[simulation.model]\nname = "openai-chat/gpt-x"\nbaseUrl = "${url}"\napiKey = "env:MODEL_KEY"\n${PRICES}\n`;
}

test("a generation reports requests, tokens, cost and retries of the model that plays tools", async () => {
  const busy = { status: 429, message: "Slow down.", headers: { "retry-after": "0" } };
  const script = [busy, ...Array.from({ length: 4 }, () => ({ text: '"milk"' }))];
  const chat = await chatProject({ script });
  writeFileSync(chat.path("haft.toml"), chat.read("haft.toml") + simulation(chat.server.url));
  const drawn = ["--tools", "shop::look", "--count", "2", "--calls", "1", "--sample", "random"];
  const generate = (out: string, ...more: readonly string[]) => chat.haft(["generate", ...drawn, "--out", chat.path(out), ...more]);
  const asText = await generate("one.jsonl");
  expect([asText.exitCode, asText.stderr]).toEqual([
    0,
    "haft: openai-chat/gpt-x: attempt 1 failed, next in # ms: openai-chat/gpt-x answered HTTP 429 (error): Slow down.\n",
  ]);
  expect(asText.stdout).toMatch(/^model +2 +requests, 20 tokens in, 10 out, cost 0\.0400$/mu);
  const asJson = await generate("two.jsonl", "--json");
  expect(JSON.parse(asJson.stdout).usage).toMatchObject({ requests: 2, retries: 0, inputTokens: 20, outputTokens: 10, cost: 0.04 });
});

test("the usage of a chat includes the model that plays its tools", async () => {
  const script = [{ calls: [{ name: "look", input: {} }] }, { text: '"milk"' }, { text: "Milk." }];
  const chat = await chatProject({ script, model: PRICES });
  writeFileSync(chat.path("haft.toml"), chat.read("haft.toml") + simulation(chat.server.url, '\n[simulation.sources]\n"*" = "lm"\n'));
  const { exitCode, stdout } = await chat.haft(["run", "--model", "openai-chat/gpt-x", "--prompt", "What is there?"]);
  expect([exitCode, chat.server.requests.length]).toEqual([0, 3]);
  expect(stdout).toContain("30 tokens in, 15 out, 0.0600 USD");
});
