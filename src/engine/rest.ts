/** Answers calls through an HTTP service, as its OpenAPI document describes it. @packageDocumentation */
import type { ToolContext } from "../core/context.ts";
import type { Engine, EngineContext, EngineRequest } from "../core/engine.ts";
import { ToolError, pickHints } from "../core/error.ts";
import { checkString } from "../core/check-argument.ts";
import { checkKnownKeys } from "../core/known-keys.ts";
import type { JsonObject } from "../core/base/json.ts";
import type { Clock, Log } from "../core/ports.ts";
import type { Tool } from "../core/tool.ts";
import { TOOLSET_SETTINGS, splitSettings, type Toolset, type ToolsetSettings } from "../core/toolset.ts";
import { omitUndefined } from "../core/base/omit-undefined.ts";
import { plural } from "../core/base/wording.ts";
import { readTextFile } from "../documents/read-text-file.ts";
import type { HttpClient, HttpHeader, HttpResponse } from "../net/http-request.ts";
import { redactError, redactValue } from "../core/secrets/redact.ts";
import type { ImportedOperation } from "./openapi/import-openapi.ts";
import { redactDefinition } from "./redact-definition.ts";
import { excerpt } from "./rest/answer-text.ts";
import { buildRequest, type BuiltRequest } from "./rest/build-request.ts";
import { Credentials, type RequestCredentials } from "./rest/credentials.ts";
import { toHttpError } from "./rest/http-error.ts";
import { percentEncode } from "./rest/percent-encode.ts";
import { checkOriginUnchanged, isSameOperation, isSupplied, prepareOperations } from "./rest/prepare-operations.ts";
import type { PlacedOperation, PreparedOperations } from "./rest/prepare-operations.ts";
import { MAX_DOCUMENT_BYTES, isAddress, readDocument, type ReadDocument } from "./rest/read-document.ts";
import { readAnswer } from "./rest/read-answer.ts";
import { configuredHosts, refusedServers } from "./rest/private-hosts.ts";
import { REST_OPTIONS, checkRestOptions, type RestOptions } from "./rest/rest-options.ts";
import { Secrets } from "./rest/secrets.ts";

export type { OperationFilter } from "./openapi/import-openapi.ts";
export type { ApiKey, OAuthClient, RestAuth, RestOptions } from "./rest/rest-options.ts";

/** The methods without side effects: their requests need no idempotency key. */
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);
const MAX_WARNINGS = 5;
/** The log of every client but the first, which has already warned that certificates are not checked. */
const SILENT_LOG: Log = { debug: () => undefined, warn: () => undefined };
/** Headers that are kept when a redirect leads to another origin. */
const PLAIN_HEADERS: ReadonlySet<string> = new Set(["accept", "content-type", "user-agent"]);

/**
 * A service over HTTP, with one tool for each operation of its OpenAPI document.
 *
 * `open` and every refresh read the document; references to other documents are not fetched. All requests go to one origin: that of `baseUrl`, or
 * else of the document's servers. The output is the body of a 2xx answer, parsed if it is JSON; any other answer is an error that begins with `HTTP
 * <status>`. Credentials never appear in results, errors or logs.
 *
 * @throws ToolError `invalid_argument` at once for options that cannot work
 */
export function restEngine(options: RestOptions): Engine {
  checkRestOptions(options);
  return new RestEngine(options);
}

/**
 * A toolset whose tools are the operations of an OpenAPI document: `{ name, engine: restEngine(options) }`, with the settings of a toolset
 * among the options.
 *
 * @throws ToolError `invalid_argument` at once for options that cannot work
 */
export function openApiToolset(name: string, options: RestOptions & ToolsetSettings): Toolset {
  checkString(name, "openApiToolset(name, options)", "the name of a toolset");
  checkKnownKeys<RestOptions & ToolsetSettings>(options, { ...REST_OPTIONS, ...TOOLSET_SETTINGS }, "openApiToolset()");
  const [settings, engine] = splitSettings<RestOptions>(options);
  return { name, ...settings, engine: restEngine(engine) };
}

