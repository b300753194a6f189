/** Follows a task to its end, wherever it runs. */
import { rejectOnAbort } from "../../../core/base/reject-on-abort.ts";
import { describeThrown } from "../../../core/error.ts";
import type { CallHandlerContext } from "../handler-context.ts";
import { findTaskSnapshot } from "./find-task.ts";
import type { ServedTask } from "./served-task.ts";
import type { TaskContext } from "./task-context.ts";
import { taskSessionId } from "./task-id.ts";

/** How often to look whether the process that runs the task asks something, has ended, or has lost the task to another one, in milliseconds. */
export const LEAST_LOOK_MS = 2_000;

interface FollowOptions {
  readonly context: TaskContext;
  /** @default `LEAST_LOOK_MS` */
  readonly pollMs?: number;
}

/**
 * Yields the task, and again each time it may have changed; ends with its end, or once it no longer exists. A task that another process runs is looked
 * for when the store has the end of a call of it.
 *
 * @throws the reason of the context's signal, and the error of a task that cannot be looked for; as a rejection
 */
export async function* taskStates(
  serving: CallHandlerContext,
  id: string,
  { context, pollMs = LEAST_LOOK_MS }: FollowOptions,
): AsyncGenerator<ServedTask> {
  const { tasks, settings } = serving.gateway;
  const { signal } = context.mcpReq;
  const over = new AbortController();
  let changed = Promise.withResolvers<void>();
  const wake = (): void => changed.resolve();
  let isFollowed = false;
  try {
    for (;;) {
      changed = Promise.withResolvers();
      const task = await findTaskSnapshot(serving, id, context);
      if (task === undefined) return;
      if (task.end === undefined && !isFollowed && tasks?.findKnown(id, serving.info.caller.id) !== task) {
        isFollowed = true;
        void followStored(serving, id, { signal: AbortSignal.any([signal, over.signal]), wake });
      }
      const stop = task.onChange(wake);
      const stopTimer = settings.clock.timer(wake, pollMs, { background: true });
      try {
        yield task;
        if (task.end !== undefined) return;
        await rejectOnAbort(changed.promise, signal);
      } finally {
        stop();
        stopTimer();
      }
    }
  } finally {
    over.abort();
  }
}

/** Calls `wake` for each call of the task's session that ends, here or elsewhere. */
async function followStored(
  { gateway: { runtime, settings }, info }: CallHandlerContext,
  id: string,
  { signal, wake }: { readonly signal: AbortSignal; readonly wake: () => void },
): Promise<void> {
  const session = taskSessionId(id, info.caller.id);
  if (session === undefined) return;
  try {
    for await (const _ of runtime.events({ session, filter: { types: ["call-end"] }, signal })) wake();
  } catch (thrown: unknown) {
    settings.log.debug(`A task over MCP is looked at less often: ${describeThrown(thrown)}`);
  }
}
