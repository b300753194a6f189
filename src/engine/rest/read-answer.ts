/** Converts a successful HTTP answer to a tool output: JSON, else text, images, audio or a file. */
import { ANSWER_LIMITS } from "../../core/answers/answer-limits.ts";
import { ToolOutput, type ContentPart } from "../../core/content.ts";
import { ToolError } from "../../core/error.ts";
import { StruckOutput } from "../../core/answers/struck-output.ts";
import type { JsonValue } from "../../core/base/json.ts";
import { findJsonProblem } from "../../core/base/json-problem.ts";
import { parseJson } from "../../core/base/parse-json.ts";
import type { HttpResponse } from "../../net/http-request.ts";
import { answerMetadata, type MetadataContext } from "./answer-metadata.ts";
import { decodeText, decodeUtf8, excerpt } from "./answer-text.ts";
import type { HttpOperation } from "./http-operation.ts";
import { isJsonType, isTextType, parseMediaType, type MediaType } from "./media-type.ts";
import type { Secrets } from "./secrets.ts";

export interface AnswerContext extends Omit<MetadataContext, "output"> {
  readonly operation: Pick<HttpOperation, "method" | "accepts">;
}

interface AnswerContent {
  readonly output?: JsonValue;
  readonly content?: readonly ContentPart[];
  /** The output with the credentials that were struck out of it. */
  readonly original?: JsonValue;
}

/** Maximum depth of an answer that is read as JSON, as the runtime accepts no deeper one. */
const MAX_DEPTH = 64;

/** @throws ToolError `invalid_output` for JSON that is truncated or malformed; as `HttpResponse.bytes` */
export async function readAnswer(response: HttpResponse, context: AnswerContext): Promise<ToolOutput> {
  const bytes = await response.bytes();
  const mediaType = parseMediaType(response.headers.get("content-type")?.[0]);
  const { original, ...answered }: AnswerContent =
    context.operation.method === "HEAD" ? headAnswer(response) : toAnswerContent(bytes, { mediaType, response, context });
  const metadata = answerMetadata(response, { ...context, output: answered.output });
  return original === undefined ? new ToolOutput({ ...answered, metadata }) : new StruckOutput({ ...answered, metadata }, original);
}

interface Received {
  readonly mediaType: MediaType;
  readonly response: HttpResponse;
  readonly context: AnswerContext;
}

function toAnswerContent(bytes: Uint8Array, received: Received): AnswerContent {
  const { type } = received.mediaType;
  if (bytes.byteLength === 0) return { output: null };
  if (type === "") return untypedAnswer(bytes, received);
  if (isTextType(type)) {
    const text = decodeText(bytes, received.mediaType);
    if (text !== undefined) return textAnswer(text, received);
  }
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  if (type.startsWith("image/")) return { content: [{ type: "image", mediaType: type, data }] };
  if (type.startsWith("audio/")) return { content: [{ type: "audio", mediaType: type, data }] };
  const name = fileName(received.response);
  return { content: [{ type: "file", uri: `data:${type};base64,${data}`, mediaType: type, ...(name === undefined ? {} : { name }) }] };
}

/** Reads a body without a media type as text if it is UTF-8 without NUL, else as bytes. */
function untypedAnswer(bytes: Uint8Array, received: Received): AnswerContent {
  const text = decodeUtf8(bytes);
  const type = text === undefined || text.includes("\0") ? "application/octet-stream" : "text/plain";
  return toAnswerContent(bytes, { ...received, mediaType: { type, charset: undefined } });
}

/** The answer to a HEAD request: its status and headers. */
function headAnswer({ status, headers }: HttpResponse): AnswerContent {
  const shownHeaders = ["content-type", "content-length", "last-modified", "etag", "accept-ranges", "location"];
  const found = shownHeaders.flatMap((name) => {
    const value = headers.get(name)?.[0];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { output: { status, headers: Object.fromEntries(found) } };
}

function textAnswer(text: string, { mediaType, context }: Received): AnswerContent {
  if (text.trim() === "") return isJsonType(mediaType.type) ? { output: null } : textContent(text, context);
  const promised = isJsonType(mediaType.type);
  if (!promised && !mayBeJson(text, mediaType, context.operation)) return textContent(text, context);
  try {
    const value = parseJson(text, {
      maxDepth: MAX_DEPTH,
      maxChars: Number.MAX_SAFE_INTEGER,
      maxWideKeys: ANSWER_LIMITS.maxWideKeys,
      longIntegers: "string", // a 19-digit id is not a number to calculate with
    });
    return hasSecret(text, value, context.secrets) ? { output: context.secrets.redactValue(value), original: value } : { output: value };
  } catch (error: unknown) {
    const broken = promised ? brokenJsonError(text, error, context) : undefined;
    if (broken !== undefined) throw broken;
    return textContent(text, context);
  }
}

/** Whether the answer contains a secret, even one whose characters are escaped in the JSON. */
function hasSecret(text: string, value: JsonValue, secrets: Secrets): boolean {
  return secrets.wouldRedactAnswer(text) || (text.includes("\\u") && secrets.wouldRedactAnswer(JSON.stringify(value)));
}

/** Whether plain text is read as JSON: it looks like JSON, and the document declares JSON. */
function mayBeJson(text: string, { type }: MediaType, operation: AnswerContext["operation"]): boolean {
  return (
    type === "text/plain" &&
    /^\s*[[{]/u.test(text) &&
    (operation.accepts.length === 0 || operation.accepts.some((each) => isJsonType(parseMediaType(each).type)))
  );
}

/** The error for malformed JSON. Undefined for a page sent as JSON, and for valid JSON that could not be read without loss. */
function brokenJsonError(text: string, error: unknown, { secrets }: AnswerContext): ToolError | undefined {
  if (ToolError.fromUnknown(error).code === "too_large" || !/^\s*["[{]/u.test(text)) return undefined;
  const fault = findJsonProblem(text);
  if (fault === undefined || fault.problem.includes("given twice")) return undefined;
  return new ToolError(
    "invalid_output",
    `The call succeeded, but its answer is broken JSON: ${fault.problem}, after ${fault.at} characters.`,
    {
      details: [excerpt(secrets.redact(text), 1_000)],
    },
  );
}

function textContent(text: string, { secrets }: AnswerContext): AnswerContent {
  return { content: [{ type: "text", text: secrets.redactAnswer(text) }] };
}

/** The file name without folders. */
function fileName({ headers }: HttpResponse): string | undefined {
  const header = (headers.get("content-disposition")?.[0] ?? "").slice(0, 1_000);
  const name = /filename="([^"]*)"/iu.exec(header)?.[1] ?? /filename=([^";\s]+)/iu.exec(header)?.[1];
  const last = name?.split(/[/\\]/u).at(-1);
  return last === undefined || last === "" ? undefined : excerpt(last, 200);
}
