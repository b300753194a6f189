/** A runtime whose calls of one tool wait for a person, and runs of it. */
import type { Ports } from "../../src/core/ports.ts";
import { createRuntime, type Runtime } from "../../src/runtime/runtime.ts";
import type { RuntimeSession } from "../../src/runtime/runtime-session.ts";
import { sqliteStore } from "../../src/store/sqlite-store.ts";
import { tool } from "../runtime/bench-runtime.ts";
import { temporaryFile } from "../store/temporary-file.ts";

export interface ChatWorld {
  readonly runtime: Runtime;
  readonly session: (id: string) => RuntimeSession;
  /** What was deleted. */
  readonly deleted: string[];
}

export function chatWorld(ports: Partial<Ports> = {}): ChatWorld {
  const deleted: string[] = [];
  const look = tool("look", (_input, context) => {
    context.progress({ message: "looking" });
    return { found: 2 };
  });
  const remove = tool("remove", ({ path }) => (deleted.push(String(path)), "removed"), {
    effects: { writes: ["files"], destructive: true },
  });
  const runtime = createRuntime({
    ports,
    tools: [look, remove],
    store: sqliteStore({ path: temporaryFile() }),
    approval: {
      approve: ({ signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("withdrawn")))),
    },
  });
  return { runtime, deleted, session: (id) => runtime.sessions.get(id) ?? runtime.session(id) };
}
