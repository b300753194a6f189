/** The toolset `ask`: a model asks its user. @packageDocumentation */
import type { ToolContext } from "../core/context.ts";
import { ToolError } from "../core/error.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import { markNoCircuit } from "../core/answers/no-circuit.ts";
import type { Effects } from "../core/resources/effects.ts";
import type { Toolset } from "../core/toolset.ts";
import { defineTool } from "../registry/define-tool.ts";

const MAX_OPTIONS = 20;
/** Serializes questions, and delays them until the model's message is complete. */
const ASK_EFFECTS: Effects<unknown> = Object.freeze({ reads: [], writes: ["user"], external: true });
/** No timeout, since a person may take long. The deadline of the call still applies. */
const NO_LIMIT = { timeoutMs: 0, maxAttempts: 1 } as const;

interface AskInput {
  readonly question: string;
  readonly options?: readonly string[];
}

interface CardInput {
  readonly title: string;
  readonly text?: string;
  readonly actions?: readonly string[];
}

/**
 * Returns a toolset with `ask_user`, which puts a question to the user and returns the answer, and `show_card`, which shows a titled text with
 * choices.
 *
 * The question goes to the `ask` of `createRuntime` or `execute`; `haft chat` and `haft run` ask at the terminal. If no one can be asked, the call
 * ends with `unavailable` at once. These calls have no timeout, but a deadline applies.
 *
 * @throws ToolError `invalid_argument` for unknown options
 */
export function askToolset(options: { readonly name?: string } = {}): Toolset {
  checkKnownKeys(options, { name: true }, "askToolset()");
  const { name = "ask" } = options;
  return { name, description: "Questions to the user.", tools: [askTool(), cardTool()] };
}

function askTool() {
  return defineTool({
    name: "ask_user",
    description: "Asks the user a question and returns the answer. Give options where the answer is one of a few.",
    inputSchema: {
      type: "object",
      properties: {
        question: { type: "string", minLength: 1, maxLength: 5_000 },
        options: {
          type: "array",
          items: { type: "string", minLength: 1, maxLength: 500 },
          minItems: 2,
          maxItems: MAX_OPTIONS,
          uniqueItems: true,
        },
      },
      required: ["question"],
      additionalProperties: false,
    },
    effects: ASK_EFFECTS,
    mode: "direct",
    ...NO_LIMIT,
    execute: markNoCircuit(({ question, options }: AskInput, context: ToolContext) => askUser(context, question, options)),
  });
}

function cardTool() {
  return defineTool({
    name: "show_card",
    description: "Shows the user a card with a title and a text. With actions, waits until the user chose one and returns it.",
    inputSchema: {
      type: "object",
      properties: {
        title: { type: "string", minLength: 1, maxLength: 500 },
        text: { type: "string", maxLength: 9_000 },
        actions: {
          type: "array",
          items: { type: "string", minLength: 1, maxLength: 500 },
          minItems: 1,
          maxItems: MAX_OPTIONS,
          uniqueItems: true,
        },
      },
      required: ["title"],
      additionalProperties: false,
    },
    effects: ASK_EFFECTS,
    mode: "direct",
    ...NO_LIMIT,
    execute: markNoCircuit(async ({ title, text, actions }: CardInput, context: ToolContext) => {
      const card = text === undefined ? title : `${title}\n\n${text}`;
      if (actions !== undefined) return askUser(context, card, actions);
      context.output(`${card}\n`);
      return "Shown.";
    }),
  });
}

async function askUser(context: ToolContext, message: string, options?: readonly string[]): Promise<string> {
  const answer = { type: "string", ...(options === undefined ? {} : { enum: [...options] }) };
  const reply = await context.ask({ message, schema: { type: "object", properties: { answer }, required: ["answer"] } });
  if (reply.action === "decline") return "The user declined to answer.";
  const text = reply.action === "accept" ? reply.content?.["answer"] : undefined;
  if (typeof text === "string") return text;
  throw new ToolError("unavailable", "The question was not answered: there is no user to ask, or the user left it open.", {
    outcome: "failed",
    hint: "Continue without the answer, and say what you assumed.",
  });
}
