/** `haft jobs` over a store that another runtime uses, as another process would. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import type { StoredJob } from "../../src/core/store/job-store.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { inCI } from "../ci.ts";
import { testInCI } from "../test-in-ci.ts";
import { gate, tool } from "../runtime/bench-runtime.ts";
import { PATIENCE_MS } from "./run-haft.ts";
import { SessionProject, jsonLines } from "./session-project.ts";

const reads = { effects: { reads: ["x"], writes: [] } };

async function* askOnce(): AsyncGenerator<string, unknown, unknown> {
  return yield "Which one?\u001b[31m";
}

/** A project, and a runtime that uses its store from outside of the command line. */
class JobProject extends SessionProject {
  readonly release = gate<string>();
  readonly runtime: Runtime;
  readonly store = ["--store", this.path("haft.db")];

  constructor() {
    super();
    const build = tool(
      "build",
      async (_, { output }) => {
        output("compiling\n");
        return this.release.promise;
      },
      reads,
    );
    const ask = tool("ask", askOnce, { ...reads, mode: "stateful" });
    const fail = tool("fail", () => Promise.reject(new Error("no such luck")), { ...reads, maxAttempts: 1 });
    this.runtime = createRuntime({ tools: [build, ask, fail], store: sqliteStore({ path: this.path("haft.db"), synchronous: "normal" }) });
    onTestFinished(async () => void (await this.runtime.close()));
  }

  /** Begins a job that is in the store when this resolves. */
  async begin(name: string, sessionId = "travel"): Promise<string> {
    const session = this.runtime.sessions.findById(sessionId) ?? (await this.runtime.resume(sessionId, { create: true }));
    return (await session.submit({ name, input: { n: 1 } })).id;
  }

  /** Runs `haft jobs …` on its store. */
  jobs(args: readonly string[], options: Parameters<SessionProject["haft"]>[1] = {}) {
    return this.haft(["jobs", ...args, ...this.store], options);
  }
}

const here = `process ${process.pid}`;

