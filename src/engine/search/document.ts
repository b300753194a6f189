/** The documents of a search, and how they are read from the records of a corpus. */
import { getOwn } from "../../core/base/get-own.ts";
import { ToolError } from "../../core/error.ts";
import { copyJson, isJsonObject, type JsonObject } from "../../core/base/json.ts";

export interface SearchDocument {
  readonly id: string;
  readonly text: string;
  /** All other fields of the record, with those of its `metadata` merged in. */
  readonly metadata: JsonObject;
}

export interface DocumentFields {
  /** @default "id" */
  readonly idField?: string;
  /** @default "text" */
  readonly textField?: string;
}

/** @throws ToolError `invalid_input` with the field that the record lacks */
export function readDocument(record: unknown, { idField = "id", textField = "text" }: DocumentFields): SearchDocument {
  const { value } = copyJson(record);
  if (!isJsonObject(value)) throw invalidDocument("it is not an object");
  const id = getOwn(value, idField);
  const text = getOwn(value, textField);
  if ((typeof id !== "string" && typeof id !== "number") || id === "")
    throw invalidDocument(`it has no ${JSON.stringify(idField)} that is a string or a number`);
  if (typeof text !== "string" || text.trim() === "") throw invalidDocument(`it has no text in ${JSON.stringify(textField)}`);
  return { id: String(id), text, metadata: metadataOf(value, [idField, textField]) };
}

function metadataOf(record: JsonObject, taken: readonly string[]): JsonObject {
  const others = Object.entries(record).filter(([field]) => !taken.includes(field));
  const nested = getOwn(record, METADATA);
  if (!isJsonObject(nested) || taken.includes(METADATA)) return Object.freeze(Object.fromEntries(others));
  return Object.freeze(Object.fromEntries([...Object.entries(nested), ...others.filter(([field]) => field !== METADATA)]));
}

const METADATA = "metadata";

function invalidDocument(reason: string): ToolError {
  return new ToolError("invalid_input", `not a document: ${reason}`);
}
