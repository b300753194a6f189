/** Makes a tool from every operation of an OpenAPI document. */
import type { Effects } from "../../core/resources/effects.ts";
import { describeThrown } from "../../core/error.ts";
import { isJsonObject, type JsonObject } from "../../core/base/json.ts";
import type { Tool } from "../../core/tool.ts";
import type { HttpOperation, HttpParameter } from "../rest/http-operation.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { OpenApiDocument, notOpenApiError, ownString } from "./document.ts";
import { operationEffects } from "./operation-effects.ts";
import { OperationMatcher, type OperationFilter } from "./operation-filter.ts";
import { operationInput } from "./operation-input.ts";
import { operationOutput } from "./operation-output.ts";
import { isSupplied, operationSecurity } from "./operation-security.ts";
import { listOperations, type ListedOperation } from "./operations.ts";
import { readParameters } from "./parameters.ts";
import { readBody } from "./request-bodies.ts";
import { SchemaConverter } from "./schema-converter.ts";
import { Servers } from "./servers.ts";
import { MAX_INPUT_WEIGHT, MAX_OUTPUT_WEIGHT, ToolSchemas } from "./tool-schema.ts";
import { ROOT, truncateText, quote } from "./warnings.ts";
import { omitUndefined } from "../../core/base/omit-undefined.ts";
import { onNextTurn } from "../../core/system/lazy-timer.ts";

export type { OperationFilter } from "./operation-filter.ts";

export interface ImportOptions {
  /** Import only operations that match every given list. @default all */
  readonly include?: OperationFilter;
  /** Leave out operations that match any given list. @default none */
  readonly exclude?: OperationFilter;
  /** The path or address of the document, for messages and for relative servers. */
  readonly origin: string;
  /**
   * Whether `x-haft` extensions may reduce caution: a POST that only reads, a call that may be repeated, a longer timeout. Those that add caution are
   * always used. @default false
   */
  readonly trustExtensions?: boolean;
}

export interface ImportedOperation {
  /** Has no `execute`, as the REST engine answers. `metadata.http` has method, path and operationId. */
  readonly tool: Tool;
  readonly operation: HttpOperation;
}

export interface ImportedDocument {
  readonly title: string;
  readonly operations: readonly ImportedOperation[];
  /** Warnings about parts that were left out or read only in part, one line each, with the place in the document. */
  readonly warnings: readonly string[];
}

/** Values shared by all operations of a document. */
interface ImportContext {
  readonly document: OpenApiDocument;
  readonly options: ImportOptions;
  readonly inputs: ToolSchemas;
  readonly outputs: ToolSchemas;
  readonly servers: Servers;
  /** The resource key that all operations read and write. */
  readonly key: string;
}

/**
 * Reads Swagger 2.0 and OpenAPI 3.0 and 3.1. Nothing is fetched: a part that refers to another document accepts any value.
 *
 * Each operation is imported separately. One that cannot be read is left out with a warning, and so are other faulty parts.
 *
 * @param document parsed, untrusted
 * @throws ToolError `invalid_config` if it is not an OpenAPI document
 */
export function importOpenApi(document: JsonObject, options: ImportOptions): ImportedDocument {
  const steps = importSteps(document, options);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Number of paths or operations that are read before the event loop runs again, which takes some milliseconds. */
const SLICE = 100;

/** Like `importOpenApi`, but in slices, so that a large document does not block the process. */
export async function importOpenApiInSlices(document: JsonObject, options: ImportOptions): Promise<ImportedDocument> {
  const steps = importSteps(document, options);
  for (let count = 1; ; count++) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (count % SLICE === 0) await new Promise<void>((resolve) => onNextTurn(resolve));
  }
}

/** Yields after each path and each operation. */
function* importSteps(document: JsonObject, options: ImportOptions): Generator<undefined, ImportedDocument> {
  const opened = new OpenApiDocument(document, options.origin);
  const { warnings } = opened;
  const paths = getOwn(opened.root, "paths");
  if (paths !== undefined && !isJsonObject(paths)) throw notOpenApiError(options.origin, `its "paths" is ${quote(paths)}`);
  if (paths === undefined) warnings.add(ROOT, "there are no paths, so there are no operations.");
  const servers = new Servers(opened, options.origin);
  const context: ImportContext = {
    document: opened,
    options,
    inputs: new ToolSchemas(new SchemaConverter(opened, "input"), { maxWeight: MAX_INPUT_WEIGHT, warnings }),
    outputs: new ToolSchemas(new SchemaConverter(opened, "output"), { maxWeight: MAX_OUTPUT_WEIGHT, warnings }),
    servers,
    key: truncateText(servers.documentServer ?? `http:${URL.parse(options.origin)?.host || options.origin}`, MAX_KEY_LENGTH).toWellFormed(),
  };
  const listed = selectOperations(opened, yield* listOperations(opened, options.trustExtensions === true), options);
  const operations: ImportedOperation[] = [];
  for (const operation of listed) {
    try {
      operations.push(importOperation(context, operation));
    } catch (error: unknown) {
      warnings.add(operation.operation.place, `the operation cannot be read and is left out: ${describeThrown(error)}`);
    }
    yield;
  }
  return { title: titleOf(opened), operations, warnings: warnings.lines };
}

