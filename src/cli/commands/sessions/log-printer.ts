/** Prints a stored session as `haft run` printed it while it ran. */
import type { SessionEvent } from "../../../core/event.ts";
import type { SessionMessage } from "../../../core/message.ts";
import { plural } from "../../../core/base/wording.ts";
import { EventPrinter } from "../../print/print-event.ts";
import { printMessage } from "../../print/print-message.ts";
import { safeName, safeText, type Screen } from "../../terminal/terminal-text.ts";
import { formatTime } from "./format-time.ts";

type RoundEnd = Extract<SessionEvent, { readonly type: "round-end" }>;
type CallStart = Extract<SessionEvent, { readonly type: "call-start" }>;

/** Receives events one by one, and holds the events of one turn back to align their lines. */
export class LogPrinter {
  readonly #screen: Screen;
  readonly #printer: EventPrinter;
  #turn: SessionEvent[] = [];
  #turnId: string | undefined;
  /** Background jobs that have not ended yet, by call id. */
  readonly #jobs = new Map<string, CallStart>();
  /** Whether text of the model was the last event before the turn. If not, the model's name is printed above the calls. */
  #modelSpoke = false;

  constructor(screen: Screen) {
    this.#screen = screen;
    this.#printer = new EventPrinter(screen);
  }

  addEvent(event: SessionEvent): void {
    const turnId = "turnId" in event ? event.turnId : undefined;
    if (turnId === undefined || turnId !== this.#turnId) this.#flush("was interrupted: it has no result");
    if (turnId === undefined) this.#printOutsideTurn(event);
    else {
      this.#turnId = turnId;
      this.#turn.push(event);
    }
  }

  /** Prints the events that are held back. @param openedBy the process that may still run the unfinished calls */
  finish(openedBy: string | undefined): void {
    const unended = openedBy === undefined ? "was interrupted: it has no result" : `has no result yet: the session is open in ${openedBy}`;
    this.#flush(unended);
    this.#printUnended(this.#jobs, unended);
  }

  #printUnended(calls: ReadonlyMap<string, CallStart>, unended: string): void {
    for (const { callId, call } of calls.values())
      this.#printer.printNote(`${this.#printer.labelOf(callId)} ${safeName(call.name)}  ${unended}`);
  }

  #flush(unended: string): void {
    const turn = this.#turn;
    this.#turn = [];
    this.#turnId = undefined;
    if (turn.length === 0) return;
    const rounds = roundsOf(turn);
    if (!this.#modelSpoke && rounds.size === 0 && turn.some((event) => event.type === "call-start"))
      this.#printMessage({ role: "assistant", content: "" });
    this.#modelSpoke = false;
    const open = new Map<string, CallStart>();
    this.#printer.setExpectedNames(turn.flatMap(namesOf));
    for (const event of turn) {
      const round = rounds.get(event);
      if (round !== undefined) this.#printRound(round);
      if (event.type === "call-start") open.set(event.callId, event);
      else if (event.type === "call-end") open.delete(event.callId);
      else if (event.type === "job-end") this.#jobs.delete(event.callId);
      else if (event.type === "job-start") this.#startJob(open, event.callId);
      if (event.type === "batch-rollback") this.#printer.printNote("the batch was rolled back: a model sees none of it");
      else this.#printer.print(event);
    }
    this.#printUnended(open, unended);
  }

  /** Keeps a call as a job, which may end after its turn. */
  #startJob(open: Map<string, CallStart>, callId: string): void {
    const call = open.get(callId);
    if (call !== undefined) this.#jobs.set(callId, call);
    open.delete(callId);
  }

  #printRound({ message, voided }: RoundEnd): void {
    this.#printMessage(message);
    if (voided !== undefined) this.#printer.printNote(`a model sees none of this: ${safeText(voided)}`);
  }

  #printMessage(message: SessionMessage): void {
    printMessage({ screen: this.#screen, width: this.#printer.width }, message);
  }

  /** Prints an event that belongs to no turn. */
  #printOutsideTurn(event: SessionEvent): void {
    this.#modelSpoke = event.type === "message-add" && event.message.role === "assistant";
    if (event.type === "message-add") this.#printMessage(event.message);
    else if (event.type === "session-start" && event.parent === undefined) this.#printer.printAside(beginningText(event));
    else if (event.type === "session-start")
      this.#printer.printAside(`here session ${safeName(event.sessionId)} branches off, ${formatTime(event.at)}`);
    else if (event.type === "branch-commit")
      this.#printer.printAside(`what follows, ${plural(event.events, "event")}, was done in the branch ${safeName(event.branchId)}`);
  }
}

function beginningText({ sessionId, at, parentCall }: Extract<SessionEvent, { readonly type: "session-start" }>): string {
  const by = parentCall === undefined ? "" : ` by the call ${safeName(parentCall.callId)} of session ${safeName(parentCall.sessionId)}`;
  return `session ${safeName(sessionId)}, begun ${formatTime(at)}${by}`;
}

/** Returns the event before which each message of the model is printed: the first of its calls. */
function roundsOf(turn: readonly SessionEvent[]): ReadonlyMap<SessionEvent, RoundEnd> {
  const starts = new Map(turn.flatMap((event) => (event.type === "call-start" ? [[event.callId, event]] : [])));
  const rounds = new Map<SessionEvent, RoundEnd>();
  for (const event of turn) if (event.type === "round-end") rounds.set(starts.get(event.callIds[0] ?? "") ?? event, event);
  return rounds;
}

function namesOf(event: SessionEvent): readonly string[] {
  if (event.type === "call-start") return [event.call.name];
  return event.type === "call-end" ? [event.result.name] : [];
}
