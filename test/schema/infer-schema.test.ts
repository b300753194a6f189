import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import type { JsonObject, JsonValue } from "../../src/core/base/json.ts";
import type { JsonSchema } from "../../src/core/tool.ts";
import type { SchemaSource } from "../../src/registry/define-tool.ts";
import type { InferInput, InferJson, InferReturn, InferSent } from "../../src/schema/infer-schema.ts";

test("a literal schema infers required, optional and defaulted properties", () => {
  const schema = {
    type: "object",
    properties: {
      path: { type: "string" },
      limit: { type: "integer" },
      unit: { enum: ["cm", "inch"], default: "cm" },
      tags: { type: "array", items: { type: "string" } },
      more: { type: "object", properties: { on: { type: "boolean" } }, required: ["on"] },
    },
    required: ["path", "tags"],
  } as const;
  expectTypeOf<InferInput<typeof schema>>().toEqualTypeOf<{
    readonly path: string;
    readonly tags: readonly string[];
    readonly unit: "cm" | "inch";
    readonly limit?: number;
    readonly more?: { readonly on: boolean };
  }>();
});

test("types, unions of types, const and maps are inferred, and anything else is unknown", () => {
  expectTypeOf<InferJson<{ type: "null" }>>().toEqualTypeOf<null>();
  expectTypeOf<InferJson<{ type: readonly ["number", "null"] }>>().toEqualTypeOf<number | null>();
  expectTypeOf<InferJson<{ const: 5 }>>().toEqualTypeOf<5>();
  expectTypeOf<InferJson<{ type: "array" }>>().toEqualTypeOf<readonly JsonValue[]>();
  expectTypeOf<InferJson<{ type: "object"; additionalProperties: { type: "number" } }>>().toEqualTypeOf<{
    readonly [key: string]: number;
  }>();
  expectTypeOf<InferJson<{ anyOf: readonly [{ type: "number" }, { const: "none" }] }>>().toEqualTypeOf<number | "none">();
  expectTypeOf<InferJson<{ anyOf: readonly [{ type: "number" }, { $ref: "#/$defs/a" }] }>>().toBeUnknown();
  expectTypeOf<InferJson<{ oneOf: readonly [{ type: "number" }] }>>().toBeUnknown();
  expectTypeOf<InferJson<{ $ref: "#/$defs/a" }>>().toBeUnknown();
  expectTypeOf<InferJson<true>>().toBeUnknown();
});

test("a schema that is not a literal, or has no properties, infers a JSON object", () => {
  expectTypeOf<InferInput<JsonSchema>>().toEqualTypeOf<JsonObject>();
  expectTypeOf<InferInput<{ type: "object" }>>().toEqualTypeOf<JsonObject>();
  expectTypeOf<InferInput<true>>().toEqualTypeOf<JsonObject>();
});

/** The types of `Type.Object({ city: Type.String(), unit: Type.Optional(Type.Union([…])) })`, as TypeBox 1 declares them. */
interface TypeBoxText {
  "~kind": "String";
  type: "string";
}
interface TypeBoxWord<Value extends string> {
  "~kind": "Literal";
  type: "string";
  const: Value;
}
interface TypeBoxUnion {
  "~kind": "Union";
  anyOf: [TypeBoxWord<"c">, TypeBoxWord<"f">];
}
interface TypeBoxObject {
  "~kind": "Object";
  type: "object";
  properties: { city: TypeBoxText; unit: TypeBoxUnion };
  required: ["city"];
}

test("a TypeBox schema infers its type: version 1 by its structure, older versions by their static type", () => {
  type Weather = { readonly city: string; readonly unit?: "c" | "f" };
  expectTypeOf<InferInput<TypeBoxObject>>().toEqualTypeOf<Weather>();
  expectTypeOf<InferReturn<TypeBoxObject>>().toEqualTypeOf<Weather>();
  expectTypeOf<InferInput<{ static: Weather; params: []; type: "object"; required?: string[] }>>().toEqualTypeOf<Weather>();
  expectTypeOf<TypeBoxObject>().toExtend<SchemaSource>();
});

test("a Standard Schema infers its output for the handler, and its input for callers and return values", () => {
  const zod = z.object({ n: z.string().transform(Number), o: z.string().optional() });
  expectTypeOf<InferInput<typeof zod>>().toEqualTypeOf<{ n: number; o?: string | undefined }>();
  expectTypeOf<InferSent<typeof zod>>().toEqualTypeOf<{ n: string; o?: string | undefined }>();
  expectTypeOf<InferReturn<typeof zod>>().toEqualTypeOf<{ n: string; o?: string | undefined }>();
  const ark = type({ name: "string", "age?": "number" });
  expectTypeOf<InferInput<typeof ark>>().toEqualTypeOf<{ name: string; age?: number }>();
  const valibot = toStandardJsonSchema(v.object({ n: v.pipe(v.string(), v.transform(Number)) }));
  expectTypeOf<InferInput<typeof valibot>>().toEqualTypeOf<{ n: number }>();
});
