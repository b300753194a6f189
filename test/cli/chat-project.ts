/** A project whose model is a fake provider on 127.0.0.1, and the command line run in this process on it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { runCli } from "../../src/cli/run-cli.ts";
import { ToolError } from "../../src/core/error.ts";
import { rejectOnAbort } from "../../src/core/base/reject-on-abort.ts";
import { startProviderServer, type ProviderServer, type ServedAnswer, type ServedFormat } from "../model/provider-server.ts";
import { folderWith, masked } from "./run-haft.ts";

/** Is to be found in no output. */
export const CANARY = "sk-canary-0123456789";

const SHOP = `
const tool = (name, effects, execute, more = {}) => ({ name, description: "Does " + name + ".", inputSchema: { type: "object" }, effects, execute, ...more });
export const look = tool("look", { reads: ["shelf:all"] }, ({ at = "shelf" }) => "milk on the " + at);
export const order = tool("order", { writes: ["orders:all"], external: true }, () => "ordered");
export const wipe = tool("wipe", { writes: ["orders:all"], destructive: true }, () => "wiped");
export const fail = tool("fail", { reads: ["luck:all"] }, () => { throw new Error("no luck"); });
export const hang = tool("hang", { reads: ["clock:all"] }, (_, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))), { timeoutMs: 0 });
export const question = tool("question", { reads: [], writes: [] }, async (_, { ask }) => {
  const answer = await ask({ message: "Which shop?", schema: { type: "object", properties: { shop: { type: "string" } }, required: ["shop"] } });
  return answer.action === "accept" ? answer.content.shop : "nobody said";
});
`;

export interface ChatProjectOptions {
  readonly script: readonly ServedAnswer[];
  /** @default "openai-chat" */
  readonly format?: ServedFormat;
  /** What the provider is called in the configuration. @default "openai-chat" */
  readonly provider?: string;
  /** @default the one the command line has */
  readonly key?: string;
  /** More of the table of the model. */
  readonly model?: string;
  /** More tables. */
  readonly toml?: string;
  readonly files?: Readonly<Record<string, string>>;
}

export const CTRL_C = Symbol("Ctrl-C");

export interface ChatOptions {
  /** What a person at the terminal types, one for each question; then Ctrl-D. Left out = nobody is there. */
  readonly types?: readonly (string | typeof CTRL_C)[];
  /** Columns of the terminal; left out = the output goes to a pipe. */
  readonly columns?: number;
  readonly colours?: boolean;
  readonly input?: string | Readable;
  /** @default that of the project */
  readonly config?: string;
  /** Told of all output so far, each time there is more. */
  readonly onOutput?: (shown: string, keys: Keys) => void;
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export interface Keys {
  /** Ctrl-C, as `processRun` takes it. */
  interrupt(): void;
}

export interface ChatOutcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export async function chatProject(options: ChatProjectOptions): Promise<ChatProject> {
  const { script, format = "openai-chat", provider = "openai-chat", model = "", toml = "", files = {} } = options;
  const server = await startProviderServer({ format, script, key: options.key ?? CANARY });
  const config = `[model]
name = "${provider}/gpt-x"
baseUrl = "${server.url}"
apiKey = "env:MODEL_KEY"
${model}
[toolsets.shop]
type = "module"
path = "./shop.mjs"

[toolsets.files]
type = "files"
root = "notes"
${toml}`;
  return new ChatProject(server, folderWith({ "haft.toml": config, "shop.mjs": SHOP, "notes/plan.md": "# Plan\n", ...files }));
}

export class ChatProject {
  readonly server: ProviderServer;
  readonly folder: string;

  constructor(server: ProviderServer, folder: string) {
    this.server = server;
    this.folder = folder;
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  read(name: string): string {
    return readFileSync(this.path(name), "utf8");
  }

  /** The messages of each request, as far as the provider took it; what it refused is named. */
  get asked(): readonly unknown[] {
    return this.server.requests.map(({ refused, body }) => refused ?? body["messages"]);
  }

  /** Runs one command line. Times are masked. */
  async haft(args: readonly string[], options: ChatOptions = {}): Promise<ChatOutcome> {
    const { types, columns, colours = false, input = "", config = "haft.toml", onOutput, environment = {} } = options;
    const output = { stdout: "", stderr: "" };
    const terminal = columns === undefined ? {} : { isTTY: true, columns };
    const stop = new AbortController();
    let listener: (() => void) | undefined;
    const interrupt = (): void => {
      const taken = listener;
      listener = undefined;
      if (taken === undefined) stop.abort(new ToolError("cancelled", "Stopped by Ctrl-C."));
      else taken();
    };
    const screen = (name: "stdout" | "stderr") => ({
      write: (text: string) => {
        output[name] += text;
        onOutput?.(output.stdout + output.stderr, { interrupt });
      },
      ...terminal,
    });
    const answers = [...(types ?? [])];
    const ask = (_question: string, signal: AbortSignal): Promise<string | undefined> => {
      const answer = answers.shift();
      if (typeof answer !== "symbol") return rejectOnAbort(Promise.resolve(answer), signal);
      const never = rejectOnAbort(new Promise<never>(() => {}), signal);
      interrupt();
      return never;
    };
    const exitCode = await runCli([...args, "--config", this.path(config)], {
      stdout: screen("stdout"),
      stderr: screen("stderr"),
      stdin: typeof input === "string" ? Readable.from([Buffer.from(input)]) : input,
      ask: types === undefined ? undefined : ask,
      environment: { MODEL_KEY: CANARY, ...(colours ? {} : { NO_COLOR: "1" }), ...environment },
      signal: stop.signal,
      onInterrupt(taken) {
        listener = taken;
        return () => void (listener = listener === taken ? undefined : listener);
      },
    });
    return { exitCode, stdout: masked(output.stdout), stderr: masked(output.stderr) };
  }
}

/** The model's message that makes these calls. */
export function calling(...names: readonly string[]): ServedAnswer {
  return { calls: names.map((name) => ({ name, input: {} })) };
}