const MAX_KEY_LENGTH = 500;

function selectOperations(
  { warnings }: OpenApiDocument,
  all: readonly ListedOperation[],
  { include, exclude }: ImportOptions,
): readonly ListedOperation[] {
  const included = new OperationMatcher(include ?? {});
  const excluded = new OperationMatcher(exclude ?? {});
  const operations = all.filter((operation) => {
    const isIncluded = included.matchesAll(operation);
    return !excluded.matchesAny(operation) && isIncluded;
  });
  for (const line of [...included.describeUnused("include", all), ...excluded.describeUnused("exclude", all)]) warnings.addLine(line);
  return operations;
}

function titleOf({ root }: OpenApiDocument): string {
  const info = getOwn(root, "info");
  const title = isJsonObject(info) ? ownString(info, "title") : undefined;
  return title === undefined || title === "" ? "untitled" : truncateText(title, 200);
}

function importOperation(context: ImportContext, listed: ListedOperation): ImportedOperation {
  const { document, inputs, outputs, servers } = context;
  const { method, path, item, operation, tags } = listed;
  document.countReads(1);
  const declared = readParameters(document, item, operation, path);
  const security = operationSecurity(document, operation);
  document.countReads(declared.parameters.length * (security ?? []).flat().length); // each parameter is compared with each scheme
  const body = readBody({ document, converter: inputs.converter }, operation, declared);
  const isSuppliedParameter = (parameter: Pick<HttpParameter, "name" | "in">): boolean => isSupplied(document, security, parameter);
  const input = operationInput({ schemas: inputs, isSupplied: isSuppliedParameter }, declared, body);
  const { accepts, outputSchema } = operationOutput(document, outputs, operation, method);
  const server = servers.serverOf(operation, item);
  const text = operationText(operation.value, `${method} ${truncateText(path, 500)}`);
  document.countReads(Math.ceil((text.documentation ?? text.description).length / 100));
  const tool: Tool = {
    name: listed.name,
    ...text,
    inputSchema: input.inputSchema,
    ...(outputSchema === undefined ? {} : { outputSchema }),
    effects: effectsOf(context, listed),
    ...(tags.length === 0 ? {} : { tags }),
    ...listed.extension.fields,
    metadata: { http: omitUndefined({ method, path, operationId: listed.operationId, server, tags }) },
  };
  const { parameters } = input;
  const more = omitUndefined({ server, body: input.body });
  return { tool, operation: { method, path, parameters, accepts, ...more, ...(security === undefined ? {} : { security }) } };
}

function effectsOf({ document, options, key }: ImportContext, { method, extension }: ListedOperation): Effects {
  const isTrusted = options.trustExtensions === true;
  const warn = (problem: string): void => document.warnings.add(extension.place, problem);
  return operationEffects({ method, key, isTrusted, warn }, extension.effects);
}

interface OperationText {
  readonly title?: string;
  readonly description: string;
  /** The whole text, if the description was truncated. */
  readonly documentation?: string;
}

const MAX_TITLE = 200;
const MAX_DESCRIPTION = 4_000;
const MAX_DOCUMENTATION = 100_000;

/** @param called method and path, for an operation without a text */
function operationText(operation: JsonObject, called: string): OperationText {
  const summary = (ownString(operation, "summary") ?? "").slice(0, MAX_DOCUMENTATION).trim();
  const body = (ownString(operation, "description") ?? "").slice(0, MAX_DOCUMENTATION).trim();
  const deprecated = getOwn(operation, "deprecated") === true ? "Deprecated." : "";
  const isRepeated = body.toLowerCase().startsWith(summary.replace(/\.$/u, "").toLowerCase());
  const whole = [deprecated, isRepeated ? "" : summary, body].filter((text) => text !== "").join("\n\n");
  const title = summary.split("\n", 1)[0] ?? "";
  return {
    ...(title === "" ? {} : { title: truncateText(title, MAX_TITLE) }),
    description:
      whole === "" || whole === deprecated
        ? [deprecated, called].filter((text) => text !== "").join("\n\n")
        : truncateText(whole, MAX_DESCRIPTION),
    ...(whole.length > MAX_DESCRIPTION ? { documentation: truncateText(whole, MAX_DOCUMENTATION) } : {}),
  };
}
