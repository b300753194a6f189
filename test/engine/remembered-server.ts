/** A server that a test holds in its hand, and a memory of what it listed. */
import type { Engine, EngineContext } from "../../src/core/engine.ts";
import { ToolError } from "../../src/core/error.ts";
import type { Tool } from "../../src/core/tool.ts";
import type { ToolMemory } from "../../src/engine/known-tools.ts";

export function toolNamed(name: string, description = `Does ${name}.`): Tool {
  return { name, description, inputSchema: { type: "object" } };
}

export class FakeServer implements Engine {
  readonly kind = "mcp";
  /** What happened to it, in order. */
  readonly seen: string[] = [];
  tools: readonly Tool[];
  context: EngineContext | undefined;
  /** Rejects the next opening. */
  failure: unknown = undefined;
  /** What `open` waits for. */
  gate: Promise<void> = Promise.resolve();
  answer: unknown = "done";

  constructor(...tools: readonly Tool[]) {
    this.tools = tools;
  }

  async open(context: EngineContext): Promise<readonly Tool[]> {
    this.seen.push("open");
    this.context = context;
    await this.gate;
    const { failure } = this;
    this.failure = undefined;
    if (failure instanceof Error) throw failure;
    return this.tools;
  }

  async list(): Promise<readonly Tool[]> {
    this.seen.push("list");
    return this.tools;
  }

  async call({ tool }: { readonly tool: Tool }): Promise<unknown> {
    this.seen.push(`call ${tool.name}`);
    return this.answer;
  }

  async close(): Promise<void> {
    this.seen.push("close");
  }
}

/** Keeps lists in a map; `broken` makes both methods reject. */
export class FakeMemory implements ToolMemory {
  readonly lists = new Map<string, readonly Tool[]>();
  broken = false;

  async read(key: string): Promise<readonly Tool[] | undefined> {
    this.check();
    return this.lists.get(key);
  }

  async write(key: string, tools: readonly Tool[]): Promise<void> {
    this.check();
    this.lists.set(key, tools);
  }

  check(): void {
    if (this.broken) throw new ToolError("store_failed", "the disk is full");
  }
}
