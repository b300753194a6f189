/** The parts of the cases of the model contract. */
import { AssertionError, equal, ok } from "node:assert/strict";
import { isToolError } from "../core/error.ts";
import type { Model, ModelEvent, ModelOptions, ModelReply, ModelRequest } from "../core/model.ts";
import { PATIENCE_MS, within } from "./within.ts";

/** The subject of a case. */
export interface ModelSubject {
  /** Makes a new model; what it makes answers the same request the same way each time. */
  readonly model: () => Model | Promise<Model>;
  /** The requests that it answers well, each as often as it is asked. At least one; with two that differ, replies that mix show. */
  readonly requests: readonly ModelRequest[];
  /** Makes one that fails to answer the first of the requests, where that can be brought about. */
  readonly failing?: () => Model | Promise<Model>;
  /** Makes one that says something to the first of the requests, and then no more, where that can be brought about. */
  readonly stalling?: () => Model | Promise<Model>;
  /** How long anything may take that must happen, in milliseconds of real time. @default 20_000 */
  readonly patienceMs?: number;
}

/** One promise of every model, for one test of any runner. */
export interface ModelCase {
  /** A claim: `two replies at once do not mix`. */
  readonly title: string;
  /** False where the subject has not what the case needs: leave the case out. */
  appliesTo(subject: ModelSubject): boolean;
  /** Rejects with what is wrong. */
  run(subject: ModelSubject): Promise<void>;
}

/** A subject whose every step is waited for no longer than it has patience. */
export class ModelBench {
  readonly subject: ModelSubject;
  readonly #patienceMs: number;

  constructor(subject: ModelSubject) {
    ok(subject.requests.length > 0, "The contract needs at least one request that the model answers well.");
    this.subject = subject;
    this.#patienceMs = subject.patienceMs ?? PATIENCE_MS;
  }

  /** The first of the requests. */
  get request(): ModelRequest {
    const [request] = this.subject.requests;
    ok(request !== undefined);
    return request;
  }

  soon<T>(work: PromiseLike<T>, what: string): Promise<T> {
    return within(work, this.#patienceMs, what);
  }

  /** Everything that a model says. */
  async events(model: Model, request: ModelRequest = this.request, options?: ModelOptions): Promise<readonly ModelEvent[]> {
    const events: ModelEvent[] = [];
    const read = async (): Promise<void> => {
      for await (const event of model.stream(request, options)) events.push(event);
    };
    await this.soon(read(), "the reply ends");
    return events;
  }

  /** The model's replies to each request, one after the other. */
  async replies(model: Model): Promise<readonly ModelReply[]> {
    const replies: ModelReply[] = [];
    for (const request of this.subject.requests) replies.push(replyOf(await this.events(model, request)));
    return replies;
  }
}

export function caseOfModel(
  title: string,
  run: (bench: ModelBench) => Promise<void>,
  appliesTo: ModelCase["appliesTo"] = () => true,
): ModelCase {
  return { title, appliesTo, run: (subject) => run(new ModelBench(subject)) };
}

/** The reply that events end with. */
export function replyOf(events: readonly ModelEvent[]): ModelReply {
  const last = events.at(-1);
  ok(last?.type === "reply-end", `The last event is ${last?.type ?? "none"}, not reply-end.`);
  return last.reply;
}

/** The part of a reply that stays the same when the same request is answered again: not its ids, not its costs. */
export function sayingOf({ text, reasoning, calls, finish }: ModelReply): unknown {
  return { text, reasoning, finish, calls: calls.map(({ name, input, kind = "function" }) => ({ name, input, kind })) };
}

/** Requires that work rejects with a ToolError, of this code where one is named. */
export async function failsWith(work: Promise<unknown>, code?: string): Promise<void> {
  let thrown: unknown;
  try {
    await work;
  } catch (error: unknown) {
    if (error instanceof AssertionError) throw error;
    thrown = error;
  }
  ok(isToolError(thrown), `The thrown value is not a ToolError: ${String(thrown)}`);
  if (code !== undefined) equal(thrown.code, code);
}