describe("haft jobs", { timeout: PATIENCE_MS }, () => {
  testInCI(
    "list prints the newest first with state, tool, session and process; it accepts --json, --state, --session and --limit",
    async () => {
      const project = new JobProject();
      const failed = await project.begin("fail", "other");
      await project.runtime.jobs.wait(failed);
      await project.runtime.sessions.findById("other")?.close();
      for (const ended = Date.now(); Date.now() === ended;); // another millisecond
      const build = await project.begin("build");
      const { stdout, stderr, exitCode } = await project.jobs(["list"]);
      expect([exitCode, stderr]).toEqual([0, ""]);
      const [first = "", second = "", ...rest] = stdout.split("\n");
      expect(first).toMatch(new RegExp(`^${build}  running  \\d{4}-.* default::build, session travel, open in ${here} on host .+$`, "u"));
      expect(second).toMatch(
        new RegExp(`^${failed}  error    \\d{4}-.* default::fail, session other, took [\\d.]+ m?s, execution_failed$`, "u"),
      );
      expect(rest).toEqual([""]);
      const ids = async (...args: readonly string[]): Promise<readonly string[]> =>
        jsonLines((await project.jobs(["list", "--json", ...args])).stdout).map((job) => (job as StoredJob).id);
      expect(await ids()).toEqual([build, failed]);
      expect(await ids("--state", "error", "--state", "parked")).toEqual([failed]);
      expect(await ids("--session", "travel")).toEqual([build]);
      expect(await ids("--limit", "1")).toEqual([build]);
      const narrow = await project.jobs(["list", "--limit", "1"], { columns: 50 });
      for (const line of narrow.stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(50);
      expect(narrow.stdout).toContain("the newest 1; --limit shows more");
      const wrong = await project.jobs(["list", "--state", "broken"]);
      expect([wrong.exitCode, wrong.stderr]).toEqual([
        2,
        expect.stringContaining("States: queued, running, waiting, done, error, cancelled, parked."),
      ]);
    },
  );

  testInCI("show prints a job's data, input, question and result, without terminal control characters", async () => {
    const project = new JobProject();
    const ask = await project.begin("ask");
    await project.runtime.sessions.findById("travel")?.eventLog?.whenDurable();
    const waiting = await project.jobs(["show", ask]);
    expect(waiting.stdout).toMatch(/^state +waiting$/mu);
    expect(waiting.stdout).toMatch(/^asks +Which one\?$/mu);
    expect(waiting.stdout).toContain('input    {"n":1}');
    expect(waiting.stdout).not.toContain("\u001b");
    project.runtime.jobs.send(ask, "that one");
    await project.runtime.jobs.wait(ask);
    await project.runtime.sessions.findById("travel")?.eventLog?.whenDurable();
    const done = await project.jobs(["show", ask]);
    expect(done.stdout).toMatch(/^state +done$/mu);
    expect(done.stdout).toMatch(/✓ .*that one/u);
    const { stdout } = await project.jobs(["show", ask, "--json"]);
    expect(jsonLines(stdout)).toEqual([
      expect.objectContaining({
        id: ask,
        state: "done",
        input: { n: 1 },
        output: "Which one?\u001b[31m",
        result: expect.objectContaining({ output: "that one" }),
      }),
    ]);
  });

  testInCI("show prints no question for a handed-over job, which starts again", async () => {
    const project = new JobProject();
    const ask = await project.begin("ask");
    await project.runtime.sessions.handOver("travel");
    const left = await project.jobs(["show", ask]);
    expect(left.stdout).toMatch(/^state +queued$/mu);
    expect(left.stdout).toMatch(/^run by +no process/mu);
    expect(left.stdout).not.toMatch(/^asks/mu);
  });

  test("F1.22 wait prints the result and exits as haft call does; Ctrl-C ends the wait but not the job", async () => {
    const project = new JobProject();
    const build = await project.begin("build");
    const waiting = project.jobs(["wait", build]);
    const controller = new AbortController();
    const impatient = project.jobs(["wait", build], { signal: controller.signal });
    setImmediate(() => controller.abort(new ToolError("cancelled", "Stopped by Ctrl-C.")));
    expect((await impatient).exitCode).toBe(130);
    expect(project.runtime.jobs.get(build)?.state).toBe("running");
    project.release.open("built");
    expect(await waiting).toEqual({ exitCode: 0, stdout: "built\n", stderr: "" });
    const failed = await project.begin("fail");
    expect(await project.jobs(["wait", failed])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("execution_failed: no such luck"),
    });
    const left = await project.begin("ask");
    await project.runtime.sessions.handOver("travel");
    expect(await project.jobs(["wait", left])).toEqual({
      exitCode: 6,
      stdout: "",
      stderr: expect.stringContaining(`unavailable: The job ${left} is queued, but no process runs it`),
    });
  });

  testInCI("F1.26 cancel ends a job of another process and waits for it; an ended job is unchanged", async () => {
    const project = new JobProject();
    const build = await project.begin("build");
    expect(await project.jobs(["cancel", build])).toEqual({ exitCode: 0, stdout: `cancelled the job ${build}\n`, stderr: "" });
    expect(project.runtime.jobs.get(build)).toMatchObject({
      state: "cancelled",
      error: { message: "default::build was cancelled: a person cancelled the job with haft jobs cancel" },
    });
    expect((await project.jobs(["cancel", build])).stdout).toBe(`the job ${build} had ended before: cancelled\n`);
    const { stdout } = await project.jobs(["cancel", build, "--json"]);
    expect(jsonLines(stdout)).toEqual([{ id: build, sessionId: "travel", state: "cancelled" }]);
  });

  testInCI(
    "logs prints the output, --json its pieces; for a job that is missing from its session it fails as for an unknown job",
    async () => {
      const project = new JobProject();
      const build = await project.begin("build");
      project.release.open("built");
      await project.runtime.jobs.wait(build);
      await project.runtime.sessions.findById("travel")?.eventLog?.whenDurable();
      expect(await project.jobs(["logs", build])).toEqual({ exitCode: 0, stdout: "compiling\n", stderr: "" });
      expect(jsonLines((await project.jobs(["logs", build, "--json"])).stdout)).toEqual([{ position: 0, text: "compiling\n" }]);
      expect(await project.jobs(["logs", build, "-f"])).toEqual({
        exitCode: 0,
        stdout: "compiling\n",
        stderr: "the job has ended: done\n",
      });
    },
  );

  testInCI("logs -f follows until the job has ended, and Ctrl-C ends it silently", async () => {
    const project = new JobProject();
    const build = await project.begin("build");
    await project.runtime.sessions.findById("travel")?.eventLog?.whenDurable();
    const controller = new AbortController();
    const seen = gate();
    const stop = (stdout: string): void => {
      if (stdout !== "") controller.abort(new ToolError("cancelled", "Stopped by Ctrl-C."));
    };
    const stopped = project.jobs(["logs", build, "-f"], { signal: controller.signal, onOutput: stop });
    const followed = project.jobs(["logs", build, "--follow"], { onOutput: () => seen.open() });
    await seen.promise;
    expect(await stopped).toEqual({ exitCode: 130, stdout: "compiling\n", stderr: "" });
    project.release.open("built");
    expect(await followed).toEqual({ exitCode: 0, stdout: "compiling\n", stderr: "the job has ended: done\n" });
  });

  test.each(inCI ? ["show", "wait", "cancel", "logs"] : ["wait"])(
    "%s of an unknown job exits with 4 and names the existing jobs",
    async (command) => {
      const project = new JobProject();
      const build = await project.begin("build");
      const none = await project.jobs([command, `${build}x`]);
      expect([none.exitCode, none.stdout]).toEqual([4, ""]);
      expect(none.stderr).toContain(`The store has no job "${build}x"`);
      expect(none.stderr).toContain(`The newest are: ${build}.`);
      const elsewhere = await project.jobs([command, build, "--session", "nobody"]);
      expect([elsewhere.exitCode, elsewhere.stderr]).toEqual([4, expect.stringContaining('The session "nobody" has no job')]);
      expect((await project.jobs([command])).exitCode).toBe(2);
      expect((await project.jobs([command, build, "more"])).exitCode).toBe(2);
    },
  );

  testInCI("wait and logs -f report that a killed process's job is not running, and cancel ends it at once", async () => {
    const project = new SessionProject();
    const path = project.path("haft.db");
    const program = fileURLToPath(new URL("job-process.ts", import.meta.url));
    const child = spawn(process.execPath, ["--conditions=haft-source", program, path], { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    const id = String((await once(child.stdout, "data"))[0]).trim();
    const on = ["--store", path];
    // While it lives, its output is followed from here.
    const seen = gate();
    const onOutput = (stdout: string): void => {
      if (stdout.includes("tick 2\n")) seen.open();
    };
    const followed = project.haft(["jobs", "logs", id, "-f", ...on], { onOutput });
    await seen.promise;
    child.kill("SIGKILL");
    await once(child, "exit");
    const { exitCode, stdout, stderr } = await followed;
    expect([exitCode, stdout.startsWith("tick 1\ntick 2\n")]).toEqual([6, true]);
    expect(stderr).toContain(
      `The job ${id} is running, but no process runs it: none has its session open.\n  haft sessions resume work continues or ends it; haft jobs cancel ${id} ends it.`,
    );
    expect(await project.haft(["jobs", "wait", id, ...on])).toMatchObject({ exitCode: 6, stdout: "" });
    expect((await project.haft(["jobs", "list", ...on])).stdout).toContain("not running");
    expect(await project.haft(["jobs", "cancel", id, ...on])).toEqual({ exitCode: 0, stdout: `cancelled the job ${id}\n`, stderr: "" });
    expect((await project.haft(["jobs", "wait", id, ...on])).exitCode).toBe(130);
    expect((await project.haft(["sessions", "show", "work", ...on])).stdout).not.toContain("was interrupted");
  });
});
