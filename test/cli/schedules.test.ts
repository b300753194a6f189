/** `haft schedules` over a store that no process has open, and one that a server does. */
import { appendFileSync } from "node:fs";
import { createRuntime } from "haft";
import { createServer, staticToken } from "haft/server";
import { sqliteStore } from "haft/sqlite";
import { createTriggers } from "haft/triggers";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { StoredSchedule } from "../../src/cli/commands/schedules/stored-schedules.ts";
import { PATIENCE_MS } from "./run-haft.ts";
import { SessionProject, jsonLines, timeless, type HereOptions } from "./session-project.ts";

const TOKEN = "a-token-of-enough-letters";

class ScheduleProject extends SessionProject {
  readonly triggers = createTriggers();
  readonly runtime = createRuntime({ store: sqliteStore({ path: this.path("haft.db"), synchronous: "normal" }) });

  constructor() {
    super();
    onTestFinished(async () => void (await this.runtime.close()));
  }

  async add(sessionId: string, name: string, rule: object = { dailyAt: "07:30" }): Promise<void> {
    const session = this.runtime.sessions.get(sessionId) ?? this.runtime.session(sessionId);
    await this.triggers.of(session).add({ type: "schedule", name, zone: "UTC", prompt: "Look at the\u001b[31m notes.", ...rule });
  }

  schedules(args: readonly string[], options?: HereOptions) {
    return this.haft(["schedules", ...args, "--store", this.path("haft.db")], options);
  }
}

async function closedProject(): Promise<ScheduleProject> {
  const project = new ScheduleProject();
  await project.add("travel", "morning");
  await project.add("travel", "often", { everyMinutes: 5 });
  await project.add("desk", "morning", { cron: "0 9 * * 1" });
  await project.triggers.of(project.runtime.session("clock")).add({ type: "timer", name: "tick", interval: 60, prompt: "x" });
  await project.runtime.close();
  return project;
}

