/** The part of a server in running the jobs of its store. */
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { ToolError } from "../../core/error.ts";
import type { LoadedConfig } from "../../config/load-config.ts";
import type { HaftServer } from "../../server/create-server.ts";
import type { WorkerOptions } from "../../server/worker/create-worker.ts";
import type { CommandContext } from "../command.ts";
import { warn, type OpenRuntime } from "./open-runtime.ts";
import { agentNames } from "./serve-agents.ts";

/** Whether jobs are left to `haft worker`: nothing is started here, and sessions with jobs are handed over. */
export function leavesJobs({ options }: CommandContext, { config }: LoadedConfig): boolean {
  return options.noWorker || config.worker?.inServers === false;
}

/** The settings of the configuration, and of `--concurrency`. */
export function workerOptions(context: CommandContext, { config }: LoadedConfig): WorkerOptions {
  const { concurrency } = context.options;
  const { inServers: _inServers, ...settings } = config.worker ?? {};
  return { ...settings, except: agentNames(context), ...omitUndefined({ concurrency }) };
}

/**
 * Begins to run the jobs of other processes, or makes sure that they can be left to others. A store of one machine has none.
 *
 * @throws ToolError `invalid_argument`, `unavailable` where jobs are to be left to others and cannot be; as `HaftServer.work`. By rejecting
 */
export async function startWorking(context: CommandContext, { runtime, config }: OpenRuntime, server: HaftServer): Promise<void> {
  const { queue } = runtime.store ?? {};
  if (leavesJobs(context, config)) {
    if (queue === undefined) throw noQueue();
    return queue.open();
  }
  if (queue === undefined) return;
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

export function noQueue(): ToolError {
  return new ToolError("invalid_argument", "Jobs can be left to other processes only with a store in PostgreSQL.", {
    hint: "Give --store postgres://…, or name one in the configuration.",
  });
}
