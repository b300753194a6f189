/** Detects instances of classes, and those whose content is not in their fields. */

/** Whether an object is an instance of a class. False for plain objects, even those of another realm. */
export function isInstanceOfClass(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return false;
  return Object.getPrototypeOf(prototype) !== null || nameOf(value) !== "Object";
}

const BYTES_HINT = 'Give bytes in base64: Buffer.from(bytes).toString("base64").';
const NO_FIELDS_HINT = "Give what it holds as a string, a number or an object.";
/** Classes whose content is not in fields, by tag, with what to give instead. Naming `Response` itself would make Node load its `fetch` (30 ms). */
const OPAQUE_CLASS_HINTS: ReadonlyMap<string, string> = new Map([
  ["Map", "Give its entries: Object.fromEntries(map)."],
  ["Set", "Give an array of its values: [...set]."],
  ["Promise", "Await it first."],
  ["Response", "Give what it holds: await response.json(), or await response.text()."],
  ["ReadableStream", "Read it to its end and give its text, or each part as progress: context.progress()."],
  ["ArrayBuffer", BYTES_HINT],
  ["Blob", "Give what it holds: await blob.text()."],
  ["Headers", "Give its entries: Object.fromEntries(headers)."],
  ["URLSearchParams", "Give its text: String(parameters)."],
  ...["Generator", "AsyncGenerator"].map((tag) => [tag, "Return one value. Give each part as progress: context.progress()."] as const),
  ...["Array", "Map", "Set"].map((kind) => [`${kind} Iterator`, "Give an array of its values: [...values]."] as const),
  ...["WeakMap", "WeakSet", "WeakRef", "RegExp", "Date"].map((tag) => [tag, NO_FIELDS_HINT] as const),
]);

function hintFor(value: object): string | undefined {
  if (ArrayBuffer.isView(value)) return BYTES_HINT;
  if (value instanceof Error) return "Give its message, or throw it.";
  return OPAQUE_CLASS_HINTS.get(tagOf(value));
}

function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}

/** Returns why an instance would be recorded as if it were empty; undefined if its fields hold its content. @param keys its own enumerable keys */
export function findOpaqueProblem(value: object, keys: readonly string[]): { readonly problem: string; readonly hint: string } | undefined {
  const hint = hintFor(value);
  if (hint === undefined && keys.length > 0) return undefined;
  const tag = tagOf(value);
  const name = OPAQUE_CLASS_HINTS.has(tag) && nameOf(value) === "object" ? tag : nameOf(value); // a generator has no class
  const article = /^[aeiou]/iu.test(name) ? "an" : "a";
  return {
    problem: `${article} ${name} is not JSON`,
    hint: hint ?? "It has no enumerable fields: give it a toJSON(), or give a plain object.",
  };
}

/** Returns the first bytes of a `Buffer` with more than `maxBytes`, whose `toJSON` makes a number of each; any other value is returned unchanged. */
export function limitBytes(value: object, maxBytes: number): object {
  return ArrayBuffer.isView(value) && value instanceof Uint8Array && value.length > maxBytes ? value.subarray(0, maxBytes) : value;
}

/** Returns the class name, without the suffix that bundlers append to a name that is already used: `Response$1`. */
function nameOf(value: object): string {
  const name: unknown = value.constructor?.name;
  return (typeof name === "string" && name.slice(0, 100).replace(/\$\d+$/u, "")) || "object";
}
