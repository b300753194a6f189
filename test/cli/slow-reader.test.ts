/** Commands that print much wait for the reader of their output, so that it does not pile up in memory. */
import { expect, test } from "vitest";
import { runCli } from "../../src/cli/run-cli.ts";
import { screenFor } from "../../src/cli/terminal/terminal-text.ts";
import { jsonPieces } from "../../src/cli/print/json-pieces.ts";
import { SessionProject, lines } from "./session-project.ts";

/** A pipe whose reader takes one text at a time, some turns of the event loop later. */
class SlowPipe {
  text = "";
  /** How many texts were written before the reader had taken the one before. */
  early = 0;
  writableNeedDrain = false;
  #listeners: (() => void)[] = [];

  write(text: string): boolean {
    if (this.writableNeedDrain) this.early++;
    this.text += text;
    this.writableNeedDrain = true;
    setImmediate(() => setImmediate(() => this.#drain()));
    return false;
  }

  once(_event: "drain", listener: () => void): void {
    this.#listeners.push(listener);
  }

  get waiting(): number {
    return this.#listeners.length;
  }

  #drain(): void {
    this.writableNeedDrain = false;
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener();
  }
}

async function runSlowly(project: SessionProject, args: readonly string[]): Promise<SlowPipe> {
  const stdout = new SlowPipe();
  await runCli(args[0] === "replay" ? args : [...args, "--config", project.path("haft.toml")], {
    stdout,
    stderr: { write: () => true },
    stdin: nothing(),
    ask: undefined,
    environment: { HAFT_TRUST: "all" },
    signal: new AbortController().signal,
  });
  return stdout;
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

const READ = { name: "files::read", input: { path: "plan.md" } };

test("no command writes its next line before a slow reader has taken the last one", async () => {
  const project = new SessionProject({ "reads.jsonl": lines({ role: "assistant", calls: [READ, READ, READ] }) });
  for (const id of ["one", "two", "three"]) await project.play(id);
  await project.haft(["sessions", "export", "one", project.path("one.rec")]);
  const commands = [
    ["run", project.path("reads.jsonl"), "--json"],
    ["replay", project.path("one.rec"), "--json"],
    ["audit", "--json"],
    ["audit"],
    ["sessions", "list", "--json"],
    ["sessions", "list"],
    ["sessions", "check", "--json"],
    ["sessions", "show", "one", "--json"],
    ["sessions", "export", "one", "--as", "openai"],
    ["sessions", "export", "one"],
  ];
  const found = [];
  for (const args of commands) {
    const { early, text } = await runSlowly(project, args);
    found.push({ args, early, isLong: text.split("\n").length > 3 });
  }
  expect(found).toEqual(commands.map((args) => ({ args, early: 0, isLong: true })));
});

test("all that wait for a slow reader share one listener of the stream", async () => {
  const pipe = new SlowPipe();
  const screen = screenFor(pipe, {});
  screen.write("full");
  const waits = Array.from({ length: 20 }, () => screen.whenDrained());
  expect(pipe.waiting).toBe(1);
  for (const wait of waits) await wait;
  expect(screen.whenDrained()).toBeUndefined();
});

test("an export for a provider is written message by message, as one JSON object", async () => {
  const project = new SessionProject();
  await project.play("travel");
  const { stdout } = await project.haft(["sessions", "export", "travel", "--as", "anthropic"]);
  const value = JSON.parse(stdout);
  expect(stdout).toBe(`${JSON.stringify(value, undefined, 2)}\n`);
  expect([...jsonPieces(value)].length).toBeGreaterThan(value.messages.length);
});

test.for([
  {},
  { a: undefined },
  { a: [] },
  { a: 1, b: [1, { c: "x\ny" }, []] },
  { b: undefined, a: { c: [] } },
  { "k\n": [[[]]], z: null },
])("the pieces of %j are its JSON, indented by two", (value) => {
  expect([...jsonPieces(value)].join("")).toBe(JSON.stringify(value, undefined, 2));
});
