import { isJsonObject, type JsonObject } from "../core/base/json.ts";
import type { ModelMessage } from "../core/message.ts";
import type { ModelRequest, ModelTool, ToolChoice } from "../core/model.ts";
import type { UserTurnOptions } from "./alternating-turns.ts";
import { answeredName, withAnswerChecks } from "./answered-calls.ts";
import { candidateCount } from "./candidates.ts";
import { encodeEachTool } from "./encode-tools.ts";
import { NO_SWITCH } from "./gemini.ts";
import { NEW_MODEL } from "./gemini/gemini-model.ts";
import { geminiLevels } from "./gemini/thinking.ts";
import { effortFields } from "./reasoning-effort.ts";
import { nativeToolNames } from "./gemini/computer-use.ts";
import { InteractionReader } from "./gemini/interaction-reader.ts";
import { INTERACTIONS, resultSteps, toInteractionSteps } from "./gemini/interaction-steps.ts";
import { resolveToolChoice } from "./native-tools.ts";
import { asString } from "./read-field.ts";
import { hasNoProperties, replySchema, unsupportedReplyNote } from "./response-format.ts";
import { withCallsAsText } from "./calls-as-text.ts";
import type {
  AnsweredCall,
  EncodeMessagesOptions,
  EncodedMessages,
  EncodedRequest,
  EncodedTools,
  WireFormat,
  WireNote,
  WireTarget,
} from "./wire-format.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";

/**
 * Gemini's Interactions API: `/interactions` under `https://generativelanguage.googleapis.com/v1beta`.
 *
 * Each request has the whole conversation, and the provider stores nothing (`store: false`). A native `previous_interaction_id` and `store` change
 * that; then the caller must send only the new messages. A native `generation_config` overrides Haft's field by field.
 *
 * @see https://ai.google.dev/api/interactions-api
 */
export function geminiInteractions(): WireFormat {
  return {
    name: INTERACTIONS,
    framing: "sse",
    path: ({ stream = true }) => (stream ? "/interactions?alt=sse" : "/interactions"),
    encodeTools,
    encodeMessages,
    encodeRequest,
    encodeResults: withAnswerChecks(encodeResults),
    decodeReply: (body, options) => new InteractionReader(options).readWhole(body),
    decodeStream: (options) => new InteractionReader(options),
  };
}

function encodeTools(tools: readonly ModelTool[]): EncodedTools {
  return encodeEachTool(
    tools,
    { format: INTERACTIONS, subset: "gemini-json-schema", ownNames: nativeToolNames },
    ({ name, description, schema }) => ({
      type: "function",
      name,
      description,
      parameters: schema,
    }),
  );
}

function encodeMessages(
  messages: readonly ModelMessage[],
  { tools = true, mustEndWithUser = false }: EncodeMessagesOptions & UserTurnOptions = {},
): EncodedMessages {
  return toInteractionSteps(tools ? messages : withCallsAsText(messages), { mustEndWithUser });
}

function encodeRequest(request: ModelRequest, { model, stream = true, strict = false }: WireTarget): EncodedRequest {
  const { native = {}, maxOutputTokens, temperature, system: first = "", parallelCalls } = request;
  const encoded = encodeTools(request.tools ?? []);
  const { tools } = encoded;
  const conversation = encodeMessages(request.messages, {
    tools: tools.length > 0 || native["tools"] !== undefined,
    mustEndWithUser: true,
  });
  const system = [first.toWellFormed(), ...(conversation.system ?? []).map(({ text }) => String(text))].filter(
    (text) => text.trim() !== "",
  );
  const notes: WireNote[] = [...encoded.notes];
  const efforts = geminiLevels(model, (level) => ({ thinking_level: level }));
  const ours = {
    ...omitUndefined({ max_output_tokens: maxOutputTokens, temperature }),
    ...effortFields(request, { format: INTERACTIONS, model, efforts }, notes),
    ...toolChoice(request.toolChoice ?? "auto", encoded, strict),
  };
  const { generation_config: theirs = {}, ...others } = native;
  const config = isJsonObject(theirs) ? { ...ours, ...theirs } : ours;
  if (parallelCalls === false && tools.length > 0) notes.push(NO_SWITCH);
  candidateCount(request, { format: INTERACTIONS, most: 1 }, notes);
  const body: JsonObject = {
    model,
    input: conversation.messages,
    ...(system.length === 0 ? {} : { system_instruction: system.join("\n\n") }),
    ...(tools.length === 0 ? {} : { tools }),
    ...(Object.keys(config).length === 0 ? {} : { generation_config: config }),
    ...jsonReply(request, tools.length === 0 || NEW_MODEL.test(model), notes),
    store: false,
    ...(stream ? { stream } : {}),
    ...others,
  };
  return { body, toolNames: new Map([...conversation.toolNames, ...encoded.toolNames]), notes };
}

/** @see https://ai.google.dev/gemini-api/docs/structured-output */
function jsonReply({ responseFormat }: ModelRequest, canBeJson: boolean, notes: WireNote[]): JsonObject {
  if (responseFormat === undefined) return {};
  if (!canBeJson) {
    notes.push(unsupportedReplyNote(INTERACTIONS, "replies in JSON with tools before Gemini 3"));
    return {};
  }
  const schema = replySchema(responseFormat, { subset: "gemini-json-schema" }, notes)?.schema;
  const schemaFields = schema === undefined || hasNoProperties(schema) ? {} : { schema };
  return { response_format: { type: "text", mime_type: "application/json", ...schemaFields } };
}

const MODES = { auto: "auto", none: "none", required: "any" } as const;

/** Returns `tool_choice`, or no field for Gemini's default. `validated` makes Gemini enforce the schemas. */
function toolChoice(choice: ToolChoice, encoded: EncodedTools, strict: boolean): JsonObject {
  const name = resolveToolChoice(choice, encoded);
  if (encoded.tools.length === 0 || (choice === "auto" && !strict)) return {};
  if (name !== undefined) return { tool_choice: { allowed_tools: { mode: "any", tools: [name] } } };
  return { tool_choice: choice === "auto" ? "validated" : MODES[choice === "none" ? "none" : "required"] };
}

function encodeResults(answers: readonly AnsweredCall[]): readonly JsonObject[] {
  return resultSteps(
    answers.map(({ id, result, native, ...named }) => ({
      id: id ?? result.callId,
      name: asString(native?.["name"]) ?? answeredName(named),
      input: native?.["input"] ?? {},
      result,
    })),
  );
}
