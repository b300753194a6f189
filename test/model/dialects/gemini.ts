/** A fake provider of Gemini's generateContent. */
import { isJsonObject, type JsonObject } from "../../../src/core/base/json.ts";
import { checkSchema, checkToolName, cut, demand, objectAt, objectsAt, textAt } from "./dialect.ts";
import type { CheckedRequest, Dialect, ServedPiece, WholeReply } from "./dialect.ts";

const PATH = /^\/models\/([^/:]+):(generateContent|streamGenerateContent)$/u;

export const GEMINI: Dialect = {
  framing: "sse",
  isPath: (path) => PATH.test(path),
  isStream: ({ path, query }) => PATH.exec(path)?.[2] === "streamGenerateContent" && query.get("alt") === "sse",
  modelOf: ({ path }) => decodeURIComponent(PATH.exec(path)?.[1] ?? ""),
  check,
  candidates: ({ body }) => {
    const config = body["generationConfig"];
    return isJsonObject(config) ? Number(config["candidateCount"] ?? 1) : 1;
  },
  callId: (count) => `gem${String(count).padStart(5, "0")}`,
  whole: (reply) => chunk(reply, parts(reply), true),
  pieces,
  failure: (status, message, kind) => ({ error: { code: status, message, status: kind } }),
};

function check({ body, path, signatures }: CheckedRequest): void {
  checkTools(body);
  checkConfig(body, path);
  const contents = objectsAt(body["contents"], "contents");
  demand(contents.length > 0, "contents: contents is not specified.");
  const { systemInstruction } = body;
  if (systemInstruction !== undefined)
    checkParts(objectsAt(objectAt(systemInstruction, "systemInstruction")["parts"], "systemInstruction.parts"));
  const last = contents.at(-1);
  demand(
    last?.["role"] === "user" || objectsAt(last?.["parts"], "parts").at(-1)?.["executableCode"] !== undefined,
    "Please ensure that single turn requests end with a user role.",
  );
  let calls: readonly string[] = [];
  for (const [index, content] of contents.entries()) {
    const place = `contents[${index}]`;
    demand(content["role"] === "user" || content["role"] === "model", `${place}.role: Please use a valid role: user, model.`);
    const all = objectsAt(content["parts"], `${place}.parts`);
    demand(all.length > 0, `${place}.parts: must not be empty.`);
    checkParts(all);
    if (content["role"] === "model") {
      demand(contents[index - 1]?.["role"] === "user", `${place}: Please ensure that a turn of the model comes after one of the user.`);
      const { thought, thoughtSignature } = all.at(-1) ?? {};
      demand(thought !== true || thoughtSignature !== undefined, `${place}: the last part is a thought.`);
    }
    const answers = all.flatMap(({ functionResponse }) =>
      isJsonObject(functionResponse) ? [textAt(functionResponse["name"], place)] : [],
    );
    demand(
      JSON.stringify([...answers].sort()) === JSON.stringify([...calls].sort()),
      "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
    );
    calls = content["role"] === "model" ? callsOf(all, { place, signatures }) : [];
  }
  demand(calls.length === 0, "Please ensure that function call turn comes before function response turn.");
}

function callsOf(
  parts: readonly JsonObject[],
  { place, signatures }: { readonly place: string; readonly signatures: ReadonlyMap<string, string> },
): readonly string[] {
  const calls = parts.filter(({ functionCall }) => isJsonObject(functionCall));
  return calls.map((part, index) => {
    const { id, name, args } = objectAt(part["functionCall"], place);
    checkToolName(name, `${place}.functionCall.name`);
    objectAt(args ?? {}, `${place}.functionCall.args`);
    const proof = typeof id === "string" ? signatures.get(id) : undefined;
    demand(
      index > 0 || proof === undefined || part["thoughtSignature"] === proof,
      `Function call \`${String(name)}\` in the ${place} content block is missing a thought_signature.`,
    );
    return String(name);
  });
}

