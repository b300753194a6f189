/**
 * A process that is killed while its model's message is ending: `node round-gap-process.ts <store> <folder> <ticks>`. Each call of the
 * message leaves a file of its name in the folder; so many turns of the event loop after the first of them wrote, the process is no more.
 */
import { createRuntime } from "../../src/runtime/runtime.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { MESSAGE, gapTools } from "./round-gap-tools.ts";

const [path = "", folder = "", ticks = "0"] = process.argv.slice(2);

function killAfter(left: number): void {
  if (left === 0) process.kill(process.pid, "SIGKILL");
  else setImmediate(() => killAfter(left - 1));
}

let isDying = false;
const tools = gapTools(folder, () => {
  if (isDying) return;
  isDying = true;
  killAfter(Number(ticks));
});
const runtime = createRuntime({ tools, store: sqliteStore({ path }) });
const session = await runtime.resume("s", { create: true });
await session.turn(async (turn) => {
  const round = turn.round();
  for (const name of MESSAGE) round.add({ name });
  await session.eventLog?.whenDurable(); // the model is still writing: what it began is in the store
  await round.end({ content: "", finish: "calls", usage: { inputTokens: 0, outputTokens: 0 } });
});
