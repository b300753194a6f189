/** Decides whether a call may be answered with a task: the client must support tasks, and declare that with the request. */
import type { ServerContext } from "@modelcontextprotocol/server";
import { isJsonObject } from "../../../core/base/json.ts";
import type { Tool } from "../../../core/tool.ts";
import { readClientFacts } from "../round.ts";
import type { McpRequest, CallHandlerContext } from "../handler-context.ts";
import type { TaskSlot } from "./tasks.ts";

export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

const JOBS_TOOLSET = "jobs";

export interface TaskOffer {
  readonly slot: TaskSlot;
  /** Whether it becomes a task at once, instead of after a while. */
  readonly isImmediate: boolean;
}

/** How to run a call: as one that may become a task, waiting for its end, or as its tool declares; or refuse it, since it needs tasks. */
export type TaskChoice = TaskOffer | "wait" | "as-is" | "needs-tasks";

/** Whether a client of 2026-07-28 declares the extension with this request. */
export function hasTasksExtension(context: ServerContext, { server, connection }: CallHandlerContext): boolean {
  const { extensions } = readClientFacts(context, server, connection).capabilities;
  return isJsonObject(extensions) && isJsonObject(extensions[TASKS_EXTENSION]);
}

export function chooseTask(
  handlerContext: CallHandlerContext,
  { mode = "direct" }: Tool,
  { request, context }: { readonly request: McpRequest; readonly context: ServerContext },
): TaskChoice {
  const { gateway, info, connection } = handlerContext;
  const { tasks } = gateway;
  const isModern = connection.era === "modern";
  const wants = isModern ? hasTasksExtension(context, handlerContext) : isJsonObject(request.params?.["task"]);
  if (tasks !== undefined && wants) {
    const slot = tasks.reserve(info.caller.id);
    if (slot !== undefined) return { slot, isImmediate: !isModern || mode !== "direct" };
  }
  if (mode === "direct") return "as-is";
  // in a session with tools for jobs, the model manages its jobs itself
  const session = info.session();
  if (session !== undefined && gateway.tools.hasToolset(JOBS_TOOLSET)) return "as-is";
  return mode === "stateful" ? "needs-tasks" : "wait";
}
