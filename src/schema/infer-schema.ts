/** The TypeScript type of what a schema lets through. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonObject, JsonValue } from "../core/base/json.ts";

/**
 * The type of a handler's input: the output type of a Standard Schema, or the type that a JSON Schema literal describes.
 *
 * Reads `type`, `properties`, `required`, `default`, `additionalProperties`, `items`, `enum`, `const`, and `anyOf` where none of them says a
 * type; whatever else a schema says leaves `unknown`. A property with a default is always there. A schema that says nothing of its
 * properties, or is not a literal, gives `JsonObject`. Of schemas of TypeBox before 1.0, their own `static` is the type.
 */
export type InferInput<Schema> = Schema extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Schema> : InferTop<Schema>;

/** The type of a handler's return value: the input type of a Standard Schema, which then transforms it, or the type of a literal. */
export type InferReturn<Schema> = Schema extends StandardSchemaV1 ? StandardSchemaV1.InferInput<Schema> : InferJson<Schema>;

/** The recorded answer: the output type of a Standard Schema, or the type of a literal. */
export type InferAnswer<Schema> = Schema extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Schema> : InferJson<Schema>;

/** The JSON that goes in, before any transform. */
export type InferSent<Schema> = Schema extends StandardSchemaV1 ? StandardSchemaV1.InferInput<Schema> : InferTop<Schema>;

type InferTop<Schema> = unknown extends InferJson<Schema> ? JsonObject : InferJson<Schema>;

/** The type a JSON Schema literal describes; `unknown` where it cannot tell. */
export type InferJson<Schema> = Schema extends { readonly static: infer Value; readonly params: readonly unknown[] }
  ? Value
  : Schema extends { readonly const: infer Value }
    ? Value
    : Schema extends { readonly enum: readonly (infer Member)[] }
      ? Member
      : Schema extends { readonly type: infer Type }
        ? Type extends readonly (infer Each)[]
          ? InferType<Each, Schema>
          : InferType<Type, Schema>
        : Schema extends { readonly anyOf: readonly (infer Branch)[] }
          ? InferBranch<Branch>
          : unknown;

/** Distributes over the schemas of an `anyOf`. */
type InferBranch<Branch> = Branch extends unknown ? InferJson<Branch> : never;

interface PlainTypes {
  readonly string: string;
  readonly number: number;
  readonly integer: number;
  readonly boolean: boolean;
  readonly null: null;
}

/** Distributes over a union of type names. */
type InferType<Type, Schema> = Type extends keyof PlainTypes
  ? PlainTypes[Type]
  : Type extends "array"
    ? InferArray<Schema>
    : Type extends "object"
      ? InferObject<Schema>
      : unknown;

type InferArray<Schema> = Schema extends { readonly items: infer Item } ? readonly InferJson<Item>[] : readonly JsonValue[];

type InferObject<Schema> = Schema extends { readonly properties: infer Properties }
  ? Flat<
      { readonly [Key in Present<Schema, Properties>]: InferJson<Properties[Key]> } & {
        readonly [Key in Exclude<keyof Properties, Present<Schema, Properties>>]?: InferJson<Properties[Key]>;
      }
    >
  : Schema extends { readonly additionalProperties: infer Additional }
    ? Additional extends false
      ? { readonly [key: string]: never }
      : unknown extends InferJson<Additional>
        ? JsonObject
        : { readonly [key: string]: InferJson<Additional> }
    : JsonObject;

/** Keys that are required, and keys with a default. */
type Present<Schema, Properties> =
  | RequiredKeys<Schema, Properties>
  | { [Key in keyof Properties]: Properties[Key] extends { readonly default: unknown } ? Key : never }[keyof Properties];

type RequiredKeys<Schema, Properties> = Schema extends { readonly required: readonly (infer Key)[] } ? Key & keyof Properties : never;

type Flat<Type> = { readonly [Key in keyof Type]: Type[Key] };
