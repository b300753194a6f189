import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test, vi } from "vitest";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { inCI } from "../ci.ts";
import { testInCI } from "../test-in-ci.ts";
import { PATIENCE_MS, PROGRAM, haft } from "./run-haft.ts";
import { chatAt, hasTerminals } from "./chat-terminal.ts";
import { CANARY, calling, chatProject, type ChatProject } from "./chat-project.ts";

const environment = { MODEL_KEY: CANARY };
/** Of Node 22, about its SQLite. */
const NODE_WARNING = /^\(node:\d+\) ExperimentalWarning: SQLite .*\n.*--trace-warnings .*\n/mu;

/** A server of tools that leaves its process id behind, and answers one request: that to begin. */
const SERVER = `
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
writeFileSync("server.pid", String(process.pid));
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  const result = method === "initialize" ? { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } } : { tools: [] };
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
});
`;
const WITH_SERVER = {
  toml: `\n[toolsets.server]\ntype = "mcp"\ncommand = ${JSON.stringify(process.execPath)}\nargs = ["server.mjs"]\n`,
  files: { "server.mjs": SERVER },
};

/** Of a payment it is not known whether it was made. */
const BANK = `export const pay = { name: "pay", description: "Pays.", inputSchema: { type: "object" }, effects: { writes: ["bank:all"], external: true }, timeoutMs: 0,
  execute: () => (process.stderr.write("paying"), new Promise(() => setInterval(() => {}, 1000))) };
`;

function isRunning(project: ChatProject): boolean {
  const pid = readFileSync(project.path("server.pid"), "utf8");
  try {
    return process.kill(Number(pid), 0) && !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false; // ESRCH
  }
}

/** Whether a process has the session open, and how many events it has. */
async function stored(project: ChatProject): Promise<unknown> {
  const store = sqliteStore({ path: project.path("haft.db") });
  await store.open();
  try {
    return (await store.list()).map(({ sessionId, openedBy }) => ({ sessionId, openedBy }));
  } finally {
    await store.close();
  }
}

