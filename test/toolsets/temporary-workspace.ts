/** A real folder for one test, the tools over it, and a session that remembers. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { ToolOutput, type ContentPart } from "../../src/core/content.ts";
import type { ToolContext } from "../../src/core/context.ts";
import { ToolError } from "../../src/core/error.ts";
import { copyJson, type JsonValue } from "../../src/core/base/json.ts";
import type { Tool } from "../../src/core/tool.ts";
import { filesToolset, type FilesOptions } from "../../src/toolsets/files.ts";

/** What one session's handlers are given; `state` is that of the session. */
export class FakeSession {
  readonly values = new Map<string, JsonValue>();
  /** Whether the model is shown the results of earlier calls. */
  showsResults = true;
  #calls = 0;

  context(signal: AbortSignal = new AbortController().signal): ToolContext {
    this.#calls++;
    return {
      callId: `call_${this.#calls}_${Math.random().toString(36).slice(2)}`,
      toolName: "files::test",
      tool: { name: "test", description: "", inputSchema: true },
      agentName: undefined,
      workingFolder: "/",
      resolvePath: (path) => path,
      environment: {},
      sessionId: "session_1",
      turnId: "turn_1",
      attempt: 1,
      idempotencyKey: "haft_test",
      simulated: false,
      history: [],
      isShown: () => this.showsResults,
      execute: () => {
        throw new Error("No runtime runs this call.");
      },
      output: () => undefined,
      partial: () => undefined,
      signal,
      deadline: Infinity,
      data: {},
      toolState: { get: () => undefined, update: () => undefined },
      state: {
        get: (key) => this.values.get(key),
        update: (key, change) => {
          const after = change(this.values.get(key));
          if (after === undefined) this.values.delete(key);
          else this.values.set(key, copyJson(after).value);
        },
      },
      ask: () => Promise.resolve({ action: "cancel" }),
      progress: () => {},
      log: () => {},
    };
  }
}

export interface Answer {
  readonly text: string;
  readonly output: unknown;
  readonly content: readonly ContentPart[];
}

export class TemporaryWorkspace {
  /** Canonical path of the workspace; `outside` lies beside it. */
  readonly root: string;
  readonly outside: string;
  readonly session = new FakeSession();
  readonly #tools: ReadonlyMap<string, Tool>;

  constructor(files: Readonly<Record<string, string | Uint8Array>> = {}, options: Partial<FilesOptions> = {}) {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "haft-files-")));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    this.root = join(folder, "work");
    this.outside = join(folder, "outside");
    mkdirSync(this.root);
    mkdirSync(this.outside);
    for (const [path, content] of Object.entries(files)) this.put(path, content);
    this.#tools = new Map((filesToolset({ root: this.root, ...options }).tools ?? []).map((tool) => [tool.name, tool]));
  }

  path(path: string): string {
    return join(this.root, path);
  }

  put(path: string, content: string | Uint8Array): void {
    const absolute = join(this.root, path);
    mkdirSync(dirname(absolute), { recursive: true });
    writeFileSync(absolute, content);
  }

  text(path: string): string {
    return readFileSync(join(this.root, path), "utf8");
  }

  tool(name: string): Tool {
    const tool = this.#tools.get(name);
    if (tool === undefined) throw new Error(`no tool ${name}`);
    return tool;
  }

  async call(name: string, input: Readonly<Record<string, unknown>>, session = this.session): Promise<Answer> {
    return this.callWith(name, input, session.context());
  }

  async callWith(name: string, input: Readonly<Record<string, unknown>>, context: ToolContext): Promise<Answer> {
    const { execute } = this.tool(name);
    const answer: unknown = await execute?.(input as never, context); // the handler's input type is its schema's business
    if (!(answer instanceof ToolOutput)) return { text: JSON.stringify(answer), output: answer, content: [] };
    const content = answer.content ?? [];
    return {
      text: content.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n"),
      output: answer.output,
      content,
    };
  }

  /** The text of an answer. */
  async say(name: string, input: Readonly<Record<string, unknown>>): Promise<string> {
    return (await this.call(name, input)).text;
  }

  /** The error of a call that must fail: its code and message. */
  async refusal(name: string, input: Readonly<Record<string, unknown>>, session = this.session): Promise<ToolError> {
    try {
      await this.call(name, input, session);
    } catch (thrown: unknown) {
      if (thrown instanceof ToolError) return thrown;
      throw thrown;
    }
    throw new Error(`${name} ${JSON.stringify(input).slice(0, 200)} was not refused`);
  }
}
