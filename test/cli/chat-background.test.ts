/** Background jobs in a chat: at a terminal, where a person types meanwhile, and where standard input is a pipe. */
import { writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { inCI } from "../ci.ts";
import { testInCI } from "../test-in-ci.ts";
import { calling, chatProject, type ChatProject } from "./chat-project.ts";
import { chatAt, hasTerminals } from "./chat-terminal.ts";
import { PATIENCE_MS } from "./run-haft.ts";

/** Each waits until its file is there. */
const WORKS = `
import { existsSync } from "node:fs";
const until = async (path, signal) => { while (!existsSync(path)) { if (signal.aborted) throw signal.reason; await new Promise((done) => setTimeout(done, 5)); } };
const tool = (name, more) => ({ name, description: "Does " + name + ".", inputSchema: { type: "object" }, effects: { reads: [], writes: [] }, timeoutMs: 0, ...more });
export const build = tool("build", { mode: "background", async execute(_, { output, signal }) { await until("compile", signal); output("compiling 编译\\n"); await until("end", signal); return "built"; } });
export const slow = tool("slow", { async execute(_, { signal }) { await until("end", signal); return "slowly"; } });
export const order = tool("order", { mode: "stateful", async *execute() { const what = yield "What would you like?"; return "one " + JSON.stringify(what); } });
`;
const TOML = '\n[toolsets.works]\ntype = "module"\npath = "./works.mjs"\n';

function works(script: Parameters<typeof chatProject>[0]["script"], model = ""): Promise<ChatProject> {
  return chatProject({ script, model, toml: TOML, files: { "works.mjs": WORKS } });
}

function lastMessages(project: ChatProject, count: number): readonly unknown[] {
  return (project.asked.at(-1) as readonly unknown[]).slice(-count);
}

const touch = (project: ChatProject, name: string) => (): void => writeFileSync(project.path(name), "");

describe.skipIf(!hasTerminals)("at a terminal (needs script of util-linux)", { timeout: PATIENCE_MS }, () => {
  test.for(inCI ? [80, 40] : [40])(
    "job output and job ends appear above the line being typed, %i columns wide, and the model is notified of them",
    async (columns) => {
      const project = await works([
        calling("works__build"),
        { text: "It goes on." },
        { text: "It is built, and the line below is as it was." },
        { text: "Yes." },
      ]);
      const { end, screens } = await chatAt(project, columns, [
        { when: /^you$/mu, keys: "Build it.\r" },
        { when: /It goes on\.[^]*\nyou$/u, keys: "你好，世界 and much more than fits" },
        { when: /more than\s+f\s*i\s*t\s*s$/u, act: touch(project, "compile") },
        { when: /compiling 编译[^]*more than\s+f\s*i\s*t\s*s$/u, act: touch(project, "end") },
        { when: /as it\s+was\.[^]*more than\s+f\s*i\s*t\s*s$/u, keys: "\u001b[D\u001b[D\u001b[D\u001b[D\u007f_\r" },
        { when: /Yes\.[^]*\nyou$/u, keys: "\u0004" },
      ]);
      expect(lastMessages(project, 1)).toEqual([{ role: "user", content: "你好，世界 and much more than_fits" }]);
      expect(JSON.stringify(project.asked.at(2))).toContain("has succeeded");
      for (const screen of screens.slice(2)) expect(screen.match(/你好/gu)).toHaveLength(1);
      expect(end).toMatch(/✓ #1[^]*It is built[^]*\nyou {5}你好，世界 and much more\s+than_\s*fi\s*ts\n[^]*Yes\.[^]*exit 0$/u);
    },
  );

  testInCI("/jobs, /send and /cancel address jobs by number; jobs left at the end are listed", async () => {
    const project = await works([
      calling("works__order", "works__build", "works__build"),
      { text: "Two things." },
      { text: "It was ordered." },
      { text: "One is gone." },
    ]);
    const { end } = await chatAt(project, 100, [
      { when: /^you$/mu, keys: "Order.\r" },
      { when: /Two things\.[^]*\nyou$/u, keys: "/jobs\r" },
      { when: /#3 works::build[^]*\nyou$/u, keys: '/send #1 {"tea": 2}\r' },
      { when: /It was ordered\.[^]*\nyou$/u, keys: "/cancel 2\r" },
      { when: /One is gone\.[^]*\nyou$/u, keys: "/send 9 tea\r" },
      { when: /There is no job "9"[^]*\nyou$/u, keys: "/exit\r" },
    ]);
    expect(end).toContain("#1 works::order asks: What would you like?");
    expect(end).toContain('one {"tea":2}');
    expect(end).toMatch(/✗ #2 {2}works::build[^]*the person at the terminal cancelled it/u);
    expect(end).toMatch(/1 background job cancelled: #3 works::build[^]*exit 0$/u);
  });

  testInCI(
    "during a long call, /promote sends it to the background and returns the prompt; Ctrl-C ends the run before the program",
    async () => {
      const project = await works([
        calling("works__slow"),
        { text: "It goes on there." },
        { text: "It came." },
        calling("works__slow"),
        { text: "No?" },
      ]);
      const { end } = await chatAt(project, 80, [
        { when: /^you$/mu, keys: "Go.\r" },
        { when: /works::slow[^]*\nyou$/u, keys: "/promote\r" },
        { when: /goes on there\.[^]*\nyou$/u, act: touch(project, "end") },
        { when: /It came\.[^]*\nyou$/u, keys: "\u0003" },
      ]);
      expect(end).toContain("continues in the background");
      expect(end).toMatch(/✓ #1 {2}works::slow[^]*slowly[^]*haft: cancelled: Stopped by Ctrl-C\.\nexit 130$/u);
    },
  );
});

describe("where standard input is a pipe", () => {
  testInCI("the chat waits for jobs, reports their ends to the model, and cancels one whose question gets no answer", async () => {
    const project = await works([
      calling("works__build", "works__order"),
      { text: "Begun." },
      { text: "It asks." },
      { text: "Done." },
      { text: "All." },
    ]);
    touch(project, "compile")();
    touch(project, "end")();
    const { stdout, exitCode } = await inFolder(project, () => project.haft(["chat"], { input: "Go." }));
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/✓ #1 {2}works::build +# ms +built/u);
    expect(stdout).toMatch(/✗ #2 {2}works::order[^]*the job cannot be answered/u);
    expect(JSON.stringify(project.asked.at(-1))).toContain("was cancelled");
  });

  test("--json prints one line per run, including runs that a job started; --no-background offers no background jobs", async () => {
    const project = await works([calling("works__build"), { text: "Begun." }, { text: "Done." }]);
    touch(project, "compile")();
    const onOutput = (shown: string): void => (shown.includes("Begun.") ? touch(project, "end")() : undefined);
    const { stdout } = await inFolder(project, () => project.haft(["run", "--prompt", "Go.", "--json"], { onOutput }));
    const texts = stdout
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { readonly text: string }).text);
    expect(texts.at(-1)).toBe("Done.");
    const tools = (index: number): string => JSON.stringify(project.server.requests.at(index)?.body["tools"]);
    expect(tools(0)).toContain("run_in_background");
    const plain = await chatProject({ script: [{ text: "Hm." }] });
    await plain.haft(["chat", "--no-background"], { input: "Go." });
    expect(JSON.stringify(plain.server.requests[0]?.body["tools"])).not.toMatch(/run_in_background|send_to_job/u);
  });
});

/** The tools look for their files in the folder of the process. */
async function inFolder<T>(project: ChatProject, work: () => Promise<T>): Promise<T> {
  const before = process.cwd();
  process.chdir(project.folder);
  try {
    return await work();
  } finally {
    process.chdir(before);
  }
}
