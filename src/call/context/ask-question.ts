/** Asks the caller a handler's question, within the limits for untrusted questions. */
import type { QuestionAnswer, Question } from "../../core/approvals/ask.ts";
import { ToolError, describeThrown } from "../../core/error.ts";
import { copyJson, isJsonObject, type JsonObject } from "../../core/base/json.ts";
import { rejectOnAbort } from "../../core/base/reject-on-abort.ts";
import { startWork } from "../../policy/attempts/deadline.ts";
import { compileSchema, type Validator } from "../../schema/compile-schema.ts";
import type { CallRun } from "../call-run.ts";

/** Maximum number of questions of one call. */
const MAX_QUESTIONS = 16;
const MAX_MESSAGE_LENGTH = 10_000;
const CANCELLED_ANSWER: QuestionAnswer = Object.freeze({ action: "cancel" });

export interface QuestionSource {
  readonly run: CallRun;
  readonly signal: AbortSignal;
  /** @default the tool */
  readonly asker: string | undefined;
}

/** The number of questions that each call has asked. */
const ASKED = new WeakMap<CallRun, number>();

/** Never rejects: a failure is logged and answered with `cancel`. */
export async function askQuestion(question: Question, { run, signal, asker = run.toolName }: QuestionSource): Promise<QuestionAnswer> {
  const { ask } = run.options;
  if (ask === undefined || run.simulated || signal.aborted) return CANCELLED_ANSWER;
  try {
    const asked = (ASKED.get(run) ?? 0) + 1;
    ASKED.set(run, asked);
    if (asked > MAX_QUESTIONS + 1) return CANCELLED_ANSWER; // logged already
    if (asked > MAX_QUESTIONS) throw new ToolError("limit_exceeded", `one call can ask at most ${MAX_QUESTIONS} questions`);
    const { callId, toolName, turn } = run;
    const request = { ...checkQuestion(question), asker, callId, toolName, sessionId: turn.session.id, signal };
    const answer = startWork(() => ask(request));
    const endWatch = run.services.claims.noteQuestion(run);
    return completeAnswer(checkAnswer(await rejectOnAbort(answer, signal).finally(endWatch)), request.schema);
  } catch (error: unknown) {
    if (signal.aborted) return CANCELLED_ANSWER;
    run.services.ports.log.warn(`A question from ${asker} in a call of ${run.toolName} was not answered: ${describeThrown(error)}.`);
    return CANCELLED_ANSWER;
  }
}

function checkQuestion({ message, schema, url }: Question): Question {
  if (typeof message !== "string" || message.length > MAX_MESSAGE_LENGTH)
    throw new ToolError("invalid_argument", `its message must be a string of at most ${MAX_MESSAGE_LENGTH} characters`);
  if (url !== undefined && !/^https?:\/\//iu.test(url))
    throw new ToolError("invalid_argument", "its page must have an http or https address");
  return { message, ...(schema === undefined ? {} : { schema }), ...(url === undefined ? {} : { url }) };
}

/** Checks an answer, which comes from a person or a program; an invalid one counts as `cancel`. */
function checkAnswer(answer: QuestionAnswer): QuestionAnswer {
  if (answer.action === "decline") return { action: "decline" };
  if (answer.action !== "accept") return CANCELLED_ANSWER;
  const { content } = answer;
  if (content === undefined) return { action: "accept" };
  const copy = copyJson(content).value;
  if (!isJsonObject(copy)) throw new ToolError("invalid_argument", "the content of its answer must be an object");
  return { action: "accept", content: copy };
}

/**
 * Adds the defaults of missing fields, which not every asker does. Refuses content that the form does not allow, such as a choice that it does not
 * offer: the handler relies on its schema.
 */
function completeAnswer(answer: QuestionAnswer, schema: Question["schema"]): QuestionAnswer {
  const form = answer.action !== "accept" || schema === undefined ? undefined : readForm(schema);
  if (answer.action !== "accept" || form === undefined) return answer;
  const content: JsonObject = { ...form.defaults, ...answer.content };
  const [problem] = form.validator.problems(content, 1);
  if (problem === undefined) return answer.content === undefined && Object.keys(content).length === 0 ? answer : { ...answer, content };
  throw new ToolError("invalid_argument", `its answer does not match the question: ${problem.path}: ${problem.message}`);
}

interface Form {
  readonly validator: Validator;
  readonly defaults: JsonObject;
}

/** Undefined for a form that is no JSON Schema that can be used: it was shown all the same. */
function readForm(given: NonNullable<Question["schema"]>): Form | undefined {
  try {
    const schema = copyJson(given).value;
    const fields = isJsonObject(schema) && isJsonObject(schema["properties"]) ? Object.entries(schema["properties"]) : [];
    const defaults = fields.flatMap(([name, field]) =>
      isJsonObject(field) && field["default"] !== undefined ? [[name, field["default"]] as const] : [],
    );
    return { validator: compileSchema(schema), defaults: Object.fromEntries(defaults) };
  } catch {
    return undefined;
  }
}
