/** Tracks the values that a conversation has seen, so that later calls can use what was returned or said. */
import { maxOf } from "../../core/collections/push-all.ts";
import type { JsonObject } from "../../core/base/json.ts";
import type { ToolResult } from "../../core/result.ts";
import { toolSubject } from "./tool-subject.ts";
import type { FlowInput } from "./tool-flow.ts";
import { fieldsOf, inputKey, type OutputField } from "./value-keys.ts";
import { isIdName, idNoun } from "./id-names.ts";
import { normalizeName } from "../../schema/example/name-words.ts";

/** A value that can be the input of a call. */
export interface KnownValue {
  readonly value: string | number;
  readonly noun: string;
  readonly ofList: boolean;
}

const MAX_VALUES = 400;
/** Fields with the amount that was paid for a thing. */
const PAID = /^(?:total|total_price|total_amount|total_cost|amount|amount_paid|paid|price|cost|charged|grand_total)$/u;

export class KnownValues {
  /** The newest value by key. */
  readonly #byKey = new Map<string, KnownValue>();
  /** The newest value by tool and top-level field. */
  readonly #byField = new Map<string, KnownValue>();
  /** The amount that was paid for a thing, by its id. */
  readonly #paid = new Map<string, number>();

  /** Remembers the result of a call. @param tool the tool's id in the catalog */
  addResult(tool: string, { name, status, output }: ToolResult): void {
    if ((status !== "ok" && status !== "partial") || output === undefined) return;
    const fields = fieldsOf(output, toolSubject(name).noun);
    this.#addPaidAmounts(fields);
    const seen = new Set<string>();
    for (const { name: field, key, noun, ofList, isTopLevel, value } of fields) {
      const known = { value, noun, ofList };
      if (isTopLevel) setNewest(this.#byField, `${tool} ${field}`, known);
      if (key === "" || seen.has(key)) continue; // the thing itself comes before things nested in it
      seen.add(key);
      setNewest(this.#byKey, key, known);
    }
  }

  /** Returns the amount that was paid for the thing with this id; undefined if no result has it. */
  findPaidAmount(id: string | number): number | undefined {
    return this.#paid.get(String(id));
  }

  #addPaidAmounts(fields: readonly OutputField<string | number>[]): void {
    const amounts = fields.flatMap(({ name, value }) =>
      PAID.test(normalizeName(name)) && typeof value === "number" && value > 0 ? [value] : [],
    );
    if (amounts.length === 0) return;
    for (const { name, value } of fields)
      if (isIdName(name) && (this.#paid.size < MAX_VALUES || this.#paid.has(String(value)))) this.#paid.set(String(value), maxOf(amounts));
  }

  /** Remembers the values that the user gave for a call. */
  addGivenValues(qualifiedName: string, given: JsonObject): void {
    const { noun } = toolSubject(qualifiedName);
    for (const [name, value] of Object.entries(given)) {
      const key = inputKey(name, noun);
      if (key === "" || (typeof value !== "string" && typeof value !== "number") || this.#byKey.has(key)) continue;
      setNewest(this.#byKey, key, { value, noun: isIdName(name) ? idNoun(name) || noun : "", ofList: false });
    }
  }

  /** Forgets the thing that a call removed, so that it is not requested again. */
  removeValues(qualifiedName: string, input: JsonObject): void {
    const { noun } = toolSubject(qualifiedName);
    for (const [name, value] of Object.entries(input)) {
      if (!isIdName(name)) continue;
      const key = inputKey(name, noun);
      if (this.#byKey.get(key)?.value === value) this.#byKey.delete(key);
      for (const [field, known] of this.#byField) if (known.value === value) this.#byField.delete(field);
    }
  }

  /** Returns the newest value for an input; an edge of the dataflow graph takes precedence over a name. */
  findValue({ key, edges }: FlowInput): KnownValue | undefined {
    for (const { tool, name } of edges) {
      const known = this.#byField.get(`${tool} ${name}`);
      if (known !== undefined) return known;
    }
    return key === "" ? undefined : this.#byKey.get(key);
  }
}

function setNewest(values: Map<string, KnownValue>, key: string, known: KnownValue): void {
  if (values.size >= MAX_VALUES && !values.has(key)) return;
  values.delete(key);
  values.set(key, known);
}
