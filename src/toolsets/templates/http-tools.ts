/** Tools that send one request each to one service, with templates as address, headers and body. */
import { isJsonArray, type JsonObject, type JsonValue } from "../../core/base/json.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { decodeUrlPart, isCredentialName, redactError } from "../../core/secrets/redact.ts";
import type { ToolContext } from "../../core/context.ts";
import type { Engine, EngineContext, EngineRequest } from "../../core/engine.ts";
import { ToolError } from "../../core/error.ts";
import type { Clock } from "../../core/ports.ts";
import type { JsonSchema, Tool } from "../../core/tool.ts";
import type { TraceHeaders } from "../../core/formats/trace-headers.ts";
import { checkHeaderValue } from "../../engine/rest/build-request.ts";
import { toHttpError } from "../../engine/rest/http-error.ts";
import { percentEncode } from "../../engine/rest/percent-encode.ts";
import { configuredHosts } from "../../engine/rest/private-hosts.ts";
import { readAnswer } from "../../engine/rest/read-answer.ts";
import { Secrets } from "../../engine/rest/secrets.ts";
import type { HttpClient, HttpHeader, HttpRequest } from "../../net/http-request.ts";
import { InputTemplate, fillJson, parseJsonTemplate, getInputValue, type JsonTemplate } from "./input-template.ts";
import { valueText } from "../../core/content.ts";

export interface HttpTemplate {
  /** @default "GET", or "POST" with a body */
  readonly method?: string;
  /** A template of the path and query, relative to the service's address: `/users/{id}?tag={tags}`. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text template, or JSON whose strings are templates. */
  readonly body?: JsonValue;
}

export interface HttpService {
  /** An http or https address without a query. */
  readonly baseUrl: string;
  /** Sent with each request, and never shown to a model. */
  readonly headers: Readonly<Record<string, string>>;
  readonly allowPrivate?: readonly string[];
  readonly verifyTls?: boolean;
  /** The certificate authority, in PEM. */
  readonly ca?: string;
}

/** A parsed template. */
export interface HttpRequestTemplate {
  readonly method: string;
  /** Templates of the path and of the query parameters. */
  readonly path: InputTemplate;
  readonly query: readonly (readonly [name: string, value: InputTemplate])[];
  readonly headers: readonly (readonly [name: string, value: InputTemplate])[];
  readonly body: JsonTemplate | undefined;
  readonly isJson: boolean;
}

const METHOD = /^[A-Z]{1,20}$/u;

/**
 * Parses a template.
 *
 * A value in the path or query is percent-encoded, so that it changes no other part of the address. Query parameters and headers without a value in
 * the call are left out; values in the path are required.
 *
 * @throws ToolError `invalid_argument` for a template that cannot be used
 */
export function readHttpTemplate(template: HttpTemplate, schema: JsonSchema): HttpRequestTemplate {
  const { url, headers = {}, body } = template;
  const method = template.method ?? (body === undefined ? "GET" : "POST");
  if (!METHOD.test(method))
    throw new ToolError(
      "invalid_argument",
      `the method ${JSON.stringify(method)} is not an HTTP method; give one such as "GET" or "POST".`,
    );
  if (!url.startsWith("/") || url.startsWith("//") || url.includes("#"))
    throw new ToolError("invalid_argument", `the url ${JSON.stringify(url)} must begin with one slash: it is relative to baseUrl.`);
  const mark = url.indexOf("?");
  const path = new InputTemplate(mark < 0 ? url : url.slice(0, mark), schema);
  const pairs =
    mark < 0
      ? []
      : url
          .slice(mark + 1)
          .split("&")
          .filter((pair) => pair !== "");
  const query = pairs.map((pair) => {
    const [name = "", ...value] = pair.split("=");
    if (/[{}]/u.test(name))
      throw new ToolError("invalid_argument", `the url ${JSON.stringify(url)} has a query parameter without a fixed name: ${pair}.`, {
        hint: "Write ?name={name}.",
      });
    return [name, new InputTemplate(value.join("="), schema)] as const;
  });
  return {
    method,
    path,
    query,
    headers: Object.entries(headers).map(([name, value]) => [name, new InputTemplate(value, schema)] as const),
    body: body === undefined ? undefined : parseJsonTemplate(body, schema),
    isJson: typeof body !== "string",
  };
}

interface OpenClient {
  readonly client: HttpClient;
  readonly clock: Clock;
}

/** Answers calls with the template of their tool. */
export class HttpTemplateEngine implements Engine {
  readonly kind = "http";
  readonly #service: HttpService;
  readonly #templates: ReadonlyMap<string, HttpRequestTemplate>;
  readonly #secrets: Secrets;
  #opened: OpenClient | undefined;

  /** @throws ToolError `invalid_argument` for an invalid address */
  constructor(service: HttpService, templates: ReadonlyMap<string, HttpRequestTemplate>) {
    const url = URL.canParse(service.baseUrl) ? new URL(service.baseUrl) : undefined;
    if (url === undefined || !/^https?:$/u.test(url.protocol) || url.search !== "" || url.hash !== "" || url.username !== "")
      throw new ToolError("invalid_argument", "must be an http or https address without user, query or fragment.");
    this.#service = service;
    this.#templates = templates;
    this.#secrets = new Secrets({ document: {}, headers: service.headers }, [...templates.values()].flatMap(writtenCredentials));
  }

