/** Building blocks for the cases of the model contract. */
import { AssertionError, equal, ok } from "node:assert/strict";
import { isToolError } from "../core/error.ts";
import type { Model, ModelEvent, ModelOptions, ModelReply, ModelRequest } from "../core/model.ts";
import { PATIENCE_MS, assertSettlesWithin } from "./settles-within.ts";

/** The subject of a case. The case makes the models that it needs. */
export interface ModelSubject {
  /** Makes a new model. All models that it makes answer the same request in the same way. */
  readonly model: () => Model | Promise<Model>;
  /** Requests that the model answers without an error, however often they are sent. At least one; two different ones reveal mixed-up replies. */
  readonly requests: readonly ModelRequest[];
  /** Makes a model that fails on the first request, if that can be arranged. */
  readonly failing?: () => Model | Promise<Model>;
  /** Makes a model that begins to answer the first request and then stalls, if that can be arranged. */
  readonly stalling?: () => Model | Promise<Model>;
  /** How long each expected step may take, in milliseconds of real time. @default 20_000 */
  readonly timeoutMs?: number;
}

/** One promise of every model, for one test of any runner. */
export interface ModelCase {
  /** The promise that is checked: `two replies at once do not mix`. */
  readonly title: string;
  /** False if the subject lacks what the case needs: skip the case. */
  appliesTo(subject: ModelSubject): boolean;
  /** Rejects if the promise is broken; the error says how. */
  run(subject: ModelSubject): Promise<void>;
}

/** A subject whose steps are each limited to its `timeoutMs`. */
export class ModelBench {
  readonly subject: ModelSubject;
  readonly #timeoutMs: number;

  constructor(subject: ModelSubject) {
    ok(subject.requests.length > 0, "The contract needs at least one request that the model answers well.");
    this.subject = subject;
    this.#timeoutMs = subject.timeoutMs ?? PATIENCE_MS;
  }

  /** The first request. */
  get request(): ModelRequest {
    const [request] = this.subject.requests;
    ok(request !== undefined);
    return request;
  }

  withinPatience<T>(work: PromiseLike<T>, what: string): Promise<T> {
    return assertSettlesWithin(work, this.#timeoutMs, what);
  }

  /** Returns all events of a reply. */
  async events(model: Model, request: ModelRequest = this.request, options?: ModelOptions): Promise<readonly ModelEvent[]> {
    const events: ModelEvent[] = [];
    const read = async (): Promise<void> => {
      for await (const event of model.stream(request, options)) events.push(event);
    };
    await this.withinPatience(read(), "the reply ends");
    return events;
  }

  /** Sends the requests one after the other, and returns the replies. */
  async replies(model: Model): Promise<readonly ModelReply[]> {
    const replies: ModelReply[] = [];
    for (const request of this.subject.requests) replies.push(getReply(await this.events(model, request)));
    return replies;
  }
}

export function modelCase(
  title: string,
  run: (bench: ModelBench) => Promise<void>,
  appliesTo: ModelCase["appliesTo"] = () => true,
): ModelCase {
  return { title, appliesTo, run: (subject) => run(new ModelBench(subject)) };
}

/** Returns the reply of the last event. */
export function getReply(events: readonly ModelEvent[]): ModelReply {
  const last = events.at(-1);
  ok(last?.type === "reply-end", `The last event is ${last?.type ?? "none"}, not reply-end.`);
  return last.reply;
}

/** Returns the part of a reply that is the same each time the request is answered: without ids and usage. */
export function toComparableReply({ text, reasoning, calls, finish }: ModelReply): unknown {
  return { text, reasoning, finish, calls: calls.map(({ name, input, kind = "function" }) => ({ name, input, kind })) };
}

/** Asserts that work rejects with a ToolError, with this code if one is given. */
export async function assertFails(work: Promise<unknown>, code?: string): Promise<void> {
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