/** The parts of an open engine. */
interface OpenService {
  readonly client: HttpClient;
  readonly tokens: HttpClient;
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly log: Log;
  readonly ca: string | undefined;
  /** Aborts reads of the document when the engine closes. */
  readonly closing: AbortController;
}

class RestEngine implements Engine {
  readonly kind = "rest";
  readonly #options: RestOptions;
  readonly #secrets: Secrets;
  #service: OpenService | undefined;
  #prepared: PreparedOperations | undefined;
  /** The operation of every tool that was listed, as it was at that time. */
  readonly #operationsByTool = new WeakMap<Tool, PlacedOperation>();

  constructor(options: RestOptions) {
    this.#options = options;
    this.#secrets = new Secrets(options);
  }

  async open({ clock, log, signal }: EngineContext): Promise<readonly Tool[]> {
    const { auth, ca, maxBytes, maxRedirects, verifyTls } = this.#options;
    const { httpClient } = await import("../net/http-client.ts");
    const authorities = ca === undefined ? undefined : await readCertificates(ca);
    const tls = omitUndefined({ verifyTls, ca: authorities });
    const clientFor = (allowPrivate: readonly string[], clientLog: Log): HttpClient =>
      httpClient({ allowPrivate, ...omitUndefined({ maxBytes, maxRedirects }), ...tls }, { clock, log: clientLog });
    const client = clientFor(this.#allowedHosts(), log);
    // uses a client of its own, so that no redirect of the API reaches a token server on a private address
    const tokens = clientFor(
      [...(this.#options.allowPrivate ?? []), ...configuredHosts(omitUndefined({ auth }))],
      verifyTls === false ? SILENT_LOG : log,
    );
    const credentials = new Credentials(auth, { client: tokens, clock, onToken: (token) => this.#secrets.add("access token", token) });
    this.#service = { client, tokens, credentials, clock, log, ca: authorities, closing: new AbortController() };
    try {
      return await this.list(signal);
    } catch (error: unknown) {
      await this.close();
      throw error;
    }
  }

  async list(signal: AbortSignal): Promise<readonly Tool[]> {
    const service = this.#requireService();
    try {
      const { document, origin, text = "" } = await this.#readDocument(service, AbortSignal.any([signal, service.closing.signal]));
      const { importOpenApiInSlices } = await import("./openapi/import-openapi.ts");
      const { include, exclude, trustExtensions } = this.#options;
      if (service.closing.signal.aborted) throw notOpenError();
      const imported = await importOpenApiInSlices(document, { origin, ...omitUndefined({ include, exclude, trustExtensions }) });
      if (service.closing.signal.aborted) throw notOpenError();
      const prepared = prepareOperations(this.#withoutSecrets(imported.operations, text), this.#options, origin);
      checkOriginUnchanged(this.#prepared?.origin, prepared.origin, this.#options);
      this.#prepared = prepared;
      for (const [tool, placed] of prepared.placed) this.#operationsByTool.set(tool, placed);
      const refused = refusedServers(
        Array.from(prepared.placed.values(), ({ base }) => base),
        this.#allowedHosts(),
      );
      this.#warn(service.log, [...refused, ...this.#secrets.warnings(), ...prepared.warnings, ...imported.warnings]);
      return prepared.tools;
    } catch (error: unknown) {
      throw redactError(ToolError.fromUnknown(error, "invalid_config"), this.#secrets.redact);
    }
  }

  /** Removes credentials from the definitions of tools: a document that is fetched with a key may repeat it, as in its examples. */
  #withoutSecrets(operations: readonly ImportedOperation[], documentText: string): readonly ImportedOperation[] {
    const secrets = this.#secrets;
    if (!secrets.wouldRedactAnswer(documentText)) return operations;
    const redact = <T>(value: T): T => redactValue(value, (text) => secrets.redactAnswer(text));
    return operations.map(({ tool, ...rest }) => ({ tool: redactDefinition(tool, redact), ...rest }));
  }

  async call(request: EngineRequest, context: ToolContext): Promise<unknown> {
    const service = this.#requireService();
    const placed = this.#operationOf(request.tool);
    if (placed === undefined) {
      throw new ToolError("not_found", `The OpenAPI document has no operation ${JSON.stringify(request.tool.name)} any more.`, {
        operatorHint: "It was there before the last refresh.",
      });
    }
    try {
      const built = buildRequest(placed.operation, this.#withoutSupplied(placed, request.input), placed.base);
      return await this.#exchange(service, { placed, built, context });
    } catch (error: unknown) {
      throw redactError(ToolError.fromUnknown(error), this.#secrets.redact);
    }
  }

  close(): Promise<void> {
    this.#service?.closing.abort();
    this.#service?.credentials.close();
    this.#service?.client.close();
    this.#service?.tokens.close();
    this.#service = undefined;
    this.#prepared = undefined;
    return Promise.resolve();
  }

  /**
   * The operation that the call was approved for. While the call waited for a person, the document may have been read again, or a new document may
   * have been refused. Changes are used only if the operation still sends to the same place.
   */
  #operationOf(tool: Tool): PlacedOperation | undefined {
    const current = this.#prepared?.operations.get(tool.name);
    const agreed = this.#operationsByTool.get(tool);
    if (current === undefined || agreed === undefined) return agreed ?? current;
    if (!isSameOperation(current, agreed)) return agreed;
    this.#operationsByTool.set(tool, current);
    return current;
  }

  /** Private addresses that operations may call. */
  #allowedHosts(): readonly string[] {
    const { allowPrivate = [], baseUrl, document } = this.#options;
    return [...allowPrivate, ...configuredHosts(baseUrl === undefined ? { document } : { baseUrl })];
  }

  #requireService(): OpenService {
    if (this.#service === undefined) throw notOpenError();
    return this.#service;
  }

  /** Reads the document with a client of its own: documents may be larger than answers, and calls continue meanwhile. */
  async #readDocument({ clock, log, ca }: OpenService, signal: AbortSignal): Promise<ReadDocument> {
    const { document, documentHeaders = {}, allowPrivate = [], maxRedirects, verifyTls } = this.#options;
    const { httpClient } = await import("../net/http-client.ts");
    const allowed = typeof document === "string" && isAddress(document) ? [...allowPrivate, ...configuredHosts({ document })] : [];
    const client = httpClient(
      { allowPrivate: allowed, maxBytes: MAX_DOCUMENT_BYTES, ...omitUndefined({ maxRedirects, verifyTls, ca }) },
      { clock, log: verifyTls === false ? SILENT_LOG : log },
    );
    try {
      // the name is part of the resource keys, so that calls of two services never wait for each other
      const name = this.#options.baseUrl ?? "the OpenAPI document";
      return await readDocument(document, { name, client, headers: documentHeaders, signal });
    } finally {
      client.close();
    }
  }

  /** Removes values that the program supplies: a model may not set them, even if a schema accepts them. */
  #withoutSupplied({ operation }: PlacedOperation, input: JsonObject): JsonObject {
    const supplied = operation.parameters.filter(
      (parameter) => Object.hasOwn(input, parameter.key) && isSupplied(parameter, this.#options, operation),
    );
    if (supplied.length === 0) return input;
    const keys = new Set(supplied.map((parameter) => parameter.key));
    return Object.fromEntries(Object.entries(input).filter(([key]) => !keys.has(key)));
  }

  async #exchange(service: OpenService, call: Call): Promise<unknown> {
    const { operation } = call.placed;
    const { signal } = call.context;
    let requestCredentials = await service.credentials.getCredentials(operation, signal);
    let response = await this.#send(service, call, requestCredentials);
    if (response.status === 401 && requestCredentials.discardToken()) {
      response.discard();
      requestCredentials = await service.credentials.getCredentials(operation, signal);
      response = await this.#send(service, call, requestCredentials);
    }
    if (response.status < 200 || response.status > 299) throw await toHttpError(response, requestCredentials.described, service.clock);
    const { origin } = new URL(call.placed.base);
    const secretQuery = requestCredentials.query.map(([name]) => name);
    try {
      return await readAnswer(response, { operation, secrets: this.#secrets, origin, secretQuery });
    } catch (thrown: unknown) {
      throw withUnknownOutcome(ToolError.fromUnknown(thrown));
    }
  }

  #send({ client }: OpenService, { placed, built, context }: Call, requestCredentials: RequestCredentials): Promise<HttpResponse> {
    const headers = this.#headers(placed, { built, context, requestCredentials });
    const url = new URL(built.url);
    // removes values of the model with the name of a credential, so that the credential is sent once
    for (const [name] of requestCredentials.query) if (url.searchParams.has(name)) url.searchParams.delete(name);
    const query = requestCredentials.query.map(([name, value]) => `${percentEncode(name)}=${percentEncode(value)}`);
    if (query.length > 0) url.search = [...(url.search === "" ? [] : [url.search.slice(1)]), ...query].join("&");
    return client.request({
      method: placed.operation.method,
      url,
      headers,
      body: built.body,
      secretHeaders: headers.map(([name]) => name.toLowerCase()).filter((name) => !PLAIN_HEADERS.has(name)),
      secretQuery: requestCredentials.query.map(([name]) => name),
      signal: context.signal,
    });
  }

  /** The headers of a request. Later ones replace earlier ones: the model's, then the program's, then the credentials. */
  #headers(
    { operation }: PlacedOperation,
    { built, context, requestCredentials }: Pick<Call, "built" | "context"> & { readonly requestCredentials: RequestCredentials },
  ): readonly HttpHeader[] {
    const { headers = {}, idempotencyHeader = false } = this.#options;
    const merged = new Map(built.headers);
    const set = (name: string, value: string): unknown => merged.set(name.toLowerCase(), [name.toLowerCase(), value]);
    for (const [name, value] of Object.entries(context.traceHeaders ?? {})) set(name, value);
    if (idempotencyHeader !== false && !SAFE_METHODS.has(operation.method)) set(idempotencyHeader, context.idempotencyKey);
    for (const [name, value] of Object.entries(headers)) set(name, value);
    for (const [name, value] of requestCredentials.headers) set(name, value);
    const names = new Set(requestCredentials.cookies.map(nameOfPair));
    const given = built.cookies.filter((cookie) => !names.has(nameOfPair(cookie)));
    const cookies = [...(merged.get("cookie")?.slice(1) ?? []), ...given, ...requestCredentials.cookies];
    if (cookies.length > 0) set("cookie", cookies.join("; "));
    return [...merged.values()];
  }

  #warn(log: Log, warnings: readonly string[]): void {
    for (const warning of warnings.slice(0, MAX_WARNINGS)) log.warn(excerpt(this.#secrets.redact(warning), 500));
    if (warnings.length > MAX_WARNINGS)
      log.warn(`The OpenAPI document has ${plural(warnings.length - MAX_WARNINGS, "more such problem")}.`);
  }
}

interface Call {
  readonly placed: PlacedOperation;
  readonly built: BuiltRequest;
  readonly context: ToolContext;
}

function notOpenError(): ToolError {
  return new ToolError("unavailable", "The REST engine is not open.");
}

function nameOfPair(pair: string): string {
  return pair.slice(0, pair.indexOf("="));
}

/** Sets the outcome to `unknown`: the service answered with a success, so the operation has run. */
function withUnknownOutcome(error: ToolError): ToolError {
  if (error.outcome !== "not_started") return error;
  const { code, message, retryable, details } = error;
  return new ToolError(code, message, { retryable, details, outcome: "unknown", cause: error, ...pickHints(error) });
}

async function readCertificates(ca: string): Promise<string> {
  if (ca.includes("-----BEGIN")) return ca;
  return await readTextFile({
    path: ca,
    what: "file of certificate authorities",
    code: "invalid_config",
    maxBytes: 16 * 1024 * 1024,
    hint: "Give a file in PEM format.",
  });
}
