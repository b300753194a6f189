/** Ten thousand sessions at once beside the peers, each contestant in processes of its own. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { CROWD, WAIT_MS, type CrowdFigures } from "./crowd.ts";
import { inFolderOnDisk } from "./folder.ts";
import { goal, median, spell } from "./measure.ts";

const CROWDS = [
  ["bare", "bare limit", "a map, a list of events, a promise and a timer each"],
  ["haft", "Haft", "recorded, a lock and a deadline each; closed at the end"],
  ["haft-sqlite", "Haft, SQLite", "the same, and durable"],
  ["ai-sdk", "AI SDK 7", "generateText; no sessions: the caller keeps the messages"],
  ["langgraph", "LangGraph", "a thread of a ToolNode graph, MemorySaver"],
  ["openai-agents", "OpenAI Agents", "Runner.run with a MemorySession, two turns of the model"],
] as const;

export async function printCrowds(): Promise<void> {
  await inFolderOnDisk(async (folder) => printAll(folder));
}

function printAll(folder: string): void {
  console.log(`\n${spell(CROWD)} sessions at once, each with one call of ${WAIT_MS} ms in flight`);
  for (const [contestant, name, note] of CROWDS) {
    const crowds = Array.from({ length: contestant.startsWith("haft") ? 5 : 3 }, () => crowdOf(contestant, folder));
    const heap = median(crowds.map((crowd) => crowd.heapEach)) / 1_024;
    const rss = median(crowds.map((crowd) => crowd.rssEach)) / 1_024;
    const seconds = median(crowds.map((crowd) => crowd.finishMs)) / 1_000;
    const figures = `${heap.toFixed(1).padStart(7)} KB heap ${rss.toFixed(1).padStart(7)} KB resident each ${seconds.toFixed(2).padStart(7)} s`;
    console.log(`  ${name.padEnd(14)} ${figures}  ${note}`);
    if (contestant === "haft") console.log(`  ${"".padEnd(14)} ${goal("≤ 6 KB of heap", heap <= 6)}, ${goal("≤ 1.5 s", seconds <= 1.5)}`);
  }
  console.log("  (medians of 5 processes for Haft and 3 for the others; Mastra keeps conversations in a package of its own, LangChain's");
  console.log("  tools, Ajv and zod know no sessions)");
}

function crowdOf(contestant: string, folder: string): CrowdFigures {
  const file = fileURLToPath(new URL("waiting.ts", import.meta.url));
  const child = spawnSync(process.execPath, ["--expose-gc", ...process.execArgv, file, contestant, folder], { encoding: "utf8" });
  if (child.status !== 0) throw new Error(`${contestant}: ${child.stderr}`);
  return JSON.parse(child.stdout) as CrowdFigures;
}
