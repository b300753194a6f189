/** One person: full name, first and last name, email address and user name that belong together. */
import type { Relation, DrawnFields } from "../drawn-fields.ts";
import { FIRST_NAMES, LAST_NAMES } from "../words.ts";

const FIRST = ["first_name", "given_name", "forename", "firstname"];
const LAST = ["last_name", "family_name", "surname", "lastname"];
const WHOLE = ["full_name", "fullname", "name", "display_name"];
const EMAIL = ["email", "email_address", "mail"];
const LOGIN = ["username", "user_name", "login", "handle", "screen_name"];
const PERSON = /^([A-Z][a-z]{1,20}) ([A-Z][a-z]{1,20})$/u;

interface Names {
  readonly first: string | undefined;
  readonly last: string | undefined;
  readonly whole: string | undefined;
  readonly email: string | undefined;
  readonly login: string | undefined;
}

export const consistentPerson: Relation = (names) => {
  const people = [...prefixesOf(names)].map((prefix) => findPersonFields(names, prefix)).filter(hasSeveralFields);
  if (people.length === 0) return undefined;
  return (object) => {
    for (const person of people) applyPersonName(object, person);
  };
};

/** Returns the prefixes of the names: `""`, `customer_` for `customer_email`, and so on. */
function prefixesOf(names: ReadonlySet<string>): Set<string> {
  const endings = [...FIRST, ...LAST, ...WHOLE, ...EMAIL, ...LOGIN];
  return new Set(
    [...names].flatMap((name) =>
      endings.flatMap((ending) => (name === ending || name.endsWith(`_${ending}`) ? [name.slice(0, -ending.length)] : [])),
    ),
  );
}

function findPersonFields(names: ReadonlySet<string>, prefix: string): Names {
  const found = (endings: readonly string[]): string | undefined =>
    endings.map((ending) => prefix + ending).find((name) => names.has(name));
  const stem = prefix.slice(0, -1);
  const whole = found(WHOLE) ?? (stem !== "" && names.has(stem) ? stem : undefined);
  return { first: found(FIRST), last: found(LAST), whole, email: found(EMAIL), login: found(LOGIN) };
}

function hasSeveralFields(person: Names): boolean {
  return Object.values(person).filter((name) => name !== undefined).length > 1;
}

function applyPersonName(object: DrawnFields, { first, last, whole, email, login }: Names): void {
  const known = resolvePersonName(object, { first, last, whole, email, login });
  if (known === undefined) return;
  const [firstName = "", lastName = ""] = known;
  if (object.getText(first) !== undefined) object.set(first, firstName);
  if (object.getText(last) !== undefined) object.set(last, lastName);
  const isPerson = PERSON.test(object.getText(whole) ?? "") || (first !== undefined && last !== undefined) || isPersonByEmail(whole, email);
  if (isPerson && object.getText(whole) !== undefined) object.set(whole, `${firstName} ${lastName}`);
  const address = object.getText(email);
  if (address?.endsWith("@example.com") === true) object.set(email, `${firstName}.${lastName}@example.com`.toLowerCase());
  const user = object.getText(login);
  if (user !== undefined && !user.includes(" ") && !user.includes("@"))
    object.set(login, `${firstName}${lastName.slice(0, 1)}${/(?<!\d)\d*$/u.exec(user)?.[0] ?? ""}`.toLowerCase());
}

/** Whether `name` is the person's name rather than that of a thing: there is an email address next to it. */
function isPersonByEmail(whole: string | undefined, email: string | undefined): boolean {
  return whole === "name" && email !== undefined;
}

/** Returns first and last name, from given values if possible, else from generated ones. */
function resolvePersonName(object: DrawnFields, { first, last, whole, email, login }: Names): readonly string[] | undefined {
  const isGiven = (name: string | undefined): boolean => name !== undefined && !object.isGenerated(name);
  const [given, family, full, address] = [object.getText(first), object.getText(last), object.getText(whole), object.getText(email)];
  const ofWhole = PERSON.exec(full ?? "")?.slice(1);
  const ofEmail = parseEmailName(address ?? "");
  const ofParts = given !== undefined && family !== undefined ? [given, family] : undefined;
  if (isGiven(whole) && full !== undefined) return ofWhole;
  if (!isGiven(first) && !isGiven(last)) {
    const ofGiven = (isGiven(email) ? ofEmail : undefined) ?? (isGiven(login) ? parseLoginName(object.getText(login) ?? "") : undefined);
    if (ofGiven !== undefined) return ofGiven;
  }
  if (ofParts !== undefined) return ofParts;
  if (ofWhole !== undefined) return [given ?? ofWhole[0] ?? "", family ?? ofWhole[1] ?? ""];
  return (full === undefined || isPersonByEmail(whole, email)) && ofEmail !== undefined
    ? [given ?? ofEmail[0] ?? "", family ?? ofEmail[1] ?? ""]
    : undefined;
}

/** Reads `ada.berg@…`, and `a.berg@…` with a first name that begins with the letter. */
function parseEmailName(address: string): readonly string[] | undefined {
  const [, first = "", last = ""] = /^([a-z]{1,20})[._-]([a-z]{2,20})@/iu.exec(address) ?? [];
  return toPersonName(first, last);
}

/** Reads `adab52`, `ada.berg`, `a_berg7`; undefined if there is no name. */
function parseLoginName(login: string): readonly string[] | undefined {
  const [, first = "", last = ""] = /^([a-z]{1,20})[._-]([a-z]{2,20})\d{0,6}$/iu.exec(login) ?? [];
  if (last !== "") return toPersonName(first, last);
  const [, start = "", initial = ""] = /^([a-z]{2,20})([a-z])\d{0,6}$/iu.exec(login) ?? [];
  const known = FIRST_NAMES.find((name) => name.toLowerCase() === start.toLowerCase());
  const family = LAST_NAMES.find((name) => name.startsWith(initial.toUpperCase()));
  return known === undefined || family === undefined ? undefined : [known, family];
}

function toPersonName(first: string, last: string): readonly string[] | undefined {
  const whole = first.length > 1 ? capitalize(first) : FIRST_NAMES.find((name) => name.startsWith(first.toUpperCase()));
  return first === "" || last === "" || whole === undefined ? undefined : [whole, capitalize(last)];
}

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1).toLowerCase();
}
