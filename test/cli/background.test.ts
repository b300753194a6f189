import { describe, expect, test } from "vitest";
import { PATIENCE_MS, PROJECT, folderWith, haft } from "./run-haft.ts";
import { inCI } from "../ci.ts";

const TOOLS = `
const build = {
  name: "build", description: "Builds.", inputSchema: { type: "object" }, effects: { reads: [], writes: [] }, mode: "background",
  async execute(_input, { output }) { output("compiling\\n"); await new Promise((done) => setTimeout(done, 50)); return "built"; },
};
const order = {
  name: "order", description: "Orders.", inputSchema: { type: "object" }, effects: { reads: [], writes: [] }, mode: "stateful",
  async *execute() { return yield "What would you like?"; },
};
export default { name: "shop", tools: [build, order] };
`;
const TALK = [
  { role: "user", content: "Build it." },
  {
    role: "assistant",
    calls: [
      { id: "b", name: "build" },
      { id: "o", name: "order" },
    ],
  },
  { role: "user", content: "And?" },
]
  .map((line) => `${JSON.stringify(line)}\n`)
  .join("");

function project(): string {
  return folderWith({
    ...PROJECT,
    "shop.mjs": TOOLS,
    "haft.toml": '[toolsets.shop]\ntype = "module"\npath = "./shop.mjs"\n',
    "talk.jsonl": TALK,
  });
}

const CONFIG = ["--config", "haft.toml"];
const STORE = ["--store", "s.db"];

describe.concurrent("background jobs on the command line", { timeout: PATIENCE_MS }, () => {
  test("haft run waits for jobs before it exits and cancels one that asks a question; haft sessions show prints the same", async () => {
    const folder = project();
    const run = await haft(["run", "talk.jsonl", ...CONFIG, ...STORE, "--session", "one"], { folder });
    expect(run.exitCode).toBe(0);
    const show = await haft(["sessions", "show", "one", ...STORE], { folder });
    for (const { stdout } of [run, show]) {
      expect(stdout).toMatch(/· #1 {2}continues in the background/u);
      expect(stdout).toMatch(/· #2 {2}asks: What would you like\?/u);
      expect(stdout).toMatch(/✓ #1 {2}shop::build +[\d.]+ m?s +built/u);
      expect(stdout).toMatch(/✗ #2 {2}shop::order[^]*the job cannot be answered/u);
      expect(stdout).not.toContain("was interrupted");
    }
  });

  test("haft run --json prints a pending result for a job, and its final result once it has ended", async () => {
    const { stdout } = await haft(["run", "talk.jsonl", ...CONFIG, "--json"], { folder: project() });
    const results = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { readonly id: string; readonly status: string });
    expect(results.map(({ id, status }) => `${id} ${status}`).toSorted()).toEqual(["b ok", "b pending", "o cancelled", "o pending"]);
  });

  test.each(inCI ? ["openai", "anthropic", "gemini"] : ["openai"])(
    "haft sessions export --as %s includes the placeholders and the final results of jobs",
    async (format) => {
      const folder = project();
      await haft(["run", "talk.jsonl", ...CONFIG, ...STORE, "--session", "one"], { folder });
      const { stdout } = await haft(["sessions", "export", "one", "--as", format, ...STORE], { folder });
      expect(stdout).toContain("continues in the background as the job");
      expect(stdout).toMatch(/The background job [^ ]+ \(shop__build\) has succeeded:\\nbuilt/u);
      expect(stdout).toContain("waits for an answer");
    },
  );
});
