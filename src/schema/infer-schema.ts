/** Infers the TypeScript type of the values that a schema allows. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonObject, JsonValue } from "../core/base/json.ts";

/**
 * The type of a handler's input: the output type of a Standard Schema, or the type that a JSON Schema literal describes.
 *
 * Reads `type`, `properties`, `required`, `default`, `additionalProperties`, `items`, `enum`, `const`, and `anyOf` if there is no `type`;
 * anything else results in `unknown`. A property with a default is always present. A schema without properties, or one that is not a literal,
 * results in `JsonObject`. For schemas of TypeBox before 1.0, their `static` is the type.
 */
export type InferInput<Schema> = Schema extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Schema> : InferTop<Schema>;

/** The type of a handler's return value: the input type of a Standard Schema, which is then transformed, or the type of a literal. */
export type InferReturn<Schema> = Schema extends StandardSchemaV1 ? StandardSchemaV1.InferInput<Schema> : InferJson<Schema>;

/** The type of the recorded output: the output type of a Standard Schema, or the type of a literal. */
export type InferAnswer<Schema> = Schema extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<Schema> : InferJson<Schema>;

/** The type of the JSON that is sent, before any transform. */
export type InferSent<Schema> = Schema extends StandardSchemaV1 ? StandardSchemaV1.InferInput<Schema> : InferTop<Schema>;

type InferTop<Schema> = unknown extends InferJson<Schema> ? JsonObject : InferJson<Schema>;

/** The type that a JSON Schema literal describes; `unknown` if it cannot be determined. */
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

/** Keys that are required or have a default. */
type Present<Schema, Properties> =
  | RequiredKeys<Schema, Properties>
  | { [Key in keyof Properties]: Properties[Key] extends { readonly default: unknown } ? Key : never }[keyof Properties];

type RequiredKeys<Schema, Properties> = Schema extends { readonly required: readonly (infer Key)[] } ? Key & keyof Properties : never;

type Flat<Type> = { readonly [Key in keyof Type]: Type[Key] };
