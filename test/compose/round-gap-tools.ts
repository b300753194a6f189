/** Tools that leave a trace of having run, for a process that is killed and for the one that resumes its session. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Tool } from "../../src/core/tool.ts";
import { tool } from "../runtime/bench-runtime.ts";

/** The calls of the one message. */
export const MESSAGE = ["put", "pay", "undeclared", "keyed"] as const;

export function gapTools(folder: string, wrote: () => void): readonly Tool[] {
  const trace = (name: string) => (): string => {
    writeFileSync(join(folder, name), name);
    wrote();
    return name;
  };
  return [
    tool("put", trace("put"), { effects: { writes: ["put"], idempotent: true } }),
    tool("pay", trace("pay"), { effects: { writes: ["pay"] } }),
    tool("undeclared", trace("undeclared"), { effects: {} }),
    tool("keyed", trace("keyed"), { effects: { writes: () => ["keyed"], idempotent: true } }),
  ];
}
