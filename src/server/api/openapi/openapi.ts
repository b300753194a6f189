/** Makes the OpenAPI 3.1 document from the table of routes; its JSON Schemas (2020-12) are unchanged. @see https://spec.openapis.org/oas/v3.1.1 */
import { API, OPERATION_IDS } from "../../api.ts";
import { BYTES_TYPE } from "../../http/bytes-response.ts";
import { PROBLEM_TYPE } from "../../http/problem.ts";
import { COMPONENTS } from "./components.ts";
import type { Parameters, Route } from "../requests/route.ts";

interface DocumentOptions {
  readonly name: string;
  readonly version: string;
  /** Empty at the root of a host. */
  readonly basePath: string;
}

export function openApiDocument({ name, version, basePath }: DocumentOptions): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const id of OPERATION_IDS) {
    const route: Route = API[id];
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operationOf(id, route);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: name,
      version,
      description: "Tool calls over HTTP. A call's failure is in its result, never in the status of the response.",
    },
    servers: [{ url: basePath === "" ? "/" : basePath }],
    security: [{ bearer: [] }],
    paths,
    components: { schemas: COMPONENTS, securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
  };
}

function operationOf(operationId: string, route: Route): object {
  const { summary, description, scope, body, bodyType, bodyOptional } = route;
  const content =
    bodyType === undefined
      ? { "application/json": { schema: body, ...(route.example.body === undefined ? {} : { example: route.example.body }) } }
      : { [bodyType]: { schema: { type: "string" } } };
  return {
    operationId,
    tags: [route.path.split("/")[2] ?? "server"],
    summary,
    ...(description === undefined ? {} : { description }),
    ...(scope === "none" ? { security: [] } : { "x-scope": scope }),
    parameters: [...parametersOf("path", route), ...parametersOf("query", route), ...headersOf(route)],
    ...(body === undefined && bodyType === undefined ? {} : { requestBody: { required: bodyOptional !== true, content } }),
    responses: responsesOf(route),
  };
}

function parametersOf(place: "path" | "query", { params, query, example }: Route): readonly object[] {
  const declared: Parameters = (place === "path" ? params : query) ?? {};
  const examples: Readonly<Record<string, string>> = (place === "path" ? example.params : example.query) ?? {};
  return Object.entries(declared).map(([name, schema]) => ({
    name,
    in: place,
    required: place === "path",
    schema,
    ...(examples[name] === undefined ? {} : { example: exampleOf(examples[name], schema) }),
  }));
}

function exampleOf(text: string, schema: object): unknown {
  return "type" in schema && schema.type === "integer" ? Number(text) : text;
}

function headersOf({ keyed, streams, answerType, asBytes }: Route): readonly object[] {
  const key = {
    name: "Idempotency-Key",
    in: "header",
    required: false,
    description: "The same key and content get the first answer again, for at least 24 hours; different content is refused with 409.",
    schema: { type: "string", minLength: 1, maxLength: 255 },
  };
  const last = {
    name: "Last-Event-ID",
    in: "header",
    required: false,
    description: "For a stream: the id of the last event that was received. Takes precedence over the parameter after.",
    schema: { type: "string", minLength: 1, maxLength: 1_024 },
  };
  const range = {
    name: "Range",
    in: "header",
    required: false,
    description: "For bytes: one range, such as bytes=1000-. With If-Range, it applies only if the bytes have this entity tag.",
    schema: { type: "string" },
  };
  const isStream = streams === true || answerType === "text/event-stream";
  return [...(keyed === true ? [key] : []), ...(isStream ? [last] : []), ...(asBytes === true ? [range] : [])];
}

const BYTES = { [BYTES_TYPE]: {} };
const PARTS = {
  206: {
    description: "The range that the request asks for.",
    headers: { "Content-Range": { schema: { type: "string" }, description: "Which of the bytes they are, such as bytes 1000-1999/5000." } },
    content: BYTES,
  },
  304: { description: "The client has the bytes: If-None-Match names their entity tag." },
  416: problem("The range begins after the end."),
};

function responsesOf(route: Route): object {
  const { answer, answerType, streams, mayTakeLong, scope, asBytes } = route;
  const status: number = route.status ?? 200;
  const stream = { "text/event-stream": { schema: { $ref: "#/components/schemas/RuntimeEvent" } } };
  const content =
    answerType === undefined
      ? { "application/json": { schema: answer }, ...(streams === true ? stream : {}), ...(asBytes === true ? BYTES : {}) }
      : answerType === "text/event-stream"
        ? stream
        : { [answerType]: { schema: { type: "string" } } };
  const location = { Location: { schema: { type: "string" }, description: "Where the results will be." } };
  const later = {
    type: "object",
    properties: { submissionId: { type: "string" }, location: { type: "string" } },
    required: ["submissionId", "location"],
  };
  return {
    [status]: { description: status === 204 ? "Done." : "The answer.", ...(status === 204 ? {} : { content }) },
    ...(asBytes === true ? PARTS : {}),
    ...(mayTakeLong === true
      ? { 202: { description: "The request takes longer.", headers: location, content: { "application/json": { schema: later } } } }
      : {}),
    ...(scope === "none" ? {} : { 401: problem("The credentials are missing or not valid."), 403: problem("The scope is missing.") }),
    default: problem("Why the request failed as a whole."),
  };
}

function problem(description: string): object {
  return { description, content: { [PROBLEM_TYPE]: { schema: { $ref: "#/components/schemas/Problem" } } } };
}
