/** Issue 21.6: `haft fleet` shows the processes that use a store. */
import { expect, onTestFinished, test } from "vitest";
import { ToolError } from "../../src/core/error.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import type { ProcessDescription } from "../../src/core/store/process-store.ts";
import { messageEvent } from "../../src/testing/store-case.ts";
import { SessionProject } from "./session-project.ts";

/** A process of the project's store, as far as the store knows. */
async function processOf(project: SessionProject, about: ProcessDescription, sessions: readonly string[] = []): Promise<void> {
  const store = sqliteStore({ path: project.path("haft.db") });
  onTestFinished(() => store.close());
  await store.announce(about);
  for (const id of sessions) {
    const log = store.create(id, { at: 1, durability: "sync" });
    log.append([messageEvent(id, 1)]);
    await log.whenDurable();
  }
}

test("issue 21.6 a table of 80 columns lists the processes, the sessions each has open and how far each is behind", async () => {
  const project = new SessionProject();
  const about = { name: "web-1:7420", role: "serve", address: "http://10.0.0.3:7420", version: "1.2.3", places: ["desk"] };
  await processOf(project, about, ["a", "b"]);
  await processOf(project, { role: "worker", version: "1.2.3" });
  const { exitCode, stdout, stderr } = await project.haft(["fleet"]);
  const lines = stdout.trimEnd().split("\n");
  expect([exitCode, stderr, lines.length]).toEqual([0, "", 5]);
  expect(lines[0]).toMatch(/^PROCESS +ROLE +STATE +SESSIONS +BEHIND +SEEN +VERSION$/u);
  expect(lines[1]).toMatch(/^web-1:7420 +serve +alive +2 +– +\S+ m?s ago +1\.2\.3$/u);
  expect(lines[2]).toMatch(/^ {2}http:\/\/10\.0\.0\.3:7420, process \d+ on \S+, since .+, has desk$/u);
  expect(lines[3]).toMatch(/^process \d+ on .* worker +alive +0 /u);
  for (const line of [lines[0], lines[1], lines[3]]) expect(line?.length).toBeLessThanOrEqual(80);
});

test("issue 21 bad input: differing versions and definitions are reported on standard error, and --json prints each process whole", async () => {
  const project = new SessionProject();
  await processOf(project, { name: "one", version: "1.0.0", definitions: { "toolsets.shop": "a" } }, ["s"]);
  await processOf(project, { name: "two\u001B[31m", version: "1.1.0", definitions: { "toolsets.shop": "b" } });
  const { stdout, stderr } = await project.haft(["fleet", "--json"]);
  const found = stdout
    .trimEnd()
    .split("\n")
    .map((line): Record<string, unknown> => JSON.parse(line));
  expect(found).toMatchObject([
    { name: "one", sessions: 1, sessionIds: ["s"], alive: true },
    { name: "two\u001B[31m", sessions: 0 },
  ]);
  expect(stderr).toContain("They run different versions: one 1.0.0; two 1.1.0.");
  expect(stderr).toContain("toolsets.shop differs: one from two.");
  expect(stdout + stderr).not.toContain("\u001B");
});

test("issue 21.6 a store without processes prints nothing, and a missing store is an error", async () => {
  const project = new SessionProject();
  const missing = await project.haft(["fleet"]);
  expect([missing.exitCode, missing.stderr]).toEqual([expect.any(Number), expect.stringContaining("haft.db")]);
  expect(missing.exitCode).not.toBe(0);
  const store = sqliteStore({ path: project.path("haft.db") });
  await store.open();
  await store.close();
  expect(await project.haft(["fleet"])).toMatchObject({ exitCode: 0, stdout: "" });
});

test.for([
  { what: "a terminal is cleared", environment: { TERM: "xterm" }, clears: true },
  { what: "a dumb terminal gets no escape sequences", environment: { TERM: "dumb" }, clears: false },
])("issue 21.6 $what before each list of a watch, which Ctrl-C ends in order, also within a list", async ({ environment, clears }) => {
  const project = new SessionProject();
  for (const name of ["one", "two", "three"]) await processOf(project, { name });
  const stop = new AbortController();
  const onOutput = (stdout: string): void => {
    if (stdout.includes("PROCESS")) stop.abort(new ToolError("cancelled", "Stopped by Ctrl-C."));
  };
  const watched = await project.haft(["fleet", "--watch"], { columns: 80, environment, signal: stop.signal, onOutput });
  expect([watched.exitCode, watched.stderr, watched.stdout.includes("three")]).toEqual([0, "", false]);
  expect(watched.stdout.startsWith("\u001B[H\u001B[2J")).toBe(clears);
  expect(watched.stdout.includes("\u001B")).toBe(clears);
});
