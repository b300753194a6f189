import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PATIENCE_MS, PROGRAM, PROJECT, folderWith, haft, masked } from "./run-haft.ts";
import { inCI } from "../ci.ts";
import { testInCI } from "../test-in-ci.ts";

const lines = (...values: readonly unknown[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join("");
const CONVERSATION = lines(
  { role: "system", content: "Be brief." },
  { role: "user", content: "What is the plan, and what is 1 + 1?" },
  {
    role: "assistant",
    content: "Both at once.",
    calls: [
      { id: "p", name: "files::read", input: { path: "plan.md" } },
      { id: "s", name: "add", input: { a: "1", b: 1 } },
    ],
  },
  { role: "tool", id: "s", output: { sum: 2 } },
  { role: "approver", answer: "deny" },
  {
    role: "assistant",
    calls: [
      { id: "f", name: "math::forget" },
      { id: "x", name: "math::fial" },
    ],
  },
  { role: "assistant", content: "That is all." },
);

describe.concurrent("haft run", { timeout: PATIENCE_MS }, () => {
  test("shows messages, calls, results and a summary; exits with 0 whatever the results are", async () => {
    const folder = folderWith({ ...PROJECT, "talk.jsonl": CONVERSATION });
    const { stdout, ...rest } = await haft(["run", "talk.jsonl"], { folder });
    expect(rest).toEqual({ exitCode: 0, stderr: "" });
    expect(inOrder(masked(stdout))).toBe(`  · open: math (4 tools), files (9 tools)

system  Be brief.

user    What is the plan, and what is 1 + 1?

model   Both at once.
  → #1  files::read  {"path":"plan.md"}
  → #2  add          {"a":"1","b":1}
  ✓ #1  files::read # ms
        1  # Plan
        2
        3  Sleep.
  ✓ #2  math::add # ms  {"sum":2}
        repaired $.a: "1" → 1
  · both answered in # ms

model
  → #3  math::forget  {}
  → #4  math::fial    {}
  ✗ #4  math::fial # ms  not_found
        No tool "math::fial". Did you mean "math::fail"?
  ? #3  waits for approval: math::forget may destroy something.
  ? #3  the approver of the conversation answers deny
  ✗ #3  math::forget # ms  approval_denied
        math::forget was not approved: the answer was no.
        Do not call it again with this input unless the user asks for it; continue without it, or ask the user what to
        do.
  · both answered in # ms

model   That is all.

summary
  calls        4  2 ok, 2 error (1 not_found, 1 approval_denied)
  attempts     2
  repairs      1
  approvals    1  1 denied
  orphans      0
  origins      4  2 live (1 math, 1 files), 2 never run
`);
  });

  test("reads the conversation from standard input for -, and with --json prints one result per line, in call order", async () => {
    const { exitCode, stdout, stderr } = await haft(["run", "-", "--json"], { folder: folderWith(PROJECT), input: CONVERSATION });
    const results = stdout
      .trimEnd()
      .split("\n")
      .map((line): unknown => JSON.parse(line));
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(results).toEqual([
      expect.objectContaining({ id: "p", name: "files::read", status: "ok" }),
      expect.objectContaining({ id: "s", name: "math::add", status: "ok", output: { sum: 2 } }),
      expect.objectContaining({ id: "f", name: "math::forget", status: "error" }),
      expect.objectContaining({ id: "x", name: "math::fial", status: "error" }),
    ]);
  });

  test("refuses an invalid file with file and line of each problem before it reads the configuration or runs anything", async () => {
    const text = `${lines(
      { role: "assistant", calls: [{ name: "files::write", input: { path: "made.md", content: "x" } }] },
      { role: "assistant", tool_calls: [] },
      { role: "usr", content: "" },
      { role: "assistant", calls: {} },
    )}\n{"role": "user", "content": 5}\n{"role": "user",}\r\n${lines({ role: "approver", answer: "yes" }, { role: "approver", answer: "deny", afterMs: -1 }, ["user"], {})}`;
    const folder = folderWith({ ...PROJECT, "talk.jsonl": text });
    expect(await haft(["run", "talk.jsonl"], { folder })).toEqual({
      exitCode: 5,
      stdout: "",
      stderr: `haft: invalid_call: talk.jsonl is not a conversation that can be played; nothing was run.
  talk.jsonl:2: "tool_calls" is not a key of a line of "assistant", which has "role", "content", "calls".
  talk.jsonl:3: "role" must be one of "user", "assistant", "tool", "approver", "system", not "usr".
  talk.jsonl:4: "calls" must be an array of calls such as {"id": "1", "name": "files::read", "input": {}}.
  talk.jsonl:6: "content" must be a string.
  talk.jsonl:7:17: Not valid JSON: a "," before "}".
  talk.jsonl:8: "answer" must be one of "allow-once", "allow-always", "deny".
  talk.jsonl:9: "afterMs" must be a number from 0 to 60000.
  talk.jsonl:10: A line must be a JSON object.
  talk.jsonl:11: "role" is missing; it is one of "user", "assistant", "tool", "approver", "system".
  A line is like {"role": "user", "content": "…"} or {"role": "assistant", "calls": [{"name": "files::read", "input": {"path": "notes.md"}}]}.
`,
    });
    expect(existsSync(join(folder, "notes/made.md"))).toBe(false);
  });

  test("without remaining approver lines and without a terminal, a call that needs approval is not run", async () => {
    const input = lines({ role: "approver", answer: "allow-once" }, { role: "assistant", calls: [{ name: "forget" }, { name: "forget" }] });
    const { exitCode, stdout } = await haft(["run", "-", "--json"], { folder: folderWith(PROJECT), input });
    const messages = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).error?.message);
    expect([exitCode, messages]).toEqual([
      0,
      [
        undefined,
        "math::forget needs approval, and no approver line is left in the conversation, and there is no terminal. math::forget may destroy something.",
      ],
    ]);
  });

  testInCI("ends silently when the reader of its output closes the pipe", async () => {
    const input = lines(...Array.from({ length: 20_000 }, () => ({ role: "user", content: "And then I said the following to them:" })), {
      role: "assistant",
      calls: [{ name: "files::write", input: { path: "made.md", content: "x" } }],
    });
    const folder = folderWith(PROJECT);
    const { exitCode, stderr } = await haft(["run", "-"], { folder, input, onOutput: (_output, control) => control.stopReading() });
    expect({ exitCode, stderr, made: existsSync(join(folder, "notes/made.md")) }).toEqual({ exitCode: 0, stderr: "", made: false });
  });

  test.skipIf(!existsSync("/dev/full")).each<readonly [readonly string[], number, string]>([
    [["list", "--config", "haft.toml"], 7, "haft: Standard output cannot be written: ENOSPC: no space left on device, write\n"],
    [["--version"], 7, "haft: Standard output cannot be written: ENOSPC: no space left on device, write\n"],
    [["nothing"], 2, expect.not.stringContaining("Standard output")],
  ])("with a full disk, %j exits with %i, and output that could not be written is reported", (args, status, stderr) => {
    const output = openSync("/dev/full", "w");
    const ended = spawnSync(process.execPath, ["--conditions=haft-source", PROGRAM, ...args], {
      cwd: folderWith(PROJECT),
      stdio: ["ignore", output, "pipe"],
      encoding: "utf8",
    });
    closeSync(output);
    expect({ status: ended.status, stderr: ended.stderr }).toEqual({ status, stderr });
  });

  test.each(inCI ? [0, 3, 13] : [0])("a handler that ends the process with %i is reported as an error, not as an answer", async (code) => {
    const tool = `{ name: "leave", description: "Leaves.", inputSchema: {}, execute: () => process.exit(${code}) }`;
    const folder = folderWith({ "haft.toml": '[toolsets.m]\ntype = "module"\npath = "m.mjs"\n', "m.mjs": `export default ${tool};` });
    expect(await haft(["call", "leave"], { folder, ownProcess: true })).toEqual({
      exitCode: 1,
      stdout: "",
      stderr: `haft: ${code === 13 ? "The process ended" : "A handler ended the process"} before the command was done.\n`,
    });
  });

  testInCI("a call that waits for an abandoned handler gets its result, and the command ends", async () => {
    const tools = `const late = () => new Promise((resolve) => setTimeout(resolve, 400).unref());
      export const slow = { name: "slow", description: "Answers late.", inputSchema: {}, timeoutMs: 50, execute: late };
      export const stuck = { ...slow, name: "stuck", effects: { writes: ["k"], idempotent: true }, maxAttempts: 2 };
      export const next = { name: "next", description: "Answers.", inputSchema: {}, execute: () => "done" };`;
    const folder = folderWith({
      "haft.toml": '[toolsets.m]\ntype = "module"\npath = "m.mjs"\n',
      "m.mjs": tools,
      "calls.jsonl": `${JSON.stringify({ role: "assistant", content: "", calls: [{ name: "m::slow" }, { name: "m::next" }] })}\n`,
    });
    const ran = await haft(["run", "calls.jsonl", "--json"], { folder });
    expect({ exitCode: ran.exitCode, statuses: [...ran.stdout.matchAll(/"status":"(\w+)"/gu)].map(([, status]) => status) }).toEqual({
      exitCode: 0,
      statuses: ["error", "ok"],
    });
    const called = await haft(["call", "m::stuck", "--json"], { folder });
    expect({ exitCode: called.exitCode, result: JSON.parse(called.stdout) }).toMatchObject({
      exitCode: 7,
      result: { status: "error", attempts: 2, error: { code: "timeout" } },
    });
  });
});

