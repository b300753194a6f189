/** A project whose conversations are kept, and the command line run in this process on it. */
import { join } from "node:path";
import { Readable } from "node:stream";
import type { Ask } from "../../src/cli/command.ts";
import { runCli } from "../../src/cli/run-cli.ts";
import type { Store } from "../../src/core/store/store.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { folderWith, type Finished } from "./run-haft.ts";

/** `hang` and `paid` never end and may not be repeated; `look` hangs while the variable HANG is set, and may be. */
const SESSION_PROJECT = {
  "haft.toml": `[store]
path = "haft.db"
synchronous = "normal"

[toolsets.shop]
type = "module"
path = "./shop.mjs"

[toolsets.files]
type = "files"
root = "notes"
`,
  "shop.mjs": `
const tool = (name, effects, execute, more = {}) => ({ name, description: name, inputSchema: { type: "object" }, effects, execute, ...more });
export const count = tool("count", { reads: [], writes: ["session:count"] }, (_, { state }) => {
  state.update("n", (n) => Number(n ?? 0) + 1);
  return state.get("n");
});
export const mail = tool("mail", { writes: ["mailbox:out"], external: true }, () => "sent");
export const order = tool("order", { writes: ["orders:all"] }, () => ({ id: "o-1", items: [{ count: 3 }] }), {
  outputSchema: {
    type: "object",
    properties: { id: { type: "string", minLength: 3 }, items: { type: "array", minItems: 1, items: { type: "object", properties: { count: { type: "integer", minimum: 1 } }, required: ["count"] } } },
    required: ["id", "items"],
  },
});
const hanging = () => {
  process.stderr.write("hanging ");
  return new Promise(() => setInterval(() => {}, 1000));
};
export const hang = tool("hang", { writes: ["bank:one"] }, hanging, { timeoutMs: 0 });
export const paid = tool("paid", { writes: ["bank:two"], reconcile: () => ({ happened: true, output: "it went through" }) }, hanging, { timeoutMs: 0 });
export const look = tool("look", { reads: ["bank:three"] }, () => (process.env.HANG ? hanging() : "seen"), { timeoutMs: 0 });
`,
  "notes/plan.md": "# Plan\n\n- buy milk\n",
} as const;

/** Lines of a conversation file. */
export const lines = (...values: readonly unknown[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join("");

export const TALK = lines(
  { role: "system", content: "Be brief." },
  { role: "user", content: "Mark the milk as bought." },
  { role: "assistant", content: "I read it first.", calls: [{ id: "r", name: "files::read", input: { path: "plan.md" } }] },
  {
    role: "assistant",
    calls: [
      { id: "e", name: "files::edit", input: { path: "plan.md", old: "- buy", new: "- [x] buy" } },
      { id: "c", name: "count" },
    ],
  },
  { role: "assistant", content: "Done." },
);

export interface HereOptions {
  readonly input?: string | AsyncIterable<Uint8Array>;
  readonly ask?: Ask;
  /** Columns of a terminal; left out = the output goes to a pipe. */
  readonly columns?: number;
  readonly signal?: AbortSignal;
  readonly environment?: Readonly<Record<string, string>>;
  /** Called with all of its standard output so far, each time there is more. */
  readonly onOutput?: (stdout: string) => void;
}

/** A new project, and `haft` in its folder. */
export class SessionProject {
  readonly folder: string;

  constructor(files: Readonly<Record<string, string>> = {}) {
    this.folder = folderWith({ ...SESSION_PROJECT, "talk.jsonl": TALK, ...files });
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  /** Runs one command line; no colours. Names of files are to be whole paths, except that of the configuration. */
  async haft(
    args: readonly string[],
    { input = "", ask, columns, signal = new AbortController().signal, environment, onOutput }: HereOptions = {},
  ): Promise<Finished> {
    const output = { stdout: "", stderr: "" };
    const screen = (name: "stdout" | "stderr") => ({
      write: (text: string) => {
        output[name] += text;
        if (name === "stdout") onOutput?.(output.stdout);
      },
      ...(columns === undefined ? {} : { isTTY: true, columns }),
    });
    const takesConfig = args[0] !== "replay" && !args.includes("--config");
    const exitCode = await runCli(takesConfig ? [...args, "--config", this.path("haft.toml")] : args, {
      stdout: screen("stdout"),
      stderr: screen("stderr"),
      stdin: typeof input === "string" ? Readable.from([Buffer.from(input)]) : input,
      ask,
      environment: { NO_COLOR: "1", ...environment },
      signal,
    });
    return { exitCode, ...output };
  }

  /** Plays the conversation of the project under an id. */
  async play(sessionId: string): Promise<Finished> {
    return this.haft(["run", this.path("talk.jsonl"), "--session", sessionId]);
  }

  /** Plays it, and resolves to how many events the session has then. */
  async playAndCount(sessionId: string): Promise<number> {
    await this.play(sessionId);
    return this.withStore(async (store) => (await store.list()).find((session) => session.sessionId === sessionId)?.length ?? 0);
  }

  /** Does something to the store itself. */
  async withStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
    const store = sqliteStore({ path: this.path("haft.db") });
    await store.open();
    try {
      return await work(store);
    } finally {
      await store.close();
    }
  }
}

/** The values of output that is one JSON value a line. */
export function jsonLines(text: string): readonly unknown[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line): unknown => JSON.parse(line));
}

/** Times of day masked. */
export function timeless(text: string): string {
  return text.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/gu, "<time>");
}
