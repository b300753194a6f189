/** Instances of classes: which are no plain objects, and which have content that no field shows. */

/** False for plain objects, also those of another realm. */
export function isInstanceOfClass(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return false;
  return Object.getPrototypeOf(prototype) !== null || nameOf(value) !== "Object";
}

const BYTES_HINT = 'Give bytes in base64: Buffer.from(bytes).toString("base64").';
/** Classes whose content is not a field, with what to give instead. */
const OPAQUE: readonly (readonly [abstract new (...args: never) => object, string])[] = [
  [Map, "Give its entries: Object.fromEntries(map)."],
  [Set, "Give an array of its values: [...set]."],
  [Promise, "Await it first."],
  [Response, "Give what it holds: await response.json(), or await response.text()."],
  [ReadableStream, "Read it to its end and give its text, or each part as progress: context.progress()."],
  [Error, "Give its message, or throw it."],
  [ArrayBuffer, BYTES_HINT],
  ...[WeakMap, WeakSet, WeakRef, RegExp, Date].map((kind) => [kind, "Give what it holds as a string, a number or an object."] as const),
];

/** Why an instance would be recorded as if it were empty; undefined where its fields say what it holds. @param keys its own enumerable keys */
export function opaqueInstance(value: object, keys: readonly string[]): { readonly problem: string; readonly hint: string } | undefined {
  const hint = ArrayBuffer.isView(value) ? BYTES_HINT : OPAQUE.find(([kind]) => value instanceof kind)?.[1];
  if (hint === undefined && keys.length > 0) return undefined;
  const name = nameOf(value);
  const article = /^[aeiou]/iu.test(name) ? "an" : "a";
  return {
    problem: `${article} ${name} is not JSON`,
    hint: hint ?? "It has no enumerable fields: give it a toJSON(), or give a plain object.",
  };
}

function nameOf(value: object): string {
  const name: unknown = value.constructor?.name;
  return typeof name === "string" && name !== "" ? name.slice(0, 100) : "object";
}
