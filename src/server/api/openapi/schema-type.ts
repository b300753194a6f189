/** Infers the TypeScript type of a value from a JSON Schema of the API. */
import type { JsonObject, JsonValue } from "../../../core/base/json.ts";
import type { ComponentTypes } from "./component-types.ts";

/** Supports the keywords that `json-schema.ts` writes; any other schema gives `JsonValue`. */
export type SchemaType<Schema> = Schema extends { readonly $ref: `#/components/schemas/${infer Name}` }
  ? Name extends keyof ComponentTypes
    ? ComponentTypes[Name]
    : never
  : Schema extends { readonly enum: readonly (infer Word)[] }
    ? Word
    : Schema extends { readonly anyOf: readonly (infer Member)[] }
      ? Member extends unknown
        ? SchemaType<Member>
        : never
      : Schema extends { readonly type: infer Type }
        ? TypeOf<Schema, Type>
        : JsonValue;

type TypeOf<Schema, Type> = Type extends "string"
  ? string
  : Type extends "integer" | "number"
    ? number
    : Type extends "boolean"
      ? boolean
      : Type extends "array"
        ? readonly SchemaType<Schema extends { readonly items: infer Items } ? Items : unknown>[]
        : Schema extends { readonly properties: infer Fields; readonly required: readonly (infer Required)[] }
          ? Flat<
              { readonly [Name in keyof Fields as Name extends Required ? Name : never]: SchemaType<Fields[Name]> } & {
                readonly [Name in keyof Fields as Name extends Required ? never : Name]?: SchemaType<Fields[Name]>;
              }
            >
          : JsonObject;

/** Flattens an intersection, so that editors show one object. */
type Flat<Type> = { readonly [Name in keyof Type]: Type[Name] };
