/** Finds chains that call themselves. Every step of a chain is called, so such a chain calls itself until a limit ends it, and cannot succeed. */
import { ToolError } from "../../core/error.ts";
import type { FindTool, FoundTool } from "../sequence/sequence-tools.ts";
import type { ReadStep } from "./chain-step.ts";

/** The steps of the chains that are tools, by their handlers. */
const stepsByHandler = new WeakMap<object, readonly ReadStep[]>();

/** Notes that a handler runs these steps. Returns the handler. */
export function markAsChain<Handler extends object>(handler: Handler, steps: readonly ReadStep[]): Handler {
  stepsByHandler.set(handler, steps);
  return handler;
}

interface Visit {
  readonly name: string;
  readonly handler: object;
  readonly rest: Iterator<ReadStep>;
}

/** Returns a function that returns the names of the chains that call each other in a circle and that a call of this tool reaches, the first one twice. */
export function circleFinder(find: FindTool): (tool: FoundTool) => readonly string[] | undefined {
  const harmless = new Set<object>();
  return (tool) => {
    const path: Visit[] = [];
    let next: FoundTool | ToolError | undefined = tool;
    while (next !== undefined) {
      const circle = enter(next, path, harmless);
      if (circle !== undefined) return circle;
      next = nextTool(path, harmless, find);
    }
    return undefined;
  };
}

/** Adds the tool to the path if it is a chain. Returns the circle if it is on the path already. */
function enter(found: FoundTool | ToolError, path: Visit[], harmless: ReadonlySet<object>): readonly string[] | undefined {
  if (found instanceof ToolError || found.handler === undefined || harmless.has(found.handler)) return undefined;
  const { name, handler } = found;
  const steps = stepsByHandler.get(handler);
  if (steps === undefined) return undefined;
  const start = path.findIndex((visit) => visit.handler === handler);
  if (start >= 0) return [...path.slice(start).map((visit) => visit.name), name];
  path.push({ name, handler, rest: steps.values() });
  return undefined;
}

/** Returns the tool of the next step, removing the chains that have no more steps. */
function nextTool(path: Visit[], harmless: Set<object>, find: FindTool): FoundTool | ToolError | undefined {
  for (let last = path.at(-1); last !== undefined; last = path.at(-1)) {
    const step = last.rest.next();
    if (step.done !== true) return find(step.value.step.tool);
    harmless.add(last.handler);
    path.pop();
  }
  return undefined;
}
