/** Maps the scope names of an issuer to the scopes of this server. */
import type { JsonObject } from "../../core/base/json.ts";
import { SCOPES, type Scope } from "./principal.ts";

export interface IssuerScopes {
  /** The claim that has the scopes: a space-separated string, or an array. @default "scope" */
  readonly scopeClaim?: string;
  /**
   * The scopes of this server that each scope of the issuer grants. A name with the address of a resource, such as `api://<id>/Tools.Use`, also
   * matches its last part alone (`Tools.Use`) in a token.
   * @default the scopes of this server by their own names
   */
  readonly scopes?: Readonly<Record<string, readonly Scope[]>>;
}

/** Matches a name that a client can ask for; names in a claim of roles may have spaces. @see https://www.rfc-editor.org/rfc/rfc6749#section-3.3 */
const SCOPE_TOKEN = /^[\u0021\u0023-\u005b\u005d-\u007e]+$/u;
/** Scopes that clients of tools do not need: they allow decisions for other callers. */
const PRIVILEGED_SCOPES: readonly Scope[] = ["approve", "admin"];

/** The scope names in the claims of a token. */
export function readScopeNames(claims: JsonObject, { scopeClaim = "scope" }: IssuerScopes): readonly string[] {
  const claim = Object.hasOwn(claims, scopeClaim) ? claims[scopeClaim] : undefined;
  const given: readonly unknown[] = typeof claim === "string" ? claim.split(" ") : Array.isArray(claim) ? claim : [];
  return given.filter((name) => typeof name === "string");
}

/** The scopes of this server that one name in the claims of a token grants. */
export function grantedScopes(name: string, scopes: IssuerScopes["scopes"]): readonly Scope[] {
  if (scopes === undefined) return SCOPES.filter((scope) => scope === name);
  return Object.entries(scopes).flatMap(([known, meaning]) => (toClaimNames(known).includes(name) ? meaning : []));
}

/**
 * The forms in which a token's claims may have a scope name. Entra is asked for `api://<id>/Tools.Use`, but its tokens, which are for one resource
 * each, have `Tools.Use`.
 *
 * @see https://learn.microsoft.com/en-us/entra/identity-platform/access-token-claims-reference (2026-11)
 */
function toClaimNames(name: string): readonly string[] {
  const short = /^[a-z][a-z\d+.-]*:\/\/.+\/([^/]+)$/iu.exec(name)?.[1];
  return short === undefined ? [name] : [name, short];
}

/** The issuer's scope name that grants `wanted` with the fewest other rights; undefined if it has none. */
export function findScopeName(wanted: Scope, issuer: IssuerScopes): string | undefined {
  const names = listScopeNames(issuer).map((name) => ({ name, meaning: grantedScopes(name, issuer.scopes) }));
  const fitting = names.filter(({ meaning }) => meaning.includes(wanted) || meaning.includes("admin"));
  const [least] = fitting.toSorted((one, other) => countRights(one.meaning) - countRights(other.meaning));
  return least?.name;
}

/** The names to ask for so that the next token grants `wanted` in addition to the scopes of these claims; undefined as for `findScopeName`. */
export function widenScopeNames(wanted: Scope, issuer: IssuerScopes, claims: JsonObject = {}): readonly string[] | undefined {
  const name = findScopeName(wanted, issuer);
  if (name === undefined) return undefined;
  const given = readScopeNames(claims, issuer);
  const known = listScopeNames(issuer).filter((each) => toClaimNames(each).some((claimed) => given.includes(claimed)));
  return [...new Set([...known, ...listUnmappedNames(given, issuer)])].filter((each) => each !== name).concat(name);
}

/** Names that have no meaning here, such as `offline_access`, without which a client would lose its refresh token. Roles are not asked for again. */
function listUnmappedNames(given: readonly string[], issuer: IssuerScopes): readonly string[] {
  if (!SCOPE_CLAIMS.has(issuer.scopeClaim ?? "scope")) return [];
  const known = new Set(listScopeNames(issuer).flatMap(toClaimNames));
  return given.filter((name) => !known.has(name) && SCOPE_TOKEN.test(name));
}

/** Claims that hold scopes: that of RFC 9068, and that of Entra and Okta. */
const SCOPE_CLAIMS: ReadonlySet<string> = new Set(["scope", "scp"]);

/**
 * The names for `scopes_supported`. Clients ask for all of them unless asked for a particular scope, so names that allow decisions or administration
 * are left out, unless the issuer has no others.
 */
export function listOfferedNames(issuer: IssuerScopes): readonly string[] {
  const names = listScopeNames(issuer);
  const plain = names.filter((name) => !grantedScopes(name, issuer.scopes).some((scope) => PRIVILEGED_SCOPES.includes(scope)));
  return plain.length > 0 ? plain : names;
}

function listScopeNames({ scopes }: IssuerScopes): readonly string[] {
  return scopes === undefined ? SCOPES : Object.keys(scopes).filter((name) => SCOPE_TOKEN.test(name));
}

function countRights(meaning: readonly Scope[]): number {
  return meaning.includes("admin") ? SCOPES.length + 1 : meaning.length;
}
