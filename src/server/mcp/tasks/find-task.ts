/** Finds a caller's task: in memory, or in the store that an earlier process of the server has left. */
import type { ServerContext } from "@modelcontextprotocol/server";
import { ToolError } from "../../../core/error.ts";
import { CallClient } from "../call-client.ts";
import { withClient } from "../client.ts";
import { Exchange, type ExchangeRound } from "../exchange.ts";
import { clientFacts } from "../round.ts";
import type { Serving } from "../serving.ts";
import type { ServedTask } from "./served-task.ts";
import { takeUpTask, taskQuestions } from "./task-call.ts";
import { taskEnd } from "./task-end.ts";
import type { TaskPlace } from "./tasks.ts";

/** Undefined where the caller has no such task. @throws ToolError `resource_busy` while another process runs it. By rejecting */
export async function findTask(serving: Serving, id: string, context: ServerContext): Promise<ServedTask | undefined> {
  const { gateway, info } = serving;
  return await gateway.tasks?.find(id, info.caller.id, {
    signal: context.mcpReq.signal,
    takeUp: (place) => takeUp(serving, context, place),
  });
}

async function takeUp(
  serving: Serving,
  context: ServerContext,
  place: Pick<TaskPlace, "id" | "sessionId">,
): Promise<ServedTask | undefined> {
  const { gateway, server, connection, info } = serving;
  const { runtime, tasks, settings } = gateway;
  if (tasks === undefined) return undefined;
  const over = Promise.withResolvers<void>();
  const exchange = new Exchange<void>(NO_ROUND, () => over.promise);
  const client = new CallClient({ ...clientFacts(context, server, connection), newId: () => settings.ids.next("ask") }, exchange);
  exchange.expectTask(taskQuestions(() => true));
  try {
    const session = await withClient(client, () =>
      runtime.resume(place.sessionId, {
        ask: client.ask,
        ...(info.caller.principal === undefined ? {} : { data: { principal: info.caller.principal } }),
      }),
    );
    const name = session.history[0]?.result?.name ?? session.history[0]?.call.name;
    const tool = name === undefined ? undefined : runtime.registry.get(name)?.tool;
    const endOf = (result: Parameters<typeof taskEnd>[0]): ReturnType<typeof taskEnd> => taskEnd(result, { serving, client, tool });
    return await takeUpTask({ tasks, runtime, settings }, place, { session, exchange, client, endOf });
  } catch (thrown: unknown) {
    const error = ToolError.fromUnknown(thrown, "store_failed");
    if (error.code === "not_found" || error.code === "invalid_argument") return undefined;
    throw error;
  } finally {
    over.resolve();
  }
}

/** No request of the client waits for the work. */
const NO_ROUND: ExchangeRound = {
  signal: new AbortController().signal,
  answers: new Map(),
  send: undefined,
  notify: () => undefined,
  progressToken: undefined,
  log: () => undefined,
};
