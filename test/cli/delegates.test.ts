/** Delegates of a configuration, as people see them at the terminal. */
import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { calling, chatProject, type ChatProjectOptions } from "./chat-project.ts";

const TEAM = `
[loop]
earlyDispatch = false

[toolsets.team]
type = "delegates"

[toolsets.team.delegates.shopper]
description = "Looks things up in the shop."
allow = ["shop::look"]
maxRounds = 4
system = "You look things up."
`;

const asks = (task: string) => ({ calls: [{ name: "team__shopper", input: { task } }] });

const project = (script: ChatProjectOptions["script"], toml = TEAM): ReturnType<typeof chatProject> => chatProject({ script, toml });

describe("F1.53 delegates of a configuration", () => {
  test("use the configured model, and their calls are shown indented below the delegate's call", async () => {
    const shop = await project([
      asks("Find the milk."),
      { text: "I look.", ...calling("shop__look") },
      { text: "On the shelf." },
      { text: "It is there." },
    ]);
    expect(await shop.haft(["chat"], { types: ["Where is the milk?"], columns: 80 })).toEqual({
      exitCode: 0,
      stdout: `  · openai-chat/gpt-x, 17 tools. /help says more; Ctrl-D ends

model
  → #1  team::shopper  {"task":"Find the milk."}
  · #1  I look.
    → #2  shop::look  {}
    ✓ #2  shop::look # ms  milk on the shelf
  ✓ #1  team::shopper # ms  On the shelf.

model   It is there.
  · 2 rounds, 1 call, 40 tokens in, 20 out
`,
      stderr: "",
    });
    expect(shop.asked[1]).toMatchObject([
      { role: "system", content: "You look things up." },
      { role: "user", content: "Find the milk." },
    ]);
    const offered = shop.server.requests[1]?.body["tools"] as readonly { function: { name: string } }[];
    expect(offered.map((tool) => tool.function.name)).toEqual(["shop__look"]);
  });

  test("can be called without a calling model, and simulated", async () => {
    const script = [calling("shop__look"), { text: "On the shelf." }];
    const shop = await project([...script, ...script]);
    expect(await shop.haft(["call", "team::shopper", '{"task": "Find the milk."}'])).toMatchObject({
      exitCode: 0,
      stdout: "On the shelf.\n",
    });
    expect(await shop.haft(["call", "team::shopper", '{"task": "Find the milk."}', "--simulate"])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining("On the shelf."),
    });
  });

  test("use their own model if they have one; a delegate without an API key is unavailable, and the others work", async () => {
    const toml = `${TEAM}
[toolsets.team.delegates.other]
description = "Asks another."
model = "anthropic/claude-x"
`;
    const shop = await project([asks("Find it."), { text: "There." }, { text: "Done." }], toml);
    const checked = await shop.haft(["check"]);
    expect(checked.stdout).toContain("ANTHROPIC_API_KEY");
    expect(await shop.haft(["chat"], { input: "Go.\n" })).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("There.") });
    expect(JSON.stringify(shop.server.requests[0]?.body["tools"])).not.toContain("team__other");
    const called = await shop.haft(["call", "team::other", '{"task": "x"}']);
    expect([called.exitCode, called.stderr]).toEqual([6, expect.stringContaining("ANTHROPIC_API_KEY")]);
  });

  test("count the usage of their own model in that of the chat, and report its retries", async () => {
    const own = `${TEAM}model = { name = "openai-chat/small", baseUrl = "URL", apiKey = "env:MODEL_KEY", prices = { inputPerMillion = 100, outputPerMillion = 0 } }\n`;
    const busy = { status: 429, message: "Slow down.", headers: { "retry-after": "0" } };
    const shop = await project([asks("Find it."), busy, { text: "There." }, { text: "Done." }], own);
    writeFileSync(shop.path("haft.toml"), shop.read("haft.toml").replace("URL", shop.server.url));
    const { exitCode, stdout, stderr } = await shop.haft(["chat"], { input: "Go.\n" });
    expect([exitCode, stderr]).toEqual([
      0,
      "haft: openai-chat/small: attempt 1 failed, next in # ms: openai-chat/small answered HTTP 429 (error): Slow down.\n",
    ]);
    expect(stdout).toContain("30 tokens in, 15 out, 0.0010 USD");
  });

  test("fail with the model's error if the model fails, and the chat continues", async () => {
    const shop = await project([asks("Find it."), { status: 400, message: "no such model" }, { text: "I could not ask." }]);
    const { exitCode, stdout } = await shop.haft(["chat"], { input: "Go.\n" });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/✗ #1 {2}team::shopper .*\n.*team::shopper did not finish its task\. .*no such model/u);
    expect(stdout).toContain("I could not ask.");
  });
});
