/** Triggers in a chat: at a terminal, where a person types meanwhile, and where standard input is a pipe. */
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { chatProject, type ChatProject } from "./chat-project.ts";
import { chatAt, hasTerminals } from "./chat-terminal.ts";
import { PATIENCE_MS } from "./run-haft.ts";
import { testInCI } from "../test-in-ci.ts";

const TOOLSET = '\n[toolsets.triggers]\ntype = "triggers"\n';
const TIMER = (interval: number, more = ""): string =>
  `\n[[triggers]]\ntype = "timer"\nname = "mail"\ninterval = ${interval}\nprompt = "Look at the mail."\n${more}`;

const adds = (name: string, interval: number) =>
  ({ calls: [{ name: "triggers__add_timer", input: { name, interval, prompt: "Look\u001b[31m up." } }] }) as const;

function texts(project: ChatProject): readonly string[] {
  return project.asked.map((messages) => JSON.stringify((messages as readonly unknown[]).at(-1)));
}

describe.skipIf(!hasTerminals)("at a terminal (needs script of util-linux)", { timeout: PATIENCE_MS }, () => {
  testInCI(
    "a configured timer fires while a line is being typed: it is shown above the line, the model is notified, and the line is unchanged",
    async () => {
      const project = await chatProject({ script: [{ text: "No mail." }, { text: "Sent." }], toml: TIMER(2, "immediate = false\n") });
      const { end, screens } = await chatAt(project, 80, [
        { when: /^you$/mu, keys: "An unfinished 你好" },
        { when: /No mail\.[^]*An unfinished 你好$/u, keys: "\u0015/remove mail\r" },
        { when: /mail is removed\.[^]*\nyou$/u, keys: "Send it.\r" },
        { when: /Sent\.[^]*\nyou$/u, keys: "\u0004" },
      ]);
      expect(screens[1]).toMatch(/· trigger mail: Look at the mail\.[^]*model +No mail\.[^]*\nyou {5}An unfinished 你好$/u);
      expect(end).toContain("mail is removed. It is in the configuration: the next chat has it again.");
      expect(texts(project)).toEqual([expect.stringContaining("Look at the mail."), expect.stringContaining("Send it.")]);
    },
  );
});

describe("in one process", () => {
  test("a trigger set by the model exists in the next chat of a stored session; /triggers lists it, /remove removes it for good", async () => {
    const project = await chatProject({ script: [adds("up", 3_600), { text: "Set." }], toml: TOOLSET });
    const chat = async (...types: readonly string[]) =>
      (await project.haft(["chat", "--session", "s", "--store", project.path("s.db")], { types })).stdout;
    await chat("Wake me.");
    const second = await chat("/triggers", "/remove ups", "/remove", "/remove up", "/triggers");
    expect(second).toContain('  up timer {"interval":3600,"prompt":"Look\\u001b[31m up."}, 0 messages sent');
    expect(second).not.toContain("\u001b");
    expect(second).toContain('There is no trigger "ups". Did you mean "up"?');
    expect(second).toContain("/remove <trigger>: /triggers shows their names.");
    expect(second).toMatch(/up is removed\.\n[^]*There are no triggers\./u);
    expect(await chat("/triggers")).toContain("There are no triggers.");
  });

  test("a trigger's message that an earlier chat did not handle starts a run", async () => {
    const project = await chatProject({ script: [{ text: "Heard." }] });
    const runtime = createRuntime({ store: sqliteStore({ path: project.path("s.db") }) });
    const session = await runtime.resume("s", { create: true });
    await session.addTrigger({ id: "up", kind: "timer", settings: { interval: 3_600, prompt: "Look." } });
    await session.receive({ role: "user", content: "Look." }, { triggerId: "up" });
    await runtime.close();
    const { stdout } = await project.haft(["chat", "--session", "s", "--store", project.path("s.db")]);
    expect(stdout).toContain("Heard.");
  });

  testInCI("when standard input is a pipe, triggers wake the model as long as it is open", async () => {
    const project = await chatProject({ script: [{ text: "No mail." }], toml: TIMER(3_600, "immediate = true\n") });
    const input = new PassThrough();
    const onOutput = (shown: string): void => (shown.includes("No mail.") ? void input.end() : undefined);
    const { stdout, exitCode } = await project.haft(["chat", "--json"], { input, onOutput });
    expect([exitCode, (JSON.parse(stdout) as { readonly text: string }).text]).toEqual([0, "No mail."]);
  });

  testInCI("timers that fire continuously still leave time for the prompt, and end with the chat", async () => {
    const script = Array.from({ length: 20_000 }, (_, index) => ({ text: `Answer ${index}.` }));
    const project = await chatProject({ script, toml: `${TIMER(0.001)}\n[loop]\nmaxRounds = 20_000\n` });
    const { exitCode, stdout } = await project.haft(["chat"], { types: ["Hello.", "Are you there?", "/remove mail"] });
    expect(exitCode).toBe(0);
    expect(stdout).toContain("mail is removed.");
    const latest = project.asked.map((messages) => JSON.stringify((messages as readonly unknown[]).slice(-3)));
    expect(latest.some((messages) => messages.includes("Are you there?"))).toBe(true);
  });

  test("when standard input is a pipe, its end stops the timers, and the current run is finished", async () => {
    const script = Array.from({ length: 200 }, (_, index) => ({ text: `Answer ${index}.` }));
    const project = await chatProject({ script, toml: `${TIMER(0.001)}\n[loop]\nmaxRounds = 5\n` });
    const { exitCode } = await project.haft(["chat"], { input: "Hello.\nGood bye." });
    expect([0, 1, 5]).toContain(exitCode);
    expect(project.asked.length).toBeLessThan(30);
  });

  testInCI("haft run with a model starts no triggers, and a chat without triggers says so", async () => {
    const project = await chatProject({ script: [{ text: "Hello." }], toml: TIMER(0.001, "immediate = true\n") });
    const { stdout } = await project.haft(["run", "--prompt", "Hello."]);
    expect(stdout).not.toContain("trigger mail");
    expect(project.asked).toHaveLength(1);
    const plain = await chatProject({ script: [] });
    const shown = await plain.haft(["chat"], { types: ["/triggers", "/remove x", "/trigers"] });
    expect(shown.stdout).toContain("There are no triggers.");
    expect(shown.stdout).toContain('There is no trigger "x". /triggers shows them.');
    expect(shown.stdout).toContain("Did you mean /triggers?");
  });
});
