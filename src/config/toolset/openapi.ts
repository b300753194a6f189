/** `type = "openapi"`, in files of other systems `rest`: the operations of a REST service. */
import type { Engine } from "../../core/engine.ts";
import type { OperationFilter } from "../../engine/openapi/import-openapi.ts";
import type { RestOptions } from "../../engine/rest/rest-options.ts";
import { readRestAuth } from "../tables/auth-config.ts";
import { COUNT, MILLISECONDS, SIZE } from "../../core/base/number-bounds.ts";
import { readEffectsByName } from "../tables/effects-config.ts";
import { filePath } from "../file-path.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { readRename, readTls } from "./mcp.ts";
import { findAllowPrivateFault } from "../../net/address-guard.ts";
import type { TableReader } from "../table-reader.ts";
import { readVariables, type Variables } from "../variables.ts";
import type { BuildContext, CommonConfig, ReadContext, ToolsetType } from "./toolset-type.ts";

export interface OpenApiConfig extends CommonConfig, RestService {
  readonly type: "openapi";
  readonly openTimeoutMs?: number;
}

/** How a service is reached. An engine may leave out the document, and uses that of the entry it answers for. */
export interface RestService extends Omit<RestOptions, "document" | "idempotencyHeader"> {
  /** An http(s) address, or a file: relative to the configuration file and inside its folder, or absolute. */
  readonly document?: string;
  readonly idempotencyHeader?: string;
}

export const openApiType: ToolsetType<OpenApiConfig> = {
  keyAtFault: () => "document",
  read(table, common, context) {
    const service = readRestService(table, context);
    const openTimeoutMs = table.number("openTimeoutMs", MILLISECONDS);
    if (service.document === undefined) {
      const key = context.otherWords ? "spec" : "document";
      if (!table.has(key)) table.report(undefined, `"${key}" is missing: the OpenAPI document, a file or an address.`);
      return undefined;
    }
    return { type: "openapi", ...common, ...service, ...omitUndefined({ openTimeoutMs }) };
  },
  async build(_place, config, context) {
    const { openTimeoutMs } = config;
    return { toolset: { engine: await createRestEngine(config, context), ...omitUndefined({ openTimeoutMs }) } };
  },
};

/** Reads the keys of a service, also for an engine. */
export function readRestService(table: TableReader, context: ReadContext): RestService {
  const { variables, otherWords } = context;
  const baseKey = otherWords && table.has("base_url") ? "base_url" : "baseUrl";
  const baseUrl = table.text(baseKey);
  const documentKey = otherWords && table.has("spec") ? "spec" : "document";
  const operations = otherWords ? table.texts("operation_ids") : undefined;
  const headers = table.textTable("headers");
  const documentHeaders = table.textTable("documentHeaders");
  return omitUndefined({
    document: readDocumentKey(table, documentKey, variables),
    baseUrl: baseUrl === undefined ? undefined : variables.resolveSent(baseUrl, [...table.path, baseKey], { mustHaveText: true }),
    include: operations === undefined ? readFilter(table, "include") : { operations },
    exclude: readFilter(table, "exclude"),
    auth: readRestAuth(table, context),
    headers: headers === undefined ? undefined : variables.resolveAllSent(headers, [...table.path, "headers"]),
    documentHeaders:
      documentHeaders === undefined ? undefined : variables.resolveAllSent(documentHeaders, [...table.path, "documentHeaders"]),
    effects: table.section("effects", readEffectsByName),
    rename: readRename(table),
    trustExtensions: table.flag("trustExtensions"),
    allowPrivate: table.texts("allowPrivate", findAllowPrivateFault),
    maxBytes: table.number("maxBytes", COUNT),
    maxRedirects: table.number("maxRedirects", SIZE),
    idempotencyHeader: table.text("idempotencyHeader"),
    secrets: secretsIn([baseUrl, table.text(documentKey)], variables),
    ...readTls(table, context),
  });
}

/** Undefined if there are none. */
function secretsIn(texts: readonly (string | undefined)[], { environment }: Variables): Readonly<Record<string, string>> | undefined {
  const secrets: Record<string, string> = Object.assign({}, ...texts.map((text) => readVariables(text ?? "", environment)));
  return Object.keys(secrets).length === 0 ? undefined : secrets;
}

function readDocumentKey(table: TableReader, key: string, variables: Variables): string | undefined {
  const written = table.text(key);
  if (written === "") table.report(key, "must not be empty: the OpenAPI document, a file or an address.");
  if (written === undefined || written === "") return undefined;
  const place = [...table.path, key];
  return isAddress(written) ? variables.resolveSent(written, place) : variables.path(written, place);
}

function readFilter(table: TableReader, key: string): OperationFilter | undefined {
  const filter = table.table(key);
  if (filter === undefined) return undefined;
  const read = omitUndefined({ tags: filter.texts("tags"), paths: filter.texts("paths"), operations: filter.texts("operations") });
  filter.reportUnknownKeys();
  return read;
}

/** Makes the engine, loading its code only now. */
export async function createRestEngine(service: RestService, { folder }: Pick<BuildContext, "folder">): Promise<Engine> {
  const { document = "", baseUrl, include, exclude, auth, headers, documentHeaders, effects, rename } = service;
  const { trustExtensions, allowPrivate, maxBytes, maxRedirects, verifyTls, ca, idempotencyHeader, secrets } = service;
  const options: RestOptions = {
    document: isAddress(document) ? document : filePath(document, folder),
    ...omitUndefined({
      baseUrl,
      include,
      exclude,
      auth,
      headers,
      documentHeaders,
      effects,
      rename,
      allowPrivate,
      maxBytes,
      maxRedirects,
      verifyTls,
      trustExtensions,
      ca: ca === undefined ? undefined : filePath(ca, folder),
      idempotencyHeader,
      secrets,
    }),
  };
  const { restEngine } = await import("../../engine/rest.ts");
  return restEngine(options);
}

function isAddress(document: string): boolean {
  return /^https?:/iu.test(document);
}
