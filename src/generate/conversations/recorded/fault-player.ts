/** Injects faults into the calls of recorded conversations. Once a call's faults are over, it has its recorded result. */
import { pushAll } from "../../../core/collections/push-all.ts";
import { ToolOutput } from "../../../core/content.ts";
import type { ToolContext } from "../../../core/context.ts";
import { pure } from "../../../core/resources/effects.ts";
import type { Engine, EngineRequest } from "../../../core/engine.ts";
import { ToolError } from "../../../core/error.ts";
import type { CallMessage, ModelMessage, ResultMessage } from "../../../core/message.ts";
import { OWN_NAMESPACE, checkName, splitName } from "../../../core/call.ts";
import { omitUndefined } from "../../../core/base/omit-undefined.ts";
import { groupRounds } from "../../../core/rounds.ts";
import type { ToolResult } from "../../../core/result.ts";
import type { CallSettings, Tool } from "../../../core/tool.ts";
import type { Toolset } from "../../../core/toolset.ts";
import type { Registry } from "../../../registry/registry.ts";
import { createRuntime, type Runtime } from "../../../runtime/runtime.ts";
import type { RuntimeSession } from "../../../runtime/runtime-session.ts";
import { withReproducibleIds } from "../trajectory.ts";
import type { RecordedPlan } from "./recorded-plan.ts";

/** Maximum number of times that a call is made while faults make it fail, including the first. */
const MAX_CALLS = 4;

/** Returns to each session the recorded result of the call that it makes. */
class RecordedAnswers implements Engine {
  readonly kind = "recorded";
  readonly origin = "replay";
  readonly effectFree = true;
  readonly #answers = new Map<string, ToolResult>();

  setAnswer(sessionId: string, result: ToolResult): void {
    this.#answers.set(sessionId, result);
  }

  removeAnswer(sessionId: string): void {
    this.#answers.delete(sessionId);
  }

  call(_request: EngineRequest, { sessionId }: ToolContext): ToolOutput {
    const { output, content, exitCode, fidelity } = this.#answers.get(sessionId) ?? {};
    return new ToolOutput(omitUndefined({ output, content, exitCode, fidelity }));
  }
}

export class FaultPlayer {
  readonly #answers = new RecordedAnswers();
  readonly #runtime: Runtime;
  readonly #playedTools: ReadonlySet<string>;

  /**
   * @param names the names of the called tools; known tools use the `maxAttempts` and `timeoutMs` of their definitions
   * @throws ToolError `invalid_argument` for invalid faults
   */
  constructor(
    { faults, retry, clock }: Pick<RecordedPlan, "faults" | "retry" | "clock">,
    { names, registry }: { readonly names: readonly string[]; readonly registry: Registry },
  ) {
    const played = names.filter(isValidToolName);
    const toolsets = [...Map.groupBy(played, (name) => splitName(name).namespace ?? "")].map(([name, tools]): Toolset => ({
      name,
      engine: this.#answers,
      tools: tools.map((tool) => createRecordedTool(tool, registry.get(tool)?.settings)),
    }));
    this.#playedTools = new Set(played);
    this.#runtime = createRuntime({
      toolsets,
      circuit: false,
      ...omitUndefined({ faults, retry }),
      ports: { log: { debug() {}, warn() {} }, ...omitUndefined({ clock }) },
    });
  }

  /**
   * Returns the conversation with the failures that its calls met, each in a message before the call that succeeded.
   *
   * @throws ToolError the last error of a call that failed every time, as a rejection
   */
  async play(
    id: string,
    messages: readonly ModelMessage[],
    { signal }: { readonly signal: AbortSignal },
  ): Promise<readonly ModelMessage[]> {
    const session = this.#runtime.session(id);
    try {
      return withReproducibleIds(await this.#playRounds(session, messages, signal));
    } finally {
      this.#answers.removeAnswer(id);
      await session.close();
    }
  }

  async close(): Promise<void> {
    await this.#runtime.close();
  }

  async #playRounds(session: RuntimeSession, messages: readonly ModelMessage[], signal: AbortSignal): Promise<readonly ModelMessage[]> {
    const results = new Map(messages.flatMap((message) => (message.role === "result" ? [[message.callId, message]] : [])));
    const played: ModelMessage[] = [];
    for (const round of groupRounds(messages)) {
      if (round.message !== undefined) played.push(round.message);
      if (round.by !== "assistant") continue;
      let calls: readonly CallMessage[] = round.calls;
      for (let time = 1; calls.length > 0; time++) {
        const answers = await this.#runCalls(session, { calls, results, signal });
        pushAll(
          played,
          [...calls, ...answers].map((one) => withRepeatId(one, time)),
        );
        const failed = new Set(
          answers.filter(({ result }) => result.fault !== undefined && result.error !== undefined).map(({ callId }) => callId),
        );
        const [first] = answers.filter(({ callId }) => failed.has(callId));
        if (time === MAX_CALLS && first?.result.error !== undefined) throw repeatedFailure(first.result);
        calls = calls.filter(({ callId }) => failed.has(callId));
      }
    }
    return played;
  }

  async #runCalls(
    session: RuntimeSession,
    {
      calls,
      results,
      signal,
    }: { readonly calls: readonly CallMessage[]; readonly results: ReadonlyMap<string, ResultMessage>; readonly signal: AbortSignal },
  ): Promise<readonly ResultMessage[]> {
    const answers: ResultMessage[] = [];
    for (const { callId, call } of calls) {
      const recorded = results.get(callId);
      if (recorded === undefined) continue;
      if (recorded.result.status !== "ok" || !this.#playedTools.has(call.name)) {
        answers.push(recorded);
        continue;
      }
      signal.throwIfAborted();
      this.#answers.setAnswer(session.id, recorded.result);
      const result = await session.execute({ name: call.name, input: call.input ?? {} }, { signal });
      answers.push({ ...recorded, result: result.fault === undefined ? recorded.result : { ...result, callId } });
    }
    return answers;
  }
}

/** Gives each repetition of a call its own id. */
function withRepeatId<Message extends CallMessage | ResultMessage>(message: Message, time: number): Message {
  return time === 1 ? message : { ...message, callId: `${message.callId}:${time}` };
}

function repeatedFailure({ name, error }: ToolResult): ToolError {
  const { code = "execution_failed", message = "" } = error ?? {};
  return new ToolError(code, `${name} failed ${MAX_CALLS} times because of faults, the last time with: ${message}`);
}

function isValidToolName(qualifiedName: string): boolean {
  const { namespace, name } = splitName(qualifiedName);
  if (namespace === OWN_NAMESPACE) return false;
  try {
    checkName(namespace ?? "", "toolset");
    checkName(name, "tool");
    return true;
  } catch {
    return false; // the name of a call that no tool could answer
  }
}

function createRecordedTool(qualifiedName: string, settings: CallSettings = {}): Tool {
  const { maxAttempts, timeoutMs } = settings;
  const described = { name: splitName(qualifiedName).name, description: "Answers as recorded.", inputSchema: { type: "object" } };
  return { ...described, effects: pure, maxResultBytes: 0, ...omitUndefined({ maxAttempts, timeoutMs }) };
}
