import { testInCI } from "../test-in-ci.ts";
import { describe, expect, test } from "vitest";
import { PATIENCE_MS, haft, masked, type Control, type Finished } from "./run-haft.ts";
import { SessionProject, jsonLines, lines } from "./session-project.ts";

const CRASH = lines(
  { role: "user", content: "Pay." },
  { role: "assistant", content: "I count first.", calls: [{ id: "c", name: "count" }] },
  {
    role: "assistant",
    calls: [
      { id: "h", name: "hang", input: { to: "Ada" } },
      { id: "p", name: "paid" },
      { id: "l", name: "look" },
    ],
  },
);

/** A process of its own whose three calls hang; resolves to the way to end it, and to its end. */
function startHanging(project: SessionProject): Promise<{ readonly control: Control; readonly finished: Promise<Finished> }> {
  return new Promise((resolve) => {
    const finished = haft(["run", "-", "--session", "crash"], {
      folder: project.folder,
      input: CRASH,
      environment: { HANG: "1" },
      onOutput: ({ stderr }, control) => {
        if (stderr.split("hanging").length > 3) resolve({ control, finished });
      },
    });
  });
}

/** A session of which a `kill -9` interrupted three calls. */
async function crashed(): Promise<SessionProject> {
  const project = new SessionProject();
  const { control, finished } = await startHanging(project);
  control.signal("SIGKILL");
  await finished;
  return project;
}

const results = (stdout: string): string[] => stdout.split("\n").filter((line) => /^ {2}[✓✗!]/u.test(line));

describe.concurrent("I03 a session whose process was killed", { timeout: PATIENCE_MS }, () => {
  testInCI("is shown with its interrupted calls marked, and haft sessions resume gives each call one result", async () => {
    const project = await crashed();
    const before = await project.haft(["sessions", "show", "crash"]);
    const resumed = await project.haft(["sessions", "resume", "crash"]);
    const after = await project.haft(["sessions", "show", "crash"]);
    const again = await project.haft(["sessions", "resume", "crash"]);
    expect(results(masked(before.stdout))).toEqual([
      "  ✓ #1  shop::count # ms  1",
      "  ! #2  hang  was interrupted: it has no result",
      "  ! #3  paid  was interrupted: it has no result",
      "  ! #4  look  was interrupted: it has no result",
    ]);
    expect([resumed.exitCode, resumed.stderr]).toEqual([0, ""]);
    expect(masked(resumed.stdout).split("\n").slice(1, 4)).toEqual([
      '  → #2  hang        {"to":"Ada"}',
      "  → #3  paid        {}",
      "  → #4  look        {}",
    ]);
    expect(results(masked(resumed.stdout)).toSorted()).toEqual([
      "  ✓ #3  shop::paid # ms  it went through",
      "  ✓ #4  shop::look # ms  seen",
      "  ✗ #2  shop::hang # ms  outcome_unknown",
    ]);
    expect(resumed.stdout.trimEnd().split("\n").at(-1)).toBe(
      "  · 3 calls were interrupted: 1 was run again, 1 had already taken effect, for 1 it is not known whether it took effect",
    );
    expect(results(after.stdout)).toHaveLength(4);
    expect(again.stdout).toMatch(/^ {2}· session crash: continues after \d+ events\n {2}· nothing was interrupted\n$/u);
  });

  testInCI("runs nothing again with --settle, and prints each interrupted call as one line with --json", async () => {
    const project = await crashed();
    const { exitCode, stdout, stderr } = await project.haft(["sessions", "resume", "crash", "--settle", "--json"]);
    const ends = jsonLines(stdout).map((line) => line as { readonly id: string; readonly error?: { readonly code: string } });
    expect({ exitCode, stderr, ends: ends.map(({ id, error }) => `${id}: ${error?.code}`).toSorted() }).toEqual({
      exitCode: 0,
      stderr: "",
      ends: ["h: outcome_unknown", "l: cancelled", "p: outcome_unknown"],
    });
  });

  testInCI("can be continued by haft run, which first ends the interrupted calls", async () => {
    const project = await crashed();
    const { exitCode, stdout } = await project.haft(["run", "-", "--session", "crash"], {
      input: lines({ role: "assistant", calls: [{ name: "count" }] }),
    });
    const ends = results(masked(stdout));
    expect([exitCode, ends.slice(0, 3).toSorted(), ends.slice(3)]).toEqual([
      0,
      ["  ✓ #3  shop::paid # ms  it went through", "  ✓ #4  shop::look # ms  seen", "  ✗ #2  shop::hang # ms  outcome_unknown"],
      ["  ✓ #5  shop::count # ms  2"],
    ]);
  });
});

describe.concurrent("I04 a session that another process has open", { timeout: PATIENCE_MS }, () => {
  test("is listed and shown as open, and not continued until --take-over takes its claim", async () => {
    const project = new SessionProject();
    const { control, finished } = await startHanging(project);
    const listed = await project.haft(["sessions", "list"]);
    const shown = await project.haft(["sessions", "show", "crash"]);
    const [run, resume] = [await project.haft(["run", "-", "--session", "crash"]), await project.haft(["sessions", "resume", "crash"])];
    const taken = await project.haft(["sessions", "resume", "crash", "--take-over", "--settle"]);
    control.signal("SIGINT");
    const other = await finished;
    expect(listed.stdout).toMatch(/^crash {2}.* events {2}open in process \d+ on host /u);
    expect(shown.stdout).toMatch(/\n {2}! #2 {2}hang {2}has no result yet: the session is open in process \d+ on host /u);
    const refusal =
      /^haft: resource_busy: Session "crash" is open in process \d+ on host .*\n {2}Let it end there, or take it over with haft sessions resume crash --take-over: then the other process can no longer write to it\.\n$/u;
    for (const { exitCode, stderr } of [run, resume]) expect([exitCode, stderr]).toEqual([7, expect.stringMatching(refusal)]);
    expect([taken.exitCode, results(taken.stdout).length]).toEqual([0, 3]);
    expect([other.exitCode, other.stderr]).toEqual([expect.any(Number), expect.stringContaining("conflict")]);
    expect((await project.haft(["sessions", "check"])).exitCode).toBe(0);
    expect(results((await project.haft(["sessions", "show", "crash"])).stdout)).toHaveLength(4);
  });
});
