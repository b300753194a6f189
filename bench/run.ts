/** `npm run bench`: Haft beside its peers and beside the bare limit, in one run, as ratios. Arguments choose parts: see PARTS. */
import { existsSync, statSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const PARTS = [
  "call",
  "batch",
  "registry",
  "footprint",
  "cache",
  "sessions",
  "durable",
  "leases",
  "jobs",
  "fleet",
  "mcp",
  "rest",
  "import",
  "early",
  "loop",
  "decode",
  "generate",
  "program",
] as const;

const asked = process.argv.slice(2);
const unknown = asked.filter((part) => !PARTS.some((known) => known === part));
if (unknown.length > 0) {
  console.error(`No part "${unknown.join(", ")}" of the benchmark. Parts: ${PARTS.join(", ")}.`);
  process.exit(2);
}
if (process.env["HAFT_BENCH_PART"] === undefined) {
  installPeers();
  console.log(
    `Node ${process.version}, ${process.platform} ${process.arch}. Compare the rows of one table: absolute figures drift with the machine.`,
  );
}
const parts = PARTS.filter((part) => asked.length === 0 || asked.includes(part));
if (parts.length === 1 && parts[0] !== undefined) await runPart(parts[0]);
else parts.forEach(runInOwnProcess);

/** What one part loads and warms would show in the figures of the next: in its memory most of all. */
function runInOwnProcess(part: string): void {
  const env = { ...process.env, HAFT_BENCH_PART: part };
  const child = spawnSync(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), part], { env, stdio: "inherit" });
  if (child.status !== 0) process.exit(child.status ?? 1);
}

function installPeers(): void {
  const installed = statSync(`${HERE}node_modules/.package-lock.json`, { throwIfNoEntry: false });
  if (installed !== undefined && installed.mtimeMs >= statSync(`${HERE}package-lock.json`).mtimeMs) return;
  console.log("Installing the peers into bench/node_modules …");
  const child = spawnSync("npm", ["ci", "--ignore-scripts", "--loglevel=error"], { cwd: HERE, stdio: ["ignore", "ignore", "inherit"] });
  if (child.status !== 0) process.exit(1);
}

async function runPart(part: (typeof PARTS)[number]): Promise<void> {
  if (part === "footprint") return printFootprint();
  if (part === "registry") return (await import("./registry.ts")).printRegistry();
  if (part === "cache") return (await import("./cache.ts")).printCache();
  if (part === "durable") return (await import("./durable.ts")).printDurable();
  if (part === "leases") return (await import("./leases.ts")).printLeases();
  if (part === "jobs") return (await import("./jobs.ts")).printJobs();
  if (part === "fleet") return (await import("./fleet.ts")).printFleet();
  if (part === "mcp") return (await import("./mcp.ts")).printMcp();
  if (part === "rest") return (await import("./rest.ts")).printRest();
  if (part === "import") return (await import("./import.ts")).printImport();
  if (part === "early") return (await import("./early-dispatch.ts")).printEarlyDispatch();
  if (part === "loop") return (await import("./loop.ts")).printLoop();
  if (part === "generate") return (await import("./generate.ts")).printGenerate();
  if (part === "program") return (await import("./program.ts")).printProgram();
  if (part === "decode") return (await import("./decode.ts")).printDecode();
  if (part === "sessions") {
    await (await import("./sessions.ts")).printSessions();
    return (await import("./crowds.ts")).printCrowds();
  }
  const haft = await import("./haft.ts");
  const peers = await import("./peers.ts");
  const { measure, printTable } = await import("./measure.ts");
  if (part === "call") {
    const contestants = [
      peers.bareLimit(),
      haft.haftCall(),
      haft.haftEverything(),
      peers.mastra(),
      peers.aiSdk(),
      peers.openAiAgents(),
      peers.langChain(),
      peers.langGraph(),
    ];
    for (const contestant of contestants) await contestant.run();
    printTable("One validated call in process", await measure(contestants, { rounds: 15, roundMs: 150 }), "bare limit");
    return;
  }
  for (const [count, delayMs, limit] of [
    [64, 5, undefined],
    [1_000, 5, undefined],
    [1_000, 5, 32],
  ] as const) {
    const capped = limit === undefined ? "" : `, ${limit} at a time`;
    const bare = { name: "bare limit", note: "Promise.all over plain functions", run: () => bareBatch(count, delayMs, limit ?? count) };
    const others = limit === undefined ? [peers.aiSdkBatch(count, delayMs), peers.langGraphBatch(count, delayMs)] : [];
    const timings = await measure([bare, haft.haftBatch(count, delayMs, limit), ...others], { rounds: 9, roundMs: 150 });
    printTable(`One message with ${count} calls of ${delayMs} ms${capped}`, timings, "bare limit");
  }
}

async function bareBatch(count: number, delayMs: number, limit: number): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next++ < count) await new Promise((resolve) => setTimeout(resolve, delayMs));
  };
  await Promise.all(Array.from({ length: limit }, worker));
}

async function printFootprint(): Promise<void> {
  const { importTimes, packageCount } = await import("./footprint.ts");
  const haft = fileURLToPath(new URL("../dist/index.js", import.meta.url));
  if (!existsSync(haft)) {
    const build = spawnSync("npm", ["run", "build"], { cwd: `${HERE}..`, stdio: ["ignore", "ignore", "inherit"] });
    if (build.status !== 0) process.exit(1);
  }
  const names = ["ai", "@mastra/core/tools", "@openai/agents", "@langchain/core/tools"];
  console.log("\nImporting it: a whole process, median of seven");
  for (const row of importTimes([haft, ...names])) {
    const name = row.name === haft ? "haft" : row.name;
    console.log(
      `  ${name.padEnd(24)} ${row.ms.toFixed(0).padStart(6)} ms  ${row.overEmptyMs > 0 ? "+" : ""}${row.overEmptyMs.toFixed(0)} ms over an empty process`,
    );
  }
  console.log("\nInstalling it: packages, itself included");
  console.log(`  ${"haft".padEnd(24)} ${String(packageCount("..", "")).padStart(6)}`);
  for (const name of ["ai", "@mastra/core", "@openai/agents", "@langchain/core"])
    console.log(`  ${name.padEnd(24)} ${String(packageCount(".", name)).padStart(6)}`);
}
