import { checkKnownKeys, type OptionNames } from "../../core/known-keys.ts";
import type { JsonValue } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { checkModel } from "../../core/check-argument.ts";
import { ToolError } from "../../core/error.ts";
import { checkReasoningEffort, collectReply, endedWell, type Model, type ModelRequest } from "../../core/model.ts";
import type { AnsweredTurn, ConversationWriter, PlannedTurn, WriterOptions, WritingReport } from "./conversation-writer.ts";
import { textAfterThinking } from "../../engine/lm/read-reply.ts";
import { GroundedValues } from "./grounded-values.ts";
import { isIdName } from "./id-names.ts";
import { plainWriter } from "./plain-writer.ts";
import { readOutput } from "./words/format-answer.ts";
import { formatDay } from "./words/format-value.ts";

/** Options for a model that writes texts. */
export interface ModelWriterOptions extends Pick<ModelRequest, "temperature" | "maxOutputTokens" | "reasoningEffort"> {
  readonly model: Model;
  /** Text added to the model's system prompt: who the users are, in which language they write. */
  readonly instructions?: string;
}

const OPTIONS: OptionNames<ModelWriterOptions> = {
  model: true,
  instructions: "string",
  temperature: "number",
  maxOutputTokens: "number",
  reasoningEffort: true,
};

/**
 * Returns a writer that asks a model for each request and each answer.
 *
 * A request must contain the ids and numbers that the user gives; an answer may contain only numbers and ids that are in a result or were said by the
 * user. If a text violates this, the model is asked once more with the problem; after that the text is written by code, which `report` counts. An
 * error of the model ends the conversation with that error.
 *
 * @throws ToolError `invalid_argument` at once without a model
 */
export function modelWriter(options: ModelWriterOptions): ConversationWriter {
  if (options?.model === undefined)
    throw new ToolError("invalid_argument", "modelWriter() needs a model.", {
      hint: 'Such as modelWriter({ model: modelFrom("ollama/qwen3") }).',
    });
  checkModel(options.model, "modelWriter({ model })");
  checkKnownKeys(options, OPTIONS, "modelWriter()");
  checkReasoningEffort(options.reasoningEffort, "reasoningEffort of modelWriter()");
  return new ModelWriter(options);
}

const REQUEST_SYSTEM = `You write one message of a person who talks to an assistant. You are given the calls that the assistant will make
because of it, as JSON: what each tool does, the values that the person must give, and the values that come from earlier results.
Write what the person says, in plain words: the goal, not the tool. Name every given value exactly; refer to values from results by
what they are, such as "that booking". No JSON, no names of tools or parameters. Answer with the message alone.`;
const ANSWER_SYSTEM = `You are the assistant in a conversation. You are given what the person asked and what the tools answered, as JSON.
Write the answer: say what was found or done, from the results alone. Every number, id and name must stand in a result; make nothing up and
work nothing out. Where a call failed, say that it failed and why. Answer with the text alone.`;

const MAX_RESULT_CHARS = 20_000;

/** Returns the problem of a text; undefined if there is none. */
type FindProblem = (text: string) => string | undefined;

class ModelWriter implements ConversationWriter {
  readonly name: string;
  readonly #options: ModelWriterOptions;
  #written = 0;
  #retried = 0;
  #byCode = 0;

  constructor(options: ModelWriterOptions) {
    this.#options = options;
    this.name = JSON.stringify([
      options.model.name,
      options.instructions ?? "",
      options.temperature ?? null,
      options.maxOutputTokens ?? null,
      options.reasoningEffort ?? null,
    ]);
  }

