/** What must be true of every combination of features: it watches the tools and the events of a world. */
import type { ApprovalAnswer, ApprovalRequest } from "../../../src/core/approvals/ask.ts";
import type { ToolCall } from "../../../src/core/call.ts";
import type { ToolContext } from "../../../src/core/context.ts";
import type { RuntimeEvent } from "../../../src/core/event.ts";
import type { ToolResult } from "../../../src/core/result.ts";
import type { RuntimeSession } from "../../../src/runtime/runtime-session.ts";
import type { Step } from "./feature-plan.ts";
import type { Input } from "./feature-tools.ts";

interface Entry {
  readonly name: string;
  readonly input: Input;
  readonly callId: string;
  readonly sessionId: string;
  readonly simulated: boolean;
  readonly step: number;
}

interface Allowed {
  readonly request: ApprovalRequest;
  readonly answer: ApprovalAnswer;
}

const QUALIFIED: Readonly<Record<string, string>> = {
  drop: "o::doc",
  text: "o::doc",
  look: "o::doc",
  wipe: "w::wipe",
  sub_drop: "s::sub_drop",
};
const DESTRUCTIVE = new Set(["drop", "wipe", "sub_drop"]);
const WRITERS = new Set(["put", "text", "pay", "add", "slow", "bg", "drop", "wipe", "once", "sub", "sub_drop", "ask", "late", "talk"]);
const READERS = new Set(["w::get_turn", "w::get_session", "w::get_runtime", "w::get_stored", "w::sum", "w::big", "o::doc"]);
export class FeatureChecks {
  readonly broken: string[] = [];
  readonly seen = new Set<string>();
  readonly allowed: Allowed[] = [];
  readonly starts = new Map<string, string>();
  readonly ends = new Set<string>();
  /** Had not ended when their process did: those that were not stored are gone. */
  readonly interrupted = new Set<string>();
  /** The calls that events of this process have told of; `NaN` if they told of others too. */
  counted = { calls: 0, ok: 0 };
  kind: Step["kind"] = "execute";
  step = 0;
  readonly #entries: Entry[] = [];
  readonly #versions = new Map<string, number>();
  readonly #writtenBy = new Map<string, [key: string, version: number]>();
  readonly #settled = new Map<string, number>();
  readonly #onceKeys = new Map<string, number>();
  readonly #writes = new Map<string, Set<string>>();
  readonly #floors = new Map<string, ReadonlyMap<string, number>>();
  readonly #occupied = new Map<string, number>();

  beginProcess(): void {
    this.counted = { calls: 0, ok: 0 };
    this.#occupied.clear();
  }

