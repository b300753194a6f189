/** Refuses answers that do not belong to the calls they are sent for: a provider would refuse them too, or confuse one with another. */
import { resultWithValidImages } from "./valid-images.ts";
import { ToolError } from "../core/error.ts";
import { plural } from "../core/base/wording.ts";
import type { JsonObject } from "../core/base/json.ts";
import type { ModelCall } from "../core/model.ts";
import { providerName } from "./provider-name.ts";
import type { AnsweredCall } from "./wire-format.ts";

type EncodeResults = (answers: readonly AnsweredCall[], calls?: readonly ModelCall[]) => readonly JsonObject[];

/** Returns the name of the answered call, as the model wrote it. */
export function answeredName({ name, offeredName }: Pick<AnsweredCall, "name" | "offeredName">): string {
  return offeredName ?? providerName(name);
}

/** Wraps `encode` so that it refuses answers whose ids do not match the calls. */
export function withAnswerChecks(encode: (answers: readonly AnsweredCall[]) => readonly JsonObject[]): EncodeResults {
  return (answers, calls) => {
    checkAnswers(answers, calls);
    return encode(answers.map(withValidResult));
  };
}

function withValidResult(answer: AnsweredCall): AnsweredCall {
  const result = resultWithValidImages(answer.result);
  return result === answer.result ? answer : { ...answer, result };
}

function checkAnswers(answers: readonly AnsweredCall[], calls: readonly ModelCall[] | undefined): void {
  const answered = new Set<string>();
  for (const { id, name, result } of answers) {
    if (id !== undefined && result.id !== undefined && id !== result.id)
      throw mismatch(`The answer to the call ${JSON.stringify(id)} of ${name} has the result of the call ${JSON.stringify(result.id)}.`);
    const own = id ?? result.id;
    if (own === undefined) continue;
    if (answered.has(own)) throw mismatch(`The call ${JSON.stringify(own)} of ${name} is answered twice.`);
    answered.add(own);
  }
  if (calls !== undefined) checkCalls(answers, calls, answered);
}

function checkCalls(answers: readonly AnsweredCall[], calls: readonly ModelCall[], answered: ReadonlySet<string>): void {
  const asked = new Set<string>();
  for (const { id, name } of calls) {
    if (id === undefined) continue;
    if (!answered.has(id)) throw mismatch(`The call ${JSON.stringify(id)} of ${name} has no answer.`);
    asked.add(id);
  }
  for (const { id, name, result } of answers) {
    const own = id ?? result.id;
    if (own !== undefined && !asked.has(own))
      throw mismatch(`The answer of ${name} is for the call ${JSON.stringify(own)}, which the model did not make.`);
  }
  if (answers.length !== calls.length)
    throw mismatch(`${plural(calls.length, "call")} and ${plural(answers.length, "answer")} do not match.`);
}

function mismatch(message: string): ToolError {
  return new ToolError("invalid_argument", message, {
    hint: "Give each call of the reply its own result: reply.calls.map((call, index) => ({ ...call, result: results[index] })).",
  });
}