function checkTools(body: JsonObject): void {
  const tools = body["tools"] === undefined ? [] : objectsAt(body["tools"], "tools");
  const declarations = tools.flatMap((tool) => objectsAt(tool["functionDeclarations"], "tools.functionDeclarations"));
  for (const { name, parameters, parametersJsonSchema } of declarations) {
    checkToolName(name, "tools.functionDeclarations.name");
    demand(
      parameters === undefined || parametersJsonSchema === undefined,
      "tools.functionDeclarations: parameters and parametersJsonSchema.",
    );
    const schema = parameters ?? parametersJsonSchema;
    if (schema !== undefined)
      checkSchema(isJsonObject(schema) && schema["type"] === "OBJECT" ? { ...schema, type: "object" } : schema, "parameters");
  }
  demand(
    declarations.length > 0 || body["toolConfig"] === undefined,
    "toolConfig: Function calling config is set without function_declarations.",
  );
}

function checkConfig({ generationConfig = {}, tools }: JsonObject, path: string): void {
  const config = objectAt(generationConfig, "generationConfig");
  const { candidateCount = 1, responseMimeType, responseSchema, responseJsonSchema } = config;
  demand(Number(candidateCount) >= 1 && Number(candidateCount) <= 8, "candidateCount: must be in the range [1, 8].");
  demand(responseSchema === undefined || responseJsonSchema === undefined, "responseSchema and responseJsonSchema: only one may be set.");
  const isJson = responseMimeType === "application/json";
  demand(isJson || (responseSchema ?? responseJsonSchema) === undefined, "responseMimeType: must be application/json for a schema.");
  demand(
    !isJson || tools === undefined || /gemini-3/u.test(path),
    "Function calling with a response mime type: 'application/json' is unsupported",
  );
  if (responseJsonSchema !== undefined) checkSchema(responseJsonSchema, "responseJsonSchema");
}

const KINDS = ["text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult"] as const;

function checkParts(all: readonly JsonObject[]): void {
  for (const part of all) {
    const kinds = KINDS.filter((kind) => part[kind] !== undefined);
    const isInitialized = kinds.length === 1 && (part["text"] !== "" || part["thoughtSignature"] !== undefined);
    demand(isInitialized, "parts.data: required oneof field 'data' must have one initialized field.");
    if (part["inlineData"] !== undefined) textAt(objectAt(part["inlineData"], "inlineData")["data"], "inlineData.data");
    if (part["functionResponse"] !== undefined) objectAt(objectAt(part["functionResponse"], "functionResponse")["response"], "response");
  }
}

function parts({ text, reasoning, signature, calls }: WholeReply): readonly JsonObject[] {
  return [
    ...(reasoning === "" ? [] : [{ text: reasoning, thought: true }]),
    ...(text === "" ? [] : [{ text }]),
    ...calls.map(({ id, name, input }, index) => ({
      functionCall: { id, name, args: input },
      ...(index === 0 && reasoning !== "" ? { thoughtSignature: signature } : {}),
    })),
  ];
}

function chunk(reply: WholeReply, all: readonly JsonObject[], isLast: boolean): JsonObject {
  const { id, model, finish, inputTokens, outputTokens, candidates } = reply;
  const probable = (index: number): JsonObject =>
    isLast && candidates[index] !== undefined ? { avgLogprobs: candidates[index].logProbability / 2, tokenCount: 2 } : {};
  return {
    candidates: [
      ...candidates.slice(1).map(({ text }, at) => ({
        content: { role: "model", parts: isLast ? [{ text }] : [] },
        index: at + 1,
        ...(isLast ? { finishReason: "STOP" } : {}),
        ...probable(at + 1),
      })),
      {
        content: { role: "model", parts: all },
        index: 0,
        ...(isLast ? { finishReason: finish === "length" ? "MAX_TOKENS" : "STOP" } : {}),
        ...probable(0),
      },
    ],
    usageMetadata: { promptTokenCount: inputTokens, candidatesTokenCount: outputTokens, totalTokenCount: inputTokens + outputTokens },
    modelVersion: model,
    responseId: id,
  };
}

function pieces(reply: WholeReply): readonly ServedPiece[] {
  const all = parts(reply).flatMap((part) =>
    typeof part["text"] === "string" ? cut(part["text"]).map((text) => ({ ...part, text })) : [part],
  );
  return [...all.map((part) => ({ data: chunk(reply, [part], false) })), { data: chunk(reply, [{ text: "" }], true) }];
}
