/**
 * Runs programs that attack the interpreter, its thread and the process, and prints how each ended, in what time, and how much memory the
 * process took meanwhile. Ends with exit code 1 where one does not end as it must.
 */
import { createRuntime, defineTool, pure, type JsonObject } from "haft";
import { programToolset } from "haft/program";
import { HOSTILE_PROGRAMS, type HostileProgram } from "../test/processes/program/hostile-programs.ts";

const MAX_RUN_MS = 500;
/** The program's time, half a second of grace, and the start of a thread on a busy machine. */
const MAX_MS = 10_000;
const MAX_GROWTH_MB = 150;
const SAMPLE_MS = 5;

const note = defineTool({
  name: "note",
  description: "Notes.",
  inputSchema: { type: "object" },
  effects: pure,
  execute: (input: JsonObject) => input,
});
const runtime = createRuntime({ toolsets: [{ name: "default", tools: [note] }, programToolset({ maxRunMs: MAX_RUN_MS, maxCalls: 200 })] });

const rssMb = (): number => process.memoryUsage.rss() / 1_048_576;

async function attack({ what, code, end, returned }: HostileProgram): Promise<readonly string[]> {
  const session = runtime.session();
  const before = rssMb();
  let peak = before;
  const sampling = setInterval(() => (peak = Math.max(peak, rssMb())), SAMPLE_MS);
  const from = performance.now();
  const result = await session.execute({ name: "run_program", input: { code } });
  const tookMs = performance.now() - from;
  clearInterval(sampling);
  const { history } = session;
  await session.close();
  const came = result.error?.code ?? result.status;
  const grewMb = peak - base;
  console.log(`${what.padEnd(52)} ${came.padEnd(17)} ${tookMs.toFixed(0).padStart(5)} ms ${grewMb.toFixed(0).padStart(5)} MB`);
  worstMs = Math.max(worstMs, tookMs);
  worstMb = Math.max(worstMb, grewMb);
  return [
    ...(came === end ? [] : [`${what}: ended as ${came} in place of ${end}: ${result.error?.message ?? ""}`]),
    ...(returned === undefined || JSON.stringify(result.output).includes(JSON.stringify(returned))
      ? []
      : [`${what}: ${JSON.stringify(result.output)}`]),
    ...(tookMs < MAX_MS ? [] : [`${what}: took ${tookMs.toFixed(0)} ms`]),
    ...(history.every((entry) => entry.result !== undefined) ? [] : [`${what}: a call has no result`]),
    ...(history.filter(({ call }) => call.name === "run_program").length === 1 ? [] : [`${what}: not one result`]),
    ...("polluted" in {} ? [`${what}: a prototype of the process was changed`] : []),
  ];
}

let worstMs = 0;
let worstMb = 0;
await runtime.execute({ name: "run_program", input: { code: "return 1;" } });
const base = rssMb();
const wrong: string[] = [];
for (const program of HOSTILE_PROGRAMS) wrong.push(...(await attack(program)));
await runtime.close();
if (worstMb > MAX_GROWTH_MB) wrong.push(`the process grew by ${worstMb.toFixed(0)} MB; ${MAX_GROWTH_MB} is the limit`);
console.log(
  `\n${HOSTILE_PROGRAMS.length} programs; the longest took ${worstMs.toFixed(0)} ms, and the process grew by at most ${worstMb.toFixed(0)} MB`,
);
for (const line of wrong) console.log(`WRONG  ${line}`);
process.exitCode = wrong.length === 0 ? 0 : 1;
