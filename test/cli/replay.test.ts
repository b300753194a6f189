import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { writeRecording } from "../../src/core/recording/recording.ts";
import { ToolError } from "../../src/core/error.ts";
import type { SessionEvent } from "../../src/core/event.ts";
import type { JsonObject } from "../../src/core/base/json.ts";
import type { ResultChange } from "../core/result-change.ts";
import { PATIENCE_MS, masked } from "./run-haft.ts";
import { SessionProject, TALK, jsonLines, lines } from "./session-project.ts";

/** The recording of the project's conversation, in a file; the tools are gone when this returns. */
async function recorded(): Promise<SessionProject> {
  const project = new SessionProject();
  await project.play("travel");
  await project.haft(["sessions", "export", "travel", project.path("travel.jsonl")]);
  writeFileSync(project.path("shop.mjs"), "throw new Error('touched');");
  return project;
}

/** A recording of calls and their results, made by hand. */
async function recordingOf(
  ...calls: readonly { readonly name: string; readonly input?: JsonObject; readonly result: ResultChange }[]
): Promise<string> {
  const events: SessionEvent[] = calls.flatMap(({ name, input = {}, result }, index): readonly SessionEvent[] => {
    const base = { sessionId: "s", at: 0, callId: `c${index}`, turnId: `t${index}` };
    const common = {
      callId: base.callId,
      name,
      status: "ok",
      origin: "live",
      attempts: 1,
      durationMs: 1,
      repairs: [],
      warnings: [],
    } as const;
    return [
      { ...base, type: "call-start", call: { name, input } },
      { ...base, type: "call-end", input, result: { ...common, ...result } },
    ];
  });
  let text = "";
  for await (const line of writeRecording(events, { sessionId: "s", exportedAt: 0 })) text += line;
  return text;
}

describe.concurrent("haft replay of a truncated recording", { timeout: PATIENCE_MS }, () => {
  const CUTS: readonly [string, (whole: string) => string, number][] = [
    ["in its last line", (whole) => whole.slice(0, -20), 0],
    ["between two lines", (whole) => whole.slice(0, whole.trimEnd().lastIndexOf("\n") + 1), 0],
    ["in the result of its last call", (whole) => whole.slice(0, whole.lastIndexOf("second answer") + 5), 1],
  ];
  test.each(CUTS)("F0.12 uses the complete part of one that ends %s, and says so", async (_, cut, lost) => {
    const project = new SessionProject();
    const whole = await recordingOf(
      { name: "shop::count", input: { of: "apples" }, result: { output: "first answer" } },
      { name: "shop::count", input: { of: "pears" }, result: { output: "second answer" } },
    );
    const path = project.path("calls.jsonl.part");
    writeFileSync(path, cut(whole));
    const { exitCode, stdout, stderr } = await project.haft(["replay", path, "--json"]);
    const events = 4 - lost;
    expect([exitCode, stderr]).toEqual([0, `haft: ${path} was cut short: its complete part is used, ${events} events\n`]);
    expect(stdout).toContain("shop::count");
  });

  test("F0.12 refuses one that is damaged elsewhere or has trailing data", async () => {
    const project = new SessionProject();
    const whole = await recordingOf({ name: "shop::count", result: { output: "an answer" } });
    const path = project.path("calls.jsonl.part");
    for (const [text, what] of [
      [whole.replace("an answer", "the answer").slice(0, -20), "the checksum is wrong"],
      [`${whole}{"event"`, "line 5"],
      ['{"haft":"recor', "line 1"],
      ["", "the recording is empty"],
    ] as const) {
      writeFileSync(path, text);
      const { exitCode, stderr } = await project.haft(["replay", path]);
      expect([exitCode, stderr]).toEqual([3, expect.stringContaining(what)]);
    }
  });
});

