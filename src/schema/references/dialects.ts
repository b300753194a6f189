/** The dialects of JSON Schema: the keywords of each, and its `$schema`. */
import { ARRAY_KEYWORDS, ARRAY_KEYWORDS_2019, ARRAY_KEYWORDS_7 } from "../keywords/array-keywords.ts";
import { COMPOSITION_KEYWORDS } from "../keywords/composition-keywords.ts";
import { FORMAT_KEYWORDS } from "../keywords/format-keyword.ts";
import type { KeywordCompiler, KeywordTable } from "../keywords/keyword.ts";
import { OBJECT_COUNT_KEYWORDS, OBJECT_KEYWORDS } from "../keywords/object-keywords.ts";
import {
  NAMING_KEYWORDS,
  NAMING_KEYWORDS_2019,
  NAMING_KEYWORDS_7,
  REFERENCE_KEYWORDS,
  REFERENCE_KEYWORDS_2019,
  REFERENCE_KEYWORDS_7,
} from "../keywords/reference-keywords.ts";
import { SCALAR_KEYWORDS } from "../keywords/scalar-keywords.ts";
import { UNEVALUATED_KEYWORDS } from "../keywords/unevaluated-keywords.ts";
import { VALUE_KEYWORDS } from "../keywords/value-keywords.ts";

export interface Dialect {
  readonly name: string;
  readonly uri: string;
  /** In the order in which they run and report problems; at most 31. */
  readonly compilers: readonly KeywordCompiler[];
  /** For each keyword, the bit of its compiler: `1 << index`. */
  readonly bits: ReadonlyMap<string, number>;
  /** Bits of the compilers that run next to a `$ref`; up to draft-07, all siblings of a `$ref` are ignored. */
  readonly refSiblingBits: number;
  /** Whether anchors are written as `$id: "#name"`, as up to draft-07. */
  readonly idDefinesAnchors: boolean;
}

function defineDialect(name: string, uri: string, tables: readonly KeywordTable[]): Dialect {
  const table = tables.flat();
  const bits = new Map<string, number>();
  for (const [index, [, ...keywords]] of table.entries()) {
    for (const keyword of keywords) bits.set(keyword, 1 << index);
  }
  const isOld = name === "draft-07";
  return {
    name,
    uri,
    compilers: table.map(([compile]) => compile),
    bits,
    refSiblingBits: isOld ? (bits.get("definitions") ?? 0) | (bits.get("$ref") ?? 0) : -1,
    idDefinesAnchors: isOld,
  };
}

export const LATEST: Dialect = defineDialect("2020-12", "https://json-schema.org/draft/2020-12/schema", [
  NAMING_KEYWORDS,
  VALUE_KEYWORDS,
  SCALAR_KEYWORDS,
  FORMAT_KEYWORDS,
  ARRAY_KEYWORDS,
  OBJECT_KEYWORDS,
  OBJECT_COUNT_KEYWORDS,
  COMPOSITION_KEYWORDS,
  REFERENCE_KEYWORDS,
  UNEVALUATED_KEYWORDS,
]);

const DRAFT_2019: Dialect = defineDialect("2019-09", "https://json-schema.org/draft/2019-09/schema", [
  NAMING_KEYWORDS_2019,
  VALUE_KEYWORDS,
  SCALAR_KEYWORDS,
  FORMAT_KEYWORDS,
  ARRAY_KEYWORDS_2019,
  OBJECT_KEYWORDS,
  OBJECT_COUNT_KEYWORDS,
  COMPOSITION_KEYWORDS,
  REFERENCE_KEYWORDS_2019,
  UNEVALUATED_KEYWORDS,
]);

const DRAFT_7: Dialect = defineDialect("draft-07", "http://json-schema.org/draft-07/schema", [
  NAMING_KEYWORDS_7,
  VALUE_KEYWORDS,
  SCALAR_KEYWORDS,
  FORMAT_KEYWORDS,
  ARRAY_KEYWORDS_7,
  OBJECT_KEYWORDS,
  OBJECT_COUNT_KEYWORDS,
  COMPOSITION_KEYWORDS.filter(([, keyword]) => keyword !== "dependentRequired" && keyword !== "dependentSchemas"),
  REFERENCE_KEYWORDS_7,
]);

export const DIALECTS: readonly Dialect[] = [LATEST, DRAFT_2019, DRAFT_7];

const BY_NAME: ReadonlyMap<string, Dialect> = new Map(DIALECTS.map((known) => [known.name, known]));

export function getDialect(name: string): Dialect {
  return BY_NAME.get(name) ?? LATEST;
}

/** Returns the dialect of a `$schema`, with `http` or `https`, with or without an empty fragment; undefined if unknown. */
export function findDialectByUri(uri: string): Dialect | undefined {
  const plain = uri.replace(/^http:/u, "https:").replace(/#$/u, "");
  return DIALECTS.find((known) => known.uri.replace(/^http:/u, "https:") === plain);
}
