/** Tells what a stored session holds as `haft run` told it when it happened. */
import type { SessionEvent } from "../../core/event.ts";
import type { SessionMessage } from "../../core/message.ts";
import { plural } from "../../core/base/wording.ts";
import { EventPrinter } from "../print-event.ts";
import { printMessage } from "../print-message.ts";
import { safeText, type Screen } from "../terminal-text.ts";
import { timeText } from "./session-words.ts";

type RoundEnd = Extract<SessionEvent, { readonly type: "round-end" }>;
type CallStart = Extract<SessionEvent, { readonly type: "call-start" }>;

/** Takes events one by one, and holds those of one turn, so that its lines are aligned. */
export class LogPrinter {
  readonly #screen: Screen;
  readonly #printer: EventPrinter;
  #turn: SessionEvent[] = [];
  #turnId: string | undefined;
  /** The calls of a turn stand under the words of the model, or under its name where it said nothing. */
  #modelSpoke = false;

  constructor(screen: Screen) {
    this.#screen = screen;
    this.#printer = new EventPrinter(screen);
  }

  take(event: SessionEvent): void {
    const turnId = "turnId" in event ? event.turnId : undefined;
    if (turnId === undefined || turnId !== this.#turnId) this.#flush("was interrupted: it has no result");
    if (turnId === undefined) this.#tell(event);
    else {
      this.#turnId = turnId;
      this.#turn.push(event);
    }
  }

  /** Prints what is still held. @param openedBy who may be running the calls that have not ended */
  finish(openedBy: string | undefined): void {
    this.#flush(openedBy === undefined ? "was interrupted: it has no result" : `has no result yet: the session is open in ${openedBy}`);
  }

  #flush(unended: string): void {
    const turn = this.#turn;
    this.#turn = [];
    this.#turnId = undefined;
    if (turn.length === 0) return;
    const rounds = roundsOf(turn);
    if (!this.#modelSpoke && rounds.size === 0 && turn.some((event) => event.type === "call-start"))
      this.#say({ role: "assistant", content: "" });
    this.#modelSpoke = false;
    const open = new Map<string, CallStart>();
    this.#printer.expect(turn.flatMap(namesOf));
    for (const event of turn) {
      const round = rounds.get(event);
      if (round !== undefined) this.#tellRound(round);
      if (event.type === "call-start") open.set(event.callId, event);
      else if (event.type === "call-end") open.delete(event.callId);
      if (event.type === "batch-rollback") this.#printer.note("the batch was rolled back: a model sees none of it");
      else this.#printer.print(event);
    }
    for (const { callId, call } of open.values()) this.#printer.note(`${this.#printer.labelOf(callId)} ${safeText(call.name)}  ${unended}`);
  }

  #tellRound({ message, voided }: RoundEnd): void {
    this.#say(message);
    if (voided !== undefined) this.#printer.note(`a model sees none of this: ${safeText(voided)}`);
  }

  #say(message: SessionMessage): void {
    printMessage({ screen: this.#screen, width: this.#printer.width }, message);
  }

  /** What belongs to no turn. */
  #tell(event: SessionEvent): void {
    this.#modelSpoke = event.type === "message-add" && event.message.role === "assistant";
    if (event.type === "message-add") this.#say(event.message);
    else if (event.type === "session-start" && event.parent === undefined)
      this.#printer.aside(`session ${safeText(event.sessionId)}, begun ${timeText(event.at)}`);
    else if (event.type === "session-start")
      this.#printer.aside(`here session ${safeText(event.sessionId)} branches off, ${timeText(event.at)}`);
    else if (event.type === "branch-commit")
      this.#printer.aside(`what follows, ${plural(event.events, "event")}, was done in the branch ${safeText(event.branchId)}`);
  }
}

/** Where each message of the model is told: before the first of its calls. */
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
