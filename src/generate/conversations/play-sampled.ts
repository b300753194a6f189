/** Plays one sampled conversation, turn by turn: a request, the calls, an answer. */
import { ToolError } from "../../core/error.ts";
import type { Random } from "../../core/ports.ts";
import type { CatalogTool } from "../catalog.ts";
import type { AnsweredCall, ConversationWriter } from "./conversation-writer.ts";
import { TurnPlanner, type DraftCall, type DraftResult } from "./turn-planner.ts";
import { COMPLETE, runCalls, type PlayEnd, type PlayContext } from "./play-conversation.ts";
import type { ToolFlow } from "./tool-flow.ts";

export interface SampledPlay {
  /** The tools in the order of their calls. */
  readonly tools: readonly CatalogTool[];
  readonly count: number;
  readonly flow: ToolFlow;
  readonly writer: ConversationWriter;
  readonly random: Random;
}

/** Plays turns, each with an answer, until there are enough calls. */
export async function playSampled({ tools, count, flow, writer, random }: SampledPlay, context: PlayContext): Promise<PlayEnd> {
  const { session, signal, parallelCalls } = context;
  const planner = new TurnPlanner({ tools, count, random, flow, parallelCalls });
  for (let index = 0; !planner.isDone; index++) {
    const drafts = planner.next();
    if (drafts.length === 0) {
      if (index > 0) break;
      const names = tools.map(({ qualifiedName }) => qualifiedName).join(", ");
      throw new ToolError("invalid_schema", `No input can be generated for ${names}.`);
    }
    signal.throwIfAborted();
    const request = await writer.request({ index, calls: drafts }, { random, signal });
    await session.addMessage({ role: "user", content: request });
    const results = await runDrafts(drafts, planner, context);
    const calls: readonly AnsweredCall[] = results.map(({ input, result }, at) => ({ tool: drafts[at]?.tool, input, result }));
    const unmade = drafts.slice(results.length).map(({ tool }) => tool);
    const answer = await writer.answer({ index, request, calls, unmade }, { random, signal });
    await session.addMessage({ role: "assistant", content: answer });
    planner.recordTurn(drafts, results);
  }
  return COMPLETE;
}

/** Makes the calls message by message, up to one whose values were not provided. */
async function runDrafts(drafts: readonly DraftCall[], planner: TurnPlanner, context: PlayContext): Promise<readonly DraftResult[]> {
  const results: DraftResult[] = [];
  for (let at = 0; at < drafts.length;) {
    let end = at + 1;
    while (drafts[end]?.parallel === true) end++;
    const together = drafts.slice(at, end);
    const calls = together.flatMap((draft) => planner.completeCall(draft, results) ?? []);
    if (calls.length < together.length) break;
    const answered = await runCalls(calls, context);
    for (const [index, result] of answered.entries())
      results.push({ id: together[index]?.id ?? "", input: calls[index]?.input ?? {}, result });
    at = end;
  }
  return results;
}