  async open({ clock, log }: EngineContext): Promise<readonly Tool[]> {
    const { baseUrl, allowPrivate = [], verifyTls, ca } = this.#service;
    const { httpClient } = await import("../../net/http-client.ts");
    const allowed = [...allowPrivate, ...configuredHosts({ baseUrl })];
    this.#opened = { client: httpClient({ allowPrivate: allowed, ...omitUndefined({ verifyTls, ca }) }, { clock, log }), clock };
    for (const warning of this.#secrets.warnings()) log.warn(warning);
    return [];
  }

  async call({ tool, input }: EngineRequest, context: ToolContext): Promise<unknown> {
    const template = this.#templates.get(tool.name);
    if (this.#opened === undefined || template === undefined) throw new ToolError("unavailable", "The toolset is not open.");
    const { client, clock } = this.#opened;
    try {
      const response = await client.request({ ...this.#request(template, input, context.traceHeaders), signal: context.signal });
      if (response.status < 200 || response.status > 299) throw await toHttpError(response, "the headers of the toolset", clock);
      const { origin } = new URL(this.#service.baseUrl);
      return await readAnswer(response, {
        operation: { method: template.method, accepts: [] },
        secrets: this.#secrets,
        origin,
        secretQuery: [],
      });
    } catch (error: unknown) {
      throw redactError(ToolError.fromUnknown(error), this.#secrets.redact);
    }
  }

  close(): Promise<void> {
    this.#opened?.client.close();
    this.#opened = undefined;
    return Promise.resolve();
  }

  #request(template: HttpRequestTemplate, input: JsonObject, traceHeaders: TraceHeaders = {}): Omit<HttpRequest, "signal"> {
    const { baseUrl, headers: own } = this.#service;
    const url = new URL(baseUrl.replace(/(?<!\/)\/+$/u, "") + fillPath(template.path, input));
    url.search = template.query.flatMap(([name, value]) => fillPairs(name, value, input)).join("&");
    const body = template.body === undefined ? undefined : fillJson(template.body, input);
    const written = body === undefined ? undefined : template.isJson ? JSON.stringify(body) : valueText(body);
    const headers = new Map<string, HttpHeader>();
    const set = (name: string, value: string): unknown => headers.set(name.toLowerCase(), [name.toLowerCase(), value]);
    for (const [name, value] of Object.entries(traceHeaders)) set(name, value);
    if (written !== undefined) set("content-type", template.isJson ? "application/json" : "text/plain; charset=utf-8");
    for (const [name, value] of template.headers) {
      const filled = value.fill(input, (each) => checkHeaderValue(name, valueText(each)));
      if (filled !== undefined) set(name, filled);
    }
    for (const [name, value] of Object.entries(own)) set(name, value);
    return {
      method: template.method,
      url,
      headers: [...headers.values()],
      body: written === undefined ? undefined : new TextEncoder().encode(written),
      // a tool's own headers may hold credentials too
      secretHeaders: [...Object.keys(own), ...template.headers.map(([name]) => name)].map((name) => name.toLowerCase()),
    };
  }
}

/** A name in a request and its template. */
type NamedTemplate = readonly [name: string, template: InputTemplate];

/** The names of headers, query parameters and keys of the body, each with its template. */
function namedTemplates({ headers, query, body }: HttpRequestTemplate): readonly NamedTemplate[] {
  return [...headers, ...query, ...(body === undefined ? [] : bodyTemplates("", body))];
}

function bodyTemplates(name: string, template: JsonTemplate): readonly NamedTemplate[] {
  if (template instanceof InputTemplate) return name === "" ? [] : [[name, template]];
  if (typeof template !== "object" || template === null) return [];
  return Object.entries(template).flatMap(([key, each]: [string, JsonTemplate]) =>
    bodyTemplates(Array.isArray(template) ? name : key, each),
  );
}

/** The credentials that a template has in clear text. Some services repeat their request. */
function writtenCredentials(template: HttpRequestTemplate): readonly (readonly [name: string, value: string])[] {
  return namedTemplates(template).flatMap(([name, { parts }]) => {
    const [value] = parts;
    if (parts.length !== 1 || typeof value !== "string" || !isCredentialName(name)) return [];
    return [value, decodeUrlPart(value)].map((each) => [name, each] as const);
  });
}

/** @throws ToolError `invalid_input` for a missing value, or one that cannot be a path segment */
function fillPath(path: InputTemplate, input: JsonObject): string {
  const filled = path.fill(input, (value) => {
    const text = valueText(value);
    if (/^\.{0,2}$/u.test(text))
      throw new ToolError("invalid_input", `The value ${JSON.stringify(text)} cannot be a part of the path ${path.text}.`);
    return percentEncode(text);
  });
  if (filled === undefined) throw new ToolError("invalid_input", `The path ${path.text} needs a value for each of its names.`);
  return filled;
}

/** Returns a query parameter; if the value is an array, one for each item. */
function fillPairs(name: string, template: InputTemplate, input: JsonObject): readonly string[] {
  const value = template.placeholderPath === undefined ? undefined : getInputValue(template.placeholderPath, input);
  if (isJsonArray(value)) return value.map((item) => `${name}=${percentEncode(valueText(item))}`);
  const filled = template.fill(input, (each) => percentEncode(valueText(each)));
  return filled === undefined ? [] : [`${name}=${filled}`];
}
