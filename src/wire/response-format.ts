/** Requests a reply in JSON, with the part of its schema that a provider supports. */
import { pushAll } from "../core/collections/push-all.ts";
import { ToolError } from "../core/error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../core/base/json.ts";
import type { ResponseFormat } from "../core/model.ts";
import { fitSchema, type SchemaSubset } from "./fit-schema.ts";
import type { WireNote } from "./wire-format.ts";

export interface ReplyRules {
  /** The schemas that the provider accepts. */
  readonly subset: SchemaSubset;
  /** Set if the provider can enforce a schema on request. */
  readonly strictSubset?: SchemaSubset | undefined;
  /** Returns why a fitted schema is refused nevertheless; undefined if it is not. */
  readonly refusal?: (schema: JsonObject) => string | undefined;
}

/** A schema as it is sent to a provider. */
export interface ReplySchema {
  readonly schema: JsonObject;
  /** Whether the schema can be enforced: the strict subset loses nothing of it. */
  readonly strict: boolean;
}

const DEFAULT_NAME = "result";

/** Returns the name of the reply's schema for the provider: `[A-Za-z0-9_-]{1,64}`. */
export function replyName({ name = "" }: ResponseFormat): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/gu, "_").slice(0, 64) || DEFAULT_NAME;
}

/**
 * Returns the schema of a reply as the provider takes it; undefined if there is none, or, with a note, if it cannot be sent.
 *
 * A strict schema that allows only an empty object (closed, without named properties) is not sent.
 */
export function replySchema({ schema }: ResponseFormat, rules: ReplyRules, notes: WireNote[]): ReplySchema | undefined {
  if (schema === undefined) return undefined;
  try {
    const { strictSubset, subset, refusal } = rules;
    if (strictSubset !== undefined) {
      const strict = fitSchema(schema, strictSubset);
      const [loss = hasNoProperties(strict.schema) ? NOTHING_NAMED : undefined] = strict.losses;
      if (loss === undefined) return { schema: strict.schema, strict: true };
      notes.push({ kind: "unsupported", note: `The reply is not held to its schema: ${loss.path} ${loss.note}` });
    }
    const fitted = fitSchema(schema, subset);
    const refused = refusal?.(fitted.schema);
    if (refused !== undefined) throw new ToolError("invalid_schema", refused);
    for (const { path, note } of fitted.losses) notes.push({ kind: "schema-loss", path, note });
    return { schema: fitted.schema, strict: false };
  } catch (thrown: unknown) {
    notes.push({ kind: "quarantined", note: `The schema of the reply was left out: ${ToolError.fromUnknown(thrown).message}` });
    return undefined;
  }
}

/**
 * Returns the schema of a reply for a provider that always enforces schemas; undefined, with a note, if the fitted schema would refuse replies that
 * the original allows.
 */
export function enforcedSchema(responseFormat: ResponseFormat, format: string, notes: WireNote[]): JsonObject | undefined {
  const { schema } = responseFormat;
  if (schema === undefined) {
    notes.push(unsupportedReplyNote(format, "replies in JSON without a schema"));
    return undefined;
  }
  const rules = {
    subset: "anthropic-strict",
    refusal: (fitted) => (hasNoProperties(fitted) ? NOTHING_NAMED.note : undefined),
  } as const satisfies ReplyRules;
  const found: WireNote[] = [];
  const fitted = replySchema(responseFormat, rules, found);
  const closed = found.find(({ kind, path = "" }) => kind === "schema-loss" && path.endsWith("additionalProperties"));
  if (closed === undefined) pushAll(notes, found);
  else notes.push({ kind: "unsupported", note: `The schema of the reply was left out: ${closed.path ?? "$"} ${closed.note}` });
  return closed === undefined ? fitted?.schema : undefined;
}

export function unsupportedReplyNote(format: string, what: string): WireNote {
  return { kind: "unsupported", note: `${format} has no setting for ${what}.` };
}

/** Whether a message contains the word JSON: without it providers refuse a request for JSON. */
export function mentionsJson(messages: JsonValue): boolean {
  return /json/iu.test(JSON.stringify(messages));
}

const NOTHING_NAMED = { path: "$", note: "It names no properties, and others cannot be described." };

/** Whether an object has no named properties. */
export function hasNoProperties({ properties }: JsonObject): boolean {
  return !isJsonObject(properties) || Object.keys(properties).length === 0;
}