describe("haft schedules", { timeout: PATIENCE_MS }, () => {
  test("issue 20.2 pause and resume are stored and survive a restart; repeating them changes nothing", async () => {
    const project = await closedProject();
    const length = () => project.withStore(async (store) => (await store.list({ sessionId: "travel" }))[0]?.length);
    const before = Number(await length());
    const paused = await project.schedules(["pause", "often"]);
    expect(paused).toEqual({ exitCode: 0, stderr: "", stdout: "paused the schedule often of the session travel\n" });
    expect(await project.schedules(["pause", "often"])).toMatchObject({ exitCode: 0, stdout: "the schedule often is paused already\n" });
    expect(await length()).toBe(before + 1);
    const [shown, ...rest] = jsonLines((await project.schedules(["list", "--session", "travel", "--json"])).stdout).toReversed();
    expect(shown).toEqual(
      expect.objectContaining({
        id: "often",
        sessionId: "travel",
        paused: true,
        sent: 0,
        settings: expect.objectContaining({ everyMinutes: 5 }),
      }),
    );
    expect(shown).not.toHaveProperty("nextAt");
    expect(rest).toEqual([expect.objectContaining({ id: "morning", nextAt: expect.any(Number) })]);
    const resumed = await project.schedules(["resume", "often", "--json"]);
    expect(jsonLines(resumed.stdout)).toEqual([expect.objectContaining({ id: "often", nextAt: expect.any(Number) })]);
    expect((await project.schedules(["resume", "often"])).stdout).toBe("the schedule often is active already\n");
    expect(await length()).toBe(before + 2);
  });

  test("issue 20.2 list prints one line per schedule, safe for a terminal, and no other triggers", async () => {
    const project = await closedProject();
    await project.schedules(["pause", "often"]);
    const { stdout, stderr, exitCode } = await project.schedules(["list"]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).not.toContain("\u001b");
    const [often = "", ...others] = timeless(stdout).trimEnd().split("\n").toSorted().toReversed();
    expect(often).toMatch(/^often    paused  when it is resumed, every 5 minutes UTC, session travel, not running, 0 messages sent, Look/u);
    expect(others[0]).toMatch(/^morning  active  <time>, daily at 07:30 UTC, session travel/u);
    expect(others[1]).toMatch(/^morning  active  <time>, cron 0 9 \* \* 1 UTC, session desk/u);
    expect(others).toHaveLength(2);
    const narrow = await project.schedules(["list"], { columns: 60 });
    for (const line of narrow.stdout.split("\n")) expect(line.length).toBeLessThanOrEqual(60);
  });

  test("a schedule that is no longer in the configuration is listed as stopped, without a next time", async () => {
    const configured = (name: string): string =>
      `\n[[triggers]]\nname = "${name}"\ntype = "schedule"\ndailyAt = "07:30"\nprompt = "Look."\n`;
    const project = new ScheduleProject();
    for (const name of ["old", "kept"])
      project.triggers.declare({ type: "schedule", name, zone: "UTC", prompt: "Look.", dailyAt: "07:30" });
    const own = project.triggers.of(project.runtime.session("travel"));
    own.start(() => {});
    await vi.waitFor(() => expect(own.list()).toHaveLength(2));
    await own.add({ type: "schedule", name: "mine", zone: "UTC", prompt: "Look.", dailyAt: "07:30" });
    await project.runtime.close();
    appendFileSync(project.path("haft.toml"), configured("kept"));
    const list = async (args: readonly string[]) =>
      jsonLines((await project.haft(["schedules", "list", "--json", ...args])).stdout) as readonly Partial<StoredSchedule>[]; // as the command writes them
    const due = expect.any(Number) as number;
    const shown = (await list([])).map(({ id, declared, nextAt, error }) => ({ id, declared, nextAt, error }));
    expect(shown).toEqual([
      { id: "old", declared: true, error: "It is no longer in the configuration of this program." },
      { id: "kept", declared: true, nextAt: due },
      { id: "mine", nextAt: due },
    ]);
    expect((await project.haft(["schedules", "list"])).stdout).toMatch(
      /^old {3}stopped {2}when it is declared again, daily at 07:30 UTC/mu,
    );
    // A store alone does not say what is declared.
    expect((await list(["--store", project.path("haft.db")])).map(({ nextAt }) => nextAt)).toEqual([due, due, due]);
  });

  test("list mentions declared schedules that an open session may still have, and those whose agent never ran", async () => {
    const project = new ScheduleProject();
    project.triggers.declare({ type: "schedule", name: "nightly", zone: "UTC", prompt: "Look.", dailyAt: "07:30" });
    const session = project.runtime.session("travel");
    await session.execute([]);
    await session.addMessage({ role: "user", content: "Hello." });
    expect(await project.schedules(["list"])).toEqual({
      exitCode: 0,
      stdout: "",
      stderr: "no schedules in the store: one that a program declares is there once its agent has run\n",
    });
    const own = project.triggers.of(session);
    own.start(() => {});
    await vi.waitFor(() => expect(own.list()).toHaveLength(1));
    const { stdout, stderr } = await project.schedules(["list"]);
    expect(stdout).toMatch(/^nightly {2}active .*, open in /u);
    expect(stderr).toBe("1 declared schedule is open in another process, which decides whether it still runs, and when\n");
    expect((await project.schedules(["list", "--json"])).stderr).toBe("");
    await own.stop();
    await project.runtime.close();
    expect((await project.schedules(["list"])).stderr).toBe("");
  });

  test("issue 20.2 an ambiguous id, an unknown id and an unknown session are errors with a hint", async () => {
    const project = await closedProject();
    const several = await project.schedules(["pause", "morning"]);
    expect(several.exitCode).not.toBe(0);
    expect(several.stderr).toMatch(/: 2 sessions have a schedule "morning": "(?:desk", "travel|travel", "desk)"\.\n/u);
    expect(several.stderr).toMatch(/\n  Name its session, such as --session (?:desk|travel)\.\n$/u);
    expect((await project.schedules(["pause", "morning", "--session", "desk"])).exitCode).toBe(0);
    const wrong = await project.schedules(["resume", "offen"]);
    expect(wrong.stderr).toMatch(/There is no schedule "offen".*Did you mean often\?/su);
    expect((await project.schedules(["pause", "tick"])).stderr).toContain('There is no schedule "tick".');
    const session = await project.schedules(["list", "--session", "travle"]);
    expect(session.stderr).toMatch(/There is no session "travle".*Did you mean "travel"\?/su);
    expect([wrong.exitCode, session.exitCode]).toEqual([4, 4]);
    expect((await project.haft(["schedules", "puase", "x"])).stderr).toContain("pause");
  });

  test("issue 20.2 a server that has the session open is called with the key in HAFT_TOKEN; without a key the error names it", async () => {
    const project = new ScheduleProject();
    const { runtime, triggers } = project;
    await project.add("travel", "morning");
    const own = () => triggers.of(runtime.sessions.get("travel") ?? runtime.session("travel")).get("morning");
    const alone = await project.schedules(["pause", "morning"]);
    expect(alone.stderr).toMatch(/"travel" is open in process \d+.*which announced no address/su);
    const server = createServer(runtime, { auth: staticToken({ token: TOKEN }), triggers });
    onTestFinished(() => server.close());
    await server.listen({ port: 0, address: true });
    const unkeyed = await project.schedules(["pause", "morning"]);
    expect(unkeyed.stderr).toMatch(/the server at http:\/\/127\.0\.0\.1:\d+.*HAFT_TOKEN/su);
    const refused = await project.schedules(["pause", "morning"], { environment: { HAFT_TOKEN: "another-token-of-letters" } });
    expect(refused.stderr).toMatch(/permission_denied|The server at/u);
    expect(own()?.paused).toBeUndefined();
    const environment = { HAFT_TOKEN: TOKEN };
    const paused = await project.schedules(["pause", "morning"], { environment });
    expect(paused).toEqual({ exitCode: 0, stderr: "", stdout: "paused the schedule morning of the session travel\n" });
    expect(own()?.paused).toBe(true);
    const resumed = await project.schedules(["resume", "morning"], { environment });
    expect(timeless(resumed.stdout)).toBe("resumed the schedule morning of the session travel; it is due next at <time>\n");
    expect(own()?.paused).toBeUndefined();
    for (const { exitCode } of [alone, unkeyed, refused]) expect(exitCode).not.toBe(0);
  });
});