describe.concurrent("haft replay with a conversation", { timeout: PATIENCE_MS }, () => {
  test("answers its calls from the recording and runs no tool", async () => {
    const project = await recorded();
    const plan = readFileSync(project.path("notes/plan.md"), "utf8");
    const { exitCode, stdout, stderr } = await project.haft(["replay", project.path("travel.jsonl"), project.path("talk.jsonl")]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(masked(stdout)).toContain("  ✓ #1  files::read # ms  replay\n        1  # Plan\n        2\n        3  - buy milk\n");
    expect(masked(stdout)).toContain("  ✓ #3  shop::count # ms  replay  1\n");
    expect(stdout.slice(stdout.indexOf("  origins"))).toBe(
      "  origins      3  3 replayed (2 files, 1 shop)\n  not live     3  3 observed by replay\n\nEvery call was answered from the recording; no tool was run.\n",
    );
    expect(readFileSync(project.path("notes/plan.md"), "utf8")).toBe(plan);
  });

  test("a call that was not recorded is an error that names the nearest call, and the exit code is 1", async () => {
    const project = await recorded();
    const input = TALK.replaceAll('"path":"plan.md"', '"path":"plans.md"').replace('"name":"count"', '"name":"shop::cuont"');
    const { exitCode, stdout } = await project.haft(["replay", project.path("travel.jsonl"), "-"], { input });
    expect(exitCode).toBe(1);
    expect(stdout).toContain('        $.path is "plans.md", but was "plan.md" when it was recorded\n');
    expect(stdout).toContain('        No tool "shop::cuont". Did you mean "shop::count"?\n');
    expect(stdout.trimEnd().split("\n").at(-1)).toBe(
      "3 of 3 calls are not in the recording; no tool was run. With --nearest, calls with other inputs are answered too.",
    );
  });

  test("with --nearest such a call gets the result of the nearest, with the difference as a warning", async () => {
    const project = await recorded();
    const input = lines({ role: "assistant", calls: [{ name: "files::read", input: { path: "plans.md" } }] });
    const { exitCode, stdout } = await project.haft(["replay", project.path("travel.jsonl"), "-", "--nearest"], { input });
    expect([exitCode, stdout.slice(0, stdout.indexOf("\nsummary"))]).toEqual([0, expect.stringContaining("        3  - buy milk\n")]);
    expect(stdout).toContain('  ! #1  $.path is "plans.md", but was "plan.md" when it was recorded\n');
  });

  test("with --json each result is one line", async () => {
    const project = await recorded();
    const { exitCode, stdout } = await project.haft(["replay", project.path("travel.jsonl"), project.path("talk.jsonl"), "--json"]);
    expect([exitCode, jsonLines(stdout)]).toEqual([
      0,
      [
        expect.objectContaining({ id: "r", name: "files::read", origin: "replay" }),
        expect.objectContaining({ id: "e", name: "files::edit", origin: "replay" }),
        expect.objectContaining({ id: "c", name: "shop::count", origin: "replay", output: 1 }),
      ],
    ]);
  });

  test("a recorded not_found error is replayed, whether the tool existed or not", async () => {
    const project = new SessionProject();
    const gone = { code: "not_found", message: "There is no file a.md.", retryable: false, outcome: "failed" } as const;
    const recording = await recordingOf(
      { name: "files::read", input: { path: "a.md" }, result: { status: "error", error: gone } },
      { name: "files::raed", result: { status: "error", attempts: 0, error: { ...gone, message: 'No tool "files::raed".' } } },
    );
    writeFileSync(project.path("gone.jsonl"), recording);
    const replay = (name: string, path: string) =>
      project.haft(["replay", project.path("gone.jsonl"), "-"], {
        input: lines({ role: "assistant", calls: [{ name, input: { path } }] }),
      });
    const [same, noTool, other] = [
      await replay("files::read", "a.md"),
      await replay("files::raed", "a.md"),
      await replay("files::read", "b.md"),
    ];
    expect([same, noTool, other].map(({ exitCode }) => exitCode)).toEqual([0, 0, 1]);
  });
});

test("a conversation whose replay is stopped is not said to be answered from the recording", { timeout: PATIENCE_MS }, async () => {
  const project = await recorded();
  const line = { role: "assistant", calls: [{ name: "files::read", input: { path: "plan.md" } }] };
  writeFileSync(project.path("long.jsonl"), lines(...Array.from({ length: 2_000 }, () => line)));
  const stop = new AbortController();
  const onOutput = (): void => void setImmediate(() => stop.abort(new ToolError("cancelled", "Stopped by Ctrl-C.")));
  const args = ["replay", project.path("travel.jsonl"), project.path("long.jsonl")];
  const { exitCode, stdout } = await project.haft(args, { signal: stop.signal, onOutput });
  expect({ exitCode, hasSummary: stdout.includes("summary"), hasConclusion: stdout.includes("answered from the recording") }).toEqual({
    exitCode: 130,
    hasSummary: true,
    hasConclusion: false,
  });
});

describe.concurrent("haft replay without a conversation", { timeout: PATIENCE_MS }, () => {
  test("repeats the recorded calls and finds equal results, failures included", async () => {
    const project = new SessionProject();
    const down = { code: "network_error", message: "The line is dead.", retryable: true, outcome: "unknown" } as const;
    const calls = Array.from({ length: 30 }, () => ({ name: "web::get", result: { status: "error", attempts: 4, error: down } as const }));
    const recording = await recordingOf(...calls, { name: "web::get", result: { output: 1 } }, { name: "web::get", result: { output: 2 } });
    expect(await project.haft(["replay", "-"], { input: recording })).toEqual({
      exitCode: 0,
      stdout: "✓ 32 calls made again: every result is the recorded one; no tool was run\n",
      stderr: "",
    });
  });

  test("a stopped replay claims nothing about the calls that it did not make", async () => {
    const project = new SessionProject();
    const ambiguous = { code: "ambiguous", message: "Which of them?", retryable: false, outcome: "not_started" } as const;
    const calls = Array.from({ length: 2_000 }, (_, n) => ({ name: "a::get", input: { n }, result: { output: n } }));
    const different = { name: "get", result: { status: "error", attempts: 0, error: ambiguous } } as const;
    const recording = await recordingOf(different, ...calls);
    const stop = new AbortController();
    const onOutput = (): void => void setImmediate(() => stop.abort(new ToolError("cancelled", "Stopped by Ctrl-C.")));
    const finished = await project.haft(["replay", "-"], { input: recording, signal: stop.signal, onOutput });
    expect(finished).toEqual({
      exitCode: 130,
      stdout: expect.not.stringContaining("made again"),
      stderr: "haft: cancelled: Stopped by Ctrl-C.\n",
    });
  });

  test("shows each differing result, and exits with 1", async () => {
    const project = new SessionProject();
    const ambiguous = { code: "ambiguous", message: "Which of them?", retryable: false, outcome: "not_started" } as const;
    const recording = await recordingOf(
      { name: "a::get", result: { output: { value: 1 } } },
      // When it was recorded another toolset had a tool of this name, of which nothing was recorded.
      { name: "get", input: { n: 1 }, result: { status: "error", attempts: 0, error: ambiguous } },
    );
    const [text, json] = [
      await project.haft(["replay", "-"], { input: recording }),
      await project.haft(["replay", "-", "--json"], { input: recording }),
    ];
    expect(text).toEqual({
      exitCode: 1,
      stdout: `✗ #2  get  {"n":1}
        recorded: get: ambiguous
        now:      a::get: not_found
✗ 2 calls made again: 1 result is not the recorded one; no tool was run
`,
      stderr: "",
    });
    expect([json.exitCode, jsonLines(json.stdout)]).toEqual([
      1,
      [
        {
          name: "a::get",
          same: true,
          recorded: { name: "a::get", output: { value: 1 } },
          replayed: { name: "a::get", output: { value: 1 } },
        },
        { name: "get", same: false, recorded: { name: "get", error: "ambiguous" }, replayed: { name: "a::get", error: "not_found" } },
      ],
    ]);
  });
});

describe.concurrent("invalid arguments of haft replay", { timeout: PATIENCE_MS }, () => {
  test.for([
    [["replay"], "haft replay needs <recording> [<file>]."],
    [["replay", "-", "-"], "The recording and the conversation cannot both come from standard input."],
    [["replay", "a.jsonl", "--nearest"], "--nearest is for the calls of a conversation; those of the recording itself all match."],
    [["replay", "a.jsonl", "--config", "haft.toml"], "haft replay takes no --config."],
  ] as const)("%j", async ([args, message]) => {
    const { exitCode, stdout, stderr } = await new SessionProject().haft(args);
    expect([exitCode, stdout, stderr.split("\n")[0]]).toEqual([2, "", `haft: invalid_argument: ${message}`]);
  });
});