  readonly report = (): WritingReport => ({ written: this.#written, retried: this.#retried, byCode: this.#byCode });

  async request(turn: PlannedTurn, options: WriterOptions): Promise<string> {
    const calls = turn.calls.map(({ tool, given, taken }) => ({
      does: tool.description,
      given,
      fromResults: Object.fromEntries(
        Object.entries(taken).map(([name, { noun, value }]) => [name, { of: noun, ...omitUndefined({ value }) }]),
      ),
    }));
    const findProblem: FindProblem = (text) => {
      const missing = requiredValues(turn).filter((value) => !mentionsValue(text, value));
      return missing.length === 0 ? undefined : `These values are missing: ${missing.map((value) => JSON.stringify(value)).join(", ")}.`;
    };
    const text = await this.#ask(
      { system: REQUEST_SYSTEM, content: JSON.stringify({ isFirstMessage: turn.index === 0, calls }), findProblem },
      options,
    );
    return text ?? plainWriter().request(turn, options);
  }

  async answer(turn: AnsweredTurn, options: WriterOptions): Promise<string> {
    const grounds = new GroundedValues();
    grounds.addText(turn.request);
    const results = turn.calls.map(({ tool, result }) => {
      const { status, error } = result;
      grounds.addResult(result);
      const output = readOutput(result);
      return {
        does: tool?.description,
        status,
        ...omitUndefined({ output: output === null ? undefined : truncateOutput(output), error: error?.message }),
      };
    });
    const findProblem: FindProblem = (text) => {
      const missing = grounds.findUngrounded(text);
      return missing.length === 0 ? undefined : `No result contains: ${missing.join(", ")}.`;
    };
    const content = JSON.stringify({ request: turn.request, results, notDone: turn.unmade.map(({ description }) => description) });
    return (await this.#ask({ system: ANSWER_SYSTEM, content, findProblem }, options)) ?? plainWriter().answer(turn, options);
  }

  /** Returns the model's text; undefined if both attempts had problems. */
  async #ask(
    { system, content, findProblem }: { readonly system: string; readonly content: string; readonly findProblem: FindProblem },
    { signal }: WriterOptions,
  ): Promise<string | undefined> {
    const { model, instructions, temperature, maxOutputTokens, reasoningEffort } = this.#options;
    const systemPrompt = instructions === undefined ? system : `${system}\n\n${instructions}`;
    let prompt = content;
    for (let attempt = 1; attempt <= 2; attempt++) {
      if (attempt === 1) this.#written++;
      else this.#retried++;
      const request: ModelRequest = {
        system: systemPrompt,
        messages: [{ role: "user", at: 0, content: prompt }],
        ...omitUndefined({ temperature, maxOutputTokens, reasoningEffort }),
      };
      const reply = await collectReply(model.stream(request, { signal }));
      const text = reply !== undefined && endedWell(reply.finish) ? textAfterThinking(reply.text).trim() : "";
      const problem = text === "" ? "The text was missing or incomplete." : findProblem(text);
      if (problem === undefined) return text;
      prompt = `${content}\n\nYour last text was: ${JSON.stringify(text)}\n${problem} Write it again.`;
    }
    this.#byCode++;
    return undefined;
  }
}

function truncateOutput(output: JsonValue): JsonValue {
  const text = JSON.stringify(output);
  return text.length <= MAX_RESULT_CHARS ? output : text.slice(0, MAX_RESULT_CHARS);
}

/** Returns the numbers that the request must contain, and the strings that are ids or have a digit. */
function requiredValues({ calls }: PlannedTurn): readonly (string | number)[] {
  return calls.flatMap(({ given }) =>
    Object.entries(given).flatMap(([name, value]) =>
      collectScalars(value).filter((one) => typeof one === "number" || isIdName(name) || /\d/u.test(one)),
    ),
  );
}

function collectScalars(value: JsonValue): readonly (string | number)[] {
  if (typeof value === "string" || typeof value === "number") return [value];
  return typeof value === "object" && value !== null
    ? Object.values(value).flatMap((one: JsonValue) => (typeof one === "object" ? [] : collectScalars(one)))
    : [];
}

function mentionsValue(text: string, value: string | number): boolean {
  if (typeof value === "string") return text.includes(value) || text.includes(formatDay(value) ?? value);
  const grounds = new GroundedValues();
  grounds.addText(text);
  return grounds.hasClaim(String(Math.abs(value)));
}