  /** Every write up to now was made before what follows. */
  settle(): void {
    for (const [key, version] of this.#versions) this.#settled.set(key, version);
  }

  version(key: string): number {
    return this.#versions.get(key) ?? 0;
  }

  enter(name: string, input: Input, context: ToolContext): void {
    const { callId, sessionId, simulated } = context;
    this.seen.add(`entered ${name}`);
    if (input.key === "v" || input.key === "c") this.break(`${name} entered although a hook had refused or changed ${input.key}`);
    if (name === "denied") this.break("denied entered");
    if (name.startsWith("sub")) this.break(`${name} entered although a stub answers it`);
    const isAllowed = this.kind === "simulate for real" && ["put", "text", "drop"].includes(name);
    if (simulated && WRITERS.has(name) && !isAllowed) this.break(`${name} entered in a simulation`);
    if (this.kind === "stub") this.break(`${name} entered although stubs answer`);
    if (DESTRUCTIVE.has(name)) this.#checkApproval(name, input, context);
    if (context.attempt === 1) this.#entries.push({ name, input, callId, sessionId, simulated, step: this.step });
  }

  write(name: string, input: Input, context: ToolContext, onceFor?: string): number {
    const { key, tag } = input;
    const earlier = onceFor === undefined ? undefined : this.#onceKeys.get(onceFor);
    if (earlier !== undefined) return earlier;
    const version = this.version(key) + 1;
    this.#versions.set(key, version);
    this.#writtenBy.set(context.callId, [key, version]);
    if (onceFor !== undefined) this.#onceKeys.set(onceFor, version);
    if (tag !== undefined && onceFor === undefined) {
      const writes = this.#writes.get(`${name} ${tag}`) ?? new Set();
      if (writes.size > 0) this.break(`${name} ${tag} was done twice: ${[...writes].join()}, ${context.callId}`);
      this.#writes.set(`${name} ${tag}`, writes.add(context.callId));
    }
    return version;
  }

  occupy(name: string, by: number): void {
    const now = (this.#occupied.get(name) ?? 0) + by;
    this.#occupied.set(name, now);
    if (now > 1) this.break(`${name} runs ${now} times at once`);
  }

  break(text: string): void {
    this.broken.push(`step ${this.step} (${this.kind}): ${text}`);
  }

  #checkApproval(name: string, input: Input, { callId, sessionId }: ToolContext): void {
    const qualified = QUALIFIED[name];
    const same = (one: object): boolean => canonical(one) === canonical(input);
    const fits = this.allowed.some(({ request, answer }) => {
      if (answer === "deny") return false;
      if (request.callId === callId && request.toolName === qualified) return same(request.input);
      if ((request.covers ?? []).some((one) => one.toolName === qualified && same(one.input))) return true;
      if (answer === "allow-once" || request.sessionId !== sessionId || request.toolName !== qualified) return false;
      return answer === "allow-always" || same(request.input);
    });
    if (!fits) this.break(`${name} ${JSON.stringify(input)} ${callId} of ${sessionId} ran without approval`);
    const denied = this.allowed.some(({ request, answer }) => answer === "deny" && request.callId === callId);
    if (denied && this.kind !== "take over") this.break(`${name} ${callId} ran although it was denied`);
  }

  hear(event: RuntimeEvent): void {
    if (event.type === "call-start") {
      if (this.starts.has(event.callId)) this.break(`${event.callId} started twice`);
      this.starts.set(event.callId, event.sessionId);
      this.#floors.set(event.callId, new Map(this.#settled));
    }
    if (event.type !== "call-end") return;
    if (!this.starts.has(event.callId) && this.kind !== "take over") this.break(`${event.callId} ended and never started`);
    if (this.ends.has(event.callId)) this.break(`${event.callId} ended twice`);
    this.ends.add(event.callId);
    this.counted.calls++;
    if (event.result.status === "ok") this.counted.ok++;
    this.#checkResult(event.result, this.#floors.get(event.callId));
    const written = this.#writtenBy.get(event.callId);
    if (written !== undefined) this.#settled.set(written[0], Math.max(written[1], this.#settled.get(written[0]) ?? 0));
  }

  #checkResult(result: ToolResult, floor: ReadonlyMap<string, number> | undefined): void {
    const { name, status, origin, output, error } = result;
    this.seen.add(`${name} ${error?.code ?? status} ${origin}`);
    if (JSON.stringify(result).includes("hush")) this.break(`the secret is in the result of ${name} (${origin})`);
    if (!READERS.has(name) || status !== "ok" || (origin !== "live" && origin !== "cache")) return;
    for (const [key, version] of Object.entries((output ?? {}) as object))
      // any object can be read so
      if (!this.seen.has("taken over") && (key === "a" || key === "b") && version < (floor?.get(key) ?? 0))
        this.break(`${name} (${origin}) ${result.callId} answered version ${version} of ${key}, and ${floor?.get(key)} was written before`);
  }

  checkBatch({ kind, calls: nodes }: Step, calls: readonly ToolCall[], results: readonly ToolResult[]): void {
    if (results.length !== calls.length) this.break(`${calls.length} calls have ${results.length} results`);
    for (const result of results) this.#checkResult(result, undefined);
    if (kind === "at once" || kind.endsWith("meanwhile")) return; // several turns
    const ender = nodes.findIndex((node, index) => "leaf" in node && node.leaf === "end" && results[index]?.status === "ok");
    if (
      ender >= 0 &&
      kind !== "in background" &&
      results.slice(ender + 1).some(({ status }) => !["skipped", "cancelled", "error"].includes(status))
    )
      this.break(`a call ran after end: ${results.map(({ name, status }) => `${name} ${status}`).join()}`);
  }

  checkOnce(kind: Step["kind"]): void {
    if (kind === "at once" || kind.endsWith("meanwhile")) return; // several turns
    const onces = this.#entries.filter((entry) => entry.step === this.step && entry.name === "once");
    const ofTurn = ({ sessionId }: Entry): string => (sessionId.startsWith("other ") ? (sessionId.split("/")[0] ?? "") : "s");
    if (new Set(onces.map(ofTurn)).size < onces.length && kind !== "void round")
      this.break(`once ran ${onces.map(({ callId, sessionId }) => `${callId} in ${sessionId}`).join()}`);
  }

  checkSession(session: RuntimeSession): void {
    const started = new Map<string, number>();
    for (const event of session.log) {
      if (event.type === "call-start") started.set(event.callId, 0);
      if (event.type === "call-end") started.set(event.callId, (started.get(event.callId) ?? NaN) + 1);
    }
    for (const [callId, ends] of started) if (ends !== 1) this.break(`${callId} has ${ends} ends in the log`);
    for (const callId of this.starts.keys())
      if (!this.ends.has(callId) && !this.interrupted.has(callId)) this.break(`${callId} started and did not end`);
    const notes = (session.state("w", "notes") ?? []) as readonly string[]; // as the tool wrote it
    if (new Set(notes).size !== notes.length) this.break(`noted twice: ${notes.join()}`);
  }
}

function canonical(input: object): string {
  return JSON.stringify(Object.entries(input).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