/** Calls that run side by side end in any order: sorts the answers of each line of calls by their numbers. */
function inOrder(text: string): string {
  const sorted: string[] = [];
  let answers: string[] = [];
  for (const line of text.split("\n")) {
    if (/^ {2}[✓✗] #/u.test(line)) answers.push(line);
    else if (answers.length > 0 && line.startsWith("        ")) answers.push(`${answers.pop() ?? ""}\n${line}`);
    else {
      sorted.push(...answers.sort((one, other) => (one.slice(4) < other.slice(4) ? -1 : 1)), line);
      answers = [];
    }
  }
  return sorted.join("\n");
}

test("F3.3 shows the model's reasoning for a call, if it gave one", { timeout: PATIENCE_MS }, async () => {
  const reasoned = lines({
    role: "assistant",
    calls: [
      { id: "a", name: "add", input: { a: 1, b: 2 }, reasoning: "The guest\nasked for a sum." },
      { id: "b", name: "add", input: { a: 1, b: 3 } },
    ],
  });
  const folder = folderWith({ ...PROJECT, "talk.jsonl": reasoned });
  const { stdout } = await haft(["run", "talk.jsonl"], { folder });

  expect(stdout).toMatch(/→ #1 {2}add +\{"a":1,"b":2\}\n {8}The guest asked for a sum\.\n {2}→ #2 {2}add +\{"a":1,"b":3\}\n {2}✓/u);
});
