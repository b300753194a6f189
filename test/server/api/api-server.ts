/** A server with tools of every kind, over real HTTP on loopback. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAgent, createRuntime, defineTool, readOnly } from "haft";
import { scriptedModel } from "haft/testing";
import { createTriggers } from "haft/triggers";
import { createServer, staticToken, type Authenticator, type ServerLimits, type ServerListener } from "haft/server";
import { sqliteStore, type SqliteStoreOptions } from "haft/sqlite";
import { onTestFinished } from "vitest";

export const TOKEN = "a-token-for-the-tests";

export interface ApiServerOptions {
  readonly limits?: ServerLimits;
  readonly auth?: Authenticator;
  readonly store?: "sqlite" | "none";
  readonly storeOptions?: Partial<SqliteStoreOptions>;
}

/** Set by the tools, so that a test can wait for them. */
export class Gate {
  readonly #opened = Promise.withResolvers<void>();
  readonly entered = Promise.withResolvers<void>();

  open(): void {
    this.#opened.resolve();
  }

  async pass(signal: AbortSignal): Promise<void> {
    this.entered.resolve();
    const aborted = new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted")), { once: true }));
    aborted.catch(() => {});
    await Promise.race([this.#opened.promise, aborted]);
  }
}

export interface ApiServer {
  readonly listener: ServerListener;
  readonly url: string;
  /** The file of its store. */
  readonly path: string;
  readonly gate: Gate;
  readonly added: string[];
  readonly runtime: ReturnType<typeof createRuntime>;
  readonly server: ReturnType<typeof createServer>;
  ask(method: string, path: string, options?: AskOptions): Promise<Answered>;
}

export interface AskOptions {
  readonly body?: unknown;
  readonly raw?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string | null;
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // A test looks at what it expects.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly json: any;
}

export async function startApi({
  limits = {},
  auth = staticToken({ token: TOKEN }),
  store = "sqlite",
  storeOptions = {},
}: ApiServerOptions = {}): Promise<ApiServer> {
  const folder = await mkdtemp(join(tmpdir(), "haft-api-"));
  const gate = new Gate();
  const added: string[] = [];
  const triggers = createTriggers();
  triggers.channels.open("news", { kind: "broadcast" });
  const path = join(folder, "haft.db");
  const kept = store === "sqlite" ? sqliteStore({ path, synchronous: "normal", ...storeOptions }) : undefined;
  const runtime = createRuntime({
    ...(kept === undefined ? {} : { store: kept, artifacts: kept.artifacts }),
    approval: { approve: () => new Promise(() => {}) },
    toolsets: [{ name: "notes", tools: notesTools(added, gate) }],
  });
  await runtime.open();
  const session = runtime.session("desk");
  const agent = createAgent({ session, model: scriptedModel([{ text: "Nothing." }]) });
  const server = createServer(runtime, { auth, limits: { graceMs: 50, ...limits }, agents: { clerk: agent }, triggers });
  const listener = await server.listen({ port: 0 });
  onTestFinished(async () => {
    gate.open();
    await server.close();
    await runtime.close();
    await rm(folder, { recursive: true, force: true });
  });
  const ask = async (method: string, path: string, { body, raw, headers = {}, token = TOKEN }: AskOptions = {}): Promise<Answered> => {
    const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await fetch(`${listener.url}${path}`, {
      method,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(sent === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(sent === undefined ? {} : { body: sent }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") === true;
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: isJson && !text.includes("\n") ? JSON.parse(text) : undefined,
    };
  };
  return { listener, url: listener.url, path, gate, added, runtime, server, ask };
}

function notesTools(added: string[], gate: Gate): ReturnType<typeof defineTool>[] {
  const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"], additionalProperties: false } as const;
  return [
    defineTool({
      name: "add",
      description: "Adds a note.",
      inputSchema: text,
      effects: { writes: ["notes"] },
      execute(input: { readonly text: string }, context) {
        added.push(input.text);
        context.state.update("count", (count) => Number(count ?? 0) + 1);
        return { added: input.text };
      },
    }),
    defineTool({
      name: "list",
      description: "Lists the notes.",
      inputSchema: { type: "object", properties: {} },
      effects: readOnly("notes"),
      execute: () => ({ notes: added }),
    }),
    defineTool({
      name: "wait",
      description: "Waits until the gate opens.",
      inputSchema: { type: "object", properties: {} },
      effects: readOnly("gate"),
      async execute(_input: object, { signal }) {
        await gate.pass(signal);
        return "passed";
      },
    }),
    defineTool({
      name: "fail",
      description: "Fails.",
      inputSchema: { type: "object", properties: {} },
      effects: { writes: ["notes"] },
      execute() {
        throw new Error("The pen is broken.");
      },
    }),
    defineTool({
      name: "erase",
      description: "Erases all notes.",
      inputSchema: { type: "object", properties: {} },
      effects: { writes: ["notes"], destructive: true },
      execute: () => "erased",
    }),
    defineTool({
      name: "talk",
      description: "Asks for a name.",
      mode: "stateful",
      inputSchema: { type: "object", properties: {} },
      effects: { writes: ["talk"] },
      async *execute() {
        const name: unknown = yield "Who are you?";
        return `Hello ${String(name)}`;
      },
    }),
  ] as ReturnType<typeof defineTool>[];
}
