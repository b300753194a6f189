/** Small OpenAPI documents, and what the import makes of them. */
import type { JsonObject, JsonValue } from "../../../src/core/base/json.ts";
import { importOpenApi } from "../../../src/engine/openapi/import-openapi.ts";
import type { ImportOptions, ImportedDocument, ImportedOperation } from "../../../src/engine/openapi/import-openapi.ts";

/** A document of one version with these paths. */
export function openApi(version: "2.0" | "3.0" | "3.1", paths: JsonValue, more: JsonObject = {}): JsonObject {
  const head: JsonObject = version === "2.0" ? { swagger: "2.0" } : { openapi: `${version}.1` };
  return { ...head, info: { title: "Pets", version: "1" }, paths, ...more };
}

export function imported(document: JsonObject, options: Partial<ImportOptions> = {}): ImportedDocument {
  return importOpenApi(document, { origin: "pets.json", ...options });
}

/** The only operation of a document. */
export function only(document: JsonObject, options: Partial<ImportOptions> = {}): ImportedOperation {
  const { operations } = imported(document, options);
  const [first] = operations;
  if (first === undefined || operations.length !== 1) throw new Error(`expected one operation, not ${operations.length}`);
  return first;
}

/** The operation of `POST /x` with this body, and components. */
export function withBody(schema: JsonValue, more: JsonObject = {}, required: boolean = true): ImportedOperation {
  const requestBody = { required, content: { "application/json": { schema } } };
  return only(openApi("3.0", { "/x": { post: { operationId: "x", requestBody, responses: {} } } }, more));
}

/** What a property of the input has become. */
export function property({ tool }: ImportedOperation, name: string): unknown {
  const schema: unknown = tool.inputSchema;
  const properties: unknown = Reflect.get(Object(schema), "properties");
  return Reflect.get(Object(properties), name);
}
