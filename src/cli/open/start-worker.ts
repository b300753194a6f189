/** Settings and start of the worker inside a server, which runs jobs of the store. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError } from "../../core/error.ts";
import type { LoadedConfig } from "../../config/load-config.ts";
import type { HaftServer } from "../../server/create-server.ts";
import type { WorkerOptions } from "../../server/worker/create-worker.ts";
import type { CommandContext } from "../command.ts";
import { warn, type OpenRuntime } from "./open-runtime.ts";
import { agentNames } from "./serve-agents.ts";

/** Whether jobs are left to `haft worker`: this process starts none, and hands sessions with jobs over. */
export function leavesJobs({ options }: CommandContext, { config }: LoadedConfig): boolean {
  return options.noWorker || config.worker?.inServers === false;
}

/** Returns the settings of the configuration and of `--concurrency`. */
export function workerOptions(context: CommandContext, { config }: LoadedConfig): WorkerOptions {
  const { concurrency } = context.options;
  const { inServers: _inServers, ...settings } = config.worker ?? {};
  return { ...settings, except: agentNames(context), ...omitUndefined({ concurrency }) };
}

/**
 * Starts to run the jobs of other processes, or checks that jobs can be left to others. Does nothing without a store that outlives the process.
 *
 * @throws ToolError, as a rejection, `invalid_argument` or `unavailable` if jobs are to be left to others and cannot be; else as `HaftServer.work`
 * does
 */
export async function startWorker(context: CommandContext, { runtime, config }: OpenRuntime, server: HaftServer): Promise<void> {
  const { queue } = runtime.store ?? {};
  if (leavesJobs(context, config)) {
    if (queue === undefined) throw noQueueError();
    return queue.open();
  }
  if (runtime.store?.outlivesProcess !== true) return;
  try {
    await server.work(workerOptions(context, config));
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown);
    if (error.code !== "unavailable") throw error;
    warn(
      context,
      `Jobs of processes that are gone wait until their session is asked for: ${error.message} ${error.operatorHint ?? ""}`.trim(),
    );
  }
}

export function noQueueError(): ToolError {
  return new ToolError("invalid_argument", "Jobs can be left to other processes only with a store in PostgreSQL.", {
    hint: "Give --store postgres://…, or name one in the configuration.",
  });
}
