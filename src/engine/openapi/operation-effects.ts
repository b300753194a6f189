/** Determines the effects of an operation from its method, and from the document as far as it is trusted. */
import { readOnly, type Effects } from "../../core/resources/effects.ts";
import { isJsonArray, isJsonObject, type JsonValue } from "../../core/base/json.ts";
import { getOwn } from "../../core/base/get-own.ts";
import { quote } from "./warnings.ts";

export interface OperationEffectsOptions {
  /** Upper case. */
  readonly method: string;
  /** The resource key of all operations of a document, as no document says which paths affect each other. */
  readonly key: string;
  /** Whether the document may reduce caution. */
  readonly isTrusted: boolean;
  readonly warn: (problem: string) => void;
}

/** @see https://www.rfc-editor.org/rfc/rfc9110.html#section-9.2 */
const SAFE_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);
const IDEMPOTENT_METHODS: ReadonlySet<string> = new Set(["PUT", "DELETE"]);
const FLAGS = ["idempotent", "external", "destructive", "commutative"] as const;
const KEYS = ["reads", "writes"] as const;
const MAX_KEYS = 32;
const MAX_KEY_LENGTH = 500;

/**
 * Safe methods read. The others write, are external, and wait for the end of the model's message.
 *
 * PUT and DELETE are idempotent, DELETE is destructive. The document's `x-haft` is used if it adds caution: more keys, `destructive`, `external`, not
 * `idempotent`. Only a trusted document may replace keys or reduce caution.
 */
export function operationEffects(options: OperationEffectsOptions, declared: JsonValue | undefined): Effects {
  const { method, key, isTrusted } = options;
  const byMethod: Effects = SAFE_METHODS.has(method)
    ? readOnly(key)
    : {
        writes: [key],
        ...(IDEMPOTENT_METHODS.has(method) ? { idempotent: true } : {}),
        ...(method === "DELETE" ? { destructive: true } : {}),
        external: true,
      };
  if (declared === undefined) return byMethod;
  const claims = readClaims(options, declared);
  return isTrusted ? { ...byMethod, ...claims } : restrictClaims(byMethod, claims, options);
}

interface Claims extends Pick<Effects, "idempotent" | "external" | "destructive" | "commutative"> {
  readonly reads?: readonly string[];
  readonly writes?: readonly string[];
}

function restrictClaims(byMethod: Effects, claims: Claims, { key, warn }: OperationEffectsOptions): Effects {
  const refused: string[] = [];
  const isWrite = !Array.isArray(byMethod.writes) || byMethod.writes.length > 0;
  const writes = claims.writes ?? [];
  if (claims.writes?.length === 0 && isWrite) refused.push("writes");
  if (claims.idempotent === true && byMethod.idempotent !== true) refused.push("idempotent");
  if (claims.commutative === true) refused.push("commutative");
  for (const flag of ["external", "destructive"] as const) if (claims[flag] === false && byMethod[flag] === true) refused.push(flag);
  if (refused.length > 0) {
    warn(
      `effects.${refused.join(" and effects.")} would weaken safeguards and ${refused.length === 1 ? "is" : "are"} ignored. Trust the extensions of this document to use it.`,
    );
  }
  const becomesWrite = !isWrite && writes.length > 0;
  const reads = [...(isWrite ? [] : [key]), ...(claims.reads ?? [])];
  return {
    ...(reads.length === 0 ? {} : { reads: [...new Set(reads)] }),
    writes: isWrite || becomesWrite ? [...new Set([key, ...writes])] : [],
    ...(byMethod.idempotent === true && claims.idempotent !== false && !becomesWrite ? { idempotent: true } : {}),
    ...(byMethod.destructive === true || claims.destructive === true ? { destructive: true } : {}),
    ...(byMethod.external === true || claims.external === true || becomesWrite ? { external: true } : {}),
  };
}

function readClaims({ warn }: OperationEffectsOptions, declared: JsonValue): Claims {
  if (!isJsonObject(declared)) {
    warn(`effects must be an object, not ${quote(declared)}; it is left out.`);
    return {};
  }
  const known: readonly string[] = [...KEYS, ...FLAGS];
  for (const name of Object.keys(declared))
    if (!known.includes(name)) warn(`effects.${name} is unknown; known effects: ${known.join(", ")}.`);
  const claims: Record<string, boolean | readonly string[]> = {};
  for (const flag of FLAGS) {
    const value = getOwn(declared, flag);
    if (typeof value === "boolean") claims[flag] = value;
    else if (value !== undefined) warn(`effects.${flag} must be a boolean, not ${quote(value)}; it is left out.`);
  }
  for (const list of KEYS) {
    const value = getOwn(declared, list);
    if (value === undefined) continue;
    const keys = isJsonArray(value) ? value.filter((each) => typeof each === "string") : undefined;
    if (keys === undefined || !isJsonArray(value) || keys.length !== value.length || keys.length > MAX_KEYS || !keys.every(isUsableKey)) {
      warn(
        `effects.${list} must be an array of at most ${MAX_KEYS} keys such as "orders:"; it is left out. A key of a service cannot begin with "session:".`,
      );
    } else claims[list] = keys;
  }
  return claims;
}

function isUsableKey(key: string): boolean {
  return key !== "" && key.length <= MAX_KEY_LENGTH && key.isWellFormed() && !key.startsWith("session:");
}