describe.concurrent("as a process", { timeout: PATIENCE_MS }, () => {
  test.for(inCI ? (["SIGTERM", "SIGINT"] as const) : (["SIGTERM"] as const))(
    "%s ends a chat, its server and its store, and exits with the signal's exit code",
    async (signal) => {
      const project = await chatProject({ script: [calling("shop__hang"), { text: "Yes?" }], ...WITH_SERVER });
      let sent = false;
      const { exitCode, stderr } = await haft(["chat", "--session", "s", "--store", "haft.db"], {
        folder: project.folder,
        environment,
        input: "Wait.\nAnd then?\n",
        onOutput({ stdout }, control) {
          if (sent || !stdout.includes("shop::hang")) return;
          sent = true;
          control.signal(signal);
        },
      });
      const ours = stderr.replace(NODE_WARNING, "");
      expect([exitCode, ours]).toEqual([
        signal === "SIGINT" ? 130 : 143,
        `haft: cancelled: Stopped by ${signal === "SIGINT" ? "Ctrl-C" : signal}.\n`,
      ]);
      await vi.waitFor(() => expect(isRunning(project)).toBe(false));
      expect(await stored(project)).toEqual([{ sessionId: "s", openedBy: undefined }]);
      const again = await project.haft(["chat", "--session", "s", "--store", project.path("haft.db")], { input: "Again." });
      expect(again.stdout).toContain("\nmodel   Yes?\n");
      expect(project.server.requests.map(({ refused }) => refused)).toEqual([undefined, undefined]);
    },
  );

  test("a chat resumed after its process was killed shows how the interrupted call ended and how the model continues", async () => {
    const project = await chatProject({
      script: [calling("bank__pay"), { text: "Paid?" }],
      toml: '\n[toolsets.bank]\ntype = "module"\npath = "./bank.mjs"\n',
      files: { "bank.mjs": BANK },
    });
    const command = ["chat", "--session", "s", "--store", project.path("haft.db")];
    await haft(command, {
      folder: project.folder,
      environment,
      input: "Pay.\n",
      onOutput: ({ stderr }, control) => stderr.includes("paying") && control.signal("SIGKILL"),
    });
    const { stdout } = await project.haft(command, { types: ["/go"], columns: 100 });
    expect(stdout).toMatch(/continues after \d+ events\n {2}→ #1 {2}bank::pay .*\n {2}✗ #1 {2}bank::pay .* outcome_unknown\n/u);
    expect(stdout).toMatch(/\n {2}· The model has not answered yet: \/go lets it continue\.\n[^]*\nmodel {3}Paid\?\n/u);
    const done = await project.haft(command, { types: [], columns: 100 });
    expect(done.stdout).not.toContain("has not answered");
  });

  testInCI("the chat ends silently when the reader of its output closes the pipe", async () => {
    const project = await chatProject({ script: [{ text: "word ".repeat(20_000) }] });
    const { exitCode, stderr } = await haft(["chat", "--json"], {
      folder: project.folder,
      environment,
      input: "Go.\n".repeat(200),
      onOutput: (_output, control) => control.stopReading(),
    });
    expect([exitCode, stderr]).toEqual([0, ""]);
  });
});

/** Its first call waits for the file `first`, its second for `second`. */
const WAITS = `
import { existsSync } from "node:fs";
const files = ["first", "second"];
export const waits = { name: "waits", description: "", inputSchema: {}, effects: { reads: ["a:b"] }, timeoutMs: 0, async execute() { const file = files.shift(); while (!existsSync(file)) await new Promise((done) => setTimeout(done, 5)); return "done"; } };
`;

describe.skipIf(!hasTerminals)("at a terminal of its own (needs script of util-linux)", { timeout: PATIENCE_MS }, () => {
  /** Types each text when its question has been asked, and resolves to what the terminal showed. */
  async function typed(project: ChatProject, steps: readonly (readonly [question: string, keys: string])[]): Promise<string> {
    const command = `${process.execPath} --conditions=haft-source ${PROGRAM} chat`;
    const child = spawn("script", ["-qefc", command, "/dev/null"], {
      cwd: project.folder,
      env: { PATH: process.env["PATH"], HAFT_TRUST: "all", NO_COLOR: "1", TERM: "xterm", ...environment },
      timeout: PATIENCE_MS,
    });
    let shown = "";
    let seen = 0;
    const left = [...steps];
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      shown += text;
      const [step] = left;
      const at = step === undefined ? -1 : shown.indexOf(step[0], seen);
      if (step === undefined || at < 0) return;
      seen = at + step[0].length;
      left.shift();
      child.stdin.write(step[1]);
    });
    const exitCode = await new Promise<number | null>((resolve) => child.on("close", resolve));
    return `${shown.replaceAll("\r", "").replaceAll(/\u001b\[(?:\?2004[hl]|[\dJGK]*)/gu, "")}exit ${exitCode}`;
  }

  test("Ctrl-C stops the model's message, then the program; keys are echoed once, and pasted text is one message", async () => {
    const stalls = { text: "One two three", delivery: { after: { pieces: 4, then: "stall" } } } as const;
    const deaf = `export const deaf = { name: "deaf", description: "", inputSchema: {}, effects: { reads: ["a:b"] }, execute: () => new Promise(() => setInterval(() => {}, 1000)) };`;
    const project = await chatProject({
      script: [stalls, calling("deaf__deaf"), calling("shop__wipe"), { text: "Kept." }, { text: "Both." }],
      toml: '\n[toolsets.deaf]\ntype = "module"\npath = "./deaf.mjs"\n',
      files: { "deaf.mjs": deaf },
    });
    const shown = await typed(project, [
      ["you     ", "Count.\n"],
      ["One two", "\u0003"],
      ["you     ", "Wait.\n"],
      ["deaf::deaf", "\u0003"],
      ["you     ", "Wipe.\n"],
      ["review: ", "n\n"],
      ["you     ", "first\nsecond\n"],
      ["you     ", "\u0003"],
    ]);
    expect(shown).toContain("! Stopped. Completed calls stay done.\n\nyou     Wait.\n");
    // It is said above the prompt or below what was typed at it by then.
    expect(shown).toMatch(/ {2}! #1 {2}is cut off but still running: an orphan, whose answer will not count\n/u);
    expect(shown).toMatch(/review: n\n+ {2}✗ #2 {2}shop::wipe .*approval_denied\n/u);
    expect(shown).toMatch(/haft: cancelled: Stopped by Ctrl-C\.\nexit 130$/u);
    expect(project.asked.at(-1)).toContainEqual({ role: "user", content: "first\nsecond" });
    expect(project.server.requests.map(({ refused }) => refused)).toEqual(Array.from({ length: 5 }, () => undefined));
  });

  testInCI("closing the terminal at a prompt ends a running call, its server and its store, as SIGTERM does", async () => {
    const slow = `${SERVER}\nprocess.on("SIGTERM", () => {});\nprocess.stdin.on("end", () => setTimeout(() => writeFileSync("ended", ""), 300));\n`;
    const project = await chatProject({
      script: [calling("shop__hang"), { text: "Yes?" }],
      toml: WITH_SERVER.toml,
      files: { "server.mjs": slow },
    });
    const steps = [
      { when: /^you$/mu, keys: "Wait.\n" },
      { when: /shop::hang[^]*\nyou$/u, closes: true },
    ] as const;
    await chatAt(project, 80, steps, "--session s --store haft.db");
    const show = () => project.haft(["sessions", "show", "s", "--store", project.path("haft.db")]);
    await vi.waitFor(async () => expect((await show()).stdout).toMatch(/ {2}✗ #1 {2}shop::hang .* cancelled\n/u), PATIENCE_MS / 4);
    await vi.waitFor(async () => expect(await stored(project)).toEqual([{ sessionId: "s", openedBy: undefined }]));
    await vi.waitFor(() => expect(isRunning(project)).toBe(false));
    expect(existsSync(project.path("ended"))).toBe(true);
  });

  for (const [place, when] of [
    ["at the prompt", /shop::hang[^]*\nyou$/u],
    ["before the prompt is there again", "shop::hang"],
  ] as const)
    testInCI(`Ctrl-D while a call runs, ${place}, ends the call and the chat`, async () => {
      const project = await chatProject({ script: [calling("shop__hang")] });
      const steps = [
        { when: /^you$/mu, keys: "Wait.\n" },
        { when, keys: "\u0004" },
      ];
      const { end } = await chatAt(project, 80, steps, "--session s --store haft.db");
      expect(end).toMatch(/ {2}✗ #1 {2}shop::hang .* cancelled\n[^]*\nexit 0$/u);
      const { stdout } = await project.haft(["sessions", "show", "s", "--store", project.path("haft.db")]);
      expect(stdout).toMatch(/ {2}✗ #1 {2}shop::hang .* cancelled\n/u);
    });

  testInCI("after Ctrl-Z and fg, the line being typed can be continued", async () => {
    const project = await chatProject({ script: [{ text: "Hello." }] });
    const steps = [
      { when: /^you$/mu, keys: "hel\u001a" },
      { when: /you +hel[^]*\nyou +hel$/u, keys: "lo\n" },
      { when: /Hello\.[^]*\nyou$/u, keys: "\u0004" },
    ];
    const { end } = await chatAt(project, 80, steps, "; fg");
    expect(project.asked).toEqual([[{ role: "user", content: "hello" }]]);
    expect(end).toMatch(/\nexit 0$/u);
  });

  testInCI("pasted text longer than one read of the terminal is one message", async () => {
    const rows = Array.from({ length: 900 }, (_, index) => `row ${index}`).join("\n");
    const project = await chatProject({ script: [{ text: "Read." }] });
    await chatAt(project, 80, [
      { when: /^you$/mu, keys: `${rows}\n` },
      { when: /Read\.[^]*\nyou$/u, keys: "\u0004" },
    ]);
    expect(project.asked).toEqual([[{ role: "user", content: rows }]]);
  });

  test("each command that is pasted or typed ahead is run as a command", async () => {
    const project = await chatProject({ script: [] });
    const { end } = await chatAt(project, 80, [{ when: /^you$/mu, keys: "/help\n\n/tools\n \n/exit\n" }]);
    expect(project.asked).toEqual([]);
    expect(end).toContain("/help");
    expect(end).toContain("shop::wipe");
    expect(end).toMatch(/\nexit 0$/u);
  });

  test("text typed before a question is shown does not answer it, and is the next message if no question follows", async () => {
    const project = await chatProject({
      script: [
        calling("waits__waits"),
        calling("shop__wipe"),
        { text: "Kept." },
        calling("waits__waits"),
        { text: "Fine." },
        { text: "Bye." },
      ],
      toml: '\n[toolsets.waits]\ntype = "module"\npath = "./waits.mjs"\n',
      files: { "waits.mjs": WAITS },
    });
    const goOn = (name: string) => (): void => writeFileSync(project.path(name), "");
    const { end } = await chatAt(project, 80, [
      { when: /^you$/mu, keys: "Wipe.\n" },
      { when: "waits::waits", keys: "a\n" },
      { when: /^a$/mu, act: goOn("first") },
      { when: /review:$/u, keys: "n\n" },
      { when: /Kept\.[^]*\nyou$/u, keys: "Look.\n" },
      { when: /Kept\.[^]*waits::waits/u, keys: "ahead\n" },
      { when: /^ahead$/mu, act: goOn("second") },
      { when: /Bye\.[^]*\nyou$/u, keys: "\u0004" },
    ]);
    expect(end).toMatch(/review: n\n+ {2}✗ #2 {2}shop::wipe .*approval_denied\n/u);
    expect(project.asked.at(-1)).toContainEqual({ role: "user", content: "ahead" });
  });
});
