/** Recorded worlds played by processes that are killed in the midst of random calls, one after the other on the same file. */
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { seededRandom } from "../../../src/testing/fake-ports.ts";
import type { ChildPlan, ChildReport } from "./crash-child.ts";
import { Starts } from "./crash-task.ts";
import { pick } from "./play-task.ts";
import { loadWorlds, worldsPresent, type RecordedTask } from "./recorded-worlds.ts";
import { IN_CI, inCI } from "../../ci.ts";
import { bundledProgram } from "../../bundled-program.ts";

const SEED = 20_260_305;
const PROGRAM = bundledProgram("runtime/worlds/crash-child");

const COMPILED = fileURLToPath(new URL("../../../node_modules/.cache/haft-worlds", import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "haft-crash-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Finished {
  readonly signal: string | null;
  readonly exitCode: number | null;
  readonly reports: readonly ChildReport[];
  readonly stderr: string;
}

function runChild(plan: ChildPlan): Promise<Finished> {
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify(plan)], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILED },
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (exitCode, signal) => {
      const lines = stdout.split("\n").filter((line) => line.endsWith("}"));
      resolve({ exitCode, signal, stderr, reports: lines.map((line) => JSON.parse(line) as ChildReport) });
    });
  });
}

type End = ChildReport & { readonly type: "end" };

/** What a task came to in the end; undefined when it did not. */
function endOf(task: RecordedTask, reports: readonly ChildReport[]): End | undefined {
  return reports.filter((report): report is End => report.type === "end" && report.taskId === task.id).at(-1);
}

/** What was answered to a caller is in the task's log as it was, once; and no call has two results. */
function wrongResults(task: RecordedTask, reports: readonly ChildReport[]): readonly string[] {
  const end = endOf(task, reports);
  if (end === undefined) return [`${task.id} did not end`];
  const results = new Map(end.results.map((result) => [result.callId, result]));
  const given = reports.flatMap((report) => {
    if (report.taskId !== task.id) return [];
    return report.type === "answer" ? [report.result] : report.results;
  });
  const lost = given.filter((result) => !isDeepStrictEqual(results.get(result.callId), result));
  const isRight = task.finalHash === undefined || task.finalHash === end.hash;
  return [
    ...lost.map((result) => `${task.id}: the answer of ${result.name} (${result.callId}) was lost`),
    ...(results.size === end.results.length ? [] : [`${task.id}: a call has two results`]),
    ...(isRight ? [] : [`${task.id}: the final state is another than the recorded one`]),
  ];
}

const KILLS = 4;
const SETS = ["tau2-bench", "bfcl"] as const;

describe.skipIf(!worldsPresent || !inCI)(`recorded worlds and processes that are killed ${IN_CI}`, () => {
  const worlds = loadWorlds(SETS);
  const tasks = worlds.flatMap((world) => world.tasks).filter((_, index) => index % 12 === 0);

  test(
    "L35 I03 a session killed repeatedly in random calls ends correctly, with every answer once and no write twice",
    { timeout: 240_000 },
    async () => {
      const random = seededRandom(SEED);
      const files = { path: join(folder, "worlds.db"), startsPath: join(folder, "starts.txt") };
      const plan = { ...files, sets: SETS, taskIds: tasks.map((task) => task.id) };
      const reports: ChildReport[] = [];
      for (let kill = 0; kill < KILLS; kill++) {
        const death = { handlers: 1 + Math.floor(random.next() * 50), moment: pick(random, ["before", "after", "answered"] as const) };
        const killed = await runChild({ ...plan, death });
        expect({ ...killed, reports: [] }).toEqual({ exitCode: null, signal: "SIGKILL", stderr: "", reports: [] });
        reports.push(...killed.reports);
      }
      const last = await runChild(plan);
      expect({ ...last, reports: [] }).toEqual({ exitCode: 0, signal: null, stderr: "", reports: [] });
      reports.push(...last.reports);

      const starts = new Starts(worlds);
      for (const line of readFileSync(files.startsPath, "utf8").trim().split("\n")) {
        const [callId = "", name = ""] = line.split(" ");
        starts.note(callId, name);
      }
      const wrong = [...tasks.flatMap((task) => wrongResults(task, reports)), ...starts.wrong];
      const results = tasks.flatMap((task) => endOf(task, reports)?.results ?? []);
      const unknown = results.filter((result) => result.error?.code === "outcome_unknown").length;
      console.log(
        `recorded worlds, SQLite, ${KILLS} times killed (seed ${SEED}): ${tasks.length} tasks, ${results.length} results, ` +
          `${unknown} of them unknown outcomes, ${starts.repeated} reads run again, ${wrong.length} wrong`,
      );
      expect(wrong.slice(0, 20)).toEqual([]);
      expect(results.length).toBeGreaterThan(tasks.flatMap((task) => task.calls).length + unknown);
      expect(unknown).toBeGreaterThan(0);
    },
  );
});
